"""Edits against brute force, and several right answers counted as one question."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.tasks.measures import Bleu, Edits, distance

SHORT = st.text("ab", max_size=6)


@cache
def by_definition(one: str, other: str) -> int:
    """The fewest edits, by trying each on the first symbol."""
    if not one or not other:
        return len(one) + len(other)
    return min(
        by_definition(one[1:], other) + 1,
        by_definition(one, other[1:]) + 1,
        by_definition(one[1:], other[1:]) + (one[0] != other[0]),
    )


@given(SHORT, SHORT)
def test_a_distance_is_the_fewest_edits(one: str, other: str) -> None:
    assert distance(one, other) == by_definition(one, other)


def test_words_and_characters_are_counted_as_they_are_spelt() -> None:
    assert distance(["AA", "B"], ["B"]) == 1
    found = Edits(by_word=True).scores(["ab"], ["AA B K"], ["AA P"])
    assert found == {"exact": 0.0, "wrong": 1.0, "errors": 1.0, "distance": 2.0}
    assert Edits(by_word=False).scores(["ab"], ["abc"], ["abd"])["errors"] == pytest.approx(1 / 3)


def test_any_right_answer_will_do_and_a_source_counts_once() -> None:
    sources, said = ["a", "a", "b"], ["EY", "EY", "B IY"]
    found = Edits(by_word=True).scores(sources, said, ["AH", "EY", "B"])
    assert found["exact"] == 0.5
    assert found["errors"] == pytest.approx(1 / 2)  # an edit too many, of one and one symbol
    assert found["distance"] == 0.5


def test_nothing_said_of_nothing_is_no_error() -> None:
    assert Edits(by_word=True).scores([], [], [])["errors"] == 0


def test_bleu_is_sacrebleu() -> None:
    found = Bleu("none").scores(["x"], ["a b c d e"], ["a b c d e"])
    assert found["bleu"] == pytest.approx(100)
    assert found["exact"] == 1
