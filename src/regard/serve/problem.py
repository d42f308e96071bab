"""What a client is told when it gets no answer: a status, one sentence, and what to do."""

from __future__ import annotations

from collections.abc import Mapping


class Problem(Exception):
    """Ends a request. `reason` is for counting."""

    def __init__(self, status: int, message: str, reason: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.reason = status, message, reason
        self.headers = dict(headers or {})


class ClientGone(Exception):
    """There is nobody to answer."""


def later(status: int, message: str, reason: str, seconds: int) -> Problem:
    """Come again in so many seconds."""
    return Problem(status, f"{message}; try again in {seconds} s", reason, {"retry-after": str(seconds)})
