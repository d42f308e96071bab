"""Scores are those of the `sacrebleu` command on the same files, and mean what they say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from regard.evaluate.score import (
    TOKENISERS,
    Sentence,
    best_and_worst,
    by_length,
    metrics,
    resamples_for,
    scores,
    sentences,
    tokenised,
    tokeniser_for,
    warnings,
)
from regard.evaluate.text import ScoredText
from regard.tasks.settings import TextData

RIGHT = ["The dog runs.", "A cat, a red one, sleeps!", "", "Zwei Männer gehen im Park.", "It's 3.5 km — no more."]
SAID = ["The dog runs.", "A red cat sleeps!", "", "Zwei Männer stehen im Park.", "It is 3.5 km; no more"]
OTHER = ["A dog is running.", "A red cat sleeps.", "", "Zwei Männer laufen im Park.", "No more than 3.5 km."]


def command(tmp_path: Path, *options: str) -> list[dict[str, Any]]:
    """What `sacrebleu` itself says."""
    for name, some in {"said": SAID, "right": RIGHT, "other": OTHER}.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in some), encoding="utf-8")
    words = [sys.executable, "-m", "sacrebleu", *options, "-i", "said", "-m", "bleu", "chrf", "ter"]
    words += ["--chrf-word-order", "2", "-w", "4", "--confidence", "--confidence-n", "200", "--force"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


class TestTheSameAsTheCommand:
    @pytest.mark.parametrize(
        ("options", "references", "tokenise"),
        [
            (("right",), [RIGHT], "13a"),
            (("right", "other", "--tokenize", "intl"), [RIGHT, OTHER], "intl"),
            (("right", "--tokenize", "none"), [RIGHT], "none"),
        ],
    )
    def test_figures_signatures_and_intervals(
        self, tmp_path: Path, options: tuple[str, ...], references: list[list[str]], tokenise: str
    ) -> None:
        theirs = {one["name"]: one for one in command(tmp_path, *options)}
        ours = {one.name: one for one in scores(SAID, references, tokenise, resamples=200).values()}
        assert set(ours) == {"BLEU", "chrF2++", "TER"} == set(theirs)
        for name, one in ours.items():
            assert f"{one.score:.4f}" == f"{theirs[name]['score']:.4f}"
            assert one.signature == theirs[name]["signature"]
            assert one.mean == pytest.approx(theirs[name]["confidence_mean"], abs=1e-4)
            assert one.half == pytest.approx(theirs[name]["confidence_var"], abs=1e-4)
        assert ours["BLEU"].verbose.endswith(theirs["BLEU"]["verbose_score"])

    def test_without_intervals(self) -> None:
        found = scores(SAID, [RIGHT], resamples=0)
        assert all(one.half is None for one in found.values())
        assert "bs:" not in found["bleu"].signature

    def test_a_text_of_which_the_command_cannot_add_up_its_resamples(self) -> None:
        """Some have nothing in common with the reference, and sacreBLEU's mean trips over their kind of 0."""
        found = scores(["a b c d", "", "x"], [["a b c d", "", "y"]], resamples=50)
        assert all(one.half is not None for one in found.values())

    def test_nothing_to_score(self) -> None:
        with pytest.raises(ValueError, match="no line to score"):
            scores([], [[]])


def text(sources: list[str], *references: list[str]) -> ScoredText:
    return ScoredText("test", "test", tuple(sources), tuple(map(tuple, references)))


class TestLines:
    def test_every_line_by_itself(self) -> None:
        found = sentences(SAID, text(["s"] * 5, RIGHT, OTHER), "13a", [(), ("copied",), (), (), ()])
        assert [one.line for one in found] == [1, 2, 3, 4, 5]
        assert [one.exact for one in found] == [True, False, True, False, False]
        assert found[0].bleu == pytest.approx(100)
        assert found[0].chrf == pytest.approx(100)
        assert found[1].suspect == ("copied",)
        assert 0 < found[4].chrf < 100

    def test_either_reference_may_be_met_and_spaces_at_the_ends_are_none(self) -> None:
        one, other = (Sentence(1, "s", ("a", "b c"), said, 0, 0) for said in (" b c ", "b  c"))
        assert one.exact
        assert not other.exact

    def test_best_and_worst(self) -> None:
        found = [
            Sentence(n, "x" if n != 3 else " ", ("r",), "s", 0, chrf) for n, chrf in enumerate((5, 9, 1, 0, 9, 3))
        ]
        best, worst = best_and_worst(found, 2)
        assert [one.line for one in best] == [1, 4]
        assert [one.line for one in worst] == [2, 5]
        best, worst = best_and_worst(found, 10)
        assert len(best) + len(worst) == 4
        assert not set(best) & set(worst)
        assert best_and_worst(found[:1], 10) == (found[:1], [])


