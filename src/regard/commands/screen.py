"""How a run tells people how it goes: a bar with what is left on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from regard.train.progress import Progress
from regard.train.settings import Train

if TYPE_CHECKING:
    from regard.train.fit import Update

EVERY = 15.0  # seconds between plain lines


class TrainingScreen(AbstractContextManager["TrainingScreen"]):
    """Lines that stay, and a bar: step, loss, rate, tokens (or what else there is) a second, time left."""

    def __init__(self, settings: Train, unit: str = "tokens", console: Console | None = None) -> None:
        self.console = console or Console(stderr=True, highlight=False, soft_wrap=True)
        self.settings, self.unit = settings, unit
        self._last = self._started = time.monotonic()
        self._units = 0
        self._session_start: tuple[float, float] | None = None
        self._loss: float | None = None
        columns = (
            TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"),
            TextColumn("{task.fields[told]}"), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
        )  # fmt: skip
        self._bar = Bar(*columns, console=self.console, transient=True) if self.console.is_terminal else None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def say(self, line: str) -> None:
        """One line that stays."""
        self.console.print(line, markup=False)

    def phase(self, name: str) -> None:
        """What is going on now."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=name)

    def update(self, progress: Progress, update: Update) -> None:
        """The bar moves; without a terminal a line now and then."""
        now = time.monotonic()
        self._units += update.units
        if update.units and "loss" in update.figures:
            new = update.figures["loss"] / update.units
            self._loss = new if self._loss is None else 0.95 * self._loss + 0.05 * new
        share = self._share(progress)
        if self._session_start is None:
            self._session_start = (now, share)
        told = self._told(progress, update, now)
        if self._bar is not None:
            self._move(share, told)
        elif now - self._last >= EVERY:
            self._last = now
            self.say(f"step {progress.step:>6}  {100 * share:3.0f} %  {told}  {self._left(share, now)} left")

    def _share(self, progress: Progress) -> float:
        """How much is done: by steps, or by the clock if that ends it earlier."""
        share = progress.step / self.settings.steps
        if self.settings.minutes is not None:
            share = max(share, progress.seconds / (60 * self.settings.minutes))
        return min(1.0, share)

    def _told(self, progress: Progress, update: Update, now: float) -> str:
        speed = self._units / max(1e-9, now - self._started)
        loss = "" if self._loss is None else f"loss {self._loss:.3f}  "
        return f"{loss}rate {update.rate:.2g}  {speed:,.0f} {self.unit}/s"

    def _left(self, share: float, now: float) -> str:
        assert self._session_start is not None
        began, at = self._session_start
        if share <= at:
            return "?"
        seconds = (now - began) / (share - at) * (1 - share)
        return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"

    def _move(self, share: float, told: str) -> None:
        assert self._bar is not None
        if self._task is None:
            self._bar.start()
            self._task = self._bar.add_task("training", total=1.0, told=told)
        self._bar.update(self._task, completed=share, told=told)


class Quiet(TrainingScreen):
    """For ranks that are not the first: it has said it all."""

    def say(self, line: str) -> None:
        """Nothing."""

    def phase(self, name: str) -> None:
        """Nothing."""

    def update(self, progress: Progress, update: Update) -> None:
        """Nothing."""
