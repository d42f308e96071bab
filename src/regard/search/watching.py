"""What a search tells whoever watches it: one step of one sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from regard.search.children import Children


@dataclass(frozen=True)
class Grown:
    """The children that were considered at a step, best first, and what became of each."""

    sentence: int
    length: int
    """Words said, this one included."""
    origins: list[int]
    """Which hypothesis of the beam before each comes from."""
    words: list[int]
    scores: list[float]
    """Sums of log-probabilities."""
    said: list[float]
    """Of the last word alone."""
    ended: list[bool]
    """Whether it came to its end in time to be kept."""
    places: list[int | None]
    """Its place in the beam after this step; None where it did not go on."""


Watcher = Callable[[Grown], None]


def grown(
    sentence: int,
    place: int,
    length: int,
    found: Children,
    ended: Bool[np.ndarray, "s c"],
    order: Int[np.ndarray, "s w"],
) -> Grown:
    """What one sentence's step was; `order` are the children that go on, those that ended among them."""
    over = ended[place].tolist()
    places: list[int | None] = [None] * len(over)
    for at, child in enumerate(order[place].tolist()):
        places[child] = None if over[child] else at
    beam = order.shape[1]
    return Grown(
        sentence,
        length,
        found.origin[place].tolist(),
        found.word[place].tolist(),
        found.scores[place].tolist(),
        found.said[place].tolist(),
        [end and rank < beam for rank, end in enumerate(over)],
        places,
    )
