"""Is one side shifted against the other? A line too many spoils every pair after it, and nobody sees it.

Traits that go together (lengths, words and signs that translate each other) are found in the text itself, at whatever
shift they agree best. The evidence that line i of the source belongs to line i + shift of the target, rather than to
line i, adds up over a stretch of lines; the stretch with the largest sum is found as in Page's CUSUM (1954).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

SHIFTS = (-2, -1, 1, 2)
WINDOW = 10_000
"""Pairs that are searched together."""
FEWEST = 200
"""Lines; `fit` of fewer says too little."""

_EACH = 30  # windows, after which one in ten is searched: a shift lasts, and is found all the same
_EVIDENCE = 50.0  # nats; clean text reaches 31, where lines repeat each other with small changes
_SHORTEST = 20  # lines of a stretch
_MOST = 3.0  # nats that one line may give: no single line decides
_WORDS = 300  # most frequent words of a side that are looked at
_LINE = 20  # of these in a line, at most
_PAIRS = 100  # words that translate each other, at most
_AGREE = 0.12  # least correlation of traits that are used ...
_CHANCE = 6.0  # ... and so many times what chance gives, as the best of very many are taken
_AROUND = 25  # lines before and after that a length is compared with, as some files are sorted by length

_ALONE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"  # scripts without spaces
_WORD = re.compile(rf"[{_ALONE}]|[^\W{_ALONE}]+|[^\w\s]")

Pair = tuple[int, str, str]
Traits = Float[np.ndarray, "n c"]
Words = Int[np.ndarray, "n a"]
Weights = Float[np.ndarray, " c"]


@dataclass(frozen=True)
class Shift:
    """A stretch of lines in which line i of the source fits line i + by of the target."""

    first: int
    last: int
    by: int

    @property
    def meaning(self) -> str:
        """What to look for, for people."""
        lines = "a line" if abs(self.by) == 1 else f"{abs(self.by)} lines"
        way, more, less = ("on", "target", "source") if self.by > 0 else ("back", "source", "target")
        return (
            f"from about there the source fits the target {lines} further {way}: "
            f"look for {lines} too many in the {more}, or too few in the {less}"
        )


@dataclass(frozen=True)
class Fit:
    """How two sides fit: whether anything about their lines goes together, and the stretch that is shifted."""

    related: bool
    shift: Shift | None = None


def fit(sources: Sequence[str], targets: Sequence[str]) -> Fit:
    """Whether line belongs to line (counted from 0); a shift is told only beyond doubt."""
    left, right, weights = _traits(sources, targets)
    found = [_stretch(_evidence(left, right, weights, by), by) for by in SHIFTS]
    total, stretch = max(found, key=lambda pair: pair[0])
    certain = total > _EVIDENCE + np.log(len(sources)) and stretch.last - stretch.first >= _SHORTEST
    return Fit(len(weights) > 0, stretch if certain else None)


class Alignment:
    """Whether line still belongs to line, over any number of pairs, a window at a time."""

    def __init__(self) -> None:
        self.pairs = 0
        self.shift: Shift | None = None
        """The first stretch found, by the pairs' line numbers."""
        self.related: bool | None = None
        """Whether the sides have anything to do with each other; None where there are too few pairs to say."""
        self._last: list[Pair] = []
        self._windows = 0
        self._searched = False

    def add(self, window: Sequence[Pair]) -> None:
        """Take the next pairs, all of a window but at the end."""
        self.pairs += len(window)
        self._windows += 1
        self._last = [*self._last, *window][-WINDOW:]
        self._searched = len(window) == WINDOW and (self._windows <= _EACH or self._windows % 10 == 0)
        if self._searched:
            self._search()

    def close(self) -> None:
        """Search the end too, with as many of the pairs before it as fill a window."""
        if not self._searched:
            self._search()

    def _search(self) -> None:
        if self.shift is not None or len(self._last) < FEWEST:
            return
        found = fit([source for _, source, _ in self._last], [target for _, _, target in self._last])
        self.related = bool(self.related) or found.related
        if found.shift:
            first, last = self._last[found.shift.first][0], self._last[found.shift.last][0]
            self.shift = Shift(first, last, found.shift.by)


def _traits(sources: Sequence[str], targets: Sequence[str]) -> tuple[Traits, Traits, Weights]:
    """What agrees between the sides at some shift, a column each, and what its agreement weighs; nothing may."""
    least = max(_AGREE, _CHANCE / len(sources) ** 0.5)
    words, others = _words(sources), _words(targets)
    rows, columns = _matched(_translations(words, others), least)
    left = np.column_stack([_lengths(sources), _table(words, rows)])
    right = np.column_stack([_lengths(targets), _table(others, columns)])
    agreement = np.max([np.einsum("nc,nc->c", a, b) / len(a) for a, b in _shifted(left, right)], axis=0)
    use = agreement >= least
    strength = np.minimum(agreement[use], 0.95)
    return left[:, use], right[:, use], strength / (1 - strength**2)


