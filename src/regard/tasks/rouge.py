"""How much of a reference a summary says: ROUGE-1, -2 and -L (Lin 2004), and how much it says twice.

F-scores on words as they are, without stemming; of several references the best counts, as SciTLDR's authors score.
There is no small library to take: the one people use needs NLTK, and has stood still since 2022.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

Words = Sequence[str]


def rouge(said: Words, references: Sequence[Words]) -> dict[str, float]:
    """ROUGE of one summary, each from 0 to 1: of every measure that of the reference it is best by."""
    found = [(by_runs(said, right, 1), by_runs(said, right, 2), by_order(said, right)) for right in references]
    return dict(zip(("rouge1", "rouge2", "rougeL"), map(max, zip(*found, strict=True)), strict=True))


def by_runs(said: Words, right: Words, size: int) -> float:
    """ROUGE-N: the F-score of runs of `size` words, each counted as often as both have it."""
    ours, theirs = (Counter(runs(text, size)) for text in (said, right))
    return f_score((ours & theirs).total(), ours.total(), theirs.total())


def by_order(said: Words, right: Words) -> float:
    """ROUGE-L: the F-score of the longest common subsequence."""
    return f_score(common(said, right), len(said), len(right))


def f_score(both: int, ours: int, theirs: int) -> float:
    """2 P R / (P + R), which is 2·both / (ours + theirs); 0 where there is nothing."""
    return 2 * both / (ours + theirs) if ours + theirs else 0.0


def common(one: Words, other: Words) -> int:
    """Words of the longest common subsequence."""
    best = [0] * (len(other) + 1)
    for word in one:
        above = best.copy()
        for place, match in enumerate(other, start=1):
            best[place] = above[place - 1] + 1 if word == match else max(above[place], best[place - 1])
    return best[-1]


def runs(text: Words, size: int) -> list[tuple[str, ...]]:
    """All runs of `size` words."""
    return [tuple(text[place : place + size]) for place in range(len(text) - size + 1)]


def repeats(text: Words, size: int = 3) -> tuple[int, int]:
    """How many runs were said before in this text, and how many there are: See et al. count trigrams."""
    every = runs(text, size)
    return len(every) - len(set(every)), len(every)


def repeated(texts: Sequence[Words], size: int = 3) -> float:
    """The share of all runs that were said before in their text."""
    found = np.array([repeats(text, size) for text in texts]).reshape(-1, 2).sum(0)
    return float(found[0] / max(1, found[1]))
