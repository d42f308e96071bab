"""Examples drawn as they are needed: a batch is named by what it is drawn from, so a cursor is a few numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

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
