"""Deadlines, clients that leave, workers that die: one request pays, the others and the next do not."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from regard.serve.crew import CannotStart
from regard.serve.crew import Crew as RealCrew
from regard.serve.run import Serving, bound, serve
from regard.serve.settings import Batching, Limits
from regard.serve.worker import Worker
from regard.translate.translator import Translator
from tests.serve.running import TOY, Running, running
from tests.serve.stubs import Crew, said
from tests.translate.toys import RUN

LONG = "one red dog and two cats " * 40  # many steps for a toy


def leave(server: Running, text: str, seconds: float = 0.02, path: str = "/translate") -> None:
    """Ask, wait a moment, and hang up."""
    body = json.dumps({"q": text, "source": "en", "target": "de"}).encode()
    kind = f"Host: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    head = f"POST {path} HTTP/1.1\r\n{kind}\r\n\r\n"
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(head.encode() + body)
        time.sleep(seconds)


def test_the_deadline_is_kept_and_the_text_given_up(fake: Running) -> None:
    began = time.monotonic()
    told = fake.post("/v1/translate", texts=["WAIT"], deadline=0.3)
    took = time.monotonic() - began
    assert told.status_code == 504
    assert "in time" in told.json()["error"]
    assert 0.29 < took < 5  # the full check measures; here the machine may be busy
    assert fake.translate("next").json()["translatedText"] == said("next")  # the worker did not wait for it
    fake.until("regard_open_requests", 1)  # the one that asks


def test_work_of_clients_that_left_is_dropped_and_nothing_stays(fake: Running) -> None:
    fake.translate("warm")
    tasks = fake.metric("regard_tasks")
    gone = 'regard_refused_total{reason="gone"}'
    before = fake.metric("regard_refused_total")
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda n: leave(fake, f"WAIT {n}"), range(48)))
    fake.until("regard_open_requests", 1)
    fake.until("regard_tasks", tasks)
    assert fake.metric("regard_queue_texts") == 0
    assert fake.metric("regard_refused_total") >= before + 48
    assert gone in fake.client.get("/metrics").text
    assert fake.translate("next").status_code == 200


def test_overload_is_refused_at_once_and_what_was_accepted_is_answered() -> None:
    limits = Limits(queued_texts=8)
    with running(Serving([TOY], limits=limits, batching=Batching(texts=2)), Crew(0.02)) as server:
        found: list[tuple[int, float, str]] = []

        def ask(n: int) -> None:
            began = time.monotonic()
            told = server.translate(f"t{n}")
            found.append((told.status_code, time.monotonic() - began, told.text))
            if told.status_code == 200:
                assert told.json()["translatedText"] == said(f"t{n}")
            else:
                assert int(told.headers["retry-after"]) >= 1

        with ThreadPoolExecutor(40) as pool:
            list(pool.map(ask, range(80)))
        assert {code for code, _, _ in found} == {200, 503}
        assert sum(code == 200 for code, _, _ in found) >= 10
        assert server.metric("regard_queue_texts") == 0


class TestRealWorkers:
    def test_answers_are_those_of_the_translator_whatever_they_are_batched_with(self, real: Running) -> None:
        texts = [" ".join(["one", "red", "dog", "two", "cats"][: 1 + n % 5]) + " x" * (n % 7) for n in range(24)]
        offline = [result.text for result in Translator.load(RUN)(texts)]
        asked = [(n, m) for m in range(6) for n in range(len(texts))]

        def ask(which: tuple[int, int]) -> bool:
            n, m = which
            q = [texts[n], texts[(n + m) % 24]] if m % 2 else texts[n]
            told = real.translate(q).json()["translatedText"]
            return told == ([offline[n], offline[(n + m) % 24]] if m % 2 else offline[n])

        with ThreadPoolExecutor(16) as pool:
            assert all(pool.map(ask, asked))
        assert "regard_batch_texts_count" in real.client.get("/metrics").text

    def test_a_worker_that_is_killed_is_replaced_and_no_request_is_lost(self, real: Running) -> None:
        lost = real.metric("regard_workers_lost_total")
        with ThreadPoolExecutor(8) as pool:
            found = [pool.submit(real.translate, LONG[: 100 + n]) for n in range(24)]
            found[0].result()  # it is at work
            for pid in set(real.crew.pids):
                os.kill(pid, signal.SIGKILL)
            killed = time.monotonic()
            found += [pool.submit(real.translate, LONG[: 124 + n]) for n in range(8)]  # if it was idle
            assert [one.result().status_code for one in found] == [200] * 32
        assert real.metric("regard_workers_lost_total") == lost + 1
        assert time.monotonic() - killed < 30

    def test_what_kills_its_worker_or_fails_gets_500_with_an_id_and_others_do_not(self, real: Running) -> None:
        with ThreadPoolExecutor(4) as pool:
            bad = pool.submit(real.post, "/v1/views/kill", text="x")
            good = [pool.submit(real.translate, "one red dog") for _ in range(8)]
            assert [one.result().status_code for one in good] == [200] * 8
            assert bad.result().status_code == 500
            assert bad.result().json()["id"] == bad.result().headers["x-request-id"]
        failed = real.post("/v1/views/fail", text="secret words")
        assert failed.status_code == 500
        assert "secret" not in failed.text
        assert real.post("/v1/views/refuse", text="x").json()["error"] == "not this one"
        assert real.post("/v1/views/text", text="one red dog").status_code == 200

    def test_a_good_request_for_what_is_not_there_gets_404(self, real: Running) -> None:
        nothing = real.post("/v1/views/layer", text="x", layer=9)
        assert nothing.status_code == 404
        assert nothing.json()["error"] == "there is no layer 9"
        assert real.post("/v1/views/refuse", text="x").status_code == 422

    def test_a_text_that_makes_the_model_fail_does_not_take_others_with_it(self, real: Running) -> None:
        """In one request, too: each is tried by itself."""
        toy = Translator.load(RUN)
        worker = Worker({"toy": toy}, {}, bytearray(10))
        whole = Translator.__call__

        def fails(self: Translator, texts: list[str], **more: object) -> object:
            if any("BOOM" in text for text in texts):
                raise RuntimeError("BOOM said somebody")
            return whole(self, texts, **more)  # type: ignore[arg-type]

        options = {"nbest": 1, "attention": False, "alignment": False}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Translator, "__call__", fails)
            found = worker.answers({"model": "toy", "texts": ["one", "BOOM", "two"], "options": options})
        assert [one.failed is None for one in found] == [True, False, True]
        assert found[1].failed is not None
        assert found[1].failed.startswith("RuntimeError at ")
        assert "BOOM" not in found[1].failed
        assert json.loads(found[0].content)["text"] == toy(["one"])[0].text

    def test_decoding_stops_when_nobody_waits(self, real: Running) -> None:
        """Seen by what was said: a text that is given up says nothing."""
        said_before = real.metric("regard_target_tokens_total")
        assert real.translate([LONG * 10] * 4).status_code == 200
        usual = real.metric("regard_target_tokens_total") - said_before
        told = real.post("/v1/translate", texts=[LONG * 10] * 4, deadline=0.05)
        assert told.status_code == 504
        assert real.translate("one").status_code == 200
        assert real.metric("regard_target_tokens_total") - said_before - usual < usual / 2

    def test_the_nursery_may_die_too(self, real: Running) -> None:
        real.crew._process.kill()
        real.crew._process.wait()
        assert real.translate("one red dog").status_code == 200
        for pid in set(real.crew.pids):
            os.kill(pid, signal.SIGKILL)
        assert real.translate("one red dog").status_code == 200


def test_models_that_cannot_be_loaded_end_the_server_with_a_sentence(tmp_path: Path) -> None:
    async def main() -> None:
        bad = Serving([replace(TOY, run=tmp_path)], port=0)
        with pytest.raises(CannotStart, match=str(tmp_path)):
            await serve(bad, bound(bad), asyncio.Event(), print, RealCrew(bad.pairs, bad.processes))

    asyncio.run(main())
