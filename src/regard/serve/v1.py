"""Paths of our own: everything a translator knows of its answers, all at once or as they come."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from regard.serve.asked import checked
from regard.serve.house import House, visit
from regard.serve.metrics import TYPE
from regard.serve.problem import ClientGone, Problem, later
from regard.serve.queue import Job

_SWITCHES = ("attention", "alignment", "keep_placeholders", "keep_numbers")


async def translate(house: House, request: Request) -> Response:
    """Texts with all there is to know of their translations."""
    asked = checked(house.asked.own, await _json(house, request), 422)
    if asked.attention and (
        len(asked.texts) > house.limits.seen_texts or max(map(len, asked.texts)) > house.limits.seen_characters
    ):
        raise Problem(
            422,
            f"attention is for at most {house.limits.seen_texts} texts of {house.limits.seen_characters} characters",
            "attention",
        )
    job = house.job(request, {"model": asked.model, "options": _options(asked)}, asked.texts, asked.deadline)
    if asked.stream:
        return Events(house, request, job)
    answers = await house.answers(request, job)
    head = json.dumps({"id": visit(request).id, "model": asked.model}).encode()
    results = b",".join(answered.content for answered in answers)
    return Response(head[:-1] + b', "results": [' + results + b"]}", media_type="application/json")


async def _json(house: House, request: Request) -> dict[str, Any]:
    """Our own paths take JSON only."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Problem(415, "send application/json as Content-Type", "type")
    return await house.body(request)


def _options(asked: Any) -> dict[str, Any]:
    options: dict[str, Any] = {name: getattr(asked, name) for name in _SWITCHES}
    options["nbest"] = asked.nbest
    if asked.beam is not None:
        options["beam"] = max(asked.beam, asked.nbest)
    if asked.length_penalty is not None:
        options["length_penalty"] = asked.length_penalty
    if asked.glossary:
        options["glossary"] = asked.glossary
    if asked.prefix:
        options["prefix"] = asked.prefix
    return options


class Events(Response):
    """Server-sent events: `result` for each text as it is done, then `done`; or `error`, which ends it."""

    media_type = "text/event-stream"

    def __init__(self, house: House, request: Request, job: Job) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        self.house, self.request, self.job = house, request, job

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(name, value) for name, value in self.raw_headers if name != b"content-length"]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        async with aclosing(self._events()) as events:
            async for event in events:
                await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def _events(self) -> AsyncGenerator[bytes]:
        try:
            async with aclosing(self.house.arriving(self.request, self.job)) as places:
                async for place in places:
                    answered = self.job.answers[place]
                    assert answered is not None
                    yield _event("result", b'{"index": %d, "result": %b}' % (place, answered.content))
            yield _event("done", json.dumps({"id": visit(self.request).id}).encode())
        except Problem as problem:
            self.house.metrics.refused[problem.reason] += 1
            told = {"status": problem.status, "error": problem.message, "id": visit(self.request).id}
            yield _event("error", json.dumps(told).encode())
        except ClientGone:
            return


def _event(name: str, data: bytes) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (name.encode(), data)


async def models(house: House, request: Request) -> Response:
    """The models that are served."""
    pairs = house.languages.pairs
    return JSONResponse([{"id": p.id, "source": p.source, "target": p.target, "name": p.name} for p in pairs])


async def view(house: House, request: Request, name: str, known: tuple[str, ...]) -> Response:
    """One view of the page."""
    if name not in known:
        raise Problem(404, f"there is no such view; there is {', '.join(known) or 'none'}", "path")
    asked = checked(house.asked.view, await _json(house, request), 422)
    model = asked.model or house.languages.pairs[0].id
    body = asked.model_dump(exclude={"model", "api_key"}, exclude_unset=True)
    job = house.job(request, {"model": model, "view": name, "body": body}, [name])
    (answered,) = await house.answers(request, job)
    return Response(answered.content, media_type="application/json")


async def ready(house: House, request: Request) -> Response:
    """Whether there is a worker that has translated something, and the server is not about to end."""
    house.queue_open()
    if not house.queue.hands:
        raise later(503, "a new worker is being started", "loading", 1)
    return JSONResponse({"status": "ready"})


async def metrics(house: House, request: Request) -> Response:
    """Counts, for Prometheus."""
    if house.keys is not None:
        house.admit(request)
    return Response(house.metrics.told(), headers={"content-type": TYPE})
