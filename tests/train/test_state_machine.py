"""Save, kill, cut the power, corrupt, resume, in any order: always the newest complete state and always the same end.

The states that are right are those of one run that nobody disturbed and that saved at every step. That the machine
can fail is shown below, by a `newest` that trusts names. Planted by hand, it also caught: files that are not synced,
folders that are not synced, older saves that go before the new one is there, and a log that is not cut at a resume.
A save removed before its replacement is there is too rare for it; tests/reliability/faults.py catches that one.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from unittest import mock

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from regard.train.drive import Run
from regard.train.signals import Stop
from tests.reliability.disk import Dead, Disk
from tests.reliability.faults import Stopping, quick
from tests.train.toys import Duel, outcome, session

STEPS, EVERY = 12, 4
FILES = ("weights.safetensors", "optimiser.safetensors")
ALL = (*FILES, "state.json", "manifest.json")
QUICK = settings(
    max_examples=9, stateful_step_count=6, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)


def lesson(folder: Path, every: int = EVERY, keep: int = 2) -> Run:
    return session(Duel(), folder, steps=STEPS, save_every=every, average=1, keep=keep)


@cache
def right() -> tuple[dict[int, list[bytes]], dict[str, bytes]]:
    """Weights and optimiser after each step, and what a run comes to, undisturbed."""
    with tempfile.TemporaryDirectory() as folder, quick():
        often, seldom = lesson(Path(folder) / "often", 1, STEPS + 1), lesson(Path(folder) / "seldom")
        assert often.train(Stop())
        assert seldom.train(Stop())
        saves = {step: often.folder / "saves" / f"{step:08d}" for step in range(STEPS + 1)}
        states = {step: [(path / name).read_bytes() for name in FILES] for step, path in saves.items()}
        return states, outcome(seldom.folder)


class Interrupted(RuleBasedStateMachine):
    """One run, and everything that may happen to it."""

    def __init__(self) -> None:
        super().__init__()
        self.around = tempfile.TemporaryDirectory()
        self.folder = Path(self.around.name) / "run"
        self.folder.mkdir()
        self.hurt: set[bytes] = set()

    def newest(self) -> int | None:
        """The step of the newest save that is as it should be, found without asking any manifest."""
        states, _ = right()
        whole = []
        for path in self.folder.glob("saves/[0-9]*"):
            step = int(path.name.rstrip("~"))
            there = [path / name for name in ALL]
            if all(file.is_file() and file.read_bytes() not in self.hurt for file in there):
                assert [file.read_bytes() for file in there[:2]] == states[step], f"another state at step {step}"
                whole.append(step)
        return max(whole, default=None)

    def resumed(self, expected: int | None) -> Run:
        run = lesson(self.folder)
        assert run.resume() == (expected is not None)
        assert run.progress.step == (expected or 0)
        return run

    @rule(more=st.integers(1, 7))
    def train_and_stop(self, more: int) -> None:
        expected, stop = self.newest(), Stop()
        with quick():
            run = self.resumed(expected)
            run.screen = Stopping(run.progress.step + more, stop)
            run.train(stop)

    @rule(at=st.integers(1, 90), power=st.none() | st.integers(0, 1000))
    def die(self, at: int, power: int | None) -> None:
        """Killed at some change of the disk; or the power goes, and what was not durable with it."""
        expected = self.newest()
        disk = Disk(self.folder, die_at=at)
        with mock.patch("regard.train.drive.LOG_EVERY", 2), disk, suppress(Dead):
            self.resumed(expected).train(Stop())
        least = self.durable(disk.done, expected) if disk.dead else None
        if disk.dead and power is not None:
            after = self.folder.with_name("after")
            disk.power_cut(after, random.Random(power))
            shutil.rmtree(self.folder)
            after.rename(self.folder)
        if least is not None:
            found = self.newest()
            assert found is not None, "every save is gone"
            assert found >= least, f"a save of step {least} was made, and is gone"

    def durable(self, done: list[str], before: int | None) -> int | None:
        """The step of the last save that was made to the end; those that were hurt do not count."""
        found, waiting = before, before
        for what in done[:-1]:
            verb, *names = what.split()
            if verb == "rename" and names[1].isdigit():
                waiting = int(names[1])
            if what == "fsync saves":
                found = waiting
        return found

    @precondition(lambda self: self.newest() is not None)
    @rule(which=st.integers(0, 3), name=st.sampled_from(ALL), place=st.integers(0, 10**6), cut=st.booleans())
    def corrupt(self, which: int, name: str, place: int, cut: bool) -> None:
        """A byte of some save is another, or its end is gone."""
        saves = sorted(self.folder.glob("saves/[0-9]*"), reverse=True)
        file = saves[which % len(saves)] / name
        content = file.read_bytes() if file.is_file() else b""
        if content and content not in self.hurt:  # a second change at the same place would mend it
            at = place % len(content)
            bad = content[:at] + (b"" if cut else bytes([content[at] ^ 0x55]) + content[at + 1 :])
            file.write_bytes(bad)
            self.hurt.add(bad)

    def teardown(self) -> None:
        """Left alone it comes to its end, and to the same one."""
        try:
            with quick():
                run = self.resumed(self.newest())
                assert run.train(Stop())
            assert outcome(self.folder) == right()[1]
        finally:
            self.around.cleanup()


def test_whatever_happens_to_a_run_it_is_the_same_run() -> None:
    run_state_machine_as_test(Interrupted, settings=QUICK)


def test_damaged_saves_of_later_steps_do_not_crowd_out_new_ones(tmp_path: Path) -> None:
    """Found by the machine: with all saves damaged a run begins anew, and its saves were the oldest by name."""

    def up_to(step: int) -> None:
        run, stop = lesson(tmp_path), Stop()
        run.resume()
        run.screen = Stopping(step, stop)
        run.train(stop)

    with quick():
        up_to(6)
        for file in tmp_path.glob("saves/[0-9]*/weights.safetensors"):
            file.write_bytes(b"")
        up_to(3)
        run = lesson(tmp_path)
        assert run.resume()
    assert run.progress.step == 3


def test_the_machine_sees_a_save_that_is_trusted_by_its_name() -> None:
    """What it is for: with this mistake planted it must fail."""
    found = settings(QUICK, max_examples=200, phases=[Phase.generate])
    with mock.patch("regard.train.saves.damage", return_value=None), pytest.raises(Exception):  # noqa: B017, PT011
        run_state_machine_as_test(Interrupted, settings=found)
