"""`regard serve`: answers on a port, until a signal."""

from __future__ import annotations

import logging
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from regard.train.folder import read_manifest

if TYPE_CHECKING:
    from regard.serve.run import Serving
    from regard.serve.settings import Pair

_NAMED = re.compile(r"([A-Za-z0-9]{1,16}(?:_[A-Za-z0-9]{1,16})*)-([A-Za-z0-9]{1,16}(?:_[A-Za-z0-9]{1,16})*)=(.+)")


@dataclass(frozen=True)
class Who:
    """Who may ask."""

    keys: Path | None = None
    """A file of keys; without it, anyone may ask who can reach the address."""
    new_key: str | None = None
    """Make a key of this name, print it once, put its hash into the file of --keys, and do nothing else."""
    rate: int | None = None
    """Requests a minute: of the new key (120 if not given; 0 is any number), or of each address without keys."""
    without_keys: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Allow an address that other machines can reach without keys."""
    hosts: tuple[str, ...] = ()
    """Names, beside localhost, by which a server on this machine is asked: what a proxy in front sends as Host."""


@dataclass(frozen=True)
class How:
    """What is asked of the machine."""

    workers: int = 0
    """Processes that decode; 0 = as many as cores, at most 4."""
    threads: int = 0
    """Processor threads of each; 0 = cores shared evenly."""
    deadline: float = 30.0
    """Seconds for a request; then 504."""
    grace: float = 30.0
    """Seconds to answer what was accepted, after SIGTERM or Ctrl-C."""
    queue: int = 512
    """Texts that may wait; beyond, 503."""
    characters: int = 10_000
    """The longest text that is taken."""
    texts: int = 128
    """The most texts in one request."""
    quiet: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """No line for each request."""
    trust_code: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Allow a run that names a mechanism in a file of its own, which is then run."""


def serve(
    runs: Annotated[
        tuple[str, ...], tyro.conf.Positional,
        tyro.conf.arg(metavar="[PAIR=]RUN", help="Folders of trained translators; en-de=RUN says its languages."),
    ],
    host: str = "127.0.0.1",
    port: int = 5000,
    who: Annotated[Who, tyro.conf.arg(name="")] = Who(),  # noqa: B008 (frozen)
    how: Annotated[How, tyro.conf.arg(name="")] = How(),  # noqa: B008
) -> int:  # fmt: skip
    """Answer translation requests, and the live page, until a signal.

    Example: regard serve runs/mine, then open http://127.0.0.1:5000, or: curl 127.0.0.1:5000/translate -d q=hello -d
    source=en -d target=de

    Args:
        host: The address to listen on; one that other machines can reach needs --keys.
        port: The port; 0 is any that is free.
    """
    if who.new_key is not None:
        return _new_key(who)
    if not runs:
        raise ValueError("say which runs to serve: regard serve RUN [RUN ...]")
    try:
        import starlette
        import uvicorn

        del starlette, uvicorn
    except ImportError as error:
        raise ValueError(f"serving needs {error.name}; install it with: pip install 'regard[serve]'") from None
    return _served(_told(pairs(runs, how.trust_code), host, port, who, how), how.quiet)


def _new_key(who: Who) -> int:
    from regard.serve.keys import make

    if who.keys is None or who.new_key is None:
        raise ValueError("say into which file the key's hash goes: --keys FILE")
    key = make(who.keys, who.new_key, 120 if who.rate is None else who.rate)
    print(f"the key '{who.new_key}', which is told only now:", file=sys.stderr)
    print(key)
    return 0


def pairs(runs: tuple[str, ...], trust_code: bool = False) -> list[Pair]:
    """What each run translates from and to, as it says or is told; no two may have the same name."""
    found = [_pair(run, trust_code) for run in runs]
    for at, pair in enumerate(found):
        if pair.id in {before.id for before in found[:at]}:
            raise ValueError(
                f"two runs would be served as {pair.id}; say their languages, as in en-de={pair.run}, or serve one"
            )
    return found


def _pair(given: str, trust_code: bool) -> Pair:
    from regard.recipe import of_run
    from regard.serve.languages import UNKNOWN
    from regard.serve.settings import Pair

    named = _NAMED.fullmatch(given) if not Path(given).exists() else None
    run = Path(named[3] if named else given)
    read_manifest(run)
    data = dict(of_run(run, trust_code).sections()["data"])
    source = named[1] if named else data.get("source_language") or UNKNOWN
    target = named[2] if named else data.get("target_language") or UNKNOWN
    if not named and data.get("swap"):
        source, target = target, source
    return Pair(f"{source}-{target}", source, target, run.resolve().name, run)


def _told(found: list[Pair], host: str, port: int, who: Who, how: How) -> Serving:
    from regard.serve.run import Serving
    from regard.serve.settings import Limits, Processes

    cores = len(os.sched_getaffinity(0))
    workers = how.workers or max(1, min(4, cores))
    if min(how.workers, how.threads, how.queue - 1, how.characters - 1, how.texts - 1) < 0 or how.deadline <= 0:
        raise ValueError("workers and threads are 0 or more, limits and the deadline above 0")
    return Serving(
        found, host, port, who.keys, who.without_keys, who.hosts, who.rate or 0, how.grace,
        Limits(seconds=how.deadline, queued_texts=how.queue, characters=how.characters, texts=how.texts),
        processes=Processes(workers, how.threads or max(1, cores // workers), how.trust_code),
    )  # fmt: skip


def _served(serving: Serving, quiet: bool) -> int:
    import asyncio
    import gc
    import signal

    from regard.serve.crew import Crew
    from regard.serve.run import bound, serve

    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING if quiet else logging.INFO, format="%(asctime)s %(message)s"
    )
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    listening = bound(serving)
    log = logging.getLogger("regard.serve")

    async def until_told() -> bool:
        told, loop = asyncio.Event(), asyncio.get_running_loop()

        def tell() -> None:
            if told.is_set():
                os._exit(1)  # a second signal
            told.set()

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, tell)
        host, port = listening.getsockname()[:2]
        address = f"[{host}]" if ":" in host else host
        what = ", ".join(f"{pair.source} to {pair.target} ({pair.name})" for pair in serving.pairs)
        print(f"serving {what} on http://{address}:{port}", file=sys.stderr, flush=True)
        return await serve(serving, listening, told, log.warning, Crew(serving.pairs, serving.processes))

    gc.collect()
    gc.freeze()  # what is here stays: each search of it for garbage would hold up requests for some 8 ms
    return 0 if asyncio.run(until_told()) else 1
