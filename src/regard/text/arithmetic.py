"""Sums and differences of numbers, as people write them, to their answers: 345-89 becomes 256."""

from __future__ import annotations

import random
from collections.abc import Iterator

from regard.text.generated import Pair, split_of

LARGEST = 999
SIZES = {"train": 60_000, "valid": 500, "test": 2_000}
TESTS = ("test",)


def pairs(split: str, seed: int = 1) -> Iterator[Pair]:
    """(line, expression, answer) of a split in its usual size; splits never share an expression."""
    rng, seen = random.Random(f"{seed} {split}"), set[str]()
    while len(seen) < SIZES[split]:
        expression = f"{_number(rng)}{rng.choice('+-')}{_number(rng)}"
        if split_of(expression) == split and expression not in seen:
            seen.add(expression)
            yield len(seen), expression, answer(expression)


def answer(expression: str) -> str:
    """What an expression comes to."""
    sign = "+" if "+" in expression else "-"
    first, second = map(int, expression.split(sign))
    return str(first + second if sign == "+" else first - second)


def _number(rng: random.Random) -> int:
    """As many of one digit as of two and of three, or there would hardly be a short one."""
    digits = rng.randint(1, 3)
    return rng.randrange(10**digits)
