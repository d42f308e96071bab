"""Stand-ins: workers without a model, and a model that can be told to fail."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Mapping, Sequence
from typing import Any

from regard.serve.crew import Answered, Lost
from regard.show.ask import NothingThere


def said(text: str) -> str:
    """What a stand-in says."""
    return f"<{text}>"


class Hand:
    """Answers after a while; some texts make it die, fail, refuse or wait."""

    def __init__(self, seconds: float, log: list[list[str]]) -> None:
        self.seconds, self.log = seconds, log
        self.gone: set[int] = set()
        self.pid = 0

    async def answers(self, asked: Mapping[str, Any], seconds: float) -> list[Answered]:
        self.gone.clear()
        texts: Sequence[str] = asked["texts"]
        self.log.append(list(texts))
        waiting = {place for place, text in enumerate(texts) if text.startswith("WAIT")}
        end = time.monotonic() + seconds
        while waiting - self.gone:
            if time.monotonic() > end:
                raise Lost
            await asyncio.sleep(0.002)
        await asyncio.sleep(self.seconds)
        if any(text.startswith("KILL") for text in texts):
            raise Lost
        return [self._one(text, asked) for text in texts]

    def _one(self, text: str, asked: Mapping[str, Any]) -> Answered:
        if text.startswith("FAIL"):
            return Answered(b"", None, "ValueError at here:1", (0, 0))
        if text.startswith("REFUSE"):
            return Answered(b"", "not this one", None, (0, 0))
        if "view" in asked:
            return Answered(json.dumps({"view": asked["view"], "body": asked["body"]}).encode(), None, None, (1, 1))
        found: dict[str, Any] = {
            "text": said(text), "score": -0.5, "source_tokens": [text], "tokens": [said(text)], "complete": True,
            "token_scores": [-0.5], "suspect": [], "parts": [{"start": 0, "end": len(text), "text": said(text)}],
        }  # fmt: skip
        nbest = asked["options"]["nbest"]
        if nbest > 1:
            found["nbest"] = [{"text": said(text) + "'" * n, "score": -0.5 - n} for n in range(nbest)]
        return Answered(json.dumps(found).encode(), None, None, (3, 4))

    def give_up(self, place: int) -> None:
        self.gone.add(place)


class Crew:
    """Hires stand-ins."""

    def __init__(self, seconds: float = 0.001, hire: float = 0.0) -> None:
        self.seconds, self.hiring = seconds, hire
        self.log: list[list[str]] = []
        self.hired = self.lost = 0
        self.views: tuple[str, ...] = ("look",)
        self.loading = 0.0
        self.pids: set[int] = set()

    async def open(self) -> None:
        await asyncio.sleep(self.hiring)

    async def hire(self) -> Hand:
        await asyncio.sleep(self.hiring)
        self.hired += 1
        return Hand(self.seconds, self.log)

    def let_go(self, hand: Hand) -> None:
        self.lost += 1

    async def close(self) -> None:
        return


def _kill(_translator: Any, _body: Mapping[str, Any]) -> dict[str, Any]:
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


def _fail(_translator: Any, body: Mapping[str, Any]) -> dict[str, Any]:
    raise RuntimeError(f"said by somebody: {body}")


def _refuse(_translator: Any, _body: Mapping[str, Any]) -> dict[str, Any]:
    raise ValueError("not this one")


def _layer(_translator: Any, body: Mapping[str, Any]) -> dict[str, Any]:
    raise NothingThere(f"there is no layer {body['layer']}")


def _hang(_translator: Any, _body: Mapping[str, Any]) -> dict[str, Any]:
    time.sleep(60)
    return {}


VIEWS = {
    "kill": _kill,
    "fail": _fail,
    "refuse": _refuse,
    "layer": _layer,
    "hang": _hang,
    "text": lambda translator, body: {"text": translator([body["text"]])[0].text},
}
"""For real workers, by `Processes.views`."""
