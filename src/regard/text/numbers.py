"""Numbers in a file, read by place."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

_AT_ONCE = 2**24  # numbers; systems read at most 2 GB at once

if hasattr(os, "pread"):
    _read = os.pread
else:

    def _read(file: int, count: int, place: int) -> bytes:
        """For systems that cannot read at a place without going there."""
        os.lseek(file, place, os.SEEK_SET)
        return os.read(file, count)


class Numbers:
    """An array on disk. Slices are read when asked for, through the system's cache of files, and copied.

    A memory map would do the same, but whatever was ever read through it counts as memory of this process, until the
    system wants it back: over an epoch that is the whole corpus.
    """

    def __init__(self, path: Path, dtype: np.dtype[Any]) -> None:
        self.path, self.dtype = path, dtype
        self._count = path.stat().st_size // dtype.itemsize
        self._file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        weakref.finalize(self, os.close, self._file)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, which: slice) -> np.ndarray:
        first, after, _ = which.indices(self._count)
        cuts = [*range(first, after, _AT_ONCE), max(first, after)]
        return np.concatenate([np.empty(0, self.dtype), *self.stretches(pairwise(cuts))])

    def stretches(self, bounds: Iterable[tuple[int, int]]) -> list[np.ndarray]:
        """Many slices at once: most of the time that one takes is not its reading."""
        size, kind, file, bounds = self.dtype.itemsize, self.dtype, self._file, list(bounds)
        found = [np.frombuffer(_read(file, (after - first) * size, first * size), kind) for first, after in bounds]
        self._all_there(sum(map(len, found)), sum(after - first for first, after in bounds))
        return found

    def neighbours(self, places: Iterable[int]) -> Int[np.ndarray, "b 2"]:
        """The number at each place, and the one behind it."""
        size, file = self.dtype.itemsize, self._file
        read = [_read(file, 2 * size, int(place) * size) for place in places]
        found = np.frombuffer(b"".join(read), self.dtype)
        self._all_there(len(found), 2 * len(read))
        return found.reshape(-1, 2)

    def _all_there(self, found: int, wanted: int) -> None:
        if found != wanted:
            raise OSError(f"{self.path}: was cut short while it was in use; is something else writing there?")
