"""Luong's ladder runs at toy size, and counts what is said too often and what is left out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from regard.studies import luong
from regard.tasks.toy import Sentence


def test_it_writes_numbers_table_and_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = {name: rung.model_copy(update={"width": 4, "embedding": 4}) for name, rung in luong.RUNGS.items()}
    monkeypatch.setattr(luong, "TESTED", 4)
    monkeypatch.setattr(luong, "RUNGS", small)
    monkeypatch.setattr(luong, "WIRED", 6)
    luong.main(["--to", str(tmp_path), "--steps", "1", "--seeds", "1", "--wired", "1"])
    found = json.loads((tmp_path / "luong.json").read_text())
    assert [rung["name"] for rung in found["rungs"]] == list(luong.RUNGS)
    weights = [rung["parameters"] for rung in found["rungs"]]
    assert weights == sorted(set(weights))  # every rung adds some
    assert [w["wiring"] for w in found["wirings"]] == ["before", "after"]
    assert "| + dropout | 14.0 |" in (tmp_path / "luong.md").read_text()
    assert (tmp_path / "luong.png").stat().st_size > 1000


def test_words_said_too_often_and_left_out_are_counted_whatever_their_order() -> None:
    right = [Sentence(np.array([1, 2, 3, 4]), np.array([5, 5, 6, 7]), np.arange(4))]
    assert luong.surplus([[7, 6, 5, 5]], right) == (0, 0)
    assert luong.surplus([[5, 5, 5, 6]], right) == (25, 25)
    assert luong.surplus([[5, 6]], right) == (0, 50)
