"""A server on a real port, in a thread of the test's own process, or as a process of its own."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx

from regard.serve.crew import Crew
from regard.serve.run import Serving, bound, serve
from regard.serve.settings import Pair
from tests.translate.toys import RUN

TOY = Pair("en-de", "en", "de", "toy", RUN)


@dataclass
class Running:
    """A server that answers."""

    url: str
    client: httpx.Client
    crew: Any
    said: list[str] = field(default_factory=list)
    good: list[bool] = field(default_factory=list)

    def post(self, path: str, **body: Any) -> httpx.Response:
        """A request in JSON."""
        return self.client.post(path, json=body)

    def translate(self, q: Any, **more: Any) -> httpx.Response:
        """As LibreTranslate's clients ask."""
        return self.post("/translate", q=q, source="en", target="de", **more)

    def metric(self, name: str) -> float:
        """One of its counts; the sum over labels."""
        lines = self.client.get("/metrics").text.splitlines()
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if re.match(rf"{name}[ {{]", line))

    def until(self, name: str, value: float, seconds: float = 10) -> None:
        """Wait for a count."""
        end = time.monotonic() + seconds
        while (seen := self.metric(name)) != value:
            assert time.monotonic() < end, f"{name} is {seen}, not {value}"
            time.sleep(0.01)


@contextmanager
def running(serving: Serving, crew: Any = None) -> Iterator[Running]:
    """Serve until the block ends; ready when it begins."""
    serving = replace(serving, port=0)
    listening = bound(serving)
    port = listening.getsockname()[1]
    started, stop = threading.Event(), list[Any]()
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
        server = Running(f"http://127.0.0.1:{port}", client, crew or Crew(serving.pairs, serving.processes))

        async def main() -> None:
            told = asyncio.Event()
            stop.extend((asyncio.get_running_loop(), told))
            started.set()
            server.good.append(await serve(serving, listening, told, server.said.append, server.crew))

        thread = threading.Thread(target=lambda: asyncio.run(main()))
        thread.start()
        started.wait()
        try:
            wait_until_ready(client)
            yield server
        finally:
            stop[0].call_soon_threadsafe(stop[1].set)
            thread.join(60)
            assert not thread.is_alive()


def wait_until_ready(client: httpx.Client, seconds: float = 240) -> None:
    """Until /ready says so."""
    end = time.monotonic() + seconds
    while True:
        try:
            if client.get("/ready").status_code == 200:
                return
        except httpx.TransportError:
            pass
        assert time.monotonic() < end, "the server does not become ready"
        time.sleep(0.02)


@contextmanager
def process(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`regard serve` as a process of its own, and its address."""
    command = [sys.executable, "-m", "regard", "serve", f"en-de={RUN}", "--port", "0", "--workers", "1", *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stderr is not None
        first = server.stderr.readline()
        address = re.search(r"http://\S+", first)
        assert address is not None, first + server.stderr.read()
        try:
            with httpx.Client(base_url=address[0]) as client:
                wait_until_ready(client)
            yield server, address[0]
        finally:
            if server.poll() is None:
                server.send_signal(signal.SIGKILL)
