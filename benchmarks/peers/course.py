"""One model in the race: who trains it, in which precision, and how long every round took."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from measure import patience
from peers.corpus import Batches
from peers.environment import Unavailable, Worker

OURS = "ours"
SLOWER = 1.5  # bfloat16, where it is so many times slower than a peer's float32, is timed no further

Row = dict[str, Any]


@dataclass
class Contestant:
    """One peer in one precision: what it said of its model, how long it took when warm, and every round since."""

    worker: Worker
    precision: str
    ready: Row
    first: float
    rounds: list[Row] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.worker.name

    @property
    def seconds(self) -> list[float]:
        return [one["seconds"] for one in self.rounds] or [self.first]

    @property
    def chosen(self) -> bool:
        """Whether this is the precision it takes by itself, or it takes none."""
        return self.ready["chosen"] in (None, self.precision)

    @property
    def is_its_own(self) -> bool:
        """Whether it takes this precision by itself: ours does; no peer changes float32 on a processor."""
        return self.ready["chosen"] == self.precision


@dataclass
class Course:
    """One model, trained by all who can."""

    model: str
    batches: Batches
    contestants: list[Contestant] = field(default_factory=list)
    slower: list[Contestant] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    peaks: dict[str, float] = field(default_factory=dict)

    def warm(self, workers: Sequence[Worker], precisions: Sequence[str]) -> None:
        """Everybody builds the model and trains twice on every batch, in each precision."""
        for worker in workers:
            forms = list(self._forms(worker, precisions))
            fastest = min((one.first for one in forms), default=0.0)
            for one in forms:
                late = one.precision != "float32" and one.first > SLOWER * fastest and not one.is_its_own
                (self.slower if late else self.contestants).append(one)

    def _forms(self, worker: Worker, precisions: Sequence[str]) -> Iterator[Contestant]:
        try:
            ready = worker.ask(model=self.model, batches=str(self.batches.file))
        except Unavailable as why:
            self.notes.append(f"{worker.name}: {why}")
            return
        for precision in precisions:
            try:
                first = min(self._run(worker, precision)["seconds"] for _ in range(2))
            except Unavailable as why:
                self.notes.append(f"{worker.name} in {precision}: {why}")
            else:
                yield Contestant(worker, precision, ready, first)

    def turn(self, number: int) -> None:
        """Everybody once, each time starting with another one: what else the machine does falls on all alike."""
        first = number % max(1, len(self.contestants))
        for one in self.contestants[first:] + self.contestants[:first]:
            patience.wait()
            try:
                one.rounds.append(self._run(one.worker, one.precision))
            except Unavailable as why:
                self.notes.append(f"{one.name} in {one.precision}, round {number + 1}: {why}")
                self.contestants.remove(one)

    def _run(self, worker: Worker, precision: str) -> Row:
        return worker.ask(run=list(range(len(self.batches.lengths))), precision=precision)

    @property
    def standings(self) -> list[Contestant]:
        """Each peer in its better precision, ours in the one it chooses by itself; the fastest first."""
        found: dict[str, Contestant] = {}
        for one in sorted(self.contestants, key=lambda one: statistics.median(one.seconds)):
            if one.chosen:
                found.setdefault(one.name, one)
        return list(found.values())

    @property
    def ours(self) -> Contestant | None:
        return next((one for one in self.standings if one.name == OURS), None)
