"""T3: a crash at every write, fsync, renaming and removal of a training, killed or with a power cut."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from regard.train.drive import Run
from regard.train.folder import MANIFEST, model_of
from regard.train.progress import Progress
from regard.train.signals import Stop
from tests.reliability.disk import Dead, Disk
from tests.reliability.report import Row, each, row
from tests.train.toys import Duel, Heard, outcome, session

SETTINGS: dict[str, Any] = {"steps": 15, "save_every": 5, "average": 3, "keep": 2}


@contextmanager
def quick() -> Iterator[None]:
    """No waiting for the disk, and a log that is written between saves too."""
    with mock.patch("os.fsync", return_value=None), mock.patch("regard.train.drive.LOG_EVERY", 2):
        yield


def lesson(folder: Path) -> Run:
    """Two players and their samples: everything that a run writes."""
    return session(Duel(), folder, **SETTINGS)


class Stopping(Heard):
    """A screen at which a run is asked to stop."""

    def __init__(self, at: int, stop: Stop) -> None:
        super().__init__()
        self.at, self.stop = at, stop

    def update(self, progress: Progress, update: Any) -> None:
        if progress.step == self.at:
            self.stop.asked = "SIGTERM"


def begun(folder: Path) -> Path:
    """Stopped at step 10 before it was validated there: the save of step 10 will be replaced."""
    with quick():
        run, stop = lesson(folder), Stop()
        run.screen = Stopping(10, stop)
        assert not run.train(stop)
    return folder


def finished(folder: Path) -> tuple[int, Run]:
    """Resume, to the end; at which step it was resumed."""
    with quick():
        run = lesson(folder)
        run.resume()
        at = run.progress.step
        assert run.train(Stop())
    return at, run


def trained(folder: Path, disk: Disk) -> bool:
    """Train until the disk lets it die; whether it came to the end."""
    with mock.patch("regard.train.drive.LOG_EVERY", 2), disk:
        try:
            run = lesson(folder)
            run.resume()
            return run.train(Stop())
        except Dead:
            return False


def copied(source: Path, target: Path) -> Path:
    """A run folder, once more."""
    return Path(shutil.copytree(source, target))


def newest(done: list[str], start: int, durable: bool) -> int:
    """The step of the save that must be there: renamed into place, and if asked, made durable after."""
    found, waiting = start, start
    for what in done[:-1]:  # the last one is what it died of
        verb, *names = what.split()
        if verb == "rename" and names[1].isdigit():
            waiting = int(names[1])
        if not durable or what == "fsync saves":
            found = waiting
    return found


def trouble(folder: Path, whole: dict[str, bytes], least: int, most: int) -> str | None:
    """What is wrong with a run after a crash; None if it is whole and comes to the same end."""
    if (folder / MANIFEST).exists():
        model_of(folder)
    at, run = finished(folder)
    assert isinstance(run.screen, Heard)
    if "passing it over" in run.screen.text:
        return f"a save was there and not whole: {run.screen.text}"
    if not least <= at <= most:
        return f"resumed at step {at}, not at {least}"
    left = [path.name for path in [*folder.rglob(".*.new"), *folder.rglob("*~")]]
    if left:
        return f"left behind: {left}"
    found = outcome(folder)
    different = sorted(name for name in whole.keys() | found.keys() if whole.get(name) != found.get(name))
    return f"resumed at step {at}, then other: {different}" if different else None


def crashes(work: Path, every: int, cuts: int, seed: int) -> list[str | None]:
    """Die at every so-maniest change, from nothing and from a save; what went wrong each time."""
    (work / "nothing").mkdir(parents=True)
    whole = outcome(finished(work / "whole")[1].folder)
    bases = {work / "nothing": 0, begun(work / "begun"): 10}
    cases = [
        (base, number, cut)
        for base in bases
        for number in range(1 + seed % every, operations(base) + 1, every)
        for cut in range(cuts + 1)
    ]

    def run(case: tuple[Path, int, int]) -> str | None:
        base, number, cut = case
        folder = copied(base, work / f"{base.name}-{number}-{cut}")
        try:
            return one_crash(folder, number, bases[base], whole, random.Random(f"{seed} {case[1:]}") if cut else None)
        finally:
            shutil.rmtree(folder)

    return each("T3", cases, run)


def operations(base: Path) -> int:
    """How many changes there are, undisturbed."""
    folder = copied(base, base.with_name(f"{base.name}-counted"))
    disk = Disk(folder)
    assert trained(folder, disk)
    return len(disk.done)


def one_crash(
    folder: Path, number: int, start: int, whole: dict[str, bytes], cut: random.Random | None
) -> str | None:
    """Die at one change; with a power cut what was not durable may be lost."""
    disk = Disk(folder, die_at=number)
    if trained(folder, disk):
        return f"change {number}: it did not die"
    least, most = newest(disk.done, start, durable=cut is not None), newest(disk.done, start, durable=False)
    if cut is not None:
        disk.power_cut(folder.with_name(f"{folder.name}-after"), cut)
        folder = folder.with_name(f"{folder.name}-after")
    try:
        problem = trouble(folder, whole, least, most)
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
    return f"{'power cut' if cut else 'killed'} at change {number}, {disk.done[-1]}: {problem}" if problem else None


def check(work: Path, quick: bool, seed: int) -> list[Row]:
    """T3 in full, or at every seventh change."""
    began = time.monotonic()
    wrong = crashes(work, every=7 if quick else 1, cuts=1 if quick else 3, seed=seed)
    what = "a crash at every write, fsync, renaming and removal: killed, and with the power gone"
    return [row("T3", what, "all: the newest complete save loads, same end, no clean-up by hand", wrong, began)]
