"""What the process of every peer does when it decodes: build a model when told, translate when told, say how long.

It speaks lines of JSON as `worker` does. `{"model": "tiny", "sources": FILE}` is answered by versions and the number
of parameters; `{"forms": 32}` by the names of the ways in which it can translate batches of that size (0: all that
there is at one go, as it likes); `{"decode": 32, "beam": 5, "form": ..., "count": 64}` by seconds, calls and words.
"""

from __future__ import annotations

import gc
import json
import os
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sizes import MODELS, TransformerSize

WORDS = 15  # that everybody says of every sentence, no more and no fewer

Rows = Sequence[np.ndarray]
Translate = Callable[[Rows, int], int]
"""Translates these rows with a beam this wide, and says how many words that made."""


@dataclass(frozen=True)
class Decoder:
    """A model that can translate: `forms` are the ways it can, by name, for batches of a size."""

    parameters: int
    forms: Callable[[int], Mapping[str, Translate]]


def by(size: int, translate: Translate) -> Translate:
    """The same for more rows than go at once: like lengths together, so many at a time."""

    def all_of_them(rows: Rows, beam: int) -> int:
        order = sorted(rows, key=len)
        return sum(translate(order[at : at + size], beam) for at in range(0, len(order), size))

    return all_of_them


def serve(build: Callable[[TransformerSize], Decoder], *packages: str) -> None:
    """Answers until the input ends. Whatever a library prints goes to stderr, the answers alone to stdout."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    here = _Bench(build, packages)
    for line in sys.stdin:
        try:
            answer = here.answer(json.loads(line))
        except Exception as error:  # the benchmark goes on without whoever fails
            kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
            answer = {"error": f"{kind}{error}"}
        print(json.dumps(answer), file=answers, flush=True)


class _Bench:
    """One peer with its present model and sources."""

    def __init__(self, build: Callable[[TransformerSize], Decoder], packages: Sequence[str]) -> None:
        self.build, self.packages = build, packages
        self.decoder: Decoder | None = None
        self.rows: list[np.ndarray] = []

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if "decode" in request:
            return self.decode(**request)
        if "forms" in request:
            assert self.decoder is not None, "a model must be asked for first"
            return {"forms": list(self.decoder.forms(request["forms"]))}
        self.decoder = None  # the last model's memory first
        gc.collect()
        if request["model"] is None:
            return {}
        size = MODELS[request["model"]]
        assert isinstance(size, TransformerSize)
        self.decoder = self.build(size)
        with np.load(request["sources"]) as stored:
            self.rows = [stored[name] for name in stored.files]
        return {
            "versions": {name: version(name) for name in self.packages},
            "parameters": self.decoder.parameters,
        }

    def decode(self, decode: int, beam: int, form: str, count: int) -> dict[str, Any]:
        assert self.decoder is not None, "a model must be asked for first"
        translate, size = self.decoder.forms(decode)[form], decode or count
        batches = [self.rows[at : min(at + size, count)] for at in range(0, count, size)]
        gc.collect()
        gc.disable()
        start = time.perf_counter()
        words = sum(translate(batch, beam) for batch in batches)
        seconds = time.perf_counter() - start
        gc.enable()
        if words != WORDS * count:
            raise ValueError(f"said {words} words where {WORDS * count} were asked for")
        return {"seconds": seconds, "calls": len(batches), "words": words, "MiB": _memory()}


def _memory() -> float | None:
    """What is held now; Linux alone tells it."""
    status = Path("/proc/self/status")
    found = re.search(r"VmRSS:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return int(found[1]) / 1024 if found else None
