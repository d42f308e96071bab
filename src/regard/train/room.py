"""Room on the disk: asked for before the first step, and told in bytes when it is gone."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class NoRoom(ValueError):
    """The disk, or the share of it that is ours, is full."""


def check(folder: Path, needed: int) -> None:
    """Refuse to begin what would not fit: better now than after a night."""
    disk = shutil.disk_usage(folder)
    if disk.total > 0 and disk.free < needed:  # some file systems tell nothing
        raise NoRoom(
            f"{folder} has room for {disk.free:,} bytes, and the saves and the model of this run need {needed:,} "
            "more; free some space, keep fewer saves (--train.keep 1 --train.average 1), or use another --run"
        )


@contextmanager
def told_if_full(folder: Path, what: str, needed: int) -> Iterator[None]:
    """Whatever is written in here: that the disk is full is said in one sentence, with the bytes it needs."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        free = shutil.disk_usage(folder).free
        raise NoRoom(
            f"{folder} is full ({error.strerror}): {what} needs {needed:,} bytes and {free:,} are free; what was "
            "saved before is whole: free some space and run the same command to go on from there"
        ) from error
