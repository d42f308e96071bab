"""Text in, text out: every line comes back, in its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.models.seq2seq import Seq2Seq
from regard.search.settings import Search
from regard.search.wishes import Wish
from regard.tasks import decode
from regard.tasks.decode import Translated, translate
from regard.text.ids import END, PAD


class Letters:
    """Pieces that are letters."""

    def encode(self, texts: list[str]) -> list[list[int]]:
        return [[ord(letter) - 90 for letter in text] for text in texts]

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        return ["".join(chr(number + 90) for number in row) for row in ids]


@dataclass(frozen=True)
class Reading:
    """Which text each row says, and how far it is."""

    source: Tensor
    at: int

    def pick(self, rows: Tensor) -> Reading:
        return Reading(self.source[rows], self.at)


class Echo(Seq2Seq):
    """Says what it reads, in capitals, which are 32 numbers below."""

    reads_at_once = True

    def __init__(self) -> None:
        super().__init__()
        self.output = nn.Linear(1, 1)
        self.batches: list[tuple[int, int]] = []

    def states(self, source: Tensor, lengths: Tensor, before: Tensor) -> Tensor:
        raise NotImplementedError

    def start(self, source: Tensor, lengths: Tensor) -> Reading:
        self.batches.append(tuple(source.shape))  # type: ignore[arg-type]
        assert torch.equal((source != PAD).sum(1), lengths)
        return Reading(F.pad(source, (0, 1)), 0)

    def step(self, state: Any, words: Tensor) -> tuple[Tensor, Reading]:
        word = state.source[:, state.at]
        return 20.0 * F.one_hot(torch.where(word == PAD, END, word + 10), 64), Reading(state.source, state.at + 1)

    def sights(self) -> list[Any]:
        return []


def said(texts: list[str], model: Echo | None = None, **settings: Any) -> list[Translated]:
    pieces: Any = Letters()
    return translate(model or Echo(), pieces, pieces, texts, Search(**settings))


TEXTS = ["abc", "", "z", "hello", "abc", "mmmmmmmmmm", "q", ""]


def louder(text: str) -> str:
    return "".join(chr(ord(letter) + 10) for letter in text)


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("budget", [1, 7, 4096])
def test_as_many_lines_out_as_in_and_in_order(beam: int, budget: int) -> None:
    found = said(TEXTS, beam=beam, batch_tokens=budget)
    assert [translated.text for translated in found] == [louder(text) for text in TEXTS]
    assert all(translated.best.complete for translated in found)


def test_nothing_in_nothing_out() -> None:
    assert said([]) == []
    model = Echo()
    (empty,) = said([""], model)
    assert (empty.text, empty.best.words, empty.best.complete) == ("", (), True)
    assert model.batches == []  # nobody was asked


@pytest.mark.parametrize(("beam", "budget"), [(1, 10), (1, 100), (4, 200), (5, 3)])
def test_batches_keep_to_their_budget(beam: int, budget: int) -> None:
    model = Echo()
    said(TEXTS * 5, model, beam=beam, batch_tokens=budget)
    assert sum(rows for rows, _ in model.batches) == 5 * sum(map(bool, TEXTS))
    for rows, width in model.batches:
        assert rows == 1 or rows * width * beam <= budget


def test_like_lengths_go_together() -> None:
    model = Echo()
    said([letter * length for letter in "abcdefgh" for length in (1, 19)], model, beam=1, batch_tokens=256)
    assert model.batches == [(8, 32), (8, 16)]  # in whole blocks


def test_what_a_batch_holds_changes_nothing() -> None:
    together = said(TEXTS, batch_tokens=4096)
    alone = [said([text])[0] for text in TEXTS]
    assert [t.best.words for t in together] == [t.best.words for t in alone]
    assert [t.best.score for t in together] == pytest.approx([t.best.score for t in alone])


def test_hypotheses_in_the_order_of_the_sentences_and_none_for_an_empty_one() -> None:
    ids = [np.array([ord(letter) - 90 for letter in text], dtype=np.int64) for text in TEXTS]
    wishes = [Wish(prefix=(40,)) if text == "z" else Wish() for text in TEXTS]
    found = decode.hypotheses(Echo(), ids, Search(beam=2, nbest=2, batch_tokens=64), wishes)
    assert [len(row) for row in found] == [2 if text else 0 for text in TEXTS]
    assert [tuple(row[0].words) for row in found if row] == [
        tuple((ids[n] + 10).tolist()) if text != "z" else (40,) for n, text in enumerate(TEXTS) if text
    ]


def test_groups_hold_every_row_once() -> None:
    ids = [np.zeros(length, np.int64) for length in (3, 0, 1, 7, 7, 2, 0, 5)]
    groups = decode._groups(ids, 32)
    assert sorted(row for group in groups for row in group) == [0, 2, 3, 4, 5, 7]
    assert groups[0] == [3, 4]
