"""Lines in, lines out, for any bytes: nothing but LF ends a line, and no line is ever written by half."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO

LONGEST_LINE = 16 * 2**20
"""Bytes; a longer line is taken for a file without line ends, and refused before it fills the memory."""
FIRST, MOST = 16, 1024
"""Lines that are translated together: few at first, so that whoever waits sees some, then more and more."""
_MARK = "\ufeff"
_ATOMIC = 4096  # bytes that a pipe takes as a whole or not at all


@dataclass(frozen=True)
class Block:
    """Lines that were there to be read, without their ends."""

    number: int
    """Of the first, counted from 1."""
    lines: tuple[str, ...]
    damaged: tuple[tuple[int, int], ...] = ()
    """(line, bytes) of those that were not UTF-8; U+FFFD stands for them."""
    ended: bool = True
    """Whether the last line had a line feed."""


def blocks(stream: IO[bytes]) -> Iterator[Block]:
    """What there is to read, some lines at a time, without waiting for more than one: flat in memory.

    A byte-order mark in front of everything is dropped; any other character is the line's.
    """
    number, size = 1, FIRST
    for raw, ended in _raw_blocks(stream):
        at = 0
        while at < len(raw):
            some = raw[at : at + size]
            at += len(some)
            yield _block(number, some, ended or at < len(raw))
            number += len(some)
            size = min(MOST, 2 * size)


def _raw_blocks(stream: IO[bytes]) -> Iterator[tuple[list[bytes], bool]]:
    read = getattr(stream, "read1", stream.read)  # a pipe: what is there now, not all of what was asked for
    rest: list[bytes] = []
    held, number = 0, 0
    while chunk := read(2**18):
        *whole, last = chunk.split(b"\n")
        if whole:
            whole[0] = b"".join((*rest, whole[0]))
            rest, held = [], 0
            number += len(whole)
            yield whole, True
        rest.append(last)
        held += len(last)
        if held > LONGEST_LINE:
            raise ValueError(
                f"line {number + 1} is longer than {LONGEST_LINE >> 20} MB; is this text? Lines end with a line feed"
            )
    if last := b"".join(rest):
        yield [last], False


def _block(number: int, raw: Sequence[bytes], ended: bool) -> Block:
    lines, damaged = [], []
    for at, line in enumerate(raw, start=number):
        text = line.decode("utf-8", "replace")
        if at == 1:
            text = text.removeprefix(_MARK)
        wrong = text.count("\ufffd") - line.count(b"\xef\xbf\xbd") if "\ufffd" in text else 0
        lines.append(text)
        damaged += [(at, wrong)] if wrong else []
    return Block(number, tuple(lines), tuple(damaged), ended)


class Output:
    """Where lines go. A signal finds every line written whole or not at all."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        try:
            self.handle: int | None = stream.fileno()
        except (OSError, AttributeError):  # a stream of a test, in memory
            self.handle = None

    def write(self, lines: Sequence[str], ended: bool = True) -> None:
        """These lines, each with its line feed but perhaps the last."""
        data = [line.encode("utf-8", "replace") + b"\n" for line in lines]
        if data and not ended:
            data[-1] = data[-1][:-1]
        for some in _grouped(data):
            if self.handle is not None:
                select.select([], [self.handle], [])  # here a signal may come: nothing is written yet
            self._whole(some)

    def _whole(self, data: bytes) -> None:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        try:
            if self.handle is None:
                self.stream.write(data)
            while self.handle is not None and data:
                data = data[os.write(self.handle, data) :]
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _grouped(lines: Sequence[bytes]) -> Iterator[bytes]:
    """Whole lines, as many together as a pipe takes at once."""
    some: list[bytes] = []
    size = 0
    for line in lines:
        if some and size + len(line) > _ATOMIC:
            yield b"".join(some)
            some, size = [], 0
        some.append(line)
        size += len(line)
    if some:
        yield b"".join(some)
