"""Pieces broken at random while training, so that a model sees a word spelt in several ways and learns what is in it.

BPE-dropout (Provilkov, Emelianenko & Voita 2020) leaves out merges at random while text is encoded. Here text is
numbers already, and merges are undone: a piece becomes the two that it was made of, with a chance, and those again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int64, UInt64

from regard.text.noise import GOLDEN, mix, shares
from regard.text.pieces import Pieces


class Breaking:
    """Breaks each piece with this chance, then its halves with the same; what is said stays the same."""

    def __init__(self, pieces: Pieces, chance: float) -> None:
        self.chance = chance
        self.halves = halves_of(pieces.words(range(len(pieces))))

    def __call__(self, rows: Sequence[np.ndarray], keys: UInt64[np.ndarray, " n"]) -> list[np.ndarray]:
        """The same texts in other pieces. How a text is broken depends on its key and on nothing else."""
        if not rows:
            return []
        ids, owners = self._broken(rows, keys)
        return np.split(ids, np.cumsum(np.bincount(owners, minlength=len(rows)))[:-1])

    def lengths(self, rows: Sequence[np.ndarray], keys: UInt64[np.ndarray, " n"]) -> Int64[np.ndarray, " n"]:
        """How many pieces each text will be broken into."""
        return np.bincount(self._broken(rows, keys)[1], minlength=len(rows))

    def _broken(
        self, rows: Sequence[np.ndarray], keys: UInt64[np.ndarray, " n"]
    ) -> tuple[Int64[np.ndarray, " p"], Int64[np.ndarray, " p"]]:
        """All pieces, and which text each is of."""
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        ids = np.concatenate([np.zeros(0, np.int64), *rows]).astype(np.int64)
        owners, fresh = np.repeat(np.arange(len(rows)), lengths), np.ones(len(ids), bool)
        places = np.arange(len(ids)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        own = mix(keys[owners] + places.astype(np.uint64) * GOLDEN)  # a number for each piece, its halves' from it
        while True:
            breaks = fresh & (self.halves[ids, 0] > 0) & (shares(own) < self.chance)
            if not breaks.any():
                return ids, owners
            times = np.where(breaks, 2, 1)
            first = (np.cumsum(times) - times)[breaks]  # where the first half of each comes to stand
            left, right = self.halves[ids[breaks]].T
            ids, owners, fresh, own = (np.repeat(each, times) for each in (ids, owners, breaks, own))
            ids[first], ids[first + 1] = left, right
            own[first], own[first + 1] = mix(own[first] + GOLDEN), mix(own[first] + GOLDEN + GOLDEN)


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
