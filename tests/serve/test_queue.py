"""The queue alone: turns, batches, limits, what is dropped, and what happens to texts whose worker dies."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from regard.serve.crew import Answered
from regard.serve.metrics import Metrics
from regard.serve.queue import Closed, Full, Job, Queue
from regard.serve.settings import Batching, Limits
from tests.serve.stubs import Crew, said

TRANSLATE = {"model": "en-de", "options": {"nbest": 1}}


def job(*texts: str, asked: dict[str, Any] | None = None, seconds: float = 30) -> Job:
    given = asked or TRANSLATE
    return Job(given, json.dumps(given), texts, time.monotonic() + seconds)


def queue(limits: Limits | None = None, **batching: Any) -> Queue:
    return Queue(limits or Limits(), Batching(**batching), Metrics())


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """With a time limit, and no task left behind."""

    async def whole() -> None:
        await asyncio.wait_for(test(), 30)
        assert len(asyncio.all_tasks()) == 1  # this one

    asyncio.run(whole())


async def answered(*jobs: Job) -> None:
    while not all(one.done for one in jobs):
        await asyncio.sleep(0.001)


def texts_of(one: Job) -> list[str]:
    return [json.loads(answer.content)["text"] for answer in one.answers if answer is not None and answer.content]


def test_texts_of_several_requests_are_decoded_together_and_answered_in_order() -> None:
    async def test() -> None:
        line, crew = queue(), Crew()
        jobs = [job(*(f"{n}.{m}" for m in range(3))) for n in range(5)]
        for one in jobs:
            line.submit(one)
        line.start(crew, 1)
        await answered(*jobs)
        assert [texts_of(one) for one in jobs] == [[said(f"{n}.{m}") for m in range(3)] for n in range(5)]
        assert len(crew.log) == 1
        assert crew.log[0][:5] == ["0.0", "1.0", "2.0", "3.0", "4.0"]  # in turns
        assert (line.texts, line.characters) == (0, 0)
        await line.stop()

    run(test)


def test_a_large_request_does_not_hold_up_small_ones() -> None:
    async def test() -> None:
        line, crew = queue(texts=4), Crew()
        large, small = job(*(f"L{n}" for n in range(40))), job("s")
        line.submit(large)
        line.submit(small)
        line.start(crew, 1)
        await answered(small)
        assert crew.log[0] == ["L0", "s", "L1", "L2"]
        await answered(large)
        assert max(map(len, crew.log)) == 4
        await line.stop()

    run(test)


def test_other_options_are_another_batch_and_budgets_hold() -> None:
    async def test() -> None:
        line, crew = queue(characters=10), Crew()
        other = {"model": "en-de", "options": {"nbest": 2}}
        jobs = [job("a"), job("b", asked=other), job("c"), job("x" * 9), job("y" * 30)]
        for one in jobs:
            line.submit(one)
        line.start(crew, 1)
        await answered(*jobs)
        assert crew.log == [["a", "c"], ["b"], ["x" * 9], ["y" * 30]]
        await line.stop()

    run(test)


def test_long_texts_leave_a_worker_to_short_ones() -> None:
    async def test() -> None:
        line, crew = queue(long=10), Crew()
        line.start(crew, 2)
        waits = [job("WAIT" + "x" * 20), job("WAIT" + "y" * 20)]
        for one in waits:
            line.submit(one)
        await asyncio.sleep(0.05)
        short = job("short")
        line.submit(short)
        await answered(short)
        assert len([batch for batch in crew.log if batch[0].startswith("WAIT")]) == 1
        for one in waits:
            line.drop(one)
        await line.stop()

    run(test)


def test_no_room_is_told_at_once_with_a_time_to_come_back() -> None:
    async def test() -> None:
        line = queue(Limits(queued_texts=3, queued_characters=100))
        line.submit(job("a", "b"))
        with pytest.raises(Full) as full:
            line.submit(job("c", "d"))
        assert full.value.seconds >= 1
        line.submit(job("c"))
        with pytest.raises(Full):
            line.submit(job("x"))
        alone = queue(Limits(queued_texts=3, queued_characters=100))
        alone.submit(job("x" * 1000))  # nothing else waits
        with pytest.raises(Full):
            alone.submit(job("y"))

    run(test)


def test_what_is_dropped_leaves_at_once_or_at_the_next_step() -> None:
    async def test() -> None:
        line, crew = queue(texts=2), Crew()
        line.start(crew, 1)
        begun, waits, other = job("WAIT"), job("never"), job("other")
        line.submit(begun)
        await asyncio.sleep(0.02)
        line.submit(waits)
        line.submit(other)
        line.drop(waits)
        assert line.texts == 1
        line.drop(begun)
        await answered(other)
        assert crew.log == [["WAIT"], ["other"]]
        assert begun.answers == [None]
        assert not line._running
        await line.stop()

    run(test)


def test_a_text_that_kills_workers_fails_alone() -> None:
    async def test() -> None:
        line, crew = queue(), Crew()
        jobs = [job("a"), job("KILL"), job("b"), job("c", "KILL too")]
        for one in jobs:
            line.submit(one)
        line.start(crew, 1)
        await answered(*jobs)
        assert texts_of(jobs[0]) == [said("a")]
        assert texts_of(jobs[2]) == [said("b")]
        assert [one.failed for one in jobs[1].answers if one] == ["the worker died"]
        assert [one.failed for one in jobs[3].answers if one] == [None, "the worker died"]
        assert crew.lost == 5
        assert line.metrics.lost == 5
        await line.stop()

    run(test)


def test_a_worker_that_says_nothing_is_replaced_after_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.serve.queue.GRACE", 0.05)

    async def test() -> None:
        line, crew = queue(), Crew()
        line.start(crew, 1)
        stuck = job("WAIT", seconds=0.05)
        line.submit(stuck)
        while not crew.lost:
            await asyncio.sleep(0.005)
        line.drop(stuck)
        good = job("good")
        line.submit(good)
        await answered(good)
        await line.stop()

    run(test)


def test_draining_takes_no_more_and_answers_all() -> None:
    async def test() -> None:
        line, crew = queue(texts=1), Crew(0.01)
        jobs = [job(str(n)) for n in range(5)]
        for one in jobs:
            line.submit(one)
        line.start(crew, 1)

        async def over() -> None:
            for one in jobs:
                await answered(one)
                line.finish(one)

        finishing = asyncio.create_task(over())
        assert await line.drain(10)
        assert all(one.done for one in jobs)
        with pytest.raises(Closed):
            line.submit(job("late"))
        await finishing
        await line.stop()

    run(test)


def _right(text: str, answer: Answered) -> bool:
    if text.startswith("KILL"):
        return answer.failed == "the worker died"
    if text.startswith(("FAIL", "REFUSE")):
        return bool(answer.failed or answer.refused)
    return bool(json.loads(answer.content)["text"] == said(text))


@pytest.mark.parametrize("seed", range(6))
def test_whatever_comes_everything_is_answered_once_or_dropped(seed: int) -> None:
    """Jobs come, are dropped, kill workers, ask for other options: the counts are right and answers are their own."""
    rng = random.Random(seed)

    async def test() -> None:
        line, crew = queue(texts=rng.randint(1, 8), characters=40, long=12, wait=0.001), Crew(0.001)
        line.start(crew, rng.randint(1, 3))
        jobs: list[Job] = []
        for n in range(120):
            kind = rng.choice(["", "", "", "", "FAIL", "KILL", "REFUSE", "x" * 20])
            options = {"model": "en-de", "options": {"nbest": rng.choice([1, 1, 2])}}
            jobs.append(job(*(f"{kind}{n}.{m}" for m in range(rng.randint(1, 4))), asked=options))
            line.submit(jobs[-1])
            if rng.random() < 0.3:
                line.drop(rng.choice(jobs))
            if rng.random() < 0.5:
                await asyncio.sleep(rng.random() * 0.004)
        await answered(*(one for one in jobs if not one.dropped))
        for one in jobs:
            for text, answer in zip(one.texts, one.answers, strict=True):
                assert one.dropped if answer is None else _right(text, answer)
        while line._running:
            await asyncio.sleep(0.001)
        assert (line.texts, line.characters, len(line._jobs)) == (0, 0, 0)
        await line.stop()

    run(test)
