"""What was found, and what it is ranked by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from torch import Tensor

OVER_AND_OVER = 4  # times in a row
LEAST_PIECES = 12  # before it counts: "no, no, no, no" is a sentence


@dataclass(frozen=True)
class Hypothesis:
    """A finished translation: its words without END, the sum of their log-probabilities, and what it is ranked by."""

    words: tuple[int, ...]
    log_prob: float
    score: float
    complete: bool = True
    """False where the limit of words was reached before END."""
    log_probs: tuple[float, ...] = ()
    """Of each word, END included."""
    unmet: tuple[tuple[int, ...], ...] = ()
    """Phrases that were wished for and are not in it."""

    @property
    def repeats(self) -> bool:
        """Whether it says one thing over and over."""
        return repetitive(self.words)


def penalty(length: int | Tensor, power: float) -> float | Tensor:
    """By what log p is divided. Wu et al. 2016: ((5 + length) / 6) ^ power."""
    return ((5 + length) / 6) ** power


def ranked(found: Iterable[Hypothesis]) -> list[Hypothesis]:
    """Best first; those that were cut come after those that ended."""
    return sorted(found, key=lambda hypothesis: (not hypothesis.complete, -hypothesis.score))


def repetitive(words: Sequence[int]) -> bool:
    """Whether some run of pieces stands four times or more in a row, over a dozen pieces or more."""
    for period in range(1, len(words) // OVER_AND_OVER + 1):
        same = 0
        for place in range(period, len(words)):
            same = same + 1 if words[place] == words[place - period] else 0
            if same + period >= max(OVER_AND_OVER * period, LEAST_PIECES):
                return True
    return False
