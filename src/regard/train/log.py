"""What a run writes down for people: log.jsonl, times.jsonl and samples. It may fail; training may not.

Lines that could not be written are kept in memory and written as soon as that is possible; a save made meanwhile
has them too. So a log has no holes, and a resumed run's is the same bytes, whatever the disk did.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from regard.train.folder import durable, lasting, write


class Log:
    """The log of one run. Of its file, `_safe` bytes are on the disk for good; `_lines` came after them."""

    def __init__(self, folder: Path, say: Callable[[str], None]) -> None:
        self._folder, self._say = folder, say
        self._path = folder / "log.jsonl"
        self._safe, self._lines = 0, b""
        self._written = 0
        """How much of `_lines` was given to the file, as far as anyone said."""
        self._failing: set[str] = set()
        self._samples: dict[str, str] = {}

    def go_on(self, length: int, unwritten: str) -> None:
        """As a save has it: what was logged after it is about to happen again."""
        self._safe = min(length, self._path.stat().st_size) if self._path.is_file() else 0
        self._lines, self._written = unwritten.encode(), 0
        if self._path.is_file():
            self._write()

    def add(self, line: dict[str, Any]) -> None:
        """One line."""
        self._lines += json.dumps(line).encode() + b"\n"
        self._write()

    def settle(self) -> tuple[int, str]:
        """Make it safe, for a save: how long the file is, and which lines it could not take."""
        if self._written < len(self._lines):
            self._write()
        if self._lines and self._written == len(self._lines):
            with self._may_fail(self._path.name):
                with self._path.open("rb") as file:
                    os.fsync(file.fileno())
                if self._safe == 0:
                    durable(self._folder)  # the file may be new
                self._safe += self._written
                self._lines, self._written = b"", 0
        return self._safe, self._lines.decode()

    def time(self, line: dict[str, Any]) -> None:
        """The clock's part."""
        with self._may_fail("times.jsonl"), (self._folder / "times.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps({**line, "time": time.time()}) + "\n")

    def sample(self, step: int, text: str) -> None:
        """Something to read."""
        self._samples[f"{step:08d}.txt"] = text
        with self._may_fail("samples"):
            for name, waiting in list(self._samples.items()):
                write(lasting(self._folder / "samples") / name, waiting)
                del self._samples[name]

    def _write(self) -> None:
        with self._may_fail(self._path.name):
            at = self._safe + self._written
            with self._path.open("r+b" if self._path.exists() else "xb") as file:
                file.truncate(at)  # what an earlier try has left
                file.seek(at)
                file.write(self._lines[self._written :])
            self._written = len(self._lines)

    @contextmanager
    def _may_fail(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if name == self._path.name:
                self._written = 0  # what the disk has of it is not known
            if name not in self._failing:
                self._say(f"{name} cannot be written ({error.strerror}); training goes on")
            self._failing.add(name)
        else:
            if name in self._failing:
                self._say(f"{name} is written again")
            self._failing.discard(name)


class Silence:
    """What a rank writes down that is not the first: nothing."""

    def go_on(self, length: int, unwritten: str) -> None:
        """Nothing was written."""

    def add(self, line: dict[str, Any]) -> None:
        """Not here."""

    def settle(self) -> tuple[int, str]:
        """Nothing is written, and nothing is left to write."""
        return 0, ""

    def time(self, line: dict[str, Any]) -> None:
        """Nor this."""

    def sample(self, step: int, text: str) -> None:
        """Nor this."""
