"""What the toy studies share: training, scoring, and what is written about it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from regard.models.seq2seq import Seq2Seq
from regard.models.settings import RecurrentModel
from regard.studies import trial
from regard.tasks.toy import Language, Sentence, ToyTranslation

SMALL = RecurrentModel(width=8, embedding=4, dropout=0.0)


class Parrot(ToyTranslation):
    """Says what it is given to say."""

    answers: list[list[int]]

    def said(self, model: Seq2Seq, sentences: Sequence[Sentence]) -> list[list[int]]:
        return self.answers


def test_training_is_the_same_again_and_takes_so_many_steps() -> None:
    told: list[int] = []
    tasks = [ToyTranslation(Language(words=6), SMALL, 3, 4, rows=4, seed=2) for _ in range(2)]
    one = trial.train(tasks[0], 3, before=lambda step, model: told.append(step))
    other = trial.train(tasks[1], 3)
    assert told == [0, 1, 2]
    assert all(torch.equal(a, b) for a, b in zip(one.model.parameters(), other.model.parameters(), strict=True))
    assert one.parameters == sum(p.numel() for p in one.model.parameters())
    assert not one.model.training


def test_a_score_counts_sentences_and_words_in_their_place() -> None:
    task = Parrot(Language(words=6), SMALL, 4, 4)
    sentences = task.language.sentences(2, 4, 4, 1)
    first, second = ([int(word) for word in sentence.target] for sentence in sentences)
    task.answers = [first, [*second[:3], 99, 99]]
    got = trial.score(task, task.build(), sentences)
    assert (got.exact, got.words) == (0.5, 7 / 9)  # too long a sentence pays for it
    task.answers = [first, second]
    assert trial.score(task, task.build(), sentences).bleu == pytest.approx(100)


def test_a_goal_is_reached_or_not() -> None:
    assert trial.reached("gap", 30, 30).endswith("(goal ≥ 30): reached")
    assert trial.reached("gap", 29.9, 30).endswith("**not reached**")
    assert trial.reached("off", 1.6, 1.5, at_least=False).endswith("(goal ≤ 1.5): **not reached**")


def test_a_mean_of_several_seeds_has_a_spread() -> None:
    assert trial.mean_of([3.0]) == "3.0"
    assert trial.mean_of([1.0, 3.0]) == "2.0 ± 1.4"
    assert trial.spread([3.0]) == 0


def test_what_is_written_says_how_it_was_made(tmp_path: Path) -> None:
    given = trial.parser("about", steps=7).parse_args(["--to", str(tmp_path)])
    about = trial.circumstances("none", given)
    trial.write(tmp_path, "none", about, {"found": 1}, "# Title\n\nText.\n")
    numbers, page = json.loads((tmp_path / "none.json").read_text()), (tmp_path / "none.md").read_text()
    assert numbers["found"] == 1
    assert numbers["command"] == "regard study none --steps 7 --seeds 1"
    assert page.startswith("# Title\n\n- command: `regard study")
    assert page.endswith("\n\nText.\n")
