"""Around every request: an id, safe headers, an error in JSON whatever happens, one line in the log."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import re
import secrets
import time
from collections.abc import Callable, Collection

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.serve.house import Visit
from regard.serve.metrics import Metrics
from regard.serve.problem import ClientGone, Problem

log = logging.getLogger("regard.serve")
SAFE = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "object-src 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_SAFE = [(name.encode(), value.encode()) for name, value in SAFE.items()]


class Front:
    """Wraps the application."""

    def __init__(
        self, app: ASGIApp, metrics: Metrics, known: Callable[[str], bool], hosts: Collection[str] | None,
        closing: Callable[[], bool], crowded: Callable[[], bool],
    ) -> None:  # fmt: skip
        self.app, self.metrics, self.known, self.hosts = app, metrics, known, hosts
        self.closing, self.crowded = closing, crowded

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = {name: value for name, value in scope["headers"] if name in (b"host", b"x-request-id")}
        given = headers.get(b"x-request-id", b"").decode("latin-1")
        mine = scope["visit"] = Visit(given if _ID.fullmatch(given) else secrets.token_hex(8))
        answer = _Answer(send, mine.id, self.closing)
        self.metrics.open += 1
        try:
            self._named(headers.get(b"host", b"").decode("latin-1"))
            if self.crowded():
                raise Problem(503, "too many connections are open; try again", "connections", {"retry-after": "1"})
            await self.app(scope, receive, answer)
        except Problem as problem:
            self.metrics.refused[problem.reason] += 1
            await answer.problem(problem)
        except ClientGone:
            answer.status = 499  # nginx's sign for it
            self.metrics.refused["gone"] += 1
        except asyncio.CancelledError:
            answer.status = 499
            raise
        except Exception as error:
            mine.trouble = _where(error)
            message = "something went wrong here; tell whoever runs the server the id"
            await answer.problem(Problem(500, message, "failed"))
        finally:
            self.metrics.open -= 1
            self._tell(scope, mine, answer.status)

    def _named(self, host: str) -> None:
        """A page elsewhere cannot reach a server on this machine by giving its own name this address."""
        if self.hosts is None or not host:  # a browser always names one
            return
        name = host.rpartition(":")[0] if re.search(r":\d+$", host) else host
        if name.lower().strip("[]") not in self.hosts and not _loopback(name):
            raise Problem(421, "this name is not served here; start the server with --hosts NAME to allow it", "host")

    def _tell(self, scope: Scope, mine: Visit, status: int) -> None:
        """Only paths that are served are told: any other may hold what somebody wrote."""
        path = scope["path"] if self.known(scope["path"]) else "(other)"
        seconds = time.monotonic() - mine.began
        self.metrics.answered(path, status, seconds)
        size = f" texts={mine.texts} characters={mine.characters}" if mine.texts else ""
        trouble = f" trouble={mine.trouble!r}" if mine.trouble else ""
        log.log(
            logging.ERROR if trouble else logging.INFO,
            "id=%s key=%s %s %s %d %.1fms%s%s",
            mine.id, mine.key, _method(scope["method"]), path, status, 1000 * seconds, size, trouble,
        )  # fmt: skip


def _method(method: str) -> str:
    return method if method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE") else "(other)"


class _Answer:
    """Sends what the application sends, with headers of ours."""

    def __init__(self, send: Send, id_: str, closing: Callable[[], bool]) -> None:
        self.send, self.id, self.closing = send, id_, closing
        self.status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            own = {name for name, _ in message["headers"]}
            message["headers"] = [
                *message["headers"],
                (b"x-request-id", self.id.encode()),
                *([] if b"cache-control" in own else [(b"cache-control", b"no-store")]),
                *([(b"connection", b"close")] if self.closing() else []),
                *_SAFE,
            ]
        await self.send(message)

    async def problem(self, problem: Problem) -> None:
        """In LibreTranslate's shape, with the id; nothing more can be said once an answer has begun."""
        if self.status:
            return
        body = json.dumps({"error": problem.message, "id": self.id}).encode()
        headers = {**problem.headers, "content-type": "application/json", "content-length": str(len(body))}
        told = [(name.encode(), value.encode()) for name, value in headers.items()]
        await self({"type": "http.response.start", "status": problem.status, "headers": told})
        await self({"type": "http.response.body", "body": body})


def _loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False


def _where(error: BaseException) -> str:
    """Where it happened, without its message: it may hold somebody's text."""
    trace, last = error.__traceback__, ""
    while trace is not None:
        last = f"{trace.tb_frame.f_code.co_name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"{type(error).__name__} at {last}"
