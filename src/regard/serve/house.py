"""All that answering needs, in one place; and the way from a request through the queue to its answers."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request

from regard.serve.asked import Asked
from regard.serve.body import read, value
from regard.serve.crew import Answered
from regard.serve.keys import Keys, Rates
from regard.serve.languages import Languages
from regard.serve.metrics import Metrics
from regard.serve.problem import ClientGone, Problem, later
from regard.serve.queue import Closed, Full, Job, Queue
from regard.serve.settings import Limits


@dataclass
class Visit:
    """One request, as the log tells it: no word of what it says."""

    id: str
    began: float = field(default_factory=time.monotonic)
    key: str = "-"
    texts: int = 0
    characters: int = 0
    trouble: str = ""


def visit(request: Request) -> Visit:
    """Of this request."""
    found: Visit = request.scope["visit"]
    return found


@dataclass(frozen=True)
class House:
    """A server's parts."""

    limits: Limits
    languages: Languages
    asked: Asked
    queue: Queue
    metrics: Metrics
    keys: Keys | None = None
    rates: Rates = field(default_factory=Rates)
    rate: int = 0
    """Requests a minute of an address, where there are no keys; 0 is any number."""

    async def body(self, request: Request) -> dict[str, Any]:
        """What was sent, by someone who may."""
        self.queue_open()
        content = await read(request, self.limits)
        given = value(content, request.headers.get("content-type", ""), self.limits)
        key = given.get("api_key")
        self.admit(request, key if isinstance(key, str) else "")
        return given

    def queue_open(self) -> None:
        """Refuse at once what cannot be answered now."""
        if self.queue.closed:
            raise later(503, "the server is about to end", "draining", 5)
        if not self.queue.begun:
            raise later(503, "the models are being loaded", "loading", 1)

    def admit(self, request: Request, key: str = "") -> None:
        """Who asks, and whether not too often."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        given = token.strip() if scheme.lower() == "bearer" else key
        if self.keys is None:
            name, rate = f"from {request.client.host if request.client else '-'}", self.rate
        else:
            if not given:
                message = "this server needs a key; send it as api_key, or as Authorization: Bearer"
                raise Problem(401, message, "key", {"www-authenticate": "Bearer"})
            found = self.keys.find(given)
            if found is None:
                raise Problem(403, "the key is not known here; ask whoever runs this server for one", "key")
            name, rate = f"key {found.name}", found.rate
            visit(request).key = found.name
        wait = self.rates.wait(name, rate)
        if wait:
            raise later(429, f"more than {rate} requests a minute", "rate", int(wait) + 1)

    def job(
        self, request: Request, asked: Mapping[str, Any], texts: Sequence[str], seconds: float | None = None
    ) -> Job:
        """Texts in the queue; refused at once where there is no room."""
        mine = visit(request)
        mine.texts, mine.characters = len(texts), sum(map(len, texts))
        until = mine.began + min(self.limits.seconds, seconds or self.limits.seconds)
        unlike = mine.id if "view" in asked else ""  # a view is decoded alone
        job = Job(asked, unlike + json.dumps(asked, sort_keys=True), texts, until)
        try:
            self.queue.submit(job)
        except Full as full:
            raise later(503, "too many texts are waiting", "full", full.seconds) from None
        except Closed:
            self.queue_open()
            raise
        return job

    async def answers(self, request: Request, job: Job) -> list[Answered]:
        """All, in the order of the texts."""
        async for _ in self.arriving(request, job):
            pass
        return [answered for answered in job.answers if answered is not None]

    async def arriving(self, request: Request, job: Job) -> AsyncGenerator[int]:
        """Places of texts as they are answered, until the deadline; what nobody waits for is dropped."""
        gone: asyncio.Future[Any] = asyncio.ensure_future(_left(request))
        try:
            for _ in job.texts:
                if not job.arrived:
                    await self._more(job, gone)
                yield self._good(request, job, job.arrived.popleft())
        finally:
            gone.cancel()
            self.queue.finish(job)

    async def _more(self, job: Job, gone: asyncio.Future[Any]) -> None:
        job.news.clear()
        some: asyncio.Future[Any] = asyncio.ensure_future(job.news.wait())
        left = job.until - time.monotonic()
        await asyncio.wait({some, gone}, timeout=max(0.0, left), return_when=asyncio.FIRST_COMPLETED)
        some.cancel()
        if not job.arrived:
            if gone.done():
                raise ClientGone
            raise Problem(504, "it was not done in time; send fewer or shorter texts, or try again later", "deadline")

    def _good(self, request: Request, job: Job, place: int) -> int:
        answered = job.answers[place]
        assert answered is not None
        if answered.refused is not None:
            raise Problem(answered.status, answered.refused, "refused")
        if answered.failed is not None:
            visit(request).trouble = answered.failed
            message = "this could not be translated; tell whoever runs the server the id"
            raise Problem(500, message, "failed")
        return place


async def _left(request: Request) -> None:
    """Ends when the client does."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
