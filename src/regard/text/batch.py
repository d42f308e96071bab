"""Batches by token budget: pairs of like length together, so little is padding, in an order that a seed decides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int, Int64, UInt64

Lengths = Int[np.ndarray, " n"]

_FAR = 2**20 - 1  # pieces; longer pairs are sorted as if they had so many


def plan(source_lengths: Lengths, target_lengths: Lengths, budget: int, seed: int, epoch: int) -> list[np.ndarray]:
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
    order = _order(source_lengths, target_lengths, noise(len(source_lengths), seed, epoch))
    starts = _cuts(_sides(source_lengths, target_lengths)[order], budget)
    batches = np.split(order, starts[1:]) if starts else []
    return [batches[i] for i in np.argsort(noise(len(batches), ~seed, epoch), kind="stable")]


def padded(rows: Sequence[np.ndarray], fill: int = 0) -> Int64[np.ndarray, "b n"]:
    """Rows of any length as one table, filled up at the end."""
    table = np.full((len(rows), max((len(row) for row in rows), default=0)), fill, np.int64)
    for place, row in zip(table, rows, strict=True):
        place[: len(row)] = row
    return table


def padding(source_lengths: Lengths, target_lengths: Lengths, batches: Sequence[np.ndarray]) -> float:
    """The share of both padded tables that is padding, over all batches."""
    real = cells = 0
    for batch in batches:
        for lengths in (source_lengths[batch], target_lengths[batch] + 1):
            real += int(lengths.sum(dtype=np.int64))
            cells += len(batch) * int(lengths.max())
    return 1 - real / cells if cells else 0.0


def noise(count: int, seed: int, epoch: int) -> UInt64[np.ndarray, " n"]:
    """A random number for each index: splitmix64 (Steele et al. 2014), so no library's next version changes it."""
    with np.errstate(over="ignore"):
        start = _mix(_mix(np.array([seed & (2**64 - 1)], np.uint64)) ^ np.uint64(epoch & (2**64 - 1)))
        steps: UInt64[np.ndarray, " n"] = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        return _mix(start + steps)


def _mix(z: UInt64[np.ndarray, " n"]) -> UInt64[np.ndarray, " n"]:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z


def _order(source: Lengths, target: Lengths, random: UInt64[np.ndarray, " n"]) -> Int64[np.ndarray, " n"]:
    """Indices by the longer side, then by how much longer it is, give or take three quarters of a piece by chance.

    The second runs up and down by turns, so that a batch reaching over two lengths still has like pairs. All are
    digits of one number, as one sort is faster than three.
    """
    side, ahead = np.minimum(_sides(source, target), _FAR), source.astype(np.int64) - target
    chance = (random >> np.uint64(44)).astype(np.int64) * 3 // 2  # 0 to 1.5 pieces, in parts of 2 ** 20
    second = (np.clip(ahead, -_FAR, _FAR) + _FAR << 20) + chance  # below 2 ** 42
    return np.argsort((side << 42) + np.where(side % 2 == 0, second, 2**42 - second), kind="stable")


def _sides(source: Lengths, target: Lengths) -> Int64[np.ndarray, " n"]:
    """The width of the table a pair needs: that of its longer side, where the target has its end too."""
    sides: Int64[np.ndarray, " n"] = np.maximum(source, target + 1).astype(np.int64)
    return sides


def _cuts(widths: Int64[np.ndarray, " n"], budget: int) -> list[int]:
    """Where batches start: each takes as many rows as the budget allows."""
    starts, at = [], 0
    while at < len(widths):
        starts.append(at)
        ahead = np.maximum.accumulate(widths[at : at + max(1, budget // int(widths[at]))])
        fits = ahead * np.arange(1, len(ahead) + 1) <= budget
        at += max(1, int(fits.argmin()) if not fits.all() else len(fits))
    return starts
