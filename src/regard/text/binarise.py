"""Pairs as numbers by several processes: the same chunks in the same order, whatever their number."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import IO, cast

import numpy as np
from jaxtyping import Int64

from regard.text.encode import Chunk, Encoder, receive, send
from regard.text.pieces import nothing

CHUNK = 10_000
"""Pairs encoded at once."""
ALONE = 10
"""Chunks that this process encodes by itself: less text is done before others have started."""

Pair = tuple[int, str, str]
Numbered = tuple[Int64[np.ndarray, " n"], Chunk]
_Lines = tuple[tuple[int, ...], tuple[str, ...], tuple[str, ...]]


def binarised(
    pairs: Iterable[Pair], encoder: Encoder, processes: int = 1, tick: Callable[[], None] = nothing
) -> Generator[Numbered]:
    """The line numbers of each chunk of pairs, and what became of it; `tick` may raise, to stop."""
    chunks = _chunks(pairs, tick)
    encode = encoder.ready()
    alone = islice(chunks, ALONE) if processes > 1 else chunks
    for lines, sources, targets in alone:
        yield np.array(lines, np.int64), encode(sources, targets)
    first = next(chunks, None)
    if first is None:
        return
    del encode
    with Crew(encoder, processes) as crew:
        yield from crew.work(_again(first, chunks))


def _again(first: _Lines, rest: Iterator[_Lines]) -> Iterator[_Lines]:
    yield first
    yield from rest


def _chunks(pairs: Iterable[Pair], tick: Callable[[], None]) -> Iterator[_Lines]:
    rest = iter(pairs)
    while some := list(islice(rest, CHUNK)):
        tick()
        lines, sources, targets = zip(*some, strict=True)
        yield lines, sources, targets


class Crew:
    """Processes that encode, each spoken to by a thread of its own; leaving it ends them, whatever they are at."""

    def __init__(self, encoder: Encoder, processes: int) -> None:
        self._encoder, self._count = encoder, processes
        self._processes: list[subprocess.Popen[bytes]] = []
        self._idle: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        self._threads = ThreadPoolExecutor(processes)

    def __enter__(self) -> Crew:
        package = str(Path(__file__).parents[2])  # they must find this package, however we did
        path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
        environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
        command, pipe = [sys.executable, "-P", "-m", "regard.text.encode"], subprocess.PIPE
        try:
            for _ in range(self._count):
                # A session of its own, as Ctrl-C is for us alone to answer; when we are gone, its input ends.
                process = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment, start_new_session=True)
                self._processes.append(process)
                self._told(process, self._encoder.to_json().encode())
                self._idle.put(process)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
        self._threads.shutdown(cancel_futures=True)
        for process in self._processes:
            for pipe in (process.stdin, process.stdout):
                with suppress(BrokenPipeError):  # what was not yet said to it
                    cast("IO[bytes]", pipe).close()
            process.wait()

    def work(self, chunks: Iterator[_Lines]) -> Iterator[Numbered]:
        """Each chunk's answer, in the order of the chunks; a few are always under way."""
        waiting: deque[tuple[tuple[int, ...], Future[Chunk]]] = deque()
        for lines, sources, targets in chunks:
            waiting.append((lines, self._threads.submit(self._asked, sources, targets)))
            if len(waiting) > 2 * self._count:
                numbers, answer = waiting.popleft()
                yield np.array(numbers, np.int64), answer.result()
        for numbers, answer in waiting:
            yield np.array(numbers, np.int64), answer.result()

    def _asked(self, sources: tuple[str, ...], targets: tuple[str, ...]) -> Chunk:
        process = self._idle.get()
        try:
            text = json.dumps([sources, targets], ensure_ascii=False).encode("utf-8", "surrogatepass")
            self._told(process, text)
            parts = receive(cast("IO[bytes]", process.stdout))
        finally:
            self._idle.put(process)
        if parts is None:
            raise _Ended(process)
        if len(parts) == 1:
            raise ValueError(json.loads(parts[0])["wrong"])
        return Chunk.of(parts)

    def _told(self, process: subprocess.Popen[bytes], message: bytes) -> None:
        try:
            send(cast("IO[bytes]", process.stdin), [message])
        except BrokenPipeError:
            raise _Ended(process) from None


class _Ended(ValueError):
    """A process that was not asked to end."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        code = process.wait()
        how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
        super().__init__(
            f"A process that turns text into numbers ended ({how}). Nothing half made is used; if memory ran out, "
            "use fewer with --train.threads 1, and run the same command again."
        )
