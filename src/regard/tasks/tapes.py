"""Sequences of bits with an exact rule: copy, repeat copy, associative recall, n-grams, priority sort. NumPy only.

Graves, Wayne & Danihelka 2014, section 4. A problem of one size draws many examples of one length; `asked` tells
which outputs count.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Drawn:
    """Examples of one length: what is shown at each step, what should be said, and where that counts."""

    inputs: np.ndarray  # b t d
    outputs: np.ndarray  # b t o
    asked: np.ndarray  # t
    best: np.ndarray | None = None  # nats that nobody can be below, for each example; None: 0


class TapeProblem(ABC):
    """How examples are drawn. `bits` numbers are shown at a step, and marks beside them."""

    inputs: int
    outputs: int

    @abstractmethod
    def draw(self, rng: np.random.Generator, count: int, size: int) -> Drawn:
        """So many examples of this size."""


@dataclass(frozen=True)
class Copy(TapeProblem):
    """Say the sequence again, after its end was shown."""

    bits: int = 8

    @property
    def inputs(self) -> int:  # type: ignore[override]
        return self.bits + 1

    @property
    def outputs(self) -> int:  # type: ignore[override]
        return self.bits

    def draw(self, rng: np.random.Generator, count: int, size: int) -> Drawn:
        seen = rng.integers(0, 2, (count, size, self.bits)).astype(np.float32)
        inputs = np.zeros((count, 2 * size + 1, self.inputs), np.float32)
        inputs[:, :size, : self.bits], inputs[:, size, -1] = seen, 1
        outputs = np.zeros((count, 2 * size + 1, self.bits), np.float32)
        outputs[:, size + 1 :] = seen
        return Drawn(inputs, outputs, np.arange(2 * size + 1) > size)


@dataclass(frozen=True)
class Repeat(TapeProblem):
    """Say the sequence as often as a number tells, then an end. The number is shown with a spread near 1."""

    bits: int = 8
    most: int = 10

    @property
    def inputs(self) -> int:  # type: ignore[override]
        return self.bits + 2

    @property
    def outputs(self) -> int:  # type: ignore[override]
        return self.bits + 1

    def draw(self, rng: np.random.Generator, count: int, size: int, times: int | None = None) -> Drawn:
        times = int(rng.integers(1, self.most + 1)) if times is None else times
        seen = rng.integers(0, 2, (count, size, self.bits)).astype(np.float32)
        steps = size + 2 + times * size + 1
        inputs = np.zeros((count, steps, self.inputs), np.float32)
        inputs[:, :size, : self.bits], inputs[:, size, -2] = seen, 1
        spread = max(1.0, math.sqrt((self.most**2 - 1) / 12))
        inputs[:, size + 1, -1] = (times - (self.most + 1) / 2) / spread
        outputs = np.zeros((count, steps, self.outputs), np.float32)
        outputs[:, size + 2 : -1, : self.bits], outputs[:, -1, -1] = np.tile(seen, (1, times, 1)), 1
        return Drawn(inputs, outputs, np.arange(steps) > size + 1)


@dataclass(frozen=True)
class Recall(TapeProblem):
    """Items are shown, then one of them: say the one that followed it."""

    bits: int = 6
    length: int = 3

    @property
    def inputs(self) -> int:  # type: ignore[override]
        return self.bits + 2

    @property
    def outputs(self) -> int:  # type: ignore[override]
        return self.bits

    def draw(self, rng: np.random.Generator, count: int, size: int) -> Drawn:
        items = rng.integers(0, 2, (count, size, self.length, self.bits)).astype(np.float32)
        which, step = rng.integers(0, size - 1, count), self.length + 1
        shown = size * step
        inputs = np.zeros((count, shown + step + 1 + self.length, self.inputs), np.float32)
        for item in range(size):
            inputs[:, item * step, -2] = 1
            inputs[:, item * step + 1 : (item + 1) * step, : self.bits] = items[:, item]
        rows = np.arange(count)
        inputs[:, shown, -1] = 1
        inputs[:, shown + 1 : shown + step, : self.bits] = items[rows, which]
        inputs[:, shown + step, -1] = 1
        outputs = np.zeros((count, inputs.shape[1], self.bits), np.float32)
        outputs[:, -self.length :] = items[rows, which + 1]
        return Drawn(inputs, outputs, np.arange(inputs.shape[1]) >= inputs.shape[1] - self.length)


@dataclass(frozen=True)
class Ngrams(TapeProblem):
    """Bits drawn from a table of chances that is new in every example: count, and guess the next.

    Nobody can do better than (N₁ + ½) / (N + 1) for what was seen so far (Murphy 2012, for Beta(½, ½) chances).
    """

    context: int = 5

    inputs = 1
    outputs = 1

    def draw(self, rng: np.random.Generator, count: int, size: int) -> Drawn:
        chances = rng.beta(0.5, 0.5, (count, 2**self.context))
        bits = rng.integers(0, 2, (count, size))
        seen = np.zeros((count, 2**self.context, 2))
        rows, best = np.arange(count), np.full(count, self.context * math.log(2))  # the first are anybody's guess
        place = 2 ** np.arange(self.context)
        for t in range(self.context, size):
            now = bits[:, t - self.context : t] @ place
            bits[:, t] = rng.random(count) < chances[rows, now]
            likely = (seen[rows, now, bits[:, t]] + 0.5) / (seen[rows, now].sum(1) + 1)
            best -= np.log(likely)
            seen[rows, now, bits[:, t]] += 1
        outputs = bits[:, :, None].astype(np.float32)
        inputs = np.concatenate((np.zeros_like(outputs[:, :1]), outputs[:, :-1]), 1)  # the bit before
        return Drawn(inputs, outputs, np.ones(size, bool), best)


@dataclass(frozen=True)
class Priority(TapeProblem):
    """Vectors with a priority each: say the highest ones, in order."""

    bits: int = 8
    share: float = 0.8

    @property
    def inputs(self) -> int:  # type: ignore[override]
        return self.bits + 2

    @property
    def outputs(self) -> int:  # type: ignore[override]
        return self.bits

    def draw(self, rng: np.random.Generator, count: int, size: int) -> Drawn:
        kept = max(1, round(self.share * size))
        seen = rng.integers(0, 2, (count, size, self.bits)).astype(np.float32)
        priority = rng.uniform(-1, 1, (count, size)).astype(np.float32)
        inputs = np.zeros((count, size + 1 + kept, self.inputs), np.float32)
        inputs[:, :size, : self.bits], inputs[:, :size, self.bits] = seen, priority
        inputs[:, size, -1] = 1
        order = np.argsort(-priority, 1)[:, :kept]
        outputs = np.zeros((count, inputs.shape[1], self.bits), np.float32)
        outputs[:, size + 1 :] = np.take_along_axis(seen, order[:, :, None], 1)
        return Drawn(inputs, outputs, np.arange(inputs.shape[1]) > size)
