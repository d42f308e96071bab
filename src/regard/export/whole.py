"""A folder that appears as a whole, or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from regard.train.folder import durable, older


def free(folder: Path, mark: str | None = None) -> None:
    """Refuse a folder with something in it; with `mark`, one that has this file may be replaced."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise ValueError(f"{folder} is not a folder; give another name")
    if folder.is_dir() and any(folder.iterdir()) and not (mark and (folder / mark).is_file()):
        raise ValueError(f"{folder} has files in it; give a new folder")


@contextmanager
def appearing(folder: Path) -> Iterator[Path]:
    """Fill the folder given; it gets its name when all went well. One of that name goes only then."""
    folder.absolute().parent.mkdir(parents=True, exist_ok=True)
    beside = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir()
    try:
        yield beside
        for path in sorted(beside.rglob("*")):
            if path.is_file():
                with path.open("rb") as file:
                    os.fsync(file.fileno())
        if folder.exists():
            shutil.rmtree(older(folder), ignore_errors=True)
            os.replace(folder, older(folder))
        os.replace(beside, folder)
        durable(folder.absolute().parent)
        shutil.rmtree(older(folder), ignore_errors=True)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
