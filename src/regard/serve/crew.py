"""The workers, seen from the server: hired, given batches, and replaced when they die."""

from __future__ import annotations

import asyncio
import contextlib
import mmap
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from regard.serve.nursery import FLAGS
from regard.serve.settings import Pair, Processes
from regard.serve.wire import packed, received

LOADING = 600.0
"""Seconds that loading the models may take, and warming up."""


class Lost(Exception):
    """A worker died with a batch in its hands, or does not answer."""


class CannotStart(ValueError):
    """The models cannot be loaded; what it says is for people."""


@dataclass(frozen=True)
class Answered:
    """What a worker said of one text or view; see `worker.Answer`."""

    content: bytes
    refused: str | None
    failed: str | None
    pieces: tuple[int, int]
    status: int = 422


class Hand:
    """One worker process, and the way to it."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, flags: mmap.mmap, pid: int
    ) -> None:
        self.pid = pid
        self._reader, self._writer, self._flags = reader, writer, flags

    async def answers(self, asked: Mapping[str, Any], seconds: float) -> list[Answered]:
        """All answers to a batch; `Lost` if the worker dies over it, or takes longer than this."""
        self._flags[:] = bytes(FLAGS)
        try:
            self._writer.write(packed(dict(asked)))
            message = await asyncio.wait_for(received(self._reader), seconds)
        except (TimeoutError, ConnectionError):
            message = None
        if message is None:
            raise Lost
        about, content = message
        found, at = [], 0
        for one in about["answers"]:
            part = content[at : at + one["size"]]
            found.append(Answered(part, one["refused"], one["failed"], tuple(one["pieces"]), one["status"]))
            at += one["size"]
        return found

    def give_up(self, place: int) -> None:
        """Nobody waits for this text of the batch any more: the worker drops it at its next step."""
        self._flags[place] = 1

    def dismiss(self) -> None:
        """End it now."""
        self._writer.transport.abort()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


class Crew:
    """The nursery and all that came from it."""

    def __init__(self, pairs: Sequence[Pair], processes: Processes) -> None:
        self.pairs, self.processes = pairs, processes
        self.views: tuple[str, ...] = ()
        self.loading = 0.0
        self._hands: set[Hand] = set()
        self._nursery: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = asyncio.Lock()

    async def open(self) -> None:
        """Load the models, in a process of their own."""
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-m", "regard.serve.nursery", str(theirs.fileno())]
        environment = {"MALLOC_ARENA_MAX": "2", **os.environ}  # freed memory goes back instead of lying about
        self._process = subprocess.Popen(
            command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, start_new_session=True, env=environment
        )
        theirs.close()
        self._nursery = ours
        runs = {pair.id: str(pair.run) for pair in self.pairs}
        given = {"runs": runs, "threads": self.processes.threads, "trust_code": self.processes.trust_code}
        told = await self._ask(packed({**given, "views": self.processes.views}))
        if told is None:
            raise CannotStart("the process that loads the models died; is there enough memory?")
        if "failed" in told:
            raise CannotStart(told["failed"])
        self.loading, self.views = told["seconds"], tuple(told["views"])

    async def _ask(self, message: bytes) -> dict[str, Any] | None:
        """The nursery's first words are read without a stream: later it only hears."""
        assert self._nursery is not None
        nursery, loop = self._nursery, asyncio.get_running_loop()
        nursery.setblocking(False)
        try:
            await loop.sock_sendall(nursery, message)
            reader = asyncio.StreamReader()

            async def fill() -> None:
                while some := await loop.sock_recv(nursery, 2**16):
                    reader.feed_data(some)
                reader.feed_eof()

            filling = loop.create_task(fill())
            try:
                found = await asyncio.wait_for(received(reader), LOADING)
            finally:
                filling.cancel()
        except (TimeoutError, ConnectionError):
            return None
        return None if found is None else found[0]

    async def hire(self) -> Hand:
        """A new worker, warmed up; the nursery is opened anew if it is gone."""
        async with self._lock:
            try:
                return await self._hire()
            except (Lost, OSError):
                self._shut()
                await self.open()
                return await self._hire()

    async def _hire(self) -> Hand:
        assert self._nursery is not None
        ours, theirs = socket.socketpair()
        with theirs, tempfile.TemporaryFile() as file:
            file.truncate(FLAGS)
            flags = mmap.mmap(file.fileno(), FLAGS)
            try:
                socket.send_fds(self._nursery, [b"w"], [theirs.fileno(), file.fileno()])
            except OSError:
                ours.close()
                raise
        reader, writer = await asyncio.open_unix_connection(sock=ours)
        try:
            message = await asyncio.wait_for(received(reader), LOADING)
        except TimeoutError:
            message = None
        if message is None:
            writer.transport.abort()
            raise Lost
        if "failed" in message[0]:
            writer.transport.abort()
            raise CannotStart(f"the warm-up translation failed: {message[0]['failed']}")
        hand = Hand(reader, writer, flags, message[0]["pid"])
        self._hands.add(hand)
        return hand

    def let_go(self, hand: Hand) -> None:
        """It is dead, or shall be."""
        self._hands.discard(hand)
        hand.dismiss()

    def _shut(self) -> None:
        if self._nursery is not None:
            self._nursery.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    @property
    def pids(self) -> set[int]:
        """Of the workers."""
        return {hand.pid for hand in self._hands}

    async def close(self) -> None:
        """Everybody goes home."""
        self._shut()
        for hand in list(self._hands):
            self.let_go(hand)
        await asyncio.sleep(0)  # for the sockets to be closed