def _evidence(left: Traits, right: Traits, weights: Weights, by: int) -> Float[np.ndarray, " n"]:
    """For each line the log-likelihood ratio of shifted to in place, for Gaussian traits.

    Halved, as traits are not independent of each other.
    """
    place = np.arange(len(right))
    moved = right[np.clip(place + by, 0, len(right) - 1)] - right
    evidence: Float[np.ndarray, " n"] = np.clip(np.einsum("nc,nc,c->n", left, moved, weights) / 2, -_MOST, _MOST)
    return evidence


def _stretch(evidence: Float[np.ndarray, " n"], by: int) -> tuple[float, Shift]:
    """The largest sum over a stretch, and the stretch."""
    total = np.concatenate([[0.0], np.cumsum(evidence)])
    end = int(np.argmax(total - np.minimum.accumulate(total)))
    start = int(np.argmin(total[: end + 1]))
    return float(total[end] - total[start]), Shift(start, max(start, end - 1), by)


def _shifted(left: np.ndarray, right: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The lines of both sides that lie beside each other, in place and at each shift."""
    n = len(left)
    for by in (0, *SHIFTS):
        yield left[max(0, -by) : n - max(0, by)], right[max(0, by) : n - max(0, -by)]


def _translations(left: Words, right: Words) -> Float[np.ndarray, "c d"]:
    """Correlation of each word of one side with each of the other, at the shift where it is highest.

    Words are counted, as a product of tables would be left to threads that hinder each other on a busy machine.
    """
    highest = np.full((_WORDS, _WORDS), -1.0)
    for a, b in _shifted(left, right):
        pairs = (a[:, :, None] * (_WORDS + 1) + b[:, None, :]).ravel()
        both = np.bincount(pairs, minlength=(_WORDS + 1) ** 2).reshape(_WORDS + 1, -1)[:_WORDS, :_WORDS] / len(a)
        one, other = (np.bincount(side.ravel(), minlength=_WORDS + 1)[:_WORDS] / len(a) for side in (a, b))
        spread = np.sqrt(np.outer(one * (1 - one), other * (1 - other)))
        highest = np.maximum(highest, (both - np.outer(one, other)) / np.where(spread > 0, spread, np.inf))
    return highest


def _matched(agreement: Float[np.ndarray, "c d"], least: float) -> tuple[list[int], list[int]]:
    """Words that translate each other: the best agreements, each word once."""
    found: dict[int, int] = {}
    for place in np.argsort(-agreement, axis=None)[: 10 * _PAIRS]:
        row, column = divmod(int(place), agreement.shape[1])
        if agreement[row, column] < least or len(found) == _PAIRS:
            break
        if row not in found and column not in found.values():
            found[row] = column
    return list(found.keys()), list(found.values())


def _lengths(texts: Sequence[str]) -> Traits:
    """How much longer each line is than those around it, on a log scale."""
    length = np.log1p([len(text) for text in texts])
    width = 2 * _AROUND + 1
    around = np.convolve(np.pad(length, _AROUND, mode="edge"), np.full(width, 1 / width), "valid")
    return _standard((length - around)[:, None])


def _words(texts: Sequence[str]) -> Words:
    """The frequent words and signs of each line by rank; a number is there in itself, and as some number."""
    rows = [set(_WORD.findall(text.lower())) for text in texts]
    for row in rows:
        if numbers := {word for word in row if word[0].isdigit()}:
            row |= {"some number", *(word.lstrip("0") for word in numbers)}
    counts = Counter(word for row in rows for word in row)
    frequent = [word for word in counts if 10 <= counts[word] <= 0.9 * len(texts)]
    ranked = sorted(frequent, key=lambda word: (-counts[word], word))[:_WORDS]  # sets have no order to rely on
    rank = {word: place for place, word in enumerate(ranked)}
    table = np.full((len(texts), _LINE), _WORDS, np.int32)
    for line, words in enumerate(rows):
        known = sorted(rank[word] for word in words if word in rank)[-_LINE:]  # the rarer tell more
        table[line, : len(known)] = known
    return table


def _table(words: Words, chosen: list[int]) -> Traits:
    """Which of the chosen words each line has."""
    table = np.zeros((len(words), _WORDS + 1), np.float32)
    np.put_along_axis(table, words, 1, axis=1)
    return _standard(table[:, chosen])


def _standard(table: Traits) -> Traits:
    """Mean 0 and deviation 1 in each column, cut at 4; columns that never vary are 0."""
    deviation = table.std(axis=0)
    scaled = (table - table.mean(axis=0)) / np.where(deviation > 0, deviation, 1)
    standard: Traits = np.clip(scaled, -4, 4).astype(np.float32)
    return standard
