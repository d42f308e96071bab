"""Where data sets lie: under `$REGARD_DATA`, else in a folder of this program's own."""

from __future__ import annotations

import os
from pathlib import Path

HOME = "$REGARD_DATA"  # how a recipe writes it, so that the same recipe works on every machine


def places() -> list[Path]:
    """Folders that are looked through, in order."""
    given = os.environ.get("REGARD_DATA")
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return [*([Path(given).expanduser()] if given else []), Path(cache).expanduser() / "regard"]


def place_to_write() -> Path:
    """The first of them that can be written to: a shared collection of data is often read-only."""
    for place in places():
        existing = next(folder for folder in (place, *place.absolute().parents) if folder.exists())
        if os.access(existing, os.W_OK):
            return place
    return places()[-1]


def kept() -> Path | None:
    """Where what was made of large text is kept for other runs: `$REGARD_CACHE`; nowhere if that is empty or off."""
    given = os.environ.get("REGARD_CACHE")
    if given is not None:
        return None if given in ("", "off") else Path(given).expanduser().absolute()
    return (Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "regard" / "made").absolute()


def resolved(path: Path) -> Path:
    """A path with `$REGARD_DATA` looked up; as it is where none of the folders has it."""
    if path.parts[:1] != (HOME,):
        return path
    inside = Path(*path.parts[1:])
    return next((place.absolute() / inside for place in places() if (place / inside).exists()), path)


def located(path: Path) -> Path:
    """The file, with `$REGARD_DATA` looked up; what is not there is said in one sentence."""
    found = resolved(path)
    if found.is_file():
        return found
    if found.parts[:1] != (HOME,):
        what = "is a folder, not a file" if found.is_dir() else "is not there"
        raise ValueError(f"{found} {what}; check the spelling, and the folder you are in")
    unset = "" if os.environ.get("REGARD_DATA") else ", and REGARD_DATA is not set"
    raise ValueError(
        f"{Path(*path.parts[1:])} is not in {' or '.join(map(str, places()))}{unset}; "
        "set REGARD_DATA to the folder that has it, or see `regard data list`"
    )


def portable(path: Path) -> Path:
    """The other way round: a path under a data folder, written as `$REGARD_DATA/...`."""
    for place in places():
        if path.is_absolute() and path.is_relative_to(place.absolute()):
            return Path(HOME) / path.relative_to(place.absolute())
    return path
