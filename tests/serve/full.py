"""S1 to S11 at full size: `python -m tests.serve.full --to docs/results --run RUN --text FILE`.

Without a run, the toy of the tests is served. `--only S1 S7` runs these and keeps what is known of the others;
`--quick` is a look whether it works at all.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.reliability.report import Row, circumstances, commit
from tests.serve.load import Client, Outcome, closed_loop, open_loop, percentile, translate
from tests.serve.running import wait_until_ready
from tests.serve.test_contract import unhurried
from tests.translate.toys import NASTY, RUN, WORDS, nasty_text


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


def row(name: str, what: str, goal: str, reached: str, passed: bool, began: float) -> Row:
    return {
        "id": name, "what": what, "goal": goal, "reached": reached, "passed": passed,
        "seconds": round(time.monotonic() - began, 1),
    }  # fmt: skip


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
        asyncio.run(open_loop(server.url, 5 * capacity, 2, ask, lambda _: None))
        before = server.memory()
        asyncio.run(open_loop(server.url, 5 * capacity, seconds, ask, found.append))
        server.settled()
        growth = server.memory() / before - 1
    refused = [one.seconds for one in found if one.status in (429, 503)]
    good = [one.seconds for one in found if one.status == 200]
    other = len(found) - len(refused) - len(good)
    bound = 512 / capacity + 2
    late, slow = percentile(refused, 0.99), percentile(good, 0.99)
    reached = (
        f"{len(found) / seconds:.0f} requests/s at a capacity of {capacity:.0f}; refused within {1000 * late:.0f} ms "
        f"(p99), accepted within {slow:.1f} s (p99; the queue is {bound:.1f} s long), {other} other, "
        f"memory {100 * growth:+.1f} %"
    )
    passed = late <= 0.05 and slow <= bound and not other and growth < 0.03 and bool(refused)
    return row("S2", f"5 × overload for {seconds} s", "refused within 50 ms, p99 below the queue's, memory flat",
               reached, passed, began)  # fmt: skip


def s3(bench: Bench) -> Row:
    """Every limit, many times, on a server that is busy with nothing else."""
    began, pair = time.monotonic(), {"source": "en", "target": "de"}
    breaches = [
        ("/translate", {"q": "x" * 2**20, **pair}), ("/translate", {"q": "x" * 10_001, **pair}),
        ("/translate", {"q": ["x"] * 129, **pair}), ("/translate", {"q": "x", "alternatives": 17, **pair}),
        ("/v1/translate", {"texts": ["x"], "beam": 17}), ("/v1/translate", {"texts": ["x"], "nbest": 17}),
    ]  # fmt: skip
    bodies = [(path, json.dumps(body).encode()) for path, body in breaches]
    bodies.append(("/translate", b'{"q":' + b"[" * 33 + b"]" * 33 + b"}"))
    found: list[Outcome] = []
    with bench.server() as server:
        texts = server.metric("regard_texts_total")
        requests = ((n, *body) for n in range(bench.size(1000)) for body in bodies)
        asyncio.run(closed_loop(server.url, 1, requests, found.append))
        touched = server.metric("regard_texts_total") != texts
    slow = max(one.seconds for one in found)
    passed = slow < 0.1 and not touched and all(400 <= one.status < 500 for one in found)
    reached = f"the slowest {1000 * slow:.0f} ms, model {'touched' if touched else 'not touched'}"
    return row("S3", f"{len(bodies)} limits broken {len(found):,} times", "4xx within 100 ms, model not touched",
               reached, passed, began)  # fmt: skip


def s4(bench: Bench) -> Row:
    """Texts that take longer than they may; then a short one, which shows that the worker is free."""
    began = time.monotonic()
    text = " ".join(itertools.islice(itertools.cycle(bench.texts), 200))[:9_999]
    late: list[float] = []
    after: list[float] = []
    with bench.server() as server:
        for n in range(bench.size(100)):
            deadline = 0.1 + 0.4 * (n % 5) / 4
            body = json.dumps({"texts": [text] * 8, "deadline": deadline}).encode()
            outcome = asyncio.run(Client(server.url).ask(None, "/v1/translate", body))
            assert outcome.status == 504, outcome
            late.append(abs(outcome.seconds - deadline))
            after.append(asyncio.run(Client(server.url).ask(None, *translate(bench.texts[0]))).seconds)
    reached = (
        f"off by {1000 * max(late):.0f} ms at most; the next text was answered within "
        f"{1000 * percentile(after, 0.5):.0f} ms (median), {1000 * max(after):.0f} ms at most"
    )
    return row("S4", f"{len(late)} deadlines of 0.1 to 0.5 s", "504 within 100 ms of it; decoding stops", reached,
               max(late) <= 0.1, began)  # fmt: skip


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

    with bench.server() as server:
        asyncio.run(all_of(server.url, count // 4))
        tasks, before = server.settled(), server.memory()
        asyncio.run(all_of(server.url, count))
        left, growth = server.settled() - tasks, server.memory() / before - 1
        waiting = server.metric("regard_queue_texts")
    return row("S5", f"{count:,} clients that hang up", "0 tasks left, memory does not grow",
               f"{left:g} tasks and {waiting:g} texts left, memory {100 * growth:+.1f} %",
               left == 0 and waiting == 0 and growth < 0.03, began)  # fmt: skip


def s6(bench: Bench) -> Row:
    """The first translation of a model of 60 million weights."""
    from regard.models.build import build_model
    from regard.models.settings import TransformerModel
    from regard.search.settings import Search
    from regard.serve.worker import Worker
    from regard.text.pieces import Pieces
    from regard.translate.translator import Translator

    began = time.monotonic()
    pieces = Pieces.load(RUN / "pieces" / "source.model")
    settings = TransformerModel(encoder_layers=6, decoder_layers=6, width=512, heads=8, feedforward=3456)
    model = build_model(settings, len(pieces), len(pieces))
    weights = sum(weight.numel() for weight in model.parameters())
    loaded = time.monotonic()
    worker = Worker({"base": Translator(model, pieces, pieces, Search(beam=5))}, {}, bytearray(1))
    worker.warm()
    took = time.monotonic() - loaded
    return row("S6", f"the warm-up translation of a model of {weights / 1e6:.0f} M weights", "under 3 s",
               f"{took:.1f} s", took < 3, began)  # fmt: skip


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


def s11(bench: Bench) -> Row:
    """Bodies that nobody would send."""
    began, rng, found = time.monotonic(), random.Random(11), list[Outcome]()
    count = bench.size(20_000)

    def body() -> tuple[str, bytes]:
        text: Any = nasty_text(rng, 20) + rng.choice(["", "\ud800", "e\u0301" * 50, "\u202e", "\x00", *NASTY])
        given: Any = {
            "q": rng.choice([text, [text, text], text * 3]),
            "source": rng.choice(["en", "auto"]),
            "target": "de",
        }
        given["format"] = rng.choice(["text", "html"])
        if rng.random() < 0.2:
            given[rng.choice(["q", "source", "target", "alternatives", "\udfff"])] = rng.choice(
                [None, 1e9, -1, [], {}, text]
            )
        path = "/translate"
        if rng.random() < 0.3:
            path, given = "/v1/translate", {"texts": [text], "alignment": rng.random() < 0.3, "prefix": text[:3]}
        raw = json.dumps(given, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
        if rng.random() < 0.2:
            at = rng.randrange(len(raw))
            raw = raw[:at] + rng.randbytes(rng.randint(0, 3)) + raw[at + rng.randint(0, 2) :]
        return path, raw

    with bench.server("--deadline", "120", run=RUN) as server:
        asyncio.run(closed_loop(server.url, 16, ((None, *body()) for _ in range(count)), found.append))
    wrong = [one for one in found if one.status >= 500 or not _utf8_json(one.body)]
    good = sum(one.status == 200 for one in found)
    return row("S11", f"{count:,} odd bodies, {good:,} of them answered with 200", "0 of 5xx, always UTF-8 JSON",
               f"{len(wrong)} wrong", not wrong and good > count // 4, began)  # fmt: skip


def _utf8_json(body: bytes) -> bool:
    try:
        json.loads(body.decode("utf-8"))
        return True
    except ValueError:
        return False


def s14(bench: Bench) -> Row:
    """Schemathesis, all its checks."""
    import schemathesis
    from hypothesis import HealthCheck, given, settings
    from schemathesis import Case, GenerationMode

    began, bad, cases = time.monotonic(), list[str](), [0]
    with bench.server("--deadline", "120", run=RUN) as server:
        schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json").exclude(path_regex="/v1/views/")
        for operation in [found.ok() for found in schema.get_all_operations()]:
            for mode in [GenerationMode.POSITIVE] if operation.method == "get" else GenerationMode:

                @given(case=operation.as_strategy(generation_mode=mode))
                @settings(
                    max_examples=bench.size(500),
                    deadline=None,
                    suppress_health_check=list(HealthCheck),
                    database=None,
                )
                def holds(case: Case) -> None:
                    cases[0] += 1
                    unhurried(case).call_and_validate()

                try:
                    holds()
                except Exception as error:
                    bad.append(f"{operation.label}: {error}")
    reached = f"{len(bad)} failures in {cases[0]:,} cases" + "".join(f"; {one[:200]}" for one in bad)
    return row("S14", "the OpenAPI document, by schemathesis, all checks, views left out", "0 failures", reached,
               not bad, began)  # fmt: skip


CHECKS: dict[str, Callable[[Bench], Row]] = {
    "S1": s1, "S2": s2, "S3": s3, "S4": s4, "S5": s5, "S6": s6, "S7": s7, "S8": s8, "S9": s9, "S11": s11, "S14": s14,
}  # fmt: skip


def write(to: Path, rows: list[Row]) -> None:
    """Into serving.json and serving.md; rows that were there stay, unless there are newer ones."""
    to.mkdir(parents=True, exist_ok=True)
    file = to / "serving.json"
    before = json.loads(file.read_text(encoding="utf-8"))["checks"] if file.is_file() else []
    found = {one["id"]: one for one in [*before, *rows]}
    kept = sorted(found.values(), key=lambda one: int(one["id"][1:]))
    about = circumstances()
    file.write_text(json.dumps({**about, "checks": kept}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    lines = [
        "# Serving, measured", "",
        f"`python -m tests.serve.full`; {about['cores']} cores, {about['processor']}, torch {about['torch']}; "
        "server, workers and clients share them. Each promise is explained in [serving.md](../serving.md).", "",
        "| id | what | goal | reached | passed | seconds |", "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for one in kept:
        cells = (
            one["id"],
            one["what"],
            one["goal"],
            one["reached"],
            "yes" if one["passed"] else "**no**",
            one["seconds"],
        )
        lines.append("| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |")
    (to / "serving.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> int:
    asked = argparse.ArgumentParser(prog="python -m tests.serve.full", description=__doc__)
    asked.add_argument("--to", type=Path, help="folder for serving.json and serving.md")
    asked.add_argument("--run", type=Path, default=RUN)
    asked.add_argument("--text", type=Path, help="texts to ask for, a line each")
    asked.add_argument("--workers", type=int, default=1)
    asked.add_argument("--only", nargs="+", choices=list(CHECKS), default=list(CHECKS))
    asked.add_argument("--quick", action="store_true")
    given = asked.parse_args()
    rng = random.Random(0)
    texts = [" ".join(rng.choices(WORDS, k=rng.randint(1, 20))) for _ in range(300)]
    if given.text is not None:
        texts = given.text.read_text(encoding="utf-8").split("\n")[:1000]
        texts = [text for text in texts if text.strip()]
    bench, bad = Bench(given.run, texts, given.workers, given.quick), 0
    for name in given.only:
        try:
            found = CHECKS[name](bench)
        except Exception as error:
            found = row(name, "the check itself", "is carried out", f"{type(error).__name__}: {error}", False, 0.0)
        found |= {"run": given.run.name, "commit": commit()}
        print(f"{name}: {found['what']}: {found['reached']} {'passed' if found['passed'] else 'FAILED'}", flush=True)
        bad += not found["passed"]
        if given.to is not None and not given.quick:
            write(given.to, [found])
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
