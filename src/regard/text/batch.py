"""Batches by token budget: pairs of like length together, so little is padding, in an order that a seed decides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from jaxtyping import Int, Int64, UInt64

from regard.text.noise import noise, noise_at

Lengths = Int[np.ndarray, " n"]

_FAR = 2**20 - 1  # pieces; longer pairs are sorted as if they had so many
_AT_ONCE = 1_000_000  # pairs sorted together


@dataclass(frozen=True, eq=False)
class Plan(Sequence[np.ndarray]):
    """The batches of an epoch: one array of indices, cut when asked for; a list of a million arrays is large."""

    order: Int[np.ndarray, " n"]
    """Pairs that go together stand together."""
    bounds: Int64[np.ndarray, " m"]
    """Where batches begin in it, and its end."""
    turns: Int64[np.ndarray, " b"]
    """Which batch comes when."""

    def __len__(self) -> int:
        return len(self.turns)

    @overload
    def __getitem__(self, place: int) -> np.ndarray: ...
    @overload
    def __getitem__(self, place: slice) -> Plan: ...
    def __getitem__(self, place: int | slice) -> np.ndarray | Plan:
        if isinstance(place, slice):
            return Plan(self.order, self.bounds, self.turns[place])
        first = self.turns[place]
        return self.order[self.bounds[first] : self.bounds[first + 1]].astype(np.int64)


def plan(source_lengths: Lengths, target_lengths: Lengths, budget: int, seed: int, epoch: int) -> Plan:
    """Which pairs go together, as indices: each pair once, rows × longest side ≤ budget (the target has its end too).

    The same arguments give the same plan for ever. A pair longer than the budget is a batch of its own. Other epochs
    put other pairs of like length together, and take the batches in another order.
    """
    if len(source_lengths) != len(target_lengths):
        raise ValueError(
            f"There are {len(source_lengths)} sources and {len(target_lengths)} targets; each pair needs both."
        )
    if budget < 1:
        raise ValueError(f"A budget of {budget} tokens holds nothing. Give at least 1.")
    pairs = _Widths(source_lengths, target_lengths)
    counts = pairs.counts()
    order, at = _by_width(pairs, counts), 0
    for width in np.flatnonzero(counts):
        some = order[at : at + counts[width]]
        some[:] = some[_within(int(width), source_lengths[some], target_lengths[some], noise_at(some, seed, epoch))]
        at += len(some)
    bounds = np.array([*_cuts(pairs, order, budget), len(order)], np.int64)
    return Plan(order, bounds, np.argsort(noise(len(bounds) - 1, ~seed, epoch), kind="stable"))


def padded(rows: Sequence[np.ndarray], fill: int = 0) -> Int64[np.ndarray, "b n"]:
    """Rows of any length as one table, filled up at the end."""
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    table = np.full((len(rows), int(lengths.max(initial=0))), fill, np.int64)
    if len(rows):
        table[np.arange(table.shape[1]) < lengths[:, None]] = np.concatenate(rows)
    return table


def padding(source_lengths: Lengths, target_lengths: Lengths, batches: Sequence[np.ndarray]) -> float:
    """The share of both padded tables that is padding, over all batches."""
    real = cells = 0
    for batch in batches:
        for lengths in (source_lengths[batch], target_lengths[batch] + 1):
            real += int(lengths.sum(dtype=np.int64))
            cells += len(batch) * int(lengths.max())
    return 1 - real / cells if cells else 0.0


@dataclass(frozen=True, eq=False)
class _Widths:
    """The width of the table each pair needs: that of its longer side, where the target has its end too."""

    source: Lengths
    target: Lengths

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, which: slice | Int[np.ndarray, " w"]) -> Int64[np.ndarray, " w"]:
        widths: Int64[np.ndarray, " w"] = np.maximum(self.source[which], self.target[which] + 1).astype(np.int64)
        return widths

    def parts(self) -> Iterator[tuple[int, Int64[np.ndarray, " w"]]]:
        """Some at a time with where they start, none wider than can be sorted: all at once take a gigabyte."""
        for start in range(0, len(self), _AT_ONCE):
            yield start, np.minimum(self[start : start + _AT_ONCE], _FAR)

    def counts(self) -> Int64[np.ndarray, " f"]:
        """How many pairs there are of each width."""
        widest = max((int(some.max()) for _, some in self.parts()), default=0)
        counts = np.zeros(widest + 1, np.int64)
        for _, some in self.parts():
            counts += np.bincount(some, minlength=len(counts))
        return counts


def _by_width(pairs: _Widths, counts: Int64[np.ndarray, " f"]) -> Int[np.ndarray, " n"]:
    """Indices by width, then by themselves: a counting sort."""
    order = np.empty(len(pairs), np.int32 if len(pairs) < 2**31 else np.int64)
    place = np.cumsum(counts) - counts
    for start, some in pairs.parts():
        ranked = np.argsort(some, kind="stable")
        here = np.bincount(some, minlength=len(counts))
        first = np.cumsum(here) - here
        order[(place - first)[some[ranked]] + np.arange(len(some))] = start + ranked
        place += here
    return order


def _within(
    width: int, source: Lengths, target: Lengths, random: UInt64[np.ndarray, " n"]
) -> Int64[np.ndarray, " n"]:
    """The order of pairs of one width: by how much longer a side is, give or take ¾ of a piece by chance.

    It runs up and down by turns, so that a batch reaching over two widths still has like pairs.
    """
    ahead = np.clip(source.astype(np.int64) - target, -_FAR, _FAR)
    chance = (random >> np.uint64(44)).astype(np.int64) * 3 // 2  # up to 1.5 pieces, in parts of 2 ** 20
    second = (ahead + _FAR << 20) + chance
    return np.argsort(-second if width % 2 else second, kind="stable")


def _cuts(pairs: _Widths, order: Int[np.ndarray, " n"], budget: int) -> Iterator[int]:
    """Where batches start: each takes as many rows as the budget allows."""
    at = 0
    while at < len(order):
        yield at
        rows = max(1, budget // int(pairs[order[at : at + 1]][0]))
        ahead = np.maximum.accumulate(pairs[order[at : at + rows]])
        fits = ahead * np.arange(1, len(ahead) + 1) <= budget
        at += max(1, int(fits.argmin()) if not fits.all() else len(fits))
