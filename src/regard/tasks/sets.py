"""Sets: questions about all items at once, whatever their order; and the one that does not belong. NumPy only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from regard.tasks.labels import Drawn, LabelProblem, everywhere

DIGITS = 10
ASK = DIGITS + 1
LARGEST = 20
"""The most digits in a set."""


def largest(digits: np.ndarray) -> np.ndarray:
    """The largest of them."""
    return np.asarray(digits.max(-1))


def total(digits: np.ndarray) -> np.ndarray:
    """Their sum."""
    return np.asarray(digits.sum(-1))


def different(digits: np.ndarray) -> np.ndarray:
    """How many different ones there are."""
    return np.asarray((digits[..., None] == np.arange(DIGITS)).any(-2).sum(-1))


@dataclass(frozen=True)
class Digits(LabelProblem):
    """A question before a set of digits, answered at its place: their largest, their sum, how many are different."""

    rule: Callable[[np.ndarray], np.ndarray]

    words = DIGITS + 2
    classes = (DIGITS - 1) * LARGEST + 1
    ordered = False
    most = LARGEST

    def draw(self, rng: np.random.Generator, count: int, size: int) -> Drawn:
        """A few kinds of digits in each set, so that small answers are as likely as large ones."""
        kinds = rng.integers(1, DIGITS + 1, (count, 1, 1))
        deck = rng.permuted(np.tile(np.arange(DIGITS), (count, 1)), axis=1)
        chosen = (rng.random((count, size, 1)) * kinds).astype(int)[..., 0]
        digits = np.take_along_axis(deck, chosen, 1)
        items = np.concatenate((np.full((count, 1), ASK), digits + 1), 1)[..., None]
        return Drawn(items, everywhere(count, [0]), self.rule(digits)[:, None])

    def told(self, items: np.ndarray) -> Sequence[str]:
        return ["?" if word == ASK else str(word - 1) for word in items[:, 0].tolist()]


@dataclass(frozen=True)
class OddOneOut(LabelProblem):
    """Items of one kind and one of another: which is it? Every set has kinds that were never there before.

    An item is what its kind is, with a little noise, and what it happens to be besides, which says nothing and is
    louder (`loud` times); both are mixed by one matrix, as in what a network says of a picture. So the item farthest
    from the mean is often another one, and whoever knows the mixture can say what the best guess is.
    """

    quiet: int = 16
    loud_features: int = 16
    noise: float = 0.5
    loud: float = 4.0

    ordered = False
    least = 3

    @property
    def features(self) -> int:  # type: ignore[override]
        return self.quiet + self.loud_features

    @property
    def mixture(self) -> np.ndarray:
        """The same turn of all features, always."""
        drawn = np.random.default_rng(16).normal(size=(self.features, self.features))
        return np.asarray(np.linalg.qr(drawn)[0])

    def draw(self, rng: np.random.Generator, count: int, size: int) -> Drawn:
        common, other = rng.normal(size=(2, count, 1, self.quiet))
        odd = rng.integers(0, size, (count, 1))
        kinds = np.where(np.arange(size)[:, None] == odd[..., None], other, common)
        seen = kinds + self.noise * rng.normal(size=(count, size, self.quiet))
        besides = self.loud * rng.normal(size=(count, size, self.loud_features))
        items = np.concatenate((seen, besides), -1) @ self.mixture
        return Drawn(items.astype(np.float32), everywhere(count, range(size)), odd)

    def told(self, items: np.ndarray) -> Sequence[str]:
        return [str(place + 1) for place in range(len(items))]

    def answer(self, label: int) -> str:
        return str(label + 1)  # as items are counted in `told`

    def best(self, items: np.ndarray) -> np.ndarray:
        """The likeliest odd one of each set, by whoever knows how sets are drawn: nobody can be right more often.

        Kinds and noise are normal, so the likelihood of *it is item i* has a closed form: the others share a kind.
        Only Σ over the others, and item i itself, differ between the guesses.
        """
        seen = (items.astype(np.float64) @ self.mixture.T)[..., : self.quiet]
        size, noise = items.shape[1], self.noise**2
        squares, sums = (seen**2).sum(-1), seen.sum(1, keepdims=True) - seen
        rest = squares.sum(1, keepdims=True) - squares
        together = rest / noise - (sums**2).sum(-1) / (noise * (noise + size - 1))
        alone = squares / (1 + noise)
        return np.asarray((-(together + alone)).argmax(1))


def farthest(items: np.ndarray) -> np.ndarray:
    """The item farthest from the mean of its set: what one would guess who has learned nothing."""
    return np.asarray(((items - items.mean(1, keepdims=True)) ** 2).sum(-1).argmax(1))