class TestByLength:
    def of(self, *lengths: int) -> list[Sentence]:
        return [
            Sentence(n, " ".join("w" * size), ("a b c d e",), "a b c d e" if size < 6 else "x", 0, 0)
            for n, size in enumerate(lengths)
        ]

    def test_ranges_of_words(self) -> None:
        unit, found = by_length(self.of(1, 5, 5, 6, 10, 11, 40), "13a")
        assert unit == "words"
        assert [(one.label, one.lines) for one in found] == [("1–5", 3), ("6–10", 2), ("11–15", 1), ("36–40", 1)]
        assert [one.bleu == pytest.approx(100) for one in found] == [True, False, False, False]
        assert [one.exact for one in found] == [1, 0, 0, 0]

    def test_a_few_very_long_lines_share_the_last_range(self) -> None:
        _, found = by_length(self.of(*[4] * 200, 8, 900), "13a")
        assert [one.label for one in found] == ["4+"]
        assert sum(one.lines for one in found) == 202

    def test_text_without_spaces(self) -> None:
        unit, found = by_length([Sentence(1, "日本語です", ("a",), "a", 0, 0)], "13a")
        assert unit == "characters"
        assert found[0].label == "5"

    def test_an_empty_source(self) -> None:
        assert by_length([Sentence(1, "", ("a",), "a", 0, 0)], "13a")[1][0].lines == 1


class TestWords:
    def test_the_recipe_says_or_the_language(self) -> None:
        assert tokeniser_for(TextData()) == "13a"
        assert tokeniser_for(TextData(target_language="zh-Hant")) == "zh"
        assert tokeniser_for(TextData(target_language="ja", swap=True)) == "13a"
        assert tokeniser_for(TextData(source_language="ja", swap=True)) == "ja-mecab"
        assert tokeniser_for(TextData(target_language="zh", scored="char")) == "char"
        assert tokeniser_for(TextData(target_language="de", scored="none")) == "none"

    def test_all_that_a_recipe_may_say(self) -> None:
        from regard.commands.evaluate import Tokenize

        assert set(TOKENISERS) | {"auto"} == set(Tokenize.__args__)  # type: ignore[attr-defined]

    def test_what_is_not_installed_is_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def missing(**given: object) -> None:
            raise RuntimeError("Please install the extra\nmore")

        monkeypatch.setattr("regard.evaluate.score.BLEU", missing)
        with pytest.raises(ValueError, match=r"pip install 'sacrebleu\[ja\]', or give --tokenize char"):
            metrics("ja-mecab")

    def test_a_tokenised_reference_is_seen(self) -> None:
        assert tokenised(["a dog runs .", "a cat , too"]) == 1
        assert tokenised(["A dog runs.", "A cat, too", "Ça va ?"]) == 0
        assert tokenised(["no sign"]) != tokenised(["no sign"])  # nan: nothing can be said
        split, plain = text(["s", "s"], ["a dog runs .", "so , it does"]), text(["s", "s"], ["A dog runs.", ""])
        assert "looks tokenised (100% of its lines" in warnings(split, "13a")[0]
        assert warnings(split, "none") == []
        told = warnings(plain, "none")
        assert "does not look tokenised" in told[0]
        assert told[1] == "the reference has 1 empty line"
        assert warnings(text(["s"], ["no sign"]), "none") == []

    def test_fewer_resamples_of_very_long_text(self) -> None:
        assert resamples_for(1000) == 1000
        assert resamples_for(1_000_000) == 10
        assert resamples_for(1000, 50) == 50
        assert resamples_for(1000, 0) == 0
