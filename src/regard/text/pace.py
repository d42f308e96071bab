"""How far a long reading is, and how long it will yet take, said now and then."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

EVERY = 15.0
"""Seconds between two lines; what takes less says nothing."""
_SOME = 10_000  # pairs between two looks at the clock

Pair = tuple[int, str, str]


@dataclass(frozen=True)
class Paced:
    """Pairs that tell how far their reading is."""

    pairs: Iterable[Pair]
    total: int | None
    doing: str
    """What is done with them, as in: numbering the text."""
    say: Callable[[str], None]

    def __iter__(self) -> Iterator[Pair]:
        rest, done = iter(self.pairs), 0
        started = said = time.monotonic()
        while some := list(islice(rest, _SOME)):
            yield from some
            done += len(some)
            now = time.monotonic()
            if now - said >= EVERY:
                said = now
                self.say(f"{self.doing}: {done:,} pairs{self._left(done, now - started)}")

    def _left(self, done: int, seconds: float) -> str:
        if self.total is None or done >= self.total:
            return ""
        left = seconds / done * (self.total - done)
        return f" of {self.total:,}, {f'{left / 60:.0f} min' if left >= 90 else f'{left:.0f} s'} left"
