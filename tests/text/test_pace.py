"""What takes long says how long it will yet take; what does not says nothing."""

from __future__ import annotations

import pytest

from regard.text import pace
from regard.text.pace import Paced

PAIRS = [(number, "a", "b") for number in range(1, 26)]


def test_what_is_quick_says_nothing() -> None:
    said: list[str] = []
    assert list(Paced(PAIRS, 25, "reading", said.append)) == PAIRS
    assert said == []


@pytest.mark.parametrize(
    ("total", "told"),
    [
        (25, ["reading: 10 pairs of 25, 2 min left", "reading: 20 pairs of 25, 50 s left", "reading: 25 pairs"]),
        (None, ["reading: 10 pairs", "reading: 20 pairs", "reading: 25 pairs"]),
    ],
)
def test_time_left(monkeypatch: pytest.MonkeyPatch, total: int | None, told: list[str]) -> None:
    clock = iter([0.0, 100.0, 200.0, 300.0])
    monkeypatch.setattr(pace.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(pace, "_SOME", 10)
    said: list[str] = []
    assert list(Paced(PAIRS, total, "reading", said.append)) == PAIRS
    assert said == told
