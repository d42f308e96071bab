"""The study of the bottleneck runs at toy size and writes what it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from regard.studies import bottleneck


def test_it_writes_numbers_table_and_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bottleneck, "TESTED", (5, 30))
    bottleneck.main(["--to", str(tmp_path), "--steps", "2", "--widths", "8"])
    found = json.loads((tmp_path / "bottleneck.json").read_text())
    assert [(c["attention"], c["trained_to"]) for c in found["curves"]] == [
        ("bahdanau", 20), ("none", 20), ("bahdanau", 30), ("none", 30),
    ]  # fmt: skip
    assert "| bahdanau | 30 | 8 | 1 |" in (tmp_path / "bottleneck.md").read_text()
    assert (tmp_path / "bottleneck.png").stat().st_size > 1000


def test_the_gap_is_of_those_trained_to_that_length() -> None:
    def curve(attention: str, trained_to: int, bleu: float) -> bottleneck.Curve:
        scores = (bleu,) * len(bottleneck.TESTED)
        return bottleneck.Curve(attention, trained_to, 8, 1, 0.0, scores, scores)

    curves = [curve("bahdanau", 30, 90), curve("none", 30, 40), curve("bahdanau", 20, 1), curve("none", 20, 2)]
    assert bottleneck.gap(curves) == 50
