"""Passages and the task of reading them: every word once, answers that follow, a vocabulary kept beside the model."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from regard.models.sequence_settings import LstmnModel, PlainLstmModel
from regard.tasks.passages import FIRST, NAMES, Recall, RunningText, read_vocabulary, vocabulary_of
from regard.tasks.reading import VOCABULARY, Reading
from regard.tasks.sequence_settings import ReadingData
from regard.text.ids import END, UNKNOWN

LINES = ["the cat sat", "the dog sat on the cat", "a cat", ""] * 20


@pytest.fixture
def text(tmp_path: Path) -> Path:
    file = tmp_path / "text.gz"
    with gzip.open(file, "wt", encoding="utf-8") as out:
        out.write("\n".join(LINES) + "\n")
    return file


def task(text: Path | None = None, **data) -> Reading:
    given = ReadingData(text=text, window=7, rows=3, held_out_rows=50, **data)
    return Reading(given, LstmnModel(width=8, hidden=4), 0.0, 1)


def running(text: Path, window: int = 7) -> RunningText:
    words = vocabulary_of(iter(LINES), "words", 100)
    return RunningText({"train": text, "valid": None, "test": text}, words, "words", window, 3, 1)


def test_words_are_ranked_by_how_often_they_stand():
    assert vocabulary_of(iter(LINES), "words", 6) == [*NAMES, "cat", "the"]
    assert vocabulary_of(iter(["abca"]), "characters", 100) == [*NAMES, "a", "b", "c"]
    with pytest.raises(ValueError, match="no word to learn from"):
        vocabulary_of(iter(["", " "]), "words", 10)


def test_a_text_becomes_windows_in_which_each_word_follows_the_one_before(text):
    source = running(text)
    whole = [source.ids.get(word, UNKNOWN) for line in LINES for word in [*line.split(), NAMES[END]]]
    held = source.held_out("test")
    assert held is not None
    assert held.before.reshape(-1).tolist() == whole[: held.before.size], "every word once, in order"
    assert held.after.reshape(-1).tolist() == whole[1 : held.before.size + 1]
    valid, train = source.stream("valid"), source.stream("train")
    assert train is not None
    assert valid is not None
    assert [*train, *valid] == whole, "what is held out is not learned from"


def test_an_epoch_has_no_window_twice_and_the_next_cuts_elsewhere(text):
    source = running(text)
    stream = source.stream("train")
    assert stream is not None
    stream = np.arange(len(stream))  # so that a word tells its place
    source.kept["train"] = stream
    first = np.concatenate([source.batch(0, n).before for n in range(source.batches(0))]).reshape(-1)
    assert len(set(first.tolist())) == len(first)
    assert len(first) > 0.8 * len(stream)
    again = source.batch(0, 1)
    assert np.array_equal(again.before, source.batch(0, 1).before)
    assert np.array_equal(again.after, again.before + 1)
    assert {int(source.batch(epoch, 0).before[0, 0]) % 7 for epoch in range(20)} != {0}


def test_a_question_is_answered_by_what_was_told():
    source = Recall(facts=3, values=5, distance=6, rows=4, held_out_rows=9, seed=1)
    found = source.draw(np.random.default_rng(1), 200)
    assert found.before.shape == (200, 2 * 3 + 6 + 1)
    assert (found.after[:, :-1] == 0).all(), "nothing else is asked"
    for before, after in zip(found.before, found.after, strict=True):
        told = dict(zip(before[0:6:2].tolist(), before[1:6:2].tolist(), strict=True))
        assert sorted(told) == [FIRST, FIRST + 1, FIRST + 2]
        assert told[int(before[-1])] == after[-1]
        assert before[6:-1].min() >= FIRST + 3, "what means nothing names nothing"
    assert len(source.vocabulary) == FIRST + 3 + 5
    assert len(set(found.before[:, -1].tolist())) == 3


def test_the_vocabulary_stays_beside_the_model(text, tmp_path):
    here = task(text, vocabulary=7)
    with pytest.raises(ValueError, match="call prepare"):
        here.build()
    here.prepare(tmp_path)
    assert here.files() == [VOCABULARY]
    assert read_vocabulary(tmp_path / VOCABULARY) == [*NAMES, "cat", "the", "sat"]
    text.unlink()
    again = task(text, vocabulary=7)
    again.prepare(tmp_path)
    assert again.build().words.num_embeddings == 7, "the text itself is not needed to open a model"
    (tmp_path / VOCABULARY).write_text("cat\ncat\n")
    with pytest.raises(ValueError, match="not a vocabulary"):
        again.prepare(tmp_path)


def test_too_short_a_text_is_told(tmp_path):
    (tmp_path / "short.txt").write_text("two words\n")
    here = task(tmp_path / "short.txt")
    here.prepare(tmp_path)
    with pytest.raises(ValueError, match="not one window of 7"):
        here.batches(0)


@pytest.mark.parametrize("kind", ["text", "recall"])
def test_loss_measure_and_samples(kind, text, tmp_path):
    here = task(text if kind == "text" else None)
    here.prepare(tmp_path)
    torch.manual_seed(1)
    model = here.build()
    which = here.batches(0)[0]
    loss = here.loss(model, here.load(which), "model")
    words = len(here.passages.vocabulary)
    assert loss.figures["loss"] / here.units(which) == pytest.approx(math.log(words), rel=0.5)
    loss.total.backward()
    parts = [here.load(part) for part in here.split(which, 2)]
    assert torch.equal(torch.cat([part.before for part in parts]), here.load(which).before)
    assert sum(map(here.units, here.split(which, 2))) == here.units(which)
    with torch.no_grad():
        found = here.final(model.eval())
        assert here.samples(model)
    (figures,) = found.values()
    assert figures["perplexity"] == pytest.approx(math.exp(figures["loss"]))
    assert list(found) == (["valid"] if kind == "text" else ["test"])


def test_a_reader_that_looks_back_learns_to_recall():
    data = ReadingData(facts=1, values=4, distance=4, rows=32, held_out_rows=100)
    here = Reading(data, PlainLstmModel(width=16), 0.0, 1)
    torch.manual_seed(1)
    model = here.build()
    rule = torch.optim.Adam(model.parameters(), 0.02)
    for which in here.batches(0)[:60]:
        rule.zero_grad()
        (here.loss(model, here.load(which), "model").total / 32).backward()
        rule.step()
    with torch.no_grad():
        assert here.measure(model.eval())["right"] > 0.8
