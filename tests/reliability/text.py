"""T11, T13, T14: text that is too long, hostile, or shifted by a line."""

from __future__ import annotations

import random
import time
from typing import Any

from regard.text.shift import fit
from tests.reliability.files import tested
from tests.reliability.report import each, row
from tests.text.conftest import made
from tests.text.test_check import shifted

PLACES, ENOUGH = 100, 95
TOO_LONG = "tests/train/test_kills.py::test_a_line_a_thousand_times_the_usual_with_little_memory"


def check() -> list[dict[str, Any]]:
    """One row for each."""
    return [
        tested("T11", "a line 1 000 times the usual, with little memory", "halved, named, the run ends", TOO_LONG),
        tested("T13", "60 hostile files", "a stated meaning, or file:line", "tests/text/test_hostile.py"),
        noticed(),
    ]


def noticed() -> dict[str, Any]:
    """T14: a line too many or too few at a random place of 10 000 pairs."""
    began, pairs = time.monotonic(), made(10_000)

    def missed(seed: int) -> str | None:
        rng = random.Random(seed)
        place, by = rng.randrange(9_500), rng.choice((-1, 1))
        found = fit(*zip(*[pair[1:] for pair in shifted(pairs, place, by)], strict=True)).shift
        right = found is not None and found.by == by and abs(found.first - place) <= 10
        return None if right else f"{by:+} at {place}: {found}"

    wrong = each("T14", range(PLACES), missed)
    goal = f"noticed at {ENOUGH} of {PLACES} places"
    told = row("T14", "a target shifted by one line, in 10 000 pairs", goal, wrong, began)
    return told | {"passed": sum(one is None for one in wrong) >= ENOUGH}
