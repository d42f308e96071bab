"""Driving any task: resumed it is the same run, what is bad is survived, what is best is kept."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from regard.tasks.task import Loss, Task
from regard.train.drive import SKIPS, Run
from regard.train.fit import Update
from regard.train.progress import Progress
from regard.train.saves import Saves, weights_of
from regard.train.signals import Stop
from tests.train.toys import Duel, Heard, Line, outcome, session, weights

TASKS: dict[str, Callable[[], Task]] = {"a plane": Line, "two players": Duel}


@pytest.fixture(autouse=True)
def _quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of saves; that they wait for the disk is seen elsewhere."""
    monkeypatch.setattr("os.fsync", lambda _: None)


class Crash(BaseException):
    """As if the process had been killed."""


class Fragile(Heard):
    """A screen at which the run dies, or is asked to stop."""

    def __init__(self, at: int, stop: Stop | None = None) -> None:
        super().__init__()
        self.at, self.stop = at, stop

    def update(self, progress: Progress, update: Update) -> None:
        super().update(progress, update)
        if progress.step == self.at:
            if self.stop is None:
                raise Crash
            self.stop.asked = "SIGTERM"


def heard(run: Run) -> Heard:
    assert isinstance(run.screen, Heard)
    return run.screen


def finished(run: Run) -> Run:
    run.resume()
    assert run.train(Stop())
    return run


