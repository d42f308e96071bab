"""One bounded queue for all: texts of several requests are decoded together, and no request waits behind a large one.

A job is what one request asks for; its texts are taken in turns with those of others that ask for the same model and
options. Dropping a job takes effect at once for texts that wait, and at the next step for those being decoded.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from regard.serve.crew import Answered, CannotStart, Lost
from regard.serve.metrics import Metrics
from regard.serve.settings import Batching, Limits

TRIES = 3
"""Workers that a text may kill before it is at fault."""
GRACE = 2.0
"""Seconds after the last deadline of a batch, when a worker that still says nothing is ended."""


class Full(Exception):
    """There is no room; `seconds` is when there may be."""

    def __init__(self, seconds: int) -> None:
        super().__init__()
        self.seconds = seconds


class Closed(Exception):
    """The server is about to end."""


class Hand(Protocol):
    """What decodes; see `crew.Hand`."""

    async def answers(self, asked: Mapping[str, Any], seconds: float) -> list[Answered]:
        """To a batch."""

    def give_up(self, place: int) -> None:
        """One text of the batch."""


class Crew(Protocol):
    """Where hands come from; see `crew.Crew`."""

    async def hire(self) -> Any:
        """A hand that is ready."""

    def let_go(self, hand: Any) -> None:
        """One that is not."""


@dataclass(eq=False)
class Job:
    """What one request asks for: texts with the same options, or a view (then `texts` is its name)."""

    asked: Mapping[str, Any]
    """The model and the options; jobs are decoded together if these are the same."""
    key: str
    """The same, to compare."""
    texts: Sequence[str]
    until: float
    """The deadline, by `time.monotonic`."""
    alone: bool = False
    dropped: bool = False
    answers: list[Answered | None] = field(init=False)
    arrived: deque[int] = field(default_factory=deque)
    """Places of texts in the order in which they are answered, as long as nobody took note ..."""
    news: asyncio.Event = field(default_factory=asyncio.Event)
    """... set when there are more."""
    waiting: deque[int] = field(init=False)
    tries: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.waiting = deque(range(len(self.texts)))
        self.answers = [None] * len(self.texts)

    @property
    def done(self) -> bool:
        """Whether all is answered."""
        return None not in self.answers

    def answer(self, place: int, answered: Answered) -> None:
        """Here it is."""
        self.answers[place] = answered
        self.arrived.append(place)
        self.news.set()


Item = tuple[Job, int]


@dataclass(eq=False)
class Batch:
    """Texts that are decoded together."""

    items: list[Item]
    hand: Hand | None = None
    long: bool = False

    def asked(self) -> dict[str, Any]:
        """The message to a worker."""
        return {**self.items[0][0].asked, "texts": [job.texts[place] for job, place in self.items]}


class Queue:
    """Jobs that wait, batches that are being decoded, and a task for each worker that takes the one to the other."""

    def __init__(self, limits: Limits, batching: Batching, metrics: Metrics) -> None:
        self.limits, self.batching, self.metrics = limits, batching, metrics
        self.texts = self.characters = 0
        self.hands = 0
        """Workers that are there and warm."""
        self.begun = self.closed = False
        self._jobs: deque[Job] = deque()
        self._open = 0
        self._running: set[Batch] = set()
        self._news = asyncio.Event()
        self._idle = asyncio.Event()
        self._expected, self._pace = 1, 0.0
        self._tasks: list[asyncio.Task[None]] = []
        self.trouble: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the models turn out to be unusable."""

    def start(self, crew: Crew, workers: int) -> None:
        """Hire so many, and let them work."""
        self._workers = workers
        self._tasks = [asyncio.create_task(self._work(crew)) for _ in range(workers)]

    def submit(self, job: Job) -> None:
        """Let it wait; `Full` if there is no room, at once."""
        if self.closed:
            raise Closed
        size = sum(map(len, job.texts))
        texts, characters = self.texts + len(job.texts), self.characters + size
        crowded = texts > self.limits.queued_texts or characters > self.limits.queued_characters
        if crowded and self.texts:
            raise Full(max(1, round(self._pace * self.texts)))
        self.texts, self.characters = texts, characters
        self._open += 1
        self._jobs.append(job)
        self._news.set()

    def drop(self, job: Job) -> None:
        """Nobody waits for it any more."""
        if job.dropped or job.done:
            return
        job.dropped = True
        self._no_longer_wait(job, list(job.waiting))
        job.waiting.clear()
        if job in self._jobs:
            self._jobs.remove(job)
        for batch in self._running:
            for place, (one, _) in enumerate(batch.items):
                if one is job and batch.hand is not None:
                    batch.hand.give_up(place)

    def finish(self, job: Job) -> None:
        """Its request is over, however it ended."""
        self.drop(job)
        self._open -= 1
        if not self._open:
            self._idle.set()

    async def drain(self, seconds: float) -> bool:
        """Take no more, and wait until all is answered; whether it was in time."""
        self.closed = True
        self._idle.clear()
        if not self._open:
            return True
        try:
            await asyncio.wait_for(self._idle.wait(), seconds)
        except TimeoutError:
            return False
        return True

    async def stop(self) -> None:
        """End all tasks."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _work(self, crew: Crew) -> None:
        hand = None
        pause = 0.05
        while True:
            if hand is None:
                try:
                    hand = await crew.hire()
                except CannotStart as error:
                    if not self.begun and not self.trouble.done():
                        self.trouble.set_exception(error)
                        return
                    hand = None
                except (Lost, OSError):
                    hand = None
                if hand is None:
                    await asyncio.sleep(pause)
                    pause = min(5.0, 2 * pause)
                    continue
                pause, self.begun = 0.05, True
                self.hands += 1
            batch = await self._take()
            try:
                await self._decoded(batch, hand)
            except Lost:
                crew.let_go(hand)
                hand = None
                self.hands -= 1
                self.metrics.lost += 1
                self._again(batch)

    async def _decoded(self, batch: Batch, hand: Hand) -> None:
        began = time.monotonic()
        batch.hand = hand
        self._running.add(batch)
        last = max(job.until for job, _ in batch.items)
        try:
            found = await hand.answers(batch.asked(), max(0.0, last - began) + GRACE)
        finally:
            self._running.discard(batch)
        seconds = time.monotonic() - began
        self._pace = 0.8 * self._pace + 0.2 * seconds / len(batch.items) / self._workers
        self.metrics.decoded(len(batch.items), seconds, found)
        for (job, place), answered in zip(batch.items, found, strict=True):
            if not job.dropped:
                job.answer(place, answered)

    def _again(self, batch: Batch) -> None:
        """Its worker died: each text again, by itself; one that died by itself twice is what kills workers."""
        for job, place in reversed(batch.items):
            if job.dropped:
                continue
            job.tries[place] = job.tries.get(place, 0) + 1
            if len(batch.items) == 1 and job.tries[place] >= TRIES:
                job.answer(place, Answered(b"", None, "the worker died", (0, 0)))
                continue
            job.alone = True
            job.waiting.appendleft(place)
            self.texts += 1
            self.characters += len(job.texts[place])
            if job not in self._jobs:
                self._jobs.appendleft(job)
        self._news.set()

    async def _take(self) -> Batch:
        """The next batch, as soon as there is one."""
        while True:
            if self.texts and self.texts < self._expected:
                await self._company()
            batch = self._formed()
            if batch is not None:
                self._expected = len(batch.items)
                return batch
            self._news.clear()
            await self._news.wait()

    async def _company(self) -> None:
        """Wait a moment for as many as came together last time: those who were answered then ask again now."""
        end = time.monotonic() + self.batching.wait
        while self.texts < self._expected and (left := end - time.monotonic()) > 0:
            self._news.clear()
            try:
                await asyncio.wait_for(self._news.wait(), left)
            except TimeoutError:
                return

    def _formed(self) -> Batch | None:
        """Texts of the job that waits longest, and of others like it, in turns."""
        for first in self._jobs:
            if self._may_begin(first):
                break
        else:
            return None
        items, size, long = list[Item](), 0, self._long(first)
        for job, place in self._in_turns(first):
            length = len(job.texts[place])
            if items and (size + length > self.batching.characters or len(items) >= self.batching.texts):
                break
            job.waiting.popleft()
            items.append((job, place))
            size += length
            if first.alone:
                break
        for job in dict.fromkeys(job for job, _ in items):
            self._jobs.remove(job)
            if job.waiting:
                self._jobs.append(job)  # others first
        for job, place in items:
            self._no_longer_wait(job, [place])
        return Batch(items, long=long)

    def _in_turns(self, first: Job) -> Iterator[Item]:
        """What waits and may be decoded with the first, one text of each job, then the next of each."""
        long = self._long(first)
        alike = [first, *(job for job in self._jobs if job.key == first.key and job is not first and not job.alone)]
        while alike := [job for job in alike if job.waiting and self._long(job) == long]:
            for job in alike:
                yield job, job.waiting[0]

    def _may_begin(self, job: Job) -> bool:
        """A long text must leave a worker to others, where there are several."""
        busy = sum(batch.long for batch in self._running)
        return not self._long(job) or self._workers == 1 or busy < self._workers - 1

    def _long(self, job: Job) -> bool:
        return bool(job.waiting) and len(job.texts[job.waiting[0]]) > self.batching.long

    def _no_longer_wait(self, job: Job, places: Sequence[int]) -> None:
        self.texts -= len(places)
        self.characters -= sum(len(job.texts[place]) for place in places)
