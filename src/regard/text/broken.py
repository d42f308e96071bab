"""Pieces broken at random while training, so that a model sees a word spelt in several ways and learns what is in it.

BPE-dropout (Provilkov, Emelianenko & Voita 2020) leaves out merges at random while text is encoded. Here text is
numbers already, and merges are undone: a piece becomes the two that it was made of, with a chance, and those again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.text.pieces import Pieces


class Breaking:
    """Breaks each piece with this chance, then its halves with the same; what is said stays the same."""

    def __init__(self, pieces: Pieces, chance: float) -> None:
        self.chance = chance
        self.halves = halves_of(pieces.words(range(len(pieces))))

    def __call__(self, rows: Sequence[np.ndarray], rng: np.random.Generator) -> list[np.ndarray]:
        """The same texts in other pieces."""
        lengths = [len(row) for row in rows]
        ids = np.concatenate([np.asarray(row, np.int64) for row in rows]) if rows else np.zeros(0, np.int64)
        owners, fresh = np.repeat(np.arange(len(rows)), lengths), np.ones(len(ids), bool)
        while True:
            breaks = fresh & (self.halves[ids, 0] > 0) & (rng.random(len(ids)) < self.chance)
            if not breaks.any():
                return np.split(ids, np.cumsum(np.bincount(owners, minlength=len(rows)))[:-1]) if rows else []
            times = np.where(breaks, 2, 1)
            first = np.cumsum(times) - times  # where each piece, or its first half, comes to stand
            left, right = self.halves[ids[breaks]].T
            ids, owners, fresh = np.repeat(ids, times), np.repeat(owners, times), np.repeat(breaks, times)
            ids[first[breaks]], ids[first[breaks] + 1] = left, right


def halves_of(words: Sequence[str]) -> np.ndarray:
    """The two pieces that each was most likely merged from, as ids; 0 where it cannot be broken.

    Merges are numbered in the order in which they were learned, so halves are both older than what they make; of
    several ways the one whose younger half is the oldest. Letters are older than all merges.
    """
    known = {word: number for number, word in enumerate(words) if not (word.startswith("<") and word.endswith(">"))}
    halves = np.zeros((len(words), 2), np.int64)

    def age(word: str) -> int:
        return known[word] if len(word) > 1 else -1

    for word, number in known.items():
        ways = [(word[:cut], word[cut:]) for cut in range(1, len(word))]
        ways = [way for way in ways if all(half in known and age(half) < number for half in way)]
        if ways:
            best = min(ways, key=lambda way: max(age(way[0]), age(way[1])))
            halves[number] = [known[half] for half in best]
    return halves
