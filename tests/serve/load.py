"""Many clients in one process, as cheap as can be: they must not be what is measured."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Outcome:
    """What became of a request."""

    what: Any
    status: int
    seconds: float
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """One connection, kept open, and opened again when the server closes it."""

    def __init__(self, url: str) -> None:
        host, port = url.removeprefix("http://").split(":")
        self.host, self.port = host, int(port)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, what: Any, path: str, body: bytes | None, kind: str = "application/json") -> Outcome:
        """One request; `what` comes back with the answer."""
        began = time.perf_counter()
        if self._streams is None:
            self._streams = await asyncio.open_connection(self.host, self.port)
        reader, writer = self._streams
        head = f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n"
        if body is not None:
            head += f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        writer.write(f"{head}\r\n".encode() + (body or b""))
        lines = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in lines[1:] if b": " in line)
        found = await reader.readexactly(int(fields[b"content-length"]))
        if fields.get(b"connection") == b"close":
            self.close()
        return Outcome(what, int(lines[0].split()[1]), time.perf_counter() - began, found)

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


def translate(q: Any, **more: Any) -> tuple[str, bytes]:
    """The path and body of a request in LibreTranslate's form."""
    return "/translate", json.dumps({"q": q, "source": "en", "target": "de", **more}).encode()


async def closed_loop(url: str, count: int, requests: Iterator[Any], seen: Callable[[Outcome], None]) -> float:
    """So many clients, each asking again as soon as it is answered, until there is no more; how long it took.

    A request is (what, path, body).
    """
    began = time.perf_counter()

    async def one() -> None:
        client = Client(url)
        for request in requests:
            seen(await client.ask(*request))
        client.close()

    await asyncio.gather(*(one() for _ in range(count)))
    return time.perf_counter() - began


async def open_loop(
    url: str, rate: float, seconds: float, requests: Iterator[Any], seen: Callable[[Outcome], None]
) -> None:
    """So many requests a second, whether or not those before are answered."""
    idle: list[Client] = []
    tasks: set[asyncio.Task[None]] = set()

    async def one(request: Any) -> None:
        kept = idle.pop() if idle else None
        client = kept or Client(url)
        try:
            seen(await client.ask(*request))
            idle.append(client)
        except (OSError, asyncio.IncompleteReadError) as error:
            client.close()
            if kept is not None:  # a server may hang up on whoever said nothing for a while: one asks anew
                await one(request)
            else:
                seen(Outcome(request[0], 0, 0.0, repr(error).encode()))

    began, made = time.perf_counter(), 0
    while (passed := time.perf_counter() - began) < seconds:
        while made < rate * passed:
            task = asyncio.create_task(one(next(requests)))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            made += 1
        await asyncio.sleep(0.002)
    await asyncio.gather(*tasks)
    for client in idle:
        client.close()


def percentile(values: list[float], share: float) -> float:
    """0.99 of them are at most this."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else float("nan")
