"""E14: byte-pair encoding, by the worked example and on any text."""

from __future__ import annotations

import doctest
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from regard.text import bpe

WORDS = {"low": 5, "lower": 2, "newest": 6, "widest": 3}


def test_the_worked_example() -> None:
    assert [str(merge) for merge in bpe.learn(WORDS, 10)] == [
        "e s (9)",
        "es t (9)",
        "est </w> (9)",
        "l o (7)",
        "lo w (7)",
        "n e (6)",
        "ne w (6)",
        "new est</w> (6)",
        "low </w> (5)",
        "w i (3)",
    ]
    assert doctest.testmod(bpe).failed == 0


def test_a_word_never_seen_is_put_together_from_what_was() -> None:
    tree = bpe.steps("lowest", bpe.learn(WORDS, 10))
    assert tree[0] == ["l", "o", "w", "e", "s", "t", "</w>"]
    assert tree[-1] == ["low", "est</w>"]
    assert all(len(after) < len(before) for before, after in pairwise(tree))


def test_repeated_letters_are_merged_from_the_left() -> None:
    merges = bpe.learn({"aaaaa": 1}, 1)
    assert bpe.steps("aaaaa", merges)[-1] == ["aa", "aa", "a", "</w>"]
    assert bpe.learn({"ab": 1}, 9)[-1].count == 1  # it ends when each word is one piece
    assert bpe.learn({}, 3) == []


@given(st.text(), st.integers(0, 10))
def test_decoding_gives_back_any_text(text: str, merges: int) -> None:
    learned = bpe.learn(WORDS, merges)
    assert bpe.decode(bpe.encode(text, learned)) == text
    assert bpe.decode(bpe.encode(text + " </w>low", learned)) == text + " </w>low"


def test_pieces_per_word_fall_with_merges() -> None:
    counts = [len(bpe.encode("newest low lower widest", bpe.learn(WORDS, n))) for n in range(0, 20, 3)]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] == 4
