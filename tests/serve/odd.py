"""S3, S4, S6, S11, S12, S14: what breaks limits, comes late, or nobody would send."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import time
from statistics import median
from typing import Any

from tests.reliability.report import Row
from tests.serve.load import Client, Outcome, closed_loop, percentile, translate
from tests.serve.served import Bench, row
from tests.serve.test_contract import contract, unhurried
from tests.translate.toys import NASTY, RUN, nasty_text


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


def s11(bench: Bench) -> Row:
    """Bodies that nobody would send."""
    began, rng, found = time.monotonic(), random.Random(11), list[Outcome]()
    count = bench.size(20_000)

    def body() -> tuple[str, bytes]:
        text: Any = nasty_text(rng, 4) + rng.choice(["", "\ud800", "e\u0301" * 50, "\u202e", "\x00", *NASTY])
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


def s12(bench: Bench) -> Row:
    """A megabyte of each kind that careless patterns choke on, before any model sees it."""
    from regard.translate.translator import Translator
    from tests.reliability.lines import UNITS, seconds

    began, toy = time.monotonic(), Translator.load(RUN)
    sizes = (100_000, 1_000_000)
    took = {unit: [median(seconds(toy, unit, size) for _ in range(5)) for size in sizes] for unit in UNITS}
    slowest = max(took, key=lambda unit: took[unit][1])
    steepest = max(large / small for small, large in took.values())
    reached = f"{took[slowest][1]:.2f} s at most ({slowest!r}), at most {steepest:.1f} × that of a tenth"
    passed = took[slowest][1] < 1 and all(large < 12 * small + 0.1 for small, large in took.values())
    return row("S12", f"1 MB of each of {len(UNITS)} kinds: placeholders, sentences, pieces",
               "under 1 s, under 12 × the time of a tenth, give or take 0.1 s", reached, passed, began)  # fmt: skip


def s14(bench: Bench) -> Row:
    """Schemathesis, all its checks."""
    from hypothesis import HealthCheck, given, settings
    from schemathesis import Case, GenerationMode

    began, bad, cases = time.monotonic(), list[str](), [0]
    with bench.server("--deadline", "120", run=RUN) as server:
        for operation in [found.ok() for found in contract(server.url).get_all_operations()]:
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
                    unhurried(case).call_and_validate(timeout=120)  # as long as the server may take

                try:
                    holds()
                except Exception as error:
                    causes = error.exceptions if isinstance(error, ExceptionGroup) else ()  # of what did not recur
                    bad.append(f"{operation.label}: {error} {[str(cause)[:300] for cause in causes]}")
    reached = f"{len(bad)} failures in {cases[0]:,} cases" + "".join(f"; {one[:600]}" for one in bad)
    return row("S14", "the OpenAPI document, by schemathesis, all checks, all paths", "0 failures", reached,
               not bad, began)  # fmt: skip
