"""Goals of systems: told as reached or not, and not at all while a figure is missing."""

from __future__ import annotations

import pytest

from regard.recipe import shipped
from regard.studies.systems import GOALS, Goal

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
