"""A server as a process of its own, to be asked much; and how what was found is told."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.reliability.report import ROOT, Row
from tests.serve.running import wait_until_ready


@dataclass(frozen=True)
class Bench:
    """What is served, and texts to ask for."""

    run: Path
    texts: list[str]
    workers: int
    quick: bool

    def size(self, full: int) -> int:
        return max(8, full // 50) if self.quick else full

    @contextmanager
    def server(self, *more: str, run: Path | None = None) -> Iterator[Served]:
        """As a process of its own."""
        command = [sys.executable, "-m", "regard", "serve", f"en-de={run or self.run}", "--port", "0", "--quiet"]
        command += ["--workers", str(self.workers), *more]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            address = re.search(r"http://\S+", process.stderr.readline())
            assert address is not None
            try:
                with httpx.Client(base_url=address[0], timeout=60) as client:
                    wait_until_ready(client)
                    yield Served(address[0], client, process)
            finally:
                if process.poll() is None:
                    process.send_signal(signal.SIGTERM)
                    process.wait(60)


@dataclass(frozen=True)
class Served:
    """A server and a way to ask how it is."""

    url: str
    client: httpx.Client
    process: subprocess.Popen[str]

    def metric(self, name: str) -> float:
        lines = self.client.get("/metrics").text.splitlines()
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if re.match(rf"{name}[ {{]", line))

    def memory(self) -> float:
        """Bytes of all its processes."""
        return self.metric("regard_server_resident_bytes") + self.metric("regard_workers_resident_bytes")

    def settled(self) -> float:
        """Tasks, once nothing is open but the request that asks."""
        end = time.monotonic() + 30
        while self.metric("regard_open_requests") > 1 and time.monotonic() < end:
            time.sleep(0.02)
        return self.metric("regard_tasks")

    def resting(self) -> tuple[float, float]:
        """Tasks and memory when all is over: the least of some looks, as what was given up ends in a while."""
        looks = []
        for _ in range(8):
            looks.append((self.settled(), self.memory()))
            time.sleep(0.25)
        return min(tasks for tasks, _ in looks), min(memory for _, memory in looks)


def row(name: str, what: str, goal: str, reached: str, passed: bool, began: float) -> Row:
    return {
        "id": name, "what": what, "goal": goal, "reached": reached, "passed": passed,
        "seconds": round(time.monotonic() - began, 1),
    }  # fmt: skip


def tested(name: str, what: str, goal: str, *which: str) -> Callable[[Bench], Row]:
    """A promise whose tests in the suite are already whole: they are run, and what they say is told."""

    def check(_: Bench) -> Row:
        began = time.monotonic()
        command = [sys.executable, "-m", "pytest", "-n", "0", *which]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        said = (done.stdout + done.stderr).strip().splitlines() or ["nothing"]
        return row(name, what, goal, said[-1].strip("= "), done.returncode == 0, began)

    return check
