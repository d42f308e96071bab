"""What a training may meet, for processes that the zygote forks: losses that are no numbers, a disk that is full."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any


def poison(steps: Sequence[int], value: float, gradient: bool) -> None:
    """The loss of these steps, or only its gradient, is this value, not a number."""
    import torch

    import regard.tasks.translation as translation

    real, seen, bad = translation.sequence_loss, [0], set(steps)

    def poisoned(*args: Any, **options: Any) -> Any:
        loss = real(*args, **options)
        if not torch.is_grad_enabled():  # it is being measured
            return loss
        seen[0] += 1
        if seen[0] not in bad:
            return loss
        if not gradient:
            return replace(loss, total=loss.total * value)
        total = loss.total * 1
        total.register_hook(lambda grad: grad * value)
        return replace(loss, total=total)

    translation.sequence_loss = poisoned


def fill_disk(ballast: str | None, run: str, leave: int, begin: int, end: int | None, log_every: int) -> None:
    """After step `begin` the disk is full up to so many bytes, after step `end` it is not any more.

    With a file of ballast it really is, where the disk is a small one; without, writes are refused as if it were.
    """
    import regard.train.drive as drive
    from regard.commands.screen import TrainingScreen

    drive.LOG_EVERY = log_every
    real, disk = TrainingScreen.update, None if ballast else _refusing(Path(run))

    def update(self: TrainingScreen, progress: Any, done: Any) -> None:
        if progress.step == begin:
            fill(Path(ballast), leave) if ballast else setattr(disk, "full_at", 0)
        if progress.step == end:
            Path(ballast).unlink() if ballast else setattr(disk, "full_at", None)
        real(self, progress, done)

    TrainingScreen.update = update  # type: ignore[method-assign]


def little_room(free: int) -> None:
    """The disk says that there is so much room."""
    import shutil

    real = shutil.disk_usage
    shutil.disk_usage = lambda path: real(path)._replace(free=free)  # type: ignore[assignment]


def fill(ballast: Path, leave: int) -> None:
    """Leave so much room on a disk."""
    with ballast.open("wb") as file, suppress(OSError):
        free = os.statvfs(ballast.parent)
        os.posix_fallocate(file.fileno(), 0, max(1, free.f_bavail * free.f_frsize - leave))


def _refusing(run: Path) -> Any:
    from tests.reliability.disk import Disk

    run.mkdir(parents=True, exist_ok=True)
    return Disk(run).__enter__()
