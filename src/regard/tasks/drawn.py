"""Examples drawn as they are needed: a batch is named by what it is drawn from, so a cursor is a few numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from regard.tasks.task import Task

BATCHES = 100  # of an epoch
HELD_OUT = 2**31  # a seed no epoch has


@dataclass(frozen=True)
class Some:
    """A batch, or a part of one: from the first of its examples to before `after`."""

    epoch: int
    batch: int
    first: int
    after: int

    @property
    def count(self) -> int:
        return self.after - self.first

    def split(self, parts: int) -> list[Some]:
        """So many smaller ones, or fewer where there are too few examples; none is empty."""
        cuts = np.linspace(self.first, self.after, min(parts, self.count) + 1).astype(int).tolist()
        return [replace(self, first=a, after=b) for a, b in pairwise(cuts)]


class Endless(Task):
    """A task whose examples have no end: nothing to prepare, and a batch is as many as it has `rows`."""

    examples = "examples"
    """What they are called."""

    def __init__(self, rows: int, seed: int) -> None:
        self.rows, self.seed = rows, seed

    def prepare(self, folder: Path) -> None:
        """Nothing: examples are drawn as they are needed."""

    def batches(self, epoch: int) -> Sequence[Some]:
        return [Some(epoch, batch, 0, self.rows) for batch in range(BATCHES)]

    def dice(self, which: Some) -> np.random.Generator:
        """What a batch is drawn with: the same for all of its parts, which are cut from the whole."""
        return np.random.default_rng((self.seed, which.epoch, which.batch))

    def units(self, which: Some) -> int:
        return which.count

    def split(self, which: Some, parts: int = 2) -> Sequence[Some]:
        return which.split(parts)

    def where(self, which: Some) -> str:
        return f"batch {which.batch} of epoch {which.epoch}, {self.examples} {which.first} to {which.after - 1}"
