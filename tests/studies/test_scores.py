"""The study of score functions: every score fits the model, and what is said of queries is true."""

from __future__ import annotations

import pytest
import torch

from regard.studies import scores
from regard.tasks.symbols import RULES


@pytest.mark.parametrize("name", scores.STUDY.axes["score"])
def test_every_score_is_trained_and_measured(name, monkeypatch):
    monkeypatch.setattr(scores, "TESTED", 4)
    got = scores.measured({"score": name, "task": "look-up"}, 1, 2)
    assert 0 <= got.figures["exact"] <= 1
    if name == scores.NONE:
        assert got.seen is None
    else:
        assert len(got.seen) == 4  # three values and the end
        assert all(sum(row) == pytest.approx(100, abs=9) for row in got.seen)


def test_only_the_linear_score_ignores_the_query():
    torch.manual_seed(0)
    effects = {}
    for name in ("linear concat", "additive", "dot", "location"):
        model = scores.model(scores.SCORES[name](scores.WIDTH), RULES["copy"].vocabulary).eval()
        effects[name] = scores.query_effect(scores.looked(model, RULES["copy"].sentences(5, 10, 20, 1)))
    assert effects.pop("linear concat") < 1e-6
    assert min(effects.values()) > 5e-6


def test_a_look_takes_time_and_strength_can_be_frozen():
    assert scores.cost(scores.SCORES["dot"](scores.WIDTH), times=2) > 0
    frozen = scores.model(scores.SCORES["cosine, β = 1"](scores.WIDTH), 30)
    assert scores._weights(frozen) == 0
    assert scores._weights(scores.model(scores.SCORES["cosine"](scores.WIDTH), 30)) == 1
