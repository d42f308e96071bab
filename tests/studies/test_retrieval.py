"""Attention as a look-up: the sharper, the nearer to the nearest neighbour."""

from __future__ import annotations

import pytest
import torch

from regard.studies import retrieval
from regard.studies.grid import run


def test_titles_are_different_and_alike_ones_have_alike_keys():
    told = retrieval.titles(1)
    assert len(set(told)) == len(told) == retrieval.STORED
    one, near, far = retrieval.vectors(
        ["old man sang in the yard", "old man sang in the attic", "tall bird slept"], 1
    )
    assert one @ near > 0.5 > one @ far
    assert torch.linalg.norm(one) == pytest.approx(1.0)


def test_sharp_attention_reads_what_the_nearest_key_has():
    weak, sharp = (
        retrieval.measured({"strength": strength, "noise": "0.6"}, 1, 100).figures for strength in ("1", "100")
    )
    assert sharp["agree"] >= 0.99
    assert sharp["recall"] == pytest.approx(sharp["nearest"], abs=0.02)
    assert weak["largest"] < 0.02
    assert weak["agree"] < sharp["agree"]


def test_the_study_is_written_and_drawn(tmp_path):
    run(retrieval.STUDY, ["--to", str(tmp_path), "--steps", "20", "--seeds", "1"])
    page = (tmp_path / "retrieval.md").read_text()
    assert "| strength | agree %, noise 0.6 |" in page
    assert (tmp_path / "retrieval.png").stat().st_size > 5000
