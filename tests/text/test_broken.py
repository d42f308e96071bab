"""Pieces broken at random: other pieces, the same text."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.text.broken import Breaking, halves_of
from regard.text.noise import noise
from regard.text.pieces import Pieces

LETTERS = st.text("abdinr lot\u00e9", max_size=30)


@given(st.lists(LETTERS, max_size=5), st.sampled_from([0.0, 0.1, 0.5, 1.0]), st.integers(0, 9))
@settings(deadline=None, max_examples=100)
def test_the_text_stays_the_same(pieces: Pieces, texts: list[str], chance: float, seed: int) -> None:
    rows = [np.array(row, np.int64) for row in pieces.encode(texts)]
    breaking, keys = Breaking(pieces, chance), noise(len(rows), seed, 0)
    broken = breaking(rows, keys)
    assert pieces.decode(broken) == texts
    assert [len(a) <= len(b) for a, b in zip(rows, broken, strict=True)] == [True] * len(rows)
    assert breaking.lengths(rows, keys).tolist() == [len(row) for row in broken]
    alone = [breaking([row], keys[i : i + 1])[0] for i, row in enumerate(rows)]  # whatever stands beside it
    assert all(np.array_equal(a, b) for a, b in zip(broken, alone, strict=True))


def test_a_piece_becomes_what_it_was_merged_from() -> None:
    """l o (4), lo w (5), e r (6), low er (7): low + er, not l + ower, which is none, nor lo + wer."""
    words = ["<pad>", "<unk>", "<s>", "</s>", "lo", "low", "er", "lower", "l", "o", "w", "e", "r", "<0x41>"]
    halves = halves_of(words)
    assert [words[i] for i in halves[7]] == ["low", "er"]
    assert [words[i] for i in halves[5]] == ["lo", "w"]
    assert [words[i] for i in halves[4]] == ["l", "o"]
    assert not halves[[0, 1, 2, 3, 8, 12, 13]].any()


def test_how_much_is_broken(pieces: Pieces) -> None:
    rows = [np.array(pieces.encode(["ba na do ri"])[0], np.int64)] * 3000
    breakable = sum(int((Breaking(pieces, 1.0).halves[row, 0] > 0).sum()) for row in rows)
    if not breakable:
        pytest.skip("these pieces are letters")
    once = Breaking(pieces, 0.1)(rows, noise(len(rows), 0, 0))
    assert len({tuple(row) for row in once}) > 1
    more = sum(map(len, once)) - sum(map(len, rows))
    assert 0.08 * breakable < more < 0.14 * breakable
    letters = Breaking(pieces, 1.0)(rows[:1], noise(1, 0, 0))[0]
    assert not Breaking(pieces, 1.0).halves[letters, 0].any()
