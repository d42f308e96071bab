"""S1, S2, S5, S7, S8, S9: many clients, too many, some that hang up, and signals in between."""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from tests.reliability.report import Row
from tests.serve.load import Client, Outcome, closed_loop, open_loop, percentile, translate
from tests.serve.served import Bench, Served, row
from tests.translate.toys import RUN, WORDS


def offline(bench: Bench) -> list[str]:
    from regard.translate.translator import Translator

    return [result.text for result in Translator.load(bench.run)(bench.texts)]


def s1(bench: Bench) -> Row:
    """Each answer is compared with what the translator says of the text alone."""
    known, rng, began = offline(bench), random.Random(1), time.monotonic()
    wrong: list[str] = []
    count = bench.size(10_000)

    def requests() -> Iterator[Any]:
        for _ in range(count):
            some = rng.choices(range(len(known)), k=rng.choice([1, 1, 1, 2, 8]))
            yield some, *translate([bench.texts[n] for n in some] if len(some) > 1 else bench.texts[some[0]])

    def seen(outcome: Outcome) -> None:
        right = [known[n] for n in outcome.what]
        told = outcome.json().get("translatedText") if outcome.status == 200 else outcome.status
        if told != (right if len(right) > 1 else right[0]):
            wrong.append(f"{outcome.status}")

    with bench.server("--deadline", "120", "--queue", "4096") as server:
        took = asyncio.run(closed_loop(server.url, 64, requests(), seen))
    reached = f"{count - len(wrong):,} of {count:,} right, {count / took:.0f} requests/s"
    return row("S1", "64 clients, lists and single texts of mixed lengths", "all equal the offline translation",
               reached, not wrong, began)  # fmt: skip


def s2(bench: Bench) -> Row:
    """Five times as many requests as can be answered."""
    began = time.monotonic()
    with bench.server() as server:
        ask = ((None, *translate(text)) for text in itertools.cycle(bench.texts))
        quick = list[Outcome]()
        some = itertools.islice(ask, bench.size(1000))
        capacity = bench.size(1000) / asyncio.run(closed_loop(server.url, 64, some, quick.append))
        found: list[Outcome] = []
        seconds = 5 if bench.quick else 60
        asyncio.run(open_loop(server.url, 5 * capacity, seconds / 5, ask, lambda _: None))
        _, before = server.resting()
        loaded = time.monotonic()
        asyncio.run(open_loop(server.url, 5 * capacity, seconds, ask, found.append))
        lasted = time.monotonic() - loaded  # until the last of those who waited was answered
        _, after = server.resting()
    growth, pace = after / before - 1, sum(one.status == 200 for one in found) / lasted
    refused = [one.seconds for one in found if one.status in (429, 503)]
    good = [one.seconds for one in found if one.status == 200]
    other = dict(Counter(one.status for one in found if one.status not in (200, 429, 503)))
    bound = (512 + 64) / pace + 2  # those who wait, and those being decoded, at the pace that an overload leaves
    late, slow = percentile(refused, 0.99), percentile(good, 0.99)
    reached = (
        f"{len(found) / seconds:.0f} requests/s at a capacity of {capacity:.0f}; refused within {1000 * late:.0f} ms "
        f"(p99), accepted within {slow:.1f} s (p99; the queue is {bound:.1f} s long), {other or 'none'} other, "
        f"memory {100 * growth:+.1f} %"
    )
    passed = late <= 0.05 and slow <= bound and not other and growth < 0.03 and bool(refused)
    return row("S2", f"5 × overload for {seconds} s", "refused within 50 ms, p99 below the queue's, memory flat",
               reached, passed, began)  # fmt: skip


def s5(bench: Bench) -> Row:
    """Clients that hang up at any moment."""
    began, rng = time.monotonic(), random.Random(5)
    count = bench.size(1000)

    async def leave(url: str, gate: asyncio.Semaphore) -> None:
        async with gate:
            client = Client(url)
            path, body = translate(rng.choices(bench.texts, k=rng.choice([1, 4, 32])))
            asking = asyncio.create_task(client.ask(None, path, body))
            await asyncio.sleep(rng.random() * 0.3)
            asking.cancel()
            client.close()

    async def all_of(url: str, times: int) -> None:
        gate = asyncio.Semaphore(32)
        await asyncio.gather(*(leave(url, gate) for _ in range(times)))

    times = 5 if bench.quick else 20  # what is made once for every shape of a batch takes a while to be there
    with bench.server() as server:
        rests = []
        for _ in range(times):
            asyncio.run(all_of(server.url, count))
            rests.append(server.resting())
        left = max(0.0, rests[-1][0] - rests[0][0])
        steps = [later / earlier - 1 for (_, earlier), (_, later) in pairwise(rests)]
        first, last = steps[0], median(steps[-5:])
        whole = rests[-1][1] / rests[0][1] - 1
        waiting = server.metric("regard_queue_texts")
    return row("S5", f"{count:,} clients that hang up, {times} times", "0 tasks left, memory comes to rest",
               f"{left:g} tasks and {waiting:g} texts left, memory {100 * first:+.2f} % by the second thousand, "
               f"{100 * last:+.3f} % by each of the last five (median), {100 * whole:+.1f} % in all",
               left == 0 and waiting == 0 and last < (0.01 if bench.quick else 0.0005), began)  # fmt: skip


