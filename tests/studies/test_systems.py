"""Goals of systems: told as reached or not, and not at all while a figure is missing."""

from __future__ import annotations

import pytest

from regard.recipe import shipped
from regard.studies.systems import GOALS, Goal, page

KNOWN = {"ntm": {"20": {"bits": 0.2}}, "lstm": {"20": {"bits": 3.0}}}


@pytest.mark.parametrize(
    ("goal", "told"),
    [
        (Goal("20", "bits", "≤", 0.2), "- 20, bits: 0.2 (≤ 0.2): reached"),
        (Goal("20", "bits", "≤", 0.1), "- 20, bits: 0.2 (≤ 0.1): **not reached**"),
        (Goal("20", "bits", "≥", 0.3), "- 20, bits: 0.2 (≥ 0.3): **not reached**"),
        (
            Goal("20", "bits", "≤", 0.1, ("lstm", "20", "bits")),
            "- 20, bits: 0.2 (≤ 0.1 × 3, bits at 20 of lstm): reached",
        ),
        (Goal("40", "bits", "≤", 1), None),
        (Goal("20", "bits", "≤", 1, ("lstm", "40", "bits")), None),
    ],
)
def test_a_goal_is_told(goal: Goal, told: str | None) -> None:
    assert goal.told("ntm", KNOWN) == told


def test_goals_are_of_recipes_that_there_are() -> None:
    assert set(GOALS) <= set(shipped())


def test_a_page_tells_what_a_run_was_made_with() -> None:
    made = {"regard": "0.1.0 (commit 1a2b3c4)", "threads": "1", "torch": "2.13.0"}
    found = {"run": "sort", "about": "Numbers.", "weights": 3, "step": 5, "minutes": 1.5, "seed": 1,
             "command": "regard train sort --run sort", "scores": {"n=10": {"exact": 0.5}}}  # fmt: skip
    assert "1.5 min, seed 1.\n" in page(found, {})  # of before this was recorded
    assert "1.5 min, seed 1, regard 0.1.0 (commit 1a2b3c4), threads 1.\n" in page(found | {"made with": made}, {})
