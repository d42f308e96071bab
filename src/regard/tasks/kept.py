"""What another run made of the same text with the same settings is taken from there, where making it takes long."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from regard.text import places
from regard.text.cache import Cache, Damaged

WORTH = 100_000
"""Pairs; of fewer everything is made in seconds."""
_FORMAT = 1  # to be raised when the same text would become something else

Say = Callable[[str], None]
Times = dict[Path, tuple[int, int]]


def times(files: Iterable[Path]) -> Times:
    """When each file was changed last, and its size: what tells that it was changed meanwhile."""
    return {path: ((stat := path.stat()).st_mtime_ns, stat.st_size) for path in files}


@dataclass(frozen=True)
class Kept:
    """The shelf of one text: what is made of it, by name and settings. It may fail; then everything is made here."""

    cache: Cache | None
    text: Any
    """What the text is, whatever its name: digests, and what is left out of it."""
    seen: Times
    say: Say

    @classmethod
    def of(cls, text: Any, pairs: int | None, seen: Times, say: Say) -> Kept:
        """Of large text that lies in files; of other text nothing is kept."""
        folder = places.kept() if pairs is not None and pairs >= WORTH else None
        return cls(Cache(folder) if folder else None, text, seen, say)

    def once(self, what: str, settings: Any, to: Path, make: Callable[[], object]) -> None:
        """Have `make` fill a folder, unless what it would be is there already."""
        if self.cache is None:
            make()
            return
        told = json.dumps([_FORMAT, version("sentencepiece"), self.text, settings], sort_keys=True)
        name = f"{what.replace(' ', '-')}-{hashlib.sha256(told.encode()).hexdigest()[:32]}"
        try:
            if self.cache.take(name, to):
                self.say(f"{what}: as made before from the same text ({self.cache.folder / name})")
                return
        except (OSError, Damaged) as error:
            self.say(f"{what}: {error}; making it anew")
        make()
        try:
            if times(self.seen) == self.seen:  # else this may be of another text than its name says
                self.cache.keep(name, to)
        except OSError as error:
            self.say(f"{what}: cannot be kept for other runs ({error.strerror or error})")
