"""Told to stop, in whatever phase: soon, with exit code 75, and the run goes on as if nothing had been."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from torch import nn

from regard.train.saves import weights_of
from regard.train.signals import AGAIN, ASKED, Stop, Stopped
from tests.reliability.stops import SIGNALS, Whole, stopped, undisturbed
from tests.train.toys import Line, command, session
from tests.train.zygote import AND, PHASES, Zygote


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, zygote: Zygote) -> Whole:
    """What a run comes to that nobody disturbs."""
    return undisturbed(zygote, tmp_path_factory.mktemp("whole"))


@pytest.mark.parametrize(
    ("phase", "number"),
    [*zip(PHASES, itertools.cycle(SIGNALS), strict=False), ("step", "SIGINT"), ("step", "SIGUSR1")],
)
def test_a_signal_in_any_phase(zygote: Zygote, whole: Whole, phase: str, number: str) -> None:
    """T5: exit code 75 within ten seconds, and the same command goes on to the same end."""
    assert stopped(zygote, whole, f"{phase} {number}", phase, number, within=30) is None  # on a busy machine


@pytest.mark.parametrize("places", list(AND))
def test_a_second_signal_leaves_a_run_that_goes_on(zygote: Zygote, whole: Whole, places: str) -> None:
    assert stopped(zygote, whole, places, places, "SIGTERM", within=30) is None
    said = (whole.folder / places / "out").read_text(encoding="utf-8")
    assert "everything is saved" not in said


EARLY = """
import os, signal, sys
sys.modules["regard.commands.options"] = type(sys)("options")
sys.modules["regard.commands.options"].train = lambda args: os.kill(os.getpid(), signal.SIGTERM)
from regard.cli import main
sys.exit(main(["train"]))
"""


def test_a_signal_before_anything_is_begun() -> None:
    """While options are read and modules imported there is nothing to save: it is run again."""
    done = subprocess.run([sys.executable, "-c", EARLY], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (
        AGAIN,
        "stopped by SIGTERM; nothing is lost: run the same command to go on\n",
    )


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_to_the_real_command(whole: Whole, tmp_path: Path, number: str) -> None:
    """T5, from outside: `python -m regard train` in the middle of a long run."""
    run = tmp_path / "run"
    args = command("transformer", run, whole.files, "--train.steps", 100_000, "--train.save-every", 50_000)
    process = subprocess.Popen([sys.executable, "-m", "regard", *args], stderr=subprocess.PIPE, text=True)
    try:
        wait_for(process, run / "log.jsonl")
        sent = time.monotonic()
        process.send_signal(getattr(signal, number))
        said = process.communicate(timeout=60)[1]
        assert time.monotonic() - sent < 20  # a step + 10 s; twice that for a busy machine
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == AGAIN, said
    step = int(max(path.name for path in (run / "saves").iterdir()))
    assert step >= 50
    assert f"stopped at step {step}; everything is saved" in said


def wait_for(process: subprocess.Popen[str], file: Path) -> None:
    for _ in range(2400):
        if file.exists():
            return
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.05)
    pytest.fail(f"{file} did not come")


SECOND = """
import os, signal, sys, time
from regard.train.signals import Stop
with Stop() as stop:
    os.kill(os.getpid(), getattr(signal, sys.argv[1]))
    print(stop.asked, flush=True)
    try:
        os.kill(os.getpid(), getattr(signal, sys.argv[2]))
        time.sleep(60)
    finally:
        print("went on", flush=True)
"""


@pytest.mark.parametrize(("first", "second"), [("SIGTERM", "SIGTERM"), ("SIGINT", "SIGINT"), ("SIGUSR1", "SIGTERM")])
def test_a_second_signal_stops_at_once(first: str, second: str) -> None:
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", SECOND, first, second], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (AGAIN, f"{first}\n")
    assert time.monotonic() - began < 30


def test_a_signal_is_noted_and_raised_only_where_nothing_is_lost() -> None:
    before = [signal.getsignal(number) for number in ASKED]
    with Stop() as stop:
        assert stop.asked is None
        os.kill(os.getpid(), signal.SIGUSR1)
        assert stop.asked == "SIGUSR1"
        with pytest.raises(Stopped, match="SIGUSR1"), stop.interruptible():
            pytest.fail("work was begun that is not wanted any more")
    with Stop() as stop, pytest.raises(Stopped, match="SIGTERM"), stop.interruptible():
        signalled_where_errors_are_handled()
    assert [signal.getsignal(number) for number in ASKED] == before


def signalled_where_errors_are_handled() -> None:
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)
    except Exception:
        pytest.fail("it is no error, so nothing that handles errors may catch it")


@pytest.mark.parametrize("place", ["load_weights", "measure", "restore"])
def test_a_signal_while_weights_are_borrowed_does_not_save_the_borrowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """A validation puts averaged weights into the model: wherever it is cut, the model's own are saved."""
    import regard.train.drive as drive

    monkeypatch.setattr("os.fsync", lambda _: None)

    class Signalling(Line):
        def measure(self, model: nn.Module) -> dict[str, float]:
            if place == "measure" and run.progress.step == 10:
                os.kill(os.getpid(), signal.SIGTERM)
            return super().measure(model)

    task = Signalling()
    run = session(task, tmp_path / "run", average=4)
    real, calls = drive.load_weights, []

    def slow(model: nn.Module, source: object) -> None:
        """In the second validation: half of it is loaded, then a signal comes."""
        calls.append(1)
        if (place, len(calls)) in (("load_weights", 3), ("restore", 4)):
            with torch.no_grad():
                next(model.parameters()).fill_(9.0)
            os.kill(os.getpid(), signal.SIGTERM)
        real(model, source)  # type: ignore[arg-type]

    monkeypatch.setattr(drive, "load_weights", slow)
    with Stop() as stop:
        assert not run.train(stop)
    assert stop.asked == "SIGTERM"
    straight = session(Line(), tmp_path / "straight", average=4, steps=run.progress.step)
    assert straight.train(Stop())
    for name, value in weights_of(straight.model).items():
        assert torch.equal(value, weights_of(run.model)[name]), name
    file = run.folder / "saves" / f"{run.progress.step:08d}" / "weights.safetensors"
    assert file.read_bytes() == (straight.folder / "saves" / file.parent.name / file.name).read_bytes()
