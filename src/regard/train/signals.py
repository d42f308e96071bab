"""Being told to stop: at once where nothing would be lost, otherwise after the step at hand."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

AGAIN = 75  # exit code: stopped before the end, run the same command again (EX_TEMPFAIL)
ASKED = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)


@contextmanager
def nothing_begun() -> Iterator[None]:
    """Before a command has begun anything, a signal ends it at once, and it is to be run again."""
    before = {number: signal.signal(number, _leave) for number in ASKED}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave(number: int, _: FrameType | None) -> None:
    os.write(
        2, f"stopped by {signal.Signals(number).name}; nothing is lost: run the same command to go on\n".encode()
    )
    os._exit(AGAIN)


class Stopped(BaseException):
    """A signal came while nothing would be lost; not an error, so no `except Exception` may swallow it."""


class Stop:
    """Notes signals while it is entered. The first asks to stop, a second stops at once."""

    def __init__(self) -> None:
        self.asked: str | None = None
        self._open = 0
        self._signalled = False  # this process itself, not one that belongs to it

    def __enter__(self) -> Stop:
        self._before = {number: signal.signal(number, self._note) for number in ASKED}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Work that may end anywhere, because it is simply done again: a signal raises `Stopped` in here."""
        if self.asked:
            raise Stopped(self.asked)
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1

    def ask(self, why: str) -> None:
        """Ask to stop, as a signal does: for what hears of a signal elsewhere. Only from a signal's handler."""
        if self.asked is None:
            self.asked = why
            if self._open:
                raise Stopped(why)

    def _note(self, number: int, _: FrameType | None) -> None:
        if self._signalled:
            os._exit(AGAIN)
        self._signalled = True
        self.ask(signal.Signals(number).name)
