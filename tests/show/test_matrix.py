"""The stretch that each bracket spans."""

from __future__ import annotations

from regard.show.matrix import spans
from regard.text.trees import parse


def test_brackets_span_what_they_hold():
    said = [f"\u2581{word}" for word in parse("the man saw a dog").split()]
    assert said[:2] == ["\u2581(S", "\u2581(NP"]
    found = {said[row].lstrip("\u2581") + str(row): (first, after) for row, first, after in spans(said, 5)}
    assert found == {"(S0": (0, 5), "(NP1": (0, 2), "(VP5": (2, 5), "(NP7": (3, 5)}


def test_what_has_no_brackets_spans_nothing():
    assert spans(["\u2581AA", "\u2581B", "</s>"], 4) == []
    assert spans(["\u2581(S", "\u2581the"], 4) == []  # never closed
    assert spans(["\u2581(S", "a", "b", "\u2581)"], 1) == []  # more words than the source has
