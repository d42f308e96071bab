"""The server as a process: binds, starts workers, serves, and on a signal answers what it has accepted, then ends."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import time
from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import uvicorn

from regard.serve.app import App
from regard.serve.asked import Asked
from regard.serve.crew import Crew
from regard.serve.front import Front
from regard.serve.house import House
from regard.serve.keys import Keys
from regard.serve.languages import Languages
from regard.serve.metrics import Metrics, resident
from regard.serve.pages import Pages
from regard.serve.queue import Queue
from regard.serve.settings import Batching, Limits, Pair, Processes

QUIET, IMPATIENT = 0.25, 3.0
"""Seconds without a request, when ending, after which nobody is about to send one on an open connection; and how long
those are refused in so many words who ask again and again."""


@dataclass(frozen=True)
class Serving:
    """All that a server is told."""

    pairs: Sequence[Pair]
    host: str = "127.0.0.1"
    port: int = 5000
    keys: Path | None = None
    open: bool = False
    """Whether a public address may be served without keys."""
    hosts: Sequence[str] = ()
    rate: int = 0
    grace: float = 30.0
    limits: Limits = field(default_factory=Limits)
    batching: Batching = field(default_factory=Batching)
    processes: Processes = field(default_factory=Processes)


class Server(uvicorn.Server):
    """Uvicorn's, with signals left to us: it would end without waiting for the queue, and not with 0."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def bound(serving: Serving) -> socket.socket:
    """The socket, if the address may be served and is free."""
    if serving.keys is None and not serving.open and not loopback(serving.host):
        raise ValueError(
            f"{serving.host} can be reached from other machines, and anyone could use the server; give --keys FILE, "
            "or --without-keys if that is meant"
        )
    if not 0 <= serving.port < 2**16:
        raise ValueError(f"there is no port {serving.port}; choose 1024 to 65535, or 0 for any that is free")
    family = socket.AF_INET6 if ":" in serving.host else socket.AF_INET
    try:
        listening = socket.create_server((serving.host, serving.port), family=family, backlog=1024)
    except OSError as error:
        raise ValueError(
            f"cannot listen on {serving.host} port {serving.port} ({error.strerror}); choose another --host or --port"
        ) from None
    # asyncio does so only for sockets that it opened: else the second part of an answer waits 40 ms for the
    # first to be acknowledged.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def loopback(host: str) -> bool:
    """Whether an address is only for this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def serve(
    serving: Serving, listening: socket.socket, told: asyncio.Event, say: Callable[[str], None], crew: Crew
) -> bool:
    """Until it is told to end; whether all that was accepted was answered."""
    keys = None if serving.keys is None else Keys(serving.keys)
    metrics, languages = Metrics(), Languages(serving.pairs)
    queue = Queue(serving.limits, serving.batching, metrics)
    asked = Asked(serving.limits, languages)
    house = House(serving.limits, languages, asked, queue, metrics, keys, rate=serving.rate)
    app = App(house, Pages(), lambda: crew.views)
    hosts = None if not loopback(serving.host) else {"localhost", *(name.lower() for name in serving.hosts)}
    front = Front(
        app, metrics, app.knows, hosts, lambda: queue.closed,
        lambda: len(server.server_state.connections) > serving.limits.connections,
    )  # fmt: skip
    server = Server(_config(front))
    _gauges(metrics, queue, crew)
    answering = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        await _first(_loaded(crew, queue, serving, say), told, answering)
        await _first(asyncio.shield(queue.trouble), told, answering)
        return await _ended(serving, queue, metrics, say)
    finally:
        server.should_exit = True
        await asyncio.wait({answering}, timeout=10)
        await queue.stop()
        await crew.close()


def _config(front: Front) -> uvicorn.Config:
    return uvicorn.Config(
        front, http="h11", ws="none", lifespan="off", access_log=False, server_header=False, log_config=None,
        timeout_keep_alive=15, timeout_graceful_shutdown=5, h11_max_incomplete_event_size=2**16, loop="asyncio",
    )  # fmt: skip


async def _loaded(crew: Crew, queue: Queue, serving: Serving, say: Callable[[str], None]) -> None:
    await crew.open()
    queue.start(crew, serving.processes.workers)
    while not queue.hands and not queue.trouble.done():
        await asyncio.sleep(0.02)
    if queue.hands:
        say(f"ready: models loaded in {crew.loading:.1f} s")


async def _first(work: Awaitable[None], told: asyncio.Event, answering: asyncio.Task[None]) -> None:
    """Until the work is done or we are told to end; what goes wrong is raised."""
    doing, waiting = asyncio.ensure_future(work), asyncio.ensure_future(told.wait())
    await asyncio.wait({doing, waiting, answering}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if doing.done():
        doing.result()
    else:
        doing.cancel()


async def _ended(serving: Serving, queue: Queue, metrics: Metrics, say: Callable[[str], None]) -> bool:
    """Answer what was accepted; refuse the rest in so many words until nobody asks any more."""
    say(f"ending: {metrics.open} requests are being answered, for at most {serving.grace:g} s; or at a second signal")
    end = time.monotonic() + serving.grace
    good = await queue.drain(serving.grace)
    end = min(end, time.monotonic() + IMPATIENT)
    seen, since = metrics.seconds.count, time.monotonic()
    while time.monotonic() - since < QUIET and time.monotonic() < end:
        await asyncio.sleep(0.02)
        if metrics.open or metrics.seconds.count != seen:
            seen, since = metrics.seconds.count, time.monotonic()
    say("ended: all that was accepted was answered" if good else "ended: the time was over before all was answered")
    return good


def _gauges(metrics: Metrics, queue: Queue, crew: Crew) -> None:
    metrics.gauges = {
        "regard_queue_texts": ("Texts that wait.", lambda: queue.texts),
        "regard_queue_characters": ("Characters that wait.", lambda: queue.characters),
        "regard_open_requests": ("Requests that are being answered.", lambda: metrics.open),
        "regard_workers": ("Workers that are ready.", lambda: queue.hands),
        "regard_draining": ("1 when the server is about to end.", lambda: queue.closed),
        "regard_tasks": ("Tasks of the server's own process.", lambda: len(asyncio.all_tasks())),
        "regard_server_resident_bytes": ("Memory of the server's own process.", resident),
        "regard_workers_resident_bytes": ("Memory of the workers.", lambda: resident(sorted(crew.pids))),
    }