def log(run: Run) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run.folder / "log.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("kind", list(TASKS))
def test_a_run_that_died_anywhere_is_the_run_that_did_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Any task, any number of optimisers, at any step; weights, optimisers, log, model and samples, byte for byte."""
    monkeypatch.setattr("regard.train.drive.LOG_EVERY", 2)  # some of the log is written after the last save
    whole = outcome(finished(session(TASKS[kind](), tmp_path / "whole", average=3)).folder)
    assert len(whole) >= 5
    for step in (1, 4, 5, 6, 10, 13, 19, 20):
        folder = tmp_path / str(step)
        run = session(TASKS[kind](), folder, average=3)
        run.screen = Fragile(step)
        with pytest.raises(Crash):
            run.train(Stop())
        assert outcome(finished(session(TASKS[kind](), folder, average=3)).folder) == whole


def test_a_run_that_died_between_validating_and_saving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = outcome(finished(session(Line(), tmp_path / "whole")).folder)
    run = session(Line(), tmp_path / "run")
    real = Saves.save

    def mortal(self: Saves, model: nn.Module, optimisers: Any, progress: Progress, about: Any) -> Path:
        if progress.step == 10:
            raise Crash
        return real(self, model, optimisers, progress, about)

    with monkeypatch.context() as patch:
        patch.setattr(Saves, "save", mortal)
        with pytest.raises(Crash):
            run.train(Stop())
    assert len(log(run)) == 2  # of steps 5 and 10
    assert outcome(finished(session(Line(), tmp_path / "run")).folder) == whole


@pytest.mark.parametrize("kind", list(TASKS))
def test_a_run_that_was_stopped_anywhere_is_the_run_that_was_not(tmp_path: Path, kind: str) -> None:
    whole = outcome(finished(session(TASKS[kind](), tmp_path / "whole", average=3)).folder)
    run, folder = None, tmp_path / "often"
    for step in (1, 2, 5, 8, 9, 10, 14, 19):  # again and again, the same run
        stop = Stop()
        run = session(TASKS[kind](), folder, average=3)
        run.screen = Fragile(step, stop)
        run.resume()
        assert not run.train(stop)
        assert run.progress.step == step
        assert "everything is saved: run the same command to go on" in run.screen.text
    assert outcome(finished(session(TASKS[kind](), folder, average=3)).folder) == whole


def test_three_runs_of_one_seed_are_the_same_and_of_another_not(tmp_path: Path) -> None:
    """T9."""
    found = [outcome(finished(session(Duel(), tmp_path / str(number))).folder) for number in range(3)]
    assert found[0] == found[1] == found[2]
    other = outcome(finished(session(Duel(), tmp_path / "other", seed=2)).folder)
    assert all(other.get(name) != content for name, content in found[0].items() if name.endswith(".safetensors"))


def test_another_machine_is_announced(tmp_path: Path) -> None:
    """T9: other threads or another torch, announced and not promised."""
    was = {"torch": "2.12", "threads": 2}
    finished(session(Line(), tmp_path / "run", was, steps=5))
    same = session(Line(), tmp_path / "run", was, steps=10)
    assert same.resume()
    assert heard(same).lines == []
    other = session(Line(), tmp_path / "run", {"torch": "2.13", "threads": 1}, steps=10)
    assert other.resume()
    assert heard(other).lines == [
        "torch was 2.12 and is 2.13: from here on results may differ",
        "threads was 2 and is 1: from here on results may differ",
    ]


class Poisoned(Line):
    """A plane of which some updates have no finite gradient: those of these steps."""

    def __init__(self, steps: Sequence[int], value: float = float("nan")) -> None:
        super().__init__()
        self.steps, self.value = set(steps), value
        self.run: Run

    def loss(self, model: nn.Module, batch: Any, player: str) -> Loss:
        right = super().loss(model, batch, player)
        bad = self.run.progress.step + 1 in self.steps
        return Loss(right.total * self.value, right.figures) if bad else right


def poisoned(folder: Path, bad: Sequence[int], value: float = float("nan"), **settings: Any) -> Run:
    task = Poisoned(bad, value)
    task.run = session(task, folder, **settings)
    return task.run


def test_skipped_updates_are_logged_and_leave_no_trace(tmp_path: Path) -> None:
    """T8."""
    run = finished(poisoned(tmp_path / "run", [3, 8]))
    skips = [line for line in log(run) if "skipped" in line]
    assert [line["step"] for line in skips] == [3, 8]
    points = ", ".join(map(str, sorted(run.task.batches(0)[2])))
    assert skips[0]["skipped"] == f"the gradient is not finite in points {points}"
    assert f"step 3: skipped, the gradient is not finite in points {points}" in heard(run).lines
    assert run.progress.skipped == 2
    assert not any("rolled_back" in line for line in log(run))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_ten_in_a_row_go_back_at_half_the_rate(tmp_path: Path, value: float) -> None:
    """T8: to the last save before the trouble, though there is one within it."""
    run = poisoned(tmp_path / "run", range(13, 13 + SKIPS), value, steps=30, schedule="constant", keep=3)
    seen: dict[int, torch.Tensor] = {}
    kept_at_ten = {}

    class Watching(Heard):
        def update(self, progress: Progress, update: Update) -> None:
            super().update(progress, update)
            seen[progress.step] = torch.cat([w.flatten() for w in weights_of(run.model).values()]).clone()
            if progress.step == 10:
                kept_at_ten.update({n: w.clone() for n, w in weights_of(run.model).items()})

    run.screen = Watching()
    assert run.train(Stop())
    backs = [line for line in log(run) if "rolled_back" in line]
    assert backs == [{"step": 22, "rolled_back": 10, "rate_factor": 0.5}]
    assert torch.equal(seen[12], seen[22])  # nothing moved while updates were skipped
    assert not torch.equal(seen[23], seen[22])
    rates = [update.rate for update in run.screen.updates]
    assert rates[22] == rates[11] / 2
    assert "10 updates in a row were skipped: back to the save of step 10, at half the rate" in run.screen.lines
    first = torch.cat([w.flatten() for w in kept_at_ten.values()])
    assert (seen[23] - first).abs().max() < 0.006  # one update of 0.005 from the weights of step 10


def test_trouble_from_the_start_goes_back_to_the_first_weights(tmp_path: Path) -> None:
    run = poisoned(tmp_path / "run", range(1, 2 * SKIPS + 1), steps=25, save_every=100)
    first = {name: value.clone() for name, value in weights_of(run.model).items()}
    finished(run)
    assert [(line["rolled_back"], line["rate_factor"]) for line in log(run) if "rolled_back" in line] == [
        (0, 0.5),
        (0, 0.25),
    ]
    moved = {name: float((value - first[name]).abs().max()) for name, value in weights_of(run.model).items()}
    assert 0 < max(moved.values()) < 0.02


def test_rolling_back_survives_a_death(tmp_path: Path) -> None:
    whole = finished(poisoned(tmp_path / "whole", range(13, 27), steps=30)).folder
    for step in (14, 22, 23):
        folder = tmp_path / str(step)
        run = poisoned(folder, range(13, 27), steps=30)
        run.screen = Fragile(step)
        with pytest.raises(Crash):
            run.train(Stop())
        assert outcome(finished(poisoned(folder, range(13, 27), steps=30)).folder) == outcome(whole)


def test_whatever_comes_the_last_weights_are_finite(tmp_path: Path) -> None:
    """T8: 20 of 20."""
    for number in range(20):
        rng = random.Random(number)
        first = rng.randint(1, 20)
        steps = [*range(first, first + rng.randint(8, 25)), *rng.sample(range(1, 40), 8)]
        run = finished(poisoned(tmp_path / str(number), steps, rng.choice([float("nan"), float("inf")]), steps=40))
        assert run.progress.skipped > 0
        for file in [*run.folder.glob("model-*"), *run.folder.glob("saves/*/weights.safetensors")]:
            assert all(value.isfinite().all() for value in weights(file).values())


class Scored(Line):
    """A plane whose measure is told beforehand."""

    def __init__(self, values: Sequence[float], highest: bool) -> None:
        super().__init__()
        self.values, self.best_is_highest = list(values), highest

    def measure(self, model: nn.Module) -> dict[str, float]:
        return {"loss": self.values.pop(0)}


NAN = float("nan")


@pytest.mark.parametrize(
    ("values", "highest", "best"),
    [
        ([3, 1, 2, 4], True, 20),
        ([3, 1, 2, 4], False, 10),
        ([0, 0, 0, 0], True, 20),  # as good, and trained for longer
        ([2, NAN, 3, NAN], False, 5),  # what is no number never wins
        ([NAN, 5, NAN, 6], False, 10),
        ([NAN, 5, NAN, 6], True, 20),
    ],
)
def test_the_best_model_is_kept(tmp_path: Path, values: list[float], highest: bool, best: int) -> None:
    run = finished(session(Scored(values, highest), tmp_path / "run"))
    assert [file.name for file in run.folder.glob("model-*")] == [f"model-{best:08d}.safetensors"]
    manifest = json.loads((run.folder / "manifest.json").read_text(encoding="utf-8"))
    assert (manifest["step"], manifest["model"]) == (best, f"model-{best:08d}.safetensors")
    assert run.progress.best_step == best


def test_patience_ends_a_run_and_stays_over(tmp_path: Path) -> None:
    run = finished(session(Scored([3, 2, 2, 4, 0], False), tmp_path / "run", steps=100, patience=2))
    assert run.progress.step == 20  # better at 10; at 15 only as good
    assert "no better score in 2 validations: stopping early" in heard(run).lines
    again = finished(session(Scored([], False), tmp_path / "run", steps=100, patience=2))
    assert again.progress.step == 20


def test_minutes_end_a_run_over_all_sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 100_000, 7))  # the loop's alone: threads of other tests may read the real one
    monkeypatch.setattr("regard.train.drive.time", SimpleNamespace(monotonic=lambda: float(next(clock))))
    run = session(Line(), tmp_path / "run", steps=1000, minutes=2, save_every=7)
    run.screen, stop = Heard(), Stop()
    finished(run)
    assert run.progress.step == 18  # 120 seconds, 7 a step
    assert run.progress.validated == 18
    more = session(Line(), tmp_path / "run", steps=1000, minutes=3, save_every=7)
    more.resume()
    assert more.train(stop)
    assert more.progress.step == 26


def test_the_model_is_the_mean_of_the_last_saves(tmp_path: Path) -> None:
    run = finished(session(Line(), tmp_path / "run", average=3, keep=2))
    files = [run.folder / "saves" / f"{step:08d}" / "weights.safetensors" for step in (10, 15, 20)]
    each = [weights(file) for file in files]
    model = weights(next(run.folder.glob("model-00000020*")))
    for name, value in model.items():
        assert torch.allclose(value, torch.stack([one[name] for one in each]).mean(0), atol=1e-7, rtol=0)
        assert not torch.equal(value, each[-1][name])


def test_validating_changes_nothing(tmp_path: Path) -> None:
    """Weights that were averaged for a validation are given back, and chance is as it would have been."""
    rare = finished(session(Line(), tmp_path / "rare", save_every=20))
    often = finished(session(Line(), tmp_path / "often", save_every=1, average=4))
    files = [run.folder / "saves" / "00000020" / "weights.safetensors" for run in (rare, often)]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_model_is_measured_without_dropout_and_without_gradients(tmp_path: Path) -> None:
    class Asking(Line):
        def measure(self, model: nn.Module) -> dict[str, float]:
            assert not model.training
            assert not torch.is_grad_enabled()
            return super().measure(model)

        def loss(self, model: nn.Module, batch: Any, player: str) -> Loss:
            assert model.training
            return super().loss(model, batch, player)

    finished(session(Asking(), tmp_path / "run", save_every=3))


def test_a_log_that_was_cut_short_is_gone_on_with(tmp_path: Path) -> None:
    run = finished(session(Line(), tmp_path / "run", steps=10))
    (run.folder / "log.jsonl").write_bytes(b"")  # a power cut: the save was on the disk, the log was not
    more = finished(session(Line(), tmp_path / "run", steps=20))
    assert [line["step"] for line in log(more)] == [15, 20]


def test_figures_are_logged_per_unit(tmp_path: Path) -> None:
    run = finished(session(Line(), tmp_path / "run", steps=100, save_every=100))
    lines = [line for line in log(run) if "loss" in line]
    assert [line["step"] for line in lines] == [50, 100]
    updates = heard(run).updates
    expected = sum(update.figures["loss"] for update in updates[50:]) / sum(update.units for update in updates[50:])
    assert lines[1]["loss"] == pytest.approx(expected)
    assert lines[1]["tokens"] == run.progress.units == 400
    assert lines[1]["norm"] == pytest.approx(sum(update.norm for update in updates[50:]) / 50)
    times = (run.folder / "times.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["step"] for line in times] == [50, 100]


def test_what_was_halved_is_logged(tmp_path: Path) -> None:
    """T11."""

    class Heavy(Line):
        def loss(self, model: nn.Module, batch: Any, player: str) -> Loss:
            if len(batch[0]) > 2:
                raise torch.OutOfMemoryError
            return super().loss(model, batch, player)

    run = finished(session(Heavy(), tmp_path / "run", steps=2))
    points = ", ".join(map(str, sorted(run.task.batches(0)[0])))
    assert log(run)[0] == {"step": 1, "split": f"points {points}"}
    assert heard(run).lines[0] == f"step 1: points {points} was too large for the memory and was halved"
