"""Driving the loop: resume, log, validate, save, stop."""

from __future__ import annotations

import math
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
from regard.train import room
from regard.train.board import Board
from regard.train.fit import Fit, Update, seed_of
from regard.train.log import Log, Silence
from regard.train.optimise import optimiser
from regard.train.precision import Precision
from regard.train.progress import Progress
from regard.train.ranks import ALONE, Ranks
from regard.train.saves import Saves, load_weights, step_of, weights_of, write_model
from regard.train.settings import Train
from regard.train.signals import Stop, Stopped
from regard.train.spread import spread

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
    """One run of one task in one folder. Of several ranks, the first measures and writes, and tells the others."""

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
    ranks: Ranks = ALONE

    def __post_init__(self) -> None:
        settings = self.settings
        self.saves = Saves(self.folder / "saves", settings.save_every, settings.average, settings.keep)
        self.log = Log(self.folder, lambda line: self.screen.say(line)) if self.ranks.first else Silence()
        self.board = Board(self.folder / "tensorboard")
        torch.manual_seed(seed_of(settings.seed))
        self.model = self.task.build().to(self.precision.device)
        self.spread = spread(self.ranks, settings.shard, self.precision.device)
        self.spread.ready(self.model, self.task.blocks(self.model))
        self.optimisers = {
            player: optimiser(self.task.parameters(self.model, player), settings) for player in self.task.players
        }

    def resume(self) -> bool:
        """Go on from the newest complete save, if there is one."""
        name = self.ranks.tell(self._newest() if self.ranks.first else None)
        if name is None:
            return False
        state = self._load(name)
        self.progress = Progress(**state["progress"])
        self.log.go_on(self.progress.log_bytes, self.progress.unlogged)
        state = {"ranks": 1, "device": "cpu", **state}  # as it was before there was a choice
        for name, now in self.about.items():
            if state.get(name) != now:
                self.screen.say(f"{name} was {state.get(name)} and is {now}: from here on results may differ")
        return True

    def _newest(self) -> str | None:
        """The name of the save to go on from; what was begun and not finished goes."""
        self.saves.clear_away()
        path, wrong = self.saves.newest()
        for problem in wrong:
            self.screen.say(f"{problem}; passing it over")
        if path is not None:
            return path.name
        if wrong:
            self.screen.say("no save is whole: starting from the beginning")
        (self.folder / "log.jsonl").unlink(missing_ok=True)
        return None

    def _load(self, name: str) -> dict[str, Any]:
        """All ranks load the same save, and none goes on, and perhaps replaces it, before the last has."""
        state = self.saves.load(self.saves.folder / name, self.model, self.optimisers)
        self.ranks.gather(None)
        return state

    def train(self, stop: Stop) -> bool:
        """Until it is enough; False if a signal came first. Then everything is saved."""
        needed = self.saves.needs(self.model, self.optimisers)
        if self.ranks.first and not self._enough():
            room.check(self.folder, needed)
        if self.progress.step == 0:
            self._save()  # something to go back to
        context = self.precision.context
        fit = Fit(self.task, self.model, self.optimisers, self.settings, self.progress, context, self.spread)
        updates, began = fit.updates(), time.monotonic() - self.progress.seconds
        while True:
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
            if self._asked(stop, time.monotonic() - began):
                return self._stopped()

    def _asked(self, stop: Stop, seconds: float) -> bool:
        """Whether any rank was told to stop; the clock is that of the first. So all do the same at the same step."""
        said = self.ranks.gather([stop.asked, seconds])
        self.progress.seconds = said[0][1]
        return any(asked for asked, _ in said)

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
        if not self.ranks.first:
            self.saves.give(self.model)
        found = self.ranks.tell(self._measured(stop) if self.ranks.first else None)
        if found is None:
            return False
        progress = self.progress
        progress.validated = progress.step
        value = found[self.task.best_by]
        better = self._better(value)
        progress.waited = 0 if better else progress.waited + 1
        if better or value == progress.best:  # as good, and trained for longer
            progress.best, progress.best_step = value, progress.step
        return True

    def _measured(self, stop: Stop) -> dict[str, float] | None:
        """What the first rank finds, and writes down; None if a signal came."""
        self.screen.phase("validating")
        mean = self.saves.mean(self.model, self.progress.step)
        torch.manual_seed(seed_of(self.settings.seed, self.progress.step, -1))  # some tasks draw when they measure
        try:
            with self.borrowed(mean) as model, stop.interruptible(), torch.no_grad():  # no signal cuts the borrowing
                measured = self.task.measure(model)
                samples = self.task.samples(model)
        except Stopped:
            return None
        progress, value = self.progress, measured[self.task.best_by]
        chosen = self._better(value) or value == progress.best
        if chosen:
            write_model(self.folder, mean, progress.step, self.files, measured=measured)
        self._log({"step": progress.step, "epoch": progress.epoch, "valid": measured, "best": chosen})
        if samples:
            self.log.sample(progress.step, samples)
        told = "  ".join(f"{name} {number:.4g}" for name, number in measured.items())
        self.screen.say(f"step {progress.step}  epoch {progress.epoch}  {told}{'  (best so far)' if chosen else ''}")
        self.screen.phase("training")
        return measured

    def _better(self, value: float) -> bool:
        """Whether a score is the best so far; one that is no number never beats one that is."""
        best = self.progress.best
        if best is None or math.isnan(best):
            return True
        return value > best if self.task.best_is_highest else value < best

    def final(self, model: Path) -> dict[str, dict[str, float]]:
        """What is measured once, at the end, of the model in this file."""
        torch.manual_seed(seed_of(self.settings.seed, -1))
        with self.borrowed(load_file(model)) as whole, torch.no_grad():
            return self.task.final(whole)

    @contextmanager
    def borrowed(self, weights: dict[str, Any]) -> Iterator[nn.Module]:
        """The model with other weights, for a while, and not in training."""
        model = self.spread.readable(self.model, self.task.build)
        own = {name: value.clone() for name, value in weights_of(model).items()}
        try:
            load_weights(model, weights)
            model.eval()
            yield model
        finally:
            load_weights(model, own)
            model.train()

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
            self.log.time({"step": progress.step, "seconds": progress.seconds, "units": units})
            sums.clear()
        self.screen.update(progress, update)

    def _save(self) -> None:
        self.progress.log_bytes, self.progress.unlogged = self.log.settle()
        if self.ranks.first:
            self.saves.save(self.model, self.optimisers, self.progress, self.about)
        else:
            self.saves.give(self.model, self.optimisers)
        self.ranks.tell()

    def _stopped(self) -> bool:
        self._save()
        self.screen.say(f"stopped at step {self.progress.step}; everything is saved: run the same command to go on")
        return False

    def _roll_back(self) -> None:
        """Weights and optimiser as last saved, half the rate; the data go on where they are."""
        path = self.saves.before_trouble() if self.ranks.first else None
        name = self.ranks.tell(None if path is None else path.name)
        if name is None:
            raise ValueError(f"{SKIPS} updates in a row were skipped, and no save in {self.saves.folder} is whole")
        self._load(name)
        self.progress.rate_factor /= 2
        self.progress.skipped_in_a_row = 0
        at = step_of(Path(name))
        self._log({"step": self.progress.step, "rolled_back": at, "rate_factor": self.progress.rate_factor})
        self.screen.say(f"{SKIPS} updates in a row were skipped: back to the save of step {at}, at half the rate")

    def _log(self, line: dict[str, Any]) -> None:
        self.log.add(line)
        if self.ranks.first:
            self.board.add(line)
