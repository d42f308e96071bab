"""Problems that ask for labels: items in a row, or in a set, places that are asked, and the one right answer at each.

NumPy only. A problem of one size draws many examples of one length, from a generator that tells the answers by an
exact rule.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np


@dataclass(frozen=True)
class Drawn:
    """Examples of one length: what is shown, where it is asked, what is right, and how much work that takes."""

    items: np.ndarray  # b n w, numbers of words; or b n d, features
    asked: np.ndarray  # b a, places
    right: np.ndarray  # b a, classes; or b 1, which of the places asked
    hard: np.ndarray | None = None  # b a, how much work each answer takes

    def some(self, first: int, after: int) -> Drawn:
        """The examples `first ... after`."""
        hard = None if self.hard is None else self.hard[first:after]
        return Drawn(self.items[first:after], self.asked[first:after], self.right[first:after], hard)


def everywhere(count: int, places: Sequence[int]) -> np.ndarray:
    """The same places asked in so many examples."""
    return np.tile(np.asarray(places, int), (count, 1))


class LabelProblem(ABC):
    """How examples are drawn."""

    words: ClassVar[int] = 0
    """How many words there are; 0 is none of them. Without words, items are features."""
    features: ClassVar[int] = 0
    """How many numbers an item is, where it is no words."""
    side: ClassVar[int] = 0
    """Pixels a side, where these numbers are a picture's."""
    classes: ClassVar[int] = 0
    """How many answers there are; 0: the answer is one of the places that are asked."""
    ordered: ClassVar[bool] = True
    """Whether it matters where an item stands; a set has no order."""
    hardness: ClassVar[str] = ""
    """What makes an answer hard, in a word."""
    least: ClassVar[int] = 1
    """The smallest size there is ..."""
    most: ClassVar[int] = 1000
    """... and the largest."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, count: int, size: int) -> Drawn:
        """So many examples of this size."""

    @abstractmethod
    def told(self, items: np.ndarray) -> Sequence[str]:
        """The items of one example in words, for people."""

    def held_out(self, rng: np.random.Generator, count: int, size: int) -> Drawn:
        """Examples to be measured by, of which none can be drawn for training; where all are fresh, any."""
        return self.draw(rng, count, size)

    def answer(self, label: int) -> str:
        """An answer in words."""
        return str(label)
