"""What was made of large text is kept for other runs, by what it was made of: found whole, or made anew."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SEALS = "seals.json"
_STALE = 24 * 3600.0  # seconds after which what was left half-written belongs to nobody


class Damaged(ValueError):
    """What was kept is not what was put there."""


def seal(path: Path) -> dict[str, Any]:
    """Size and SHA-256 of a file."""
    with path.open("rb") as file:
        return {"bytes": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


@dataclass(frozen=True)
class Cache:
    """Folders of files by name. Files are hard links where they can be, so that they take no room twice.

    Any number of processes may use it at once: an entry is written beside and renamed, and the first one stays.
    """

    folder: Path

    def take(self, name: str, to: Path) -> bool:
        """Put an entry's files into a folder, which is there complete or not at all; False where there is none."""
        entry = self.folder / name
        if not entry.is_dir():
            return False
        beside = to.with_name(f"{to.name}.new")
        shutil.rmtree(beside, ignore_errors=True)
        try:
            beside.mkdir(parents=True)
            for file, sealed in _seals(entry).items():
                _link(entry / file, beside / file)
                if seal(beside / file) != sealed:
                    raise Damaged(f"{entry / file} was changed since it was written")
        except BaseException as error:
            shutil.rmtree(beside, ignore_errors=True)
            if isinstance(error, Damaged):
                self._remove(entry)
            raise
        shutil.rmtree(to, ignore_errors=True)
        os.replace(beside, to)
        return True

    def keep(self, name: str, made: Path) -> None:
        """Keep the files of a folder under this name, unless another process did so first."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._tidy()
        beside = self.folder / f".{name}.{secrets.token_hex(4)}.new"
        beside.mkdir()
        try:
            files = sorted(path for path in made.iterdir() if path.is_file())
            for path in files:
                _link(path, beside / path.name)
            seals = json.dumps({path.name: seal(path) for path in files}, indent=1)
            (beside / _SEALS).write_text(seals, encoding="utf-8")
            os.rename(beside, self.folder / name)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        finally:
            shutil.rmtree(beside, ignore_errors=True)

    def _remove(self, entry: Path) -> None:
        """Take an entry away as a whole: others may be looking at it."""
        aside = self.folder / f".{entry.name}.{secrets.token_hex(4)}.new"
        with suppress(OSError):
            os.rename(entry, aside)
        shutil.rmtree(aside, ignore_errors=True)

    def _tidy(self) -> None:
        """Remove what killed processes left."""
        for path in self.folder.glob(".*.new"):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > _STALE:
                    shutil.rmtree(path, ignore_errors=True)


def _seals(entry: Path) -> dict[str, Any]:
    try:
        found = json.loads((entry / _SEALS).read_text(encoding="utf-8"))
        if not found or any(Path(name).name != name for name in found):
            raise ValueError("it lists other files")
        return dict(found)
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise Damaged(f"{entry / _SEALS} cannot be understood ({error})") from None


def _link(path: Path, to: Path) -> None:
    """The same file under another name; a copy, where disks differ or know no links."""
    try:
        os.link(path, to)
    except FileNotFoundError:
        raise Damaged(f"{path} is missing") from None
    except OSError:
        shutil.copyfile(path, to)
