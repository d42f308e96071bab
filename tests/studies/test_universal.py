"""The study of depth: it trains every rival on the same examples, and tells what was reached and what was not."""

from __future__ import annotations

import json

import pytest
import torch

from regard.studies import universal
from regard.studies.universal import PROBLEMS, RIVALS, main, page, recipe_of
from regard.systems.system import Here


@pytest.mark.parametrize("problem", PROBLEMS)
def test_rivals_are_given_the_same_and_differ_in_their_layers(problem):
    recipes = [recipe_of(name.format(problem), 1, 0) for name in RIVALS.values()]
    assert {recipe.data.problem for recipe in recipes} == {problem}
    assert len({(recipe.data.smallest, recipe.data.largest, recipe.data.tested) for recipe in recipes}) == 1
    assert len({(recipe.train.steps, recipe.train.rate, recipe.data.rows) for recipe in recipes}) == 1
    with torch.device("meta"):
        sizes = [sum(p.numel() for p in recipe.make(Here()).build().parameters()) for recipe in recipes]
    assert sizes[1] > 3 * sizes[0]
    assert sizes[2] == pytest.approx(sizes[0], rel=0.1)


def test_it_runs_and_writes(tmp_path, monkeypatch):
    monkeypatch.setattr(universal, "PRICES", (0.01,))
    main(["--to", str(tmp_path), "--steps", "1", "--seeds", "1", "--count", "4"])
    found = json.loads((tmp_path / "universal.json").read_text())
    assert list(found["prices"]) == ["0.01"]
    assert set(found["rivals"]) == set(PROBLEMS)
    for models in found["rivals"].values():
        assert set(models) == set(RIVALS)
        assert list(models["Universal Transformer"]["right"]) == ["1", "10", "20", "30", "40"]
    assert (tmp_path / "universal.md").read_text().count("points over the better Transformer at n = 40") == 2
    assert (tmp_path / "universal.png").stat().st_size > 5000


def test_what_is_not_reached_is_said():
    def rival(right: float) -> dict[str, object]:
        return {"weights": 1, "right": {"20": [right], "40": [right]}}

    found = {"sum": dict(zip(RIVALS, map(rival, (0.95, 0.8, 0.7)), strict=True))}
    assert "15.00 (goal ≥ 10): reached" in page(found, {})
    found = {"sum": dict(zip(RIVALS, map(rival, (0.85, 0.8, 0.7)), strict=True))}
    assert "**not reached**" in page(found, {})
    scores = {
        price: {
            **{f"facts={n}": {"right": 1.0, "steps where asked": n * scale} for n in (1, 2, 3)},
            "steps and hardness": {"rank correlation": 0.9},
        }
        for price, scale in (("0.0", 1.0), ("0.1", 2.0))
    }
    assert "(2.00, 4.00): **not reached**" in page(found, scores)
