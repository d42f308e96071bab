"""Three rules on symbols that tell score functions apart: say it again, say it backwards, look it up.

Every answer and every link is known. A symbol stands once in what is copied and reversed, so that the one before it
tells the place; what is looked up stands at a place that only its contents tell.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from regard.tasks.toy import FIRST, Sentence

SEPARATOR = FIRST
ALPHABET = 30


@dataclass(frozen=True)
class Rule(ABC):
    """Sequences of symbols, and what is to be said of them."""

    @property
    def vocabulary(self) -> int:
        return FIRST + 1 + ALPHABET

    def sentences(self, count: int, low: int, high: int, seed: int) -> list[Sentence]:
        """Random sources of about `low ... high` symbols, with their answers."""
        rng = np.random.default_rng(seed)
        return [self.drawn(rng, length) for length in rng.integers(low, high + 1, count)]

    @abstractmethod
    def drawn(self, rng: np.random.Generator, length: int) -> Sentence:
        """One of them."""


@dataclass(frozen=True)
class Copy(Rule):
    """Say it again."""

    def drawn(self, rng: np.random.Generator, length: int) -> Sentence:
        symbols, places = _symbols(rng, length), np.arange(length)
        return Sentence(symbols, symbols, places)


@dataclass(frozen=True)
class Reverse(Rule):
    """Say it backwards."""

    def drawn(self, rng: np.random.Generator, length: int) -> Sentence:
        symbols, places = _symbols(rng, length), np.arange(length)[::-1]
        return Sentence(symbols, symbols[places], places)


@dataclass(frozen=True)
class LookUp(Rule):
    """Pairs of a key and a value, then a key: say its value, that value's value, and so on, `hops` of them.

    Each value is the key of another pair. Where pairs stand is chance, so only contents tell where to look.
    """

    hops: int = 3
    alphabet: int = 12

    def drawn(self, rng: np.random.Generator, length: int) -> Sentence:
        pairs = max(self.hops + 1, (length - 1) // 3)
        ring = _symbols(rng, pairs, self.alphabet)  # each symbol's value is the next
        order = rng.permutation(pairs)
        rows = [(SEPARATOR, ring[at], ring[(at + 1) % pairs]) for at in order]
        first = int(rng.integers(pairs))
        asked = [(first + hop) % pairs for hop in range(self.hops)]
        place = {int(at): 3 * row + 2 for row, at in enumerate(order)}
        source = np.array([*np.concatenate(rows), ring[first]])
        return Sentence(source, ring[(np.array(asked) + 1) % pairs], np.array([place[at] for at in asked]))


def _symbols(rng: np.random.Generator, count: int, among: int = ALPHABET) -> np.ndarray:
    """Different ones."""
    return rng.permutation(among)[:count] + FIRST + 1


RULES: dict[str, Rule] = {"copy": Copy(), "reverse": Reverse(), "look-up": LookUp()}