def s7(bench: Bench) -> Row:
    """Every request of every client is answered, or refused in so many words, or finds nobody listening."""
    began, lost, codes = time.monotonic(), list[str](), list[int]()
    times = 3 if bench.quick else 20
    slowest = 0.0

    async def one(client: Client) -> None:
        for text in itertools.cycle(bench.texts):
            try:
                outcome = await client.ask(None, *translate(text))
            except ConnectionRefusedError:
                return
            except (OSError, asyncio.IncompleteReadError) as error:
                lost.append(repr(error))
                return
            if outcome.status != 200:
                lost.extend([str(outcome.status)] if outcome.status != 503 else [])
                return

    async def load(server: Served, n: int) -> float:
        clients = [asyncio.create_task(one(Client(server.url))) for _ in range(32)]
        await asyncio.sleep(0.5 + 0.05 * n)
        server.process.send_signal(signal.SIGTERM)
        asked = time.monotonic()
        codes.append(await asyncio.to_thread(server.process.wait, 60))
        took = time.monotonic() - asked
        await asyncio.gather(*clients)
        return took

    for n in range(times):
        with bench.server("--deadline", "60") as server:
            slowest = max(slowest, asyncio.run(load(server, n)))
    good = not lost and codes == [0] * times
    reached = f"{codes.count(0)}/{times} ended with 0, within {slowest:.1f} s; {len(lost)} requests lost"
    return row("S7", f"SIGTERM under the load of 32 clients, {times} times", "0 lost, exit 0 within 30 s", reached,
               good and slowest < 30, began)  # fmt: skip


def s8(bench: Bench) -> Row:
    """The toy, so that it takes minutes: the server's part is the same."""
    began, rng = time.monotonic(), random.Random(8)
    count = bench.size(100_000)
    texts = [" ".join(rng.choices(WORDS, k=rng.randint(1, 12))) for _ in range(500)]
    bad: list[int] = []

    def requests(times: int) -> Iterator[Any]:
        return ((None, *translate(rng.choice(texts))) for _ in range(times))

    def seen(outcome: Outcome) -> None:
        if outcome.status != 200:
            bad.append(outcome.status)

    with bench.server(run=RUN) as server:
        asyncio.run(closed_loop(server.url, 32, requests(count // 20), seen))
        before = server.memory()
        asyncio.run(closed_loop(server.url, 32, requests(count), seen))
        growth = server.memory() / before - 1
    return row("S8", f"{count:,} requests", "memory grows under 3 %",
               f"{100 * growth:+.2f} %, {len(bad)} errors", growth < 0.03 and not bad, began)  # fmt: skip


def s9(bench: Bench) -> Row:
    """Workers killed under load: nobody notices but by waiting."""
    began, bad, back = time.monotonic(), list[Outcome](), list[float]()
    times = 3 if bench.quick else 20

    async def whole(server: Served) -> None:
        over = asyncio.Event()
        last = [0.0]

        async def one() -> None:
            client = Client(server.url)
            for text in itertools.cycle(bench.texts):
                if over.is_set():
                    return
                outcome = await client.ask(None, *translate(text))
                last[0] = time.monotonic()
                if outcome.status != 200:
                    bad.append(outcome)

        clients = [asyncio.create_task(one()) for _ in range(8)]
        for _ in range(times):
            await asyncio.sleep(0.5)
            killed = time.monotonic()
            for pid in workers_of(server.process.pid):
                os.kill(pid, signal.SIGKILL)
            while last[0] <= killed + 0.05:
                await asyncio.sleep(0.005)
            back.append(last[0] - killed)
        over.set()
        await asyncio.gather(*clients)

    with bench.server() as server:
        asyncio.run(whole(server))
        lost = server.metric("regard_workers_lost_total")
    return row("S9", f"all workers killed {times} times under the load of 8 clients", "back within 2 s, 0 failed",
               f"{lost:g} killed, back within {max(back):.2f} s, {len(bad)} requests failed",
               max(back) < 2 and not bad and lost >= times, began)  # fmt: skip


def workers_of(server: int) -> list[int]:
    """Children of the nursery, which is the server's child."""

    def children(pid: int) -> list[int]:
        tasks = Path(f"/proc/{pid}/task").glob("*/children")
        return [int(child) for task in tasks for child in task.read_text().split()]

    return [worker for nursery in children(server) for worker in children(nursery)]
