"""Random numbers that belong to what they are asked for: the same for ever, in whatever order they are asked."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64, Int, UInt64

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def noise(count: int, seed: int, epoch: int) -> UInt64[np.ndarray, " n"]:
    """A random number for each index: splitmix64 (Steele et al. 2014), so no library's next version changes it."""
    return noise_at(np.arange(count), seed, epoch)


def noise_at(places: Int[np.ndarray, " n"], seed: int, epoch: int) -> UInt64[np.ndarray, " n"]:
    """The random numbers of these indices."""
    with np.errstate(over="ignore"):
        start = mix(mix(np.array([seed & (2**64 - 1)], np.uint64)) ^ np.uint64(epoch & (2**64 - 1)))
        return mix(start + (places.astype(np.uint64) + np.uint64(1)) * GOLDEN)


def mix(z: UInt64[np.ndarray, " n"]) -> UInt64[np.ndarray, " n"]:
    """Numbers that have nothing in common with these, nor with those of their neighbours."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z


def shares(z: UInt64[np.ndarray, " n"]) -> Float64[np.ndarray, " n"]:
    """The same numbers between 0 and 1."""
    return (z >> np.uint64(11)) * 2.0**-53
