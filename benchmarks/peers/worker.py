"""What the process of every peer does: build a model when told, train when told, say how long it took.

It speaks lines of JSON and works only when asked, so that peers in separate environments can take turns:
`{"model": "tiny", "batches": FILE}` is answered by versions, the number of parameters and the precision it takes by
itself, if it does; `{"run": [0, 1], "precision": "float32"}` by seconds and losses; what goes wrong by an error.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from sizes import END, MODELS, PAD, START, Size
from torch import Tensor, nn

Ready = TypeVar("Ready")


@dataclass(frozen=True)
class Batch:
    """Padded ids of one batch: the source, what the decoder reads (START first) and what it must say (END last)."""

    source: Tensor
    before: Tensor
    after: Tensor

    @property
    def lengths(self) -> Tensor:
        return (self.source != PAD).sum(1)

    @property
    def tokens(self) -> int:
        """Real target tokens, END counted."""
        return int((self.after != PAD).sum())


@dataclass(frozen=True)
class Peer(Generic[Ready]):
    """A model that can be trained: `prepare` is not timed, `step` is one update in a precision and gives the loss."""

    model: nn.Module
    prepare: Callable[[Batch], Ready]
    step: Callable[[Ready, str], Tensor]
    chosen: str | None = None  # the precision it takes by itself; None: whichever is faster


def with_adamw(model: nn.Module, prepare: Callable[[Batch], Ready], loss: Callable[[Ready], Tensor]) -> Peer[Ready]:
    """The peer's own model and loss under torch's fastest optimiser."""
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)

    def step(ready: Ready, precision: str) -> Tensor:
        optimiser.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
            value = loss(ready)
        value.backward()
        optimiser.step()
        return value.detach()

    return Peer(model.train(), prepare, step)


def serve(build: Callable[[Size], Peer[Any]], *packages: str) -> None:
    """Answers until the input ends. Whatever a library prints goes to stderr, the answers alone to stdout."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    here = _Bench(build, packages)
    for line in sys.stdin:
        try:
            answer = here.answer(json.loads(line))
        except Exception as error:  # the benchmark goes on without whoever fails
            kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
            answer = {"error": f"{kind}{error}"}
        print(json.dumps(answer), file=answers, flush=True)


class _Bench:
    """One peer with its present model and batches."""

    def __init__(self, build: Callable[[Size], Peer[Any]], packages: Sequence[str]) -> None:
        self.build, self.packages = build, packages
        self.peer: Peer[Any] | None = None
        self.ready: list[Any] = []

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if "run" in request:
            return self.run(request["run"], request["precision"])
        self.peer, self.ready = None, []  # the last model's memory first
        gc.collect()
        if request["model"] is None:
            return {}
        torch.manual_seed(1)
        self.peer = self.build(MODELS[request["model"]])
        self.ready = [self.peer.prepare(batch) for batch in batches(Path(request["batches"]))]
        _forget_peak()
        return {
            "versions": {name: version(name) for name in (*self.packages, "torch")},
            "parameters": sum(weight.numel() for weight in self.peer.model.parameters() if weight.requires_grad),
            "chosen": self.peer.chosen,
        }

    def run(self, chosen: Sequence[int], precision: str) -> dict[str, Any]:
        assert self.peer is not None, "a model must be asked for first"
        ready = [self.ready[index] for index in chosen]
        self.peer.step(ready[0], precision)  # untimed: the memory that was given back is taken again
        gc.collect()
        gc.disable()
        start = time.perf_counter()
        losses = [self.peer.step(one, precision) for one in ready]
        seconds = time.perf_counter() - start
        gc.enable()
        self.peer.model.zero_grad(set_to_none=True)
        _give_back()
        return {"seconds": seconds, "losses": [float(loss) for loss in losses], "peak MiB": _peak()}


def batches(file: Path) -> list[Batch]:
    """What the benchmark has stored: `source0`, `target0`, `source1` ..., padded, without START and END."""
    with np.load(file) as stored:
        count = len(stored.files) // 2
        tables = [(stored[f"source{i}"], stored[f"target{i}"]) for i in range(count)]
    return [_batch(torch.from_numpy(source), torch.from_numpy(target)) for source, target in tables]


def _batch(source: Tensor, target: Tensor) -> Batch:
    before = torch.cat([torch.full_like(target[:, :1], START), target], 1)
    after = torch.cat([target, torch.full_like(target[:, :1], PAD)], 1)
    after[torch.arange(len(target)), (target != PAD).sum(1)] = END
    return Batch(source, before, after)


def _give_back() -> None:
    """What is free but still held: six peers that keep five gigabytes each are too much for most machines."""
    with suppress(AttributeError, TypeError):  # elsewhere than on Linux, or with another C library
        ctypes.CDLL(None).malloc_trim(0)


def _forget_peak() -> None:
    reset = Path("/proc/self/clear_refs")
    if reset.exists():
        reset.write_text("5")


def _peak() -> float | None:
    """The most memory held since the model was made; Linux alone tells it."""
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return int(found[1]) / 1024 if found else None
