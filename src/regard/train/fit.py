"""The loop: any task, any number of players; it yields after each update, and whoever drives it does the rest."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from regard.tasks.task import Task
from regard.train.optimise import set_rate
from regard.train.progress import Progress
from regard.train.schedule import Schedule, schedule
from regard.train.settings import Train
from regard.train.split import own
from regard.train.spread import Copies, Spread


@dataclass(frozen=True)
class Update:
    """What one update did."""

    rate: float
    norm: float
    units: int
    figures: Mapping[str, float]
    """Sums over units: the loss and whatever the task counts."""
    skipped: str | None = None
    """Why the weights were left as they were."""
    split: tuple[str, ...] = ()
    """Batches that were too large for the memory and were halved."""


class _TooLarge(Exception):
    """Memory ran out at the batch of this number."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@dataclass(frozen=True)
class _Turn:
    """What one player's turn did."""

    norm: float = 0.0
    figures: Mapping[str, float] = field(default_factory=dict)
    skipped: str | None = None


@dataclass
class Fit:
    """A model in training: the parts that an update needs, together."""

    task: Task
    model: nn.Module
    optimisers: Mapping[str, Optimizer]
    settings: Train
    progress: Progress
    context: Callable[[], AbstractContextManager[Any]] = nullcontext
    """What each forward pass runs in: autocast, or nothing."""
    spread: Spread = field(default_factory=Copies)
    """How the model and the work are shared among ranks. What an update does is the same for any number of them."""
    factor: Schedule = field(init=False)

    def __post_init__(self) -> None:
        self.factor = schedule(self.settings)

    def updates(self) -> Iterator[Update]:
        """Train for ever; the driver stops asking when enough is done."""
        while True:
            batches = self.task.batches(self.progress.epoch)
            if not batches:
                raise ValueError("there is nothing to train on: every example was left out; see the data report")
            while self.progress.index < len(batches):
                first, after = self.progress.index, self.progress.index + self.settings.accumulate
                update = self.update(batches[first:after])
                self.progress.index = min(after, len(batches))
                yield update
            self.progress.epoch, self.progress.index = self.progress.epoch + 1, 0

    def update(self, batches: Sequence[Any]) -> Update:
        """One update from these batches. What is random in it depends on the seed and the step alone."""
        progress = self.progress
        rate = self.settings.rate * self.factor(progress.step + 1) * progress.rate_factor
        figures: dict[str, float] = {}
        skipped: str | None = None
        split: tuple[str, ...] = ()
        norm = 0.0
        for player in self.optimisers:
            batches, halved, turn = self._turn(player, batches, rate)
            skipped, split, norm = skipped or turn.skipped, (*split, *halved), turn.norm
            _add(figures, turn.figures)
        units = sum(self.task.units(which) for which in batches)
        progress.step += 1
        progress.units += units
        progress.skipped += skipped is not None
        progress.skipped_in_a_row = progress.skipped_in_a_row + 1 if skipped else 0
        return Update(rate, norm, units, {} if skipped else figures, skipped, split)

    def _turn(self, player: str, batches: Sequence[Any], rate: float) -> tuple[Sequence[Any], tuple[str, ...], _Turn]:
        """One player's turn, with its batches halved until they fit the memory; those before it have had theirs."""
        halved: tuple[str, ...] = ()
        while True:
            try:
                return batches, halved, self._attempt(player, batches, rate)
            except _TooLarge as error:
                number = error.number
            batches, where = self._halved(batches, number)
            halved = (*halved, where)

    def _attempt(self, player: str, batches: Sequence[Any], rate: float) -> _Turn:
        if not batches:
            return _Turn(skipped="nothing of it fits the memory")
        rule, parameters = self.optimisers[player], self.task.parameters(self.model, player)
        units = max(1, sum(self.task.units(which) for which in batches))
        rule.zero_grad(set_to_none=True)
        figures = self._gradients(player, batches, units)
        norm = float(self.spread.gather(parameters))
        if not norm < float("inf"):
            rule.zero_grad(set_to_none=True)
            where = "; ".join(self.task.where(which) for which in batches)
            whose = f" of {player}" if len(self.optimisers) > 1 else ""
            return _Turn(norm, skipped=f"the gradient{whose} is not finite in {where}")
        self._clip(parameters, norm)
        set_rate(rule, rate)
        rule.step()
        return _Turn(norm, figures)

    def _gradients(self, player: str, batches: Sequence[Any], units: int) -> dict[str, float]:
        """This rank's part of the gradient; the figures of all. If one has too little memory, all begin anew."""
        figures: dict[str, float] = {}
        too_large: int | None = None
        dealt = self._dealt(batches)
        for at, (number, which, counts) in enumerate(dealt):
            self._seed(number)
            self.spread.batch(self.model, last=at == len(dealt) - 1)
            try:
                found = self._gradient(player, number, which, units if counts else math.inf)
            except _TooLarge as error:
                too_large = error.number
                break
            _add(figures, found if counts else {})
        together: dict[str, float] = {}
        said = self.spread.ranks.gather([too_large, figures])
        for _, some in said:
            _add(together, some)
        numbers = [number for number, _ in said if number is not None]
        if numbers:
            raise _TooLarge(min(numbers))
        return together

    def _dealt(self, batches: Sequence[Any]) -> list[tuple[int, Any, bool]]:
        """Which batches are this rank's: whole ones as long as there is one for each, then rows of those left over.

        In lockstep a rank without a row goes along with another's, which does not count.
        """
        ranks = self.spread.ranks
        whole = len(batches) // ranks.size * ranks.size
        dealt = [(number, batches[number], True) for number in range(ranks.rank, whole, ranks.size)]
        for number in range(whole, len(batches)):
            parts = self.task.split(batches[number], ranks.size)
            if ranks.rank < len(parts):
                dealt.append((number, parts[ranks.rank], True))
            elif self.spread.lockstep:
                dealt.append((number, parts[0], False))
        return dealt

    def _seed(self, number: int) -> None:
        """What is random depends on seed, step and batch, and on the rank where there are several."""
        ranks = self.spread.ranks
        torch.manual_seed(
            seed_of(self.settings.seed, self.progress.step, number, *([ranks.rank] if ranks.size > 1 else []))
        )

    def _gradient(self, player: str, number: int, which: Any, units: float) -> Mapping[str, float]:
        """Add one batch's part to the gradient; its figures."""
        try:
            with self.context():
                loss = self.task.loss(self.model, self.task.load(which), player)
            (loss.total / units).backward()
        except (RuntimeError, MemoryError) as error:
            if not out_of_memory(error):
                raise
            if self.spread.lockstep:
                raise ValueError(
                    f"memory ran out at {self.task.where(which)}; sharded training cannot halve a batch: lower "
                    "--train.batch-tokens, or use more ranks"
                ) from None
            raise _TooLarge(number) from None
        return loss.figures

    def _clip(self, parameters: list[nn.Parameter], norm: float) -> None:
        if 0 < self.settings.clip < norm:
            grads = [own(p.grad) for p in parameters if p.grad is not None]
            torch._foreach_mul_(grads, self.settings.clip / norm)

    def _halved(self, batches: Sequence[Any], number: int) -> tuple[list[Any], str]:
        """The same work with the batch at which memory ran out in two, or left out where it cannot be."""
        for rule in self.optimisers.values():
            rule.zero_grad(set_to_none=True)
        parts, where = self.task.split(batches[number]), self.task.where(batches[number])
        if len(parts) < 2:
            parts, where = [], f"{where} (left out: alone it needs more memory than there is)"
        return [*batches[:number], *parts, *batches[number + 1 :]], where


def _add(sums: dict[str, float], more: Mapping[str, float]) -> None:
    for name, value in more.items():
        sums[name] = sums.get(name, 0.0) + value


def seed_of(*numbers: int) -> int:
    """A seed from several numbers, so that neighbours have nothing in common."""
    text = ",".join(str(number) for number in numbers).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=7).digest(), "big")


def out_of_memory(error: Exception) -> bool:
    """Whether an error says that memory ran out; torch on a CPU says it in words only."""
    said = str(error)
    words = ("can't allocate memory", "not enough memory", "bad_alloc")
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or any(some in said for some in words)
