"""Rows of digits with an exact rule: reverse, copy, add, parity, switches. NumPy only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.tasks.labels import Drawn, LabelProblem, everywhere

DIGITS = 10
MARK, BLANK = DIGITS + 1, DIGITS + 2


@dataclass(frozen=True)
class Mirror(LabelProblem):
    """Each place says the digit that stands as far from the other end. Lippe's tutorial 6, *reverse*.

    As there, a digit is ten numbers of which one is 1: a map of these starts out small beside the places, which are
    all that matters here.
    """

    features = DIGITS
    classes = DIGITS

    def draw(self, rng: np.random.Generator, count: int, size: int) -> Drawn:
        digits = rng.integers(0, DIGITS, (count, size))
        items = np.eye(DIGITS, dtype=np.float32)[digits]
        return Drawn(items, everywhere(count, range(size)), digits[:, ::-1].copy())

    def told(self, items: np.ndarray) -> Sequence[str]:
        return [str(digit) for digit in items.argmax(1)]


@dataclass(frozen=True)
class Again(LabelProblem):
    """Digits, a mark, and as many blanks: say there what was before the mark, from its beginning or from its end."""

    backwards: bool = False

    words = DIGITS + 3
    classes = DIGITS

    def draw(self, rng: np.random.Generator, count: int, size: int) -> Drawn:
        digits = rng.integers(0, DIGITS, (count, size))
        items = np.full((count, 2 * size + 1, 1), BLANK)
        items[:, :size, 0], items[:, size] = digits + 1, MARK
        right = digits[:, ::-1].copy() if self.backwards else digits
        return Drawn(items, everywhere(count, range(size + 1, 2 * size + 1)), right)

    def told(self, items: np.ndarray) -> Sequence[str]:
        return [{MARK: "|", BLANK: "_"}.get(word, str(word - 1)) for word in items[:, 0].tolist()]


@dataclass(frozen=True)
class Sum(LabelProblem):
    """Two numbers below each other, a column at each place, and a mark after the last: say the digits of their sum.

    From `handing` to all of a sum's columns hand on a carry: their digits add up to one less than the base. How hard
    a digit is, is how far away the column stands that decides whether it gets a carry.
    """

    base: int = 2
    handing: float = 0.5

    hardness = "carried"

    @property
    def words(self) -> int:  # type: ignore[override]
        return 2 * self.base + 2

    @property
    def classes(self) -> int:  # type: ignore[override]
        return self.base

    def draw(self, rng: np.random.Generator, count: int, size: int) -> Drawn:
        above, other = rng.integers(0, self.base, (2, count, size))
        hands = rng.random((count, size)) < rng.uniform(self.handing, 1, (count, 1))
        below = np.where(hands, self.base - 1 - above, other)
        right, hard = np.zeros_like(above), np.zeros_like(above)
        carry, far = np.zeros(count, int), np.zeros(count, int)
        for place in range(size - 1, -1, -1):
            total = above[:, place] + below[:, place]
            right[:, place], hard[:, place] = (total + carry) % self.base, far
            far = np.where(total == self.base - 1, far + 1, 1)
            carry = (total + carry) // self.base
        columns = np.stack((above + 1, below + 1 + self.base), -1)
        mark = np.tile([self.words - 1, 0], (count, 1, 1))
        return Drawn(np.concatenate((columns, mark), 1), everywhere(count, range(size)), right, hard)

    def told(self, items: np.ndarray) -> Sequence[str]:
        return [f"{above - 1}+{below - 1 - self.base}" if below else "=" for above, below in items.tolist()]


@dataclass(frozen=True)
class Parity(LabelProblem):
    """Whether the number of ones among so many numbers, all shown at once, is odd. Graves 2016, 3.1.

    The first few are 1 or -1, the others 0; how many those are is how hard it is.
    """

    bits: int = 16

    classes = 2
    hardness = "bits"

    @property
    def features(self) -> int:  # type: ignore[override]
        return self.bits

    def draw(self, rng: np.random.Generator, count: int, size: int) -> Drawn:
        """`size` is the most numbers that are not 0."""
        used = rng.integers(1, min(size, self.bits) + 1, count)
        signs = rng.choice([-1.0, 1.0], (count, self.bits))
        shown = signs * (np.arange(self.bits) < used[:, None])
        odd = (shown > 0).sum(1) % 2
        return Drawn(shown[:, None].astype(np.float32), everywhere(count, [0]), odd[:, None], used[:, None])

    def told(self, items: np.ndarray) -> Sequence[str]:
        return ["".join("-.+"[int(bit) + 1] for bit in items[0])]


@dataclass(frozen=True)
class Switch(LabelProblem):
    """A row of lamps, each with a switch that turns this lamp and all that follow: which of them are lit in the end?

    A mark stands before the first. It is the parity of all bits so far, at each place: what an LSTM carries along and
    layers of a fixed number have to find out at once (Hahn 2020). How hard a place is, is how far it stands from the
    mark.
    """

    words = 4
    classes = 2
    hardness = "carried"

    def draw(self, rng: np.random.Generator, count: int, size: int) -> Drawn:
        turned = rng.integers(0, 2, (count, size))
        lit = turned.cumsum(1) % 2
        mark = np.full((count, 1), self.words - 1)
        items = np.concatenate((mark, turned + 1), 1)[..., None]
        return Drawn(items, everywhere(count, range(1, size + 1)), lit, np.tile(np.arange(1, size + 1), (count, 1)))

    def told(self, items: np.ndarray) -> Sequence[str]:
        return [{1: "0", 2: "1"}.get(word, "|") for word in items[:, 0].tolist()]
