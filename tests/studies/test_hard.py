"""Hard attention against soft: the estimate, what is learned by it, and its figure."""

from __future__ import annotations

import pytest

from regard.studies import hard
from regard.studies.grid import Cell, Found


def test_the_estimate_points_the_way_of_the_soft_gradient(monkeypatch):
    monkeypatch.setattr(hard, "SAMPLES", 20_000)
    found = {name: hard.estimates({"estimator": name}, 1) for name in hard.STUDY.axes["estimator"]}
    exact = found.pop(hard.SOFT)
    assert exact["variance"] == 0
    for name, got in found.items():
        assert got["cosine"] > 0.9, name
        assert got["reward"] == pytest.approx(exact["reward"], abs=0.02)
    plain, *better = (got["variance"] for got in found.values())
    assert all(plain > 2 * variance for variance in better)


def test_a_score_is_learned_from_rewards():
    curve = hard.learned({"estimator": "hard, mean of the other draws"}, 1, 100)
    assert len(curve) == 10
    assert curve[-1] > curve[0] + 0.1


def test_it_is_drawn(tmp_path):
    names = hard.STUDY.axes["estimator"]
    figures = {"cosine": 0.999, "variance": 1.0, "reward": 1.0, "learned": 0.5}
    cells = [Cell({"estimator": name}, 1, 20, 1, figures, [0.1, 0.2], 0.0, "") for name in names]
    hard.draw(Found(cells), tmp_path / "hard.png")
    assert (tmp_path / "hard.png").stat().st_size > 5000
    assert sum("not reached" in line for line in hard.goals(Found(cells))) == 2
