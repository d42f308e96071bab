"""Requests a second and waiting times of `regard serve`, against one text at a time and a plain loop.

`python benchmarks/serve.py --run RUN --text FILE --to docs/results`. "One at a time" is the same server with batches
of one text, as LibreTranslate works: each request is translated by itself. "A plain loop" is a program that goes
text after text, with the same model and no server. Clients run in a process of their own and share the cores.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.reliability.report import circumstances, commit  # noqa: E402
from tests.serve.load import Outcome, closed_loop, percentile, translate  # noqa: E402
from tests.serve.running import running  # noqa: E402
from tests.translate.toys import RUN, WORDS  # noqa: E402

CLIENTS = (1, 8, 64)


def served(run: Path, texts: list[str], batch: int, workers: int, seconds: float) -> list[dict[str, Any]]:
    """Figures for each number of clients."""
    from regard.serve.run import Serving
    from regard.serve.settings import Batching, Limits, Pair, Processes

    threads = max(1, len(os.sched_getaffinity(0)) // workers)
    serving = Serving(
        [Pair("en-de", "en", "de", run.name, run)], batching=Batching(texts=batch), limits=Limits(seconds=120),
        processes=Processes(workers, threads),
    )  # fmt: skip
    found = []
    apart = multiprocessing.get_context("spawn")
    with running(serving) as server, ProcessPoolExecutor(1, apart) as pool:
        for clients in CLIENTS:
            pool.submit(asked_for, server.url, clients, texts, min(2.0, seconds)).result()
            took, outcomes = pool.submit(asked_for, server.url, clients, texts, seconds).result()
            waited = [one.seconds for one in outcomes]
            assert all(one.status == 200 for one in outcomes), {one.status for one in outcomes}
            found.append(
                {
                    "clients": clients, "requests_per_second": round(len(outcomes) / took, 1),
                    "p50_ms": round(1000 * percentile(waited, 0.5)), "p99_ms": round(1000 * percentile(waited, 0.99)),
                    "requests": len(outcomes),
                }
            )  # fmt: skip
            print(batch, workers, found[-1], flush=True)
    return found


def asked_for(url: str, clients: int, texts: list[str], seconds: float) -> tuple[float, list[Outcome]]:
    """In a process of its own."""
    return asyncio.run(_for(url, clients, texts, seconds))


async def _for(url: str, clients: int, texts: list[str], seconds: float) -> tuple[float, list[Outcome]]:
    end, outcomes = time.perf_counter() + seconds, list[Outcome]()
    endless = itertools.cycle(texts)

    def requests() -> Any:
        while time.perf_counter() < end:
            yield None, *translate(next(endless))

    return await closed_loop(url, clients, requests(), outcomes.append), outcomes


def loop(run: Path, texts: list[str], seconds: float) -> float:
    """Texts a second, one after the other, without a server."""
    import torch

    from regard.translate.translator import Translator

    torch.set_num_threads(len(os.sched_getaffinity(0)))
    translator = Translator.load(run)
    translator(texts[:3])
    began, done = time.perf_counter(), 0
    for text in itertools.cycle(texts):
        translator([text])
        done += 1
        if time.perf_counter() - began > seconds:
            break
    return round(done / (time.perf_counter() - began), 1)


def table(found: dict[str, Any]) -> str:
    """For people."""
    lines = [
        "# Requests a second", "",
        f"`make bench-serve`; {found['texts']} texts of {found['run']}, one in each request; {found['cores']} cores, "
        f"{found['processor']}, shared by clients, server and workers. A plain loop without a server: "
        f"{found['loop']} texts/s.", "",
        "| server | clients | requests/s | p50 ms | p99 ms |", "|---|---|---|---|---|",
    ]  # fmt: skip
    for name, rows in found["servers"].items():
        for one in rows:
            cells = (name, one["clients"], one["requests_per_second"], one["p50_ms"], one["p99_ms"])
            lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--to", type=Path)
    asked.add_argument("--run", type=Path, default=RUN)
    asked.add_argument("--text", type=Path, help="a text on each line")
    asked.add_argument("--seconds", type=float, default=20.0)
    given = asked.parse_args()
    texts = [" ".join(words) for words in itertools.permutations(WORDS[:5], 4)]
    if given.text is not None:
        texts = [line for line in given.text.read_text(encoding="utf-8").split("\n")[:1000] if line.strip()]
    cores = len(os.sched_getaffinity(0))
    servers = {
        "batches, 1 worker": served(given.run, texts, 64, 1, given.seconds),
        "one at a time, 1 worker": served(given.run, texts, 1, 1, given.seconds),
    }
    if cores > 1:
        servers[f"batches, {min(4, cores)} workers"] = served(given.run, texts, 64, min(4, cores), given.seconds)
    found = {
        **circumstances(), "commit": commit(), "run": given.run.name, "texts": len(texts),
        "loop": loop(given.run, texts, given.seconds), "servers": servers,
    }  # fmt: skip
    print(table(found))
    if given.to is not None:
        (given.to / "serve.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        (given.to / "serve.md").write_text(table(found), encoding="utf-8")


if __name__ == "__main__":
    main()
