"""Drawings of one character, and one of another: which is it? Tested on alphabets nobody has shown. NumPy only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from regard.tasks.glyphs import Glyphs, omniglot, strokes
from regard.tasks.labels import Drawn, LabelProblem, everywhere
from regard.text.places import located

DRAWINGS = 20  # of each character


@dataclass(frozen=True)
class Drawings:
    """Where drawings come from: Omniglot's files, or, without any, random strokes."""

    seen: Path | None = None
    unseen: Path | None = None
    side: int = 15
    """Pixels a side."""

    @cached_property
    def learned(self) -> Glyphs:
        """Characters to learn from."""
        return (
            strokes(1, 25, 10, DRAWINGS, self.side) if self.seen is None else omniglot(located(self.seen), self.side)
        )

    @cached_property
    def measured(self) -> Glyphs:
        """Characters of other alphabets."""
        if self.unseen is not None:
            return omniglot(located(self.unseen), self.side)
        if self.seen is not None:
            raise ValueError("data.test_characters is missing; give a file of alphabets that are not learned from")
        return strokes(2, 10, 10, DRAWINGS, self.side)


@dataclass(frozen=True)
class OddPicture(LabelProblem):
    """A set of drawings; each is a row of grey values, from its first line to its last."""

    drawings: Drawings

    ordered = False
    least = 3
    most = DRAWINGS

    @property
    def features(self) -> int:  # type: ignore[override]
        return self.drawings.side**2

    @property
    def side(self) -> int:  # type: ignore[override]
        return self.drawings.side

    def draw(self, rng: np.random.Generator, count: int, size: int) -> Drawn:
        return _drawn(self.drawings.learned, rng, count, size)

    def held_out(self, rng: np.random.Generator, count: int, size: int) -> Drawn:
        """Characters of other alphabets than those trained on."""
        return _drawn(self.drawings.measured, rng, count, size)

    def told(self, items: np.ndarray) -> Sequence[str]:
        return [str(place + 1) for place in range(len(items))]

    def answer(self, label: int) -> str:
        return str(label + 1)  # as items are counted in `told`


def _drawn(glyphs: Glyphs, rng: np.random.Generator, count: int, size: int) -> Drawn:
    kinds = np.argsort(rng.random((count, len(glyphs))), 1)[:, :2]
    hands = np.argsort(rng.random((count, glyphs.images.shape[1])), 1)[:, :size]
    odd = rng.integers(0, size, (count, 1))
    which = np.where(np.arange(size) == odd, kinds[:, 1:], kinds[:, :1])
    items = glyphs.images[which, hands].reshape(count, size, -1)
    return Drawn(items, everywhere(count, range(size)), odd)
