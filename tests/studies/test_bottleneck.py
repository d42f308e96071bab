"""The study of the bottleneck runs at toy size and writes what it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from regard.studies import bottleneck


def curve(attention: str, trained_to: int, *bleu: float, width: int = bottleneck.WIDTH) -> bottleneck.Curve:
    scores = bleu if len(bleu) > 1 else bleu * len(bottleneck.TESTED)
    return bottleneck.Curve(attention, trained_to, width, 1, 0, 0.0, tuple(scores), tuple(scores))


def test_it_writes_numbers_table_and_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bottleneck, "TESTED", (5, 30))
    monkeypatch.setattr(bottleneck, "WIDTH", 8)
    bottleneck.main(["--to", str(tmp_path), "--steps", "2", "--widths", "4"])
    found = json.loads((tmp_path / "bottleneck.json").read_text())
    assert [(c["attention"], c["trained_to"], c["width"]) for c in found["curves"]] == [
        ("bahdanau", 30, 8), ("none", 30, 8), ("bahdanau", 20, 8), ("none", 20, 8), ("none", 30, 4),
    ]  # fmt: skip
    page = (tmp_path / "bottleneck.md").read_text()
    assert "| bahdanau | 30 | 8 | 1 |" in page
    assert "`regard study bottleneck --steps 2 --seeds 1 --widths 4`" in page
    assert (tmp_path / "bottleneck.png").stat().st_size > 1000


def test_the_gap_is_of_those_trained_to_that_length_and_of_one_width() -> None:
    curves = [curve("bahdanau", 30, 90), curve("none", 30, 40), curve("bahdanau", 20, 1), curve("none", 20, 2)]
    assert bottleneck.gap([*curves, curve("none", 30, 3, width=999)]) == 50


def test_attention_is_asked_to_hold_only_as_far_as_it_was_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bottleneck, "TESTED", (10, 20, 30))
    assert bottleneck.sag([curve("bahdanau", 20, 99, 96, 7), curve("none", 30, 90, 50, 10)]) == 3
