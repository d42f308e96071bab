"""Sentences in which *it* can mean two things, and one word tells which. NumPy only.

"The animal did not cross the street because it was too tired", or too wide: Vaswani et al. 2017's picture of a head.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.tasks.labels import Drawn, LabelProblem

BEINGS = ["animal", "dog", "cat", "horse", "cow", "goat", "fox", "sheep", "bear", "wolf", "rabbit", "donkey"]
PLACES = ["street", "river", "road", "field", "bridge", "valley", "tunnel", "canal", "path", "border", "park", "bog"]
OF_BEINGS = ["tired", "hungry", "afraid", "old", "weak", "lazy", "sick", "young"]
OF_PLACES = ["wide", "long", "deep", "flooded", "crowded", "icy", "steep", "muddy"]
FRAMES = (
    "the {being} did not cross the {place} because it was too {why}",
    "the {being} did not like the {place} because it was too {why}",
    "the {place} did not suit the {being} because it was too {why}",
    "the {place} did not please the {being} because it was too {why}",
    "because it was too {why} the {being} did not cross the {place}",
    "because it was too {why} the {place} did not suit the {being}",
)
"""All of one length; in half of them the place comes first, so that order tells nothing."""
IT, MASKED = "it", "..."
WORDS = ["", MASKED, *sorted({word for frame in FRAMES for word in frame.split() if "{" not in word})]
WORDS += BEINGS + PLACES + OF_BEINGS + OF_PLACES
NUMBER = {word: number for number, word in enumerate(WORDS)}


def unseen(noun: int, why: int) -> bool:
    """Pairs of a noun and an adjective of its kind, by number, that are kept for measuring: one of four."""
    return (noun + why) % 4 == 0


@dataclass(frozen=True)
class Referent(LabelProblem):
    """Two nouns, *it*, and why: say at *it* which noun is meant. One noun is of each kind, in either order."""

    words = len(WORDS)
    classes = len(WORDS)

    def draw(self, rng: np.random.Generator, count: int, size: int = 0) -> Drawn:
        return self._drawn(rng, count, rng.random(count) < 0.5, False)

    def held_out(self, rng: np.random.Generator, count: int, size: int = 0) -> Drawn:
        """Nouns with adjectives they never had in training."""
        return self._drawn(rng, count, rng.random(count) < 0.5, True)

    def pairs(self, seed: int, count: int) -> tuple[Drawn, Drawn]:
        """The same sentences twice, unseen in training: first *it* is the being, then the place."""
        beings, places = (
            self._drawn(np.random.default_rng(seed), count, np.full(count, which), True) for which in (True, False)
        )
        return beings, places

    def _drawn(self, rng: np.random.Generator, count: int, about_being: np.ndarray, kept: bool) -> Drawn:
        frames, beings, places = (rng.integers(0, len(some), count) for some in (FRAMES, BEINGS, PLACES))
        nouns = np.where(about_being, beings, places)
        whys = _reasons(rng, nouns, kept)
        rows, asked, right = [], [], []
        for frame, being, place, about, why in zip(frames, beings, places, about_being, whys, strict=True):
            reason = (OF_BEINGS if about else OF_PLACES)[why]
            said = FRAMES[frame].format(being=BEINGS[being], place=PLACES[place], why=reason).split()
            rows.append([[NUMBER[word]] for word in said])
            asked.append([said.index(IT)])
            right.append([NUMBER[BEINGS[being] if about else PLACES[place]]])
        return Drawn(np.array(rows), np.array(asked), np.array(right))

    def masked(self, drawn: Drawn) -> Drawn:
        """The same without the word that tells: nobody can know more than that it is one of two."""
        reasons = [NUMBER[why] for why in OF_BEINGS + OF_PLACES]
        items = np.where(np.isin(drawn.items, reasons), NUMBER[MASKED], drawn.items)
        return Drawn(items, drawn.asked, drawn.right)

    def told(self, items: np.ndarray) -> Sequence[str]:
        return [WORDS[word] for word in items[:, 0]]

    def answer(self, label: int) -> str:
        return WORDS[label]


def _reasons(rng: np.random.Generator, nouns: np.ndarray, kept: bool) -> np.ndarray:
    """An adjective for each noun, both by number: one of those kept for measuring, or one of the others."""
    table = [[why for why in range(len(OF_BEINGS)) if unseen(noun, why) == kept] for noun in range(len(BEINGS))]
    return np.array([rng.choice(table[noun]) for noun in nouns])
