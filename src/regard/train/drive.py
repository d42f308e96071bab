"""Driving the loop: resume, log, validate, save, stop."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch
from safetensors.torch import load_file
from torch import nn

from regard.tasks.task import Task
from regard.train.board import Board
from regard.train.fit import Fit, Update, seed_of
from regard.train.optimise import optimiser
from regard.train.precision import Precision
from regard.train.progress import Progress
from regard.train.saves import Saves, load_weights, step_of, weights_of, write_model
from regard.train.settings import Train
from regard.train.signals import Stop, Stopped

LOG_EVERY = 50  # updates summed up in one line of the log
SKIPS = 10  # updates left out in a row before the run goes back to its last save


class Screen(Protocol):
    """Where a run tells people how it goes."""

    def say(self, line: str) -> None:
        """One line that stays."""

    def update(self, progress: Progress, update: Update) -> None:
        """The bar moves."""

    def phase(self, name: str) -> None:
        """What is going on now."""


@dataclass
class Run:
    """One run of one task in one folder."""

    task: Task
    settings: Train
    folder: Path
    precision: Precision
    screen: Screen
    files: list[str]
    """What else belongs to the model, and goes into its manifest."""
    about: dict[str, Any] = field(default_factory=dict)
    """What is recorded of machine and versions."""
    progress: Progress = field(default_factory=Progress)

    def __post_init__(self) -> None:
        settings = self.settings
        self.saves = Saves(self.folder / "saves", settings.save_every, settings.average, settings.keep)
        self.board = Board(self.folder / "tensorboard")
        torch.manual_seed(seed_of(settings.seed))
        self.model = self.task.build().to(self.precision.device)
        self.optimisers = {
            player: optimiser(self.task.parameters(self.model, player), settings) for player in self.task.players
        }

    def resume(self) -> bool:
        """Go on from the newest complete save, if there is one."""
        self.saves.clear_away()
        path, wrong = self.saves.newest()
        for problem in wrong:
            self.screen.say(f"{problem}; passing it over")
        if path is None:
            if wrong:
                self.screen.say("no save is whole: starting from the beginning")
            (self.folder / "log.jsonl").unlink(missing_ok=True)
            return False
        state = self.saves.load(path, self.model, self.optimisers)
        self.progress = Progress(**state["progress"])
        self._cut_log()
        for name, now in self.about.items():
            if state.get(name) != now:
                self.screen.say(f"{name} was {state.get(name)} and is {now}: from here on results may differ")
        return True

    def train(self, stop: Stop) -> bool:
        """Until it is enough; False if a signal came first. Then everything is saved."""
        if self.progress.step == 0:
            self._save()  # something to go back to, and a disk that is too small is found out now
        fit = Fit(self.task, self.model, self.optimisers, self.settings, self.progress, self.precision.context)
        updates, started, before = fit.updates(), time.monotonic(), self.progress.seconds
        while True:
            self.progress.seconds = before + time.monotonic() - started
            enough = self._enough()
            if self.progress.validated != self.progress.step and (enough or self._due()):
                if not self._validated(stop):
                    return self._stopped()
                self._save()
            if enough or self._patience_over():
                return True
            self.model.train()
            update = next(updates)
            self._note(update)
            if self.progress.skipped_in_a_row >= SKIPS:
                self._roll_back()
            if stop.asked:
                return self._stopped()

    def _due(self) -> bool:
        return self.progress.step > 0 and self.progress.step % self.settings.save_every == 0

    def _enough(self) -> bool:
        minutes = self.settings.minutes
        late = minutes is not None and self.progress.seconds >= 60 * minutes
        return self.progress.step >= self.settings.steps or late

    def _patience_over(self) -> bool:
        over = 0 < self.settings.patience <= self.progress.waited
        if over:
            self.screen.say(f"no better score in {self.progress.waited} validations: stopping early")
        return over

    def _validated(self, stop: Stop) -> bool:
        """Measure the mean of the last saves; the best so far becomes the model. False if a signal came."""
        self.screen.phase("validating")
        mean = self.saves.mean(self.model, self.progress.step)
        torch.manual_seed(seed_of(self.settings.seed, self.progress.step, -1))  # some tasks draw when they measure
        try:
            with self.borrowed(mean), stop.interruptible(), torch.no_grad():  # a signal must not cut the borrowing
                measured = self.task.measure(self.model)
                samples = self.task.samples(self.model)
        except Stopped:
            return False
        progress = self.progress
        progress.validated = progress.step
        value = measured[self.task.best_by]
        better = self._better(value)
        progress.waited = 0 if better else progress.waited + 1
        chosen = better or value == progress.best  # as good, and trained for longer
        if chosen:
            progress.best, progress.best_step = value, progress.step
            write_model(self.folder, mean, progress.step, self.files, measured=measured)
        self._log({"step": progress.step, "epoch": progress.epoch, "valid": measured, "best": chosen})
        if samples:
            (self.folder / "samples").mkdir(exist_ok=True)
            (self.folder / "samples" / f"{progress.step:08d}.txt").write_text(samples, encoding="utf-8")
        told = "  ".join(f"{name} {number:.4g}" for name, number in measured.items())
        self.screen.say(f"step {progress.step}  epoch {progress.epoch}  {told}{'  (best so far)' if chosen else ''}")
        self.screen.phase("training")
        return True

    def _better(self, value: float) -> bool:
        """Whether a score is the best so far; one that is no number never beats one that is."""
        best = self.progress.best
        if best is None or math.isnan(best):
            return True
        return value > best if self.task.best_is_highest else value < best

    def final(self, model: Path) -> dict[str, dict[str, float]]:
        """What is measured once, at the end, of the model in this file."""
        torch.manual_seed(seed_of(self.settings.seed, -1))
        with self.borrowed(load_file(model)), torch.no_grad():
            return self.task.final(self.model)

    @contextmanager
    def borrowed(self, weights: dict[str, Any]) -> Iterator[nn.Module]:
        """The model with other weights, for a while, and not in training."""
        own = {name: value.clone() for name, value in weights_of(self.model).items()}
        try:
            load_weights(self.model, weights)
            self.model.eval()
            yield self.model
        finally:
            load_weights(self.model, own)
            self.model.train()

    def _note(self, update: Update) -> None:
        progress, sums = self.progress, self.progress.sums
        for where in update.split:
            self._log({"step": progress.step, "split": where})
            self.screen.say(f"step {progress.step}: {where} was too large for the memory and was halved")
        if update.skipped:
            self._log({"step": progress.step, "skipped": update.skipped})
            self.screen.say(f"step {progress.step}: skipped, {update.skipped}")
        else:
            for name, value in {**update.figures, "units": update.units, "norm": update.norm, "updates": 1}.items():
                sums[name] = sums.get(name, 0.0) + value
        if progress.step % LOG_EVERY == 0 and sums.get("units"):
            units, count = sums.pop("units"), sums.pop("updates")
            line = {"step": progress.step, "epoch": progress.epoch, "rate": update.rate, "tokens": progress.units}
            norm = sums.pop("norm") / count
            self._log({**line, "norm": norm, **{name: value / units for name, value in sums.items()}})
            self._clock(units)
            sums.clear()
        self.screen.update(progress, update)

    def _save(self) -> None:
        self.progress.log_bytes = self._log_length()
        self.saves.save(self.model, self.optimisers, self.progress, self.about)

    def _stopped(self) -> bool:
        self._save()
        self.screen.say(f"stopped at step {self.progress.step}; everything is saved: run the same command to go on")
        return False

    def _roll_back(self) -> None:
        """Weights and optimiser as last saved, half the rate; the data go on where they are."""
        path = self.saves.before_trouble()
        if path is None:
            raise ValueError(f"{SKIPS} updates in a row were skipped, and no save in {self.saves.folder} is whole")
        self.saves.load(path, self.model, self.optimisers)
        self.progress.rate_factor /= 2
        self.progress.skipped_in_a_row = 0
        at = step_of(path)
        self._log({"step": self.progress.step, "rolled_back": at, "rate_factor": self.progress.rate_factor})
        self.screen.say(f"{SKIPS} updates in a row were skipped: back to the save of step {at}, at half the rate")

    def _log(self, line: dict[str, Any]) -> None:
        with (self.folder / "log.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        self.board.add(line)

    def _clock(self, units: float) -> None:
        line = {"step": self.progress.step, "seconds": self.progress.seconds, "time": time.time(), "units": units}
        with (self.folder / "times.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def _log_length(self) -> int:
        """How long the log is; as much of it is then safely on the disk."""
        path = self.folder / "log.jsonl"
        if not path.exists():
            return 0
        with path.open("rb") as file:
            os.fsync(file.fileno())
            return os.fstat(file.fileno()).st_size

    def _cut_log(self) -> None:
        """What was logged after the save is about to happen again."""
        path = self.folder / "log.jsonl"
        if path.exists():
            with path.open("r+b") as file:
                file.truncate(min(self.progress.log_bytes, path.stat().st_size))
