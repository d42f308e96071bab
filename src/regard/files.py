"""Files that somebody else may have written: opened only if plain and not too large, and each read in one way only.

docs/security.md says what is refused, with which words.
"""

from __future__ import annotations

import errno
import json
import os
import reprlib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

SMALL = 4 * 2**20
"""Bytes; what is written for people or tells of other files is far smaller."""


class BadFile(ValueError):
    """A file that is not what it should be; the message says which, and what to do."""


def plain_bytes(path: Path, most: int = SMALL) -> bytes:
    """All of a plain file. A pipe would be waited for and a device has no end, so neither is opened."""
    if not path.is_file():
        if not os.path.lexists(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        raise BadFile(f"{shown(path)} is not a plain file; put the file itself there")
    try:
        with path.open("rb") as file:
            large = os.fstat(file.fileno()).st_size > most
            content = b"" if large else file.read(most + 1)
    except OSError as error:
        raise BadFile(f"{shown(path)} cannot be read ({error.strerror}); check its permissions") from None
    if large or len(content) > most:
        raise BadFile(f"{shown(path)} has more than {most:,} bytes, as no such file has; is it the right one?")
    return content


def plain_text(path: Path, most: int = SMALL) -> str:
    """All of a plain file in strict UTF-8."""
    try:
        return plain_bytes(path, most).decode("utf-8")
    except UnicodeDecodeError:
        raise BadFile(f"{shown(path)}: not UTF-8; restore it from a copy") from None


def json_object(text: str | bytes) -> dict[str, Any]:
    """An object of JSON in which every name stands once; ValueError says what is wrong with it."""
    try:
        found = json.loads(text, object_pairs_hook=_once)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError(f"it holds a {type(found).__name__}, not an object")
    shallow(found)
    return found


def shallow(found: dict[str, Any], deepest: int = 16) -> None:
    """What we write is a few levels deep; what is deeper could not be written again, nor shown."""
    level: list[Any] = [found]
    for _ in range(deepest):
        inner = [v for value in level for v in (value.values() if isinstance(value, dict) else value)]
        level = [value for value in inner if isinstance(value, dict | list)]
        if not level:
            return
    raise ValueError("it is nested too deeply")


def _once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Of two values under one name, readers differ in which they take."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"it names '{shown(name)}' twice")
        found[name] = value
    return found


def own_name(name: str) -> bool:
    """Whether a name can be one of a file in the folder that lists it, on any system."""
    parts = PurePosixPath(name).parts
    plain = name.isprintable() and not set(name) & set('\\:*?"<>|') and len(name) <= 255
    return plain and bool(parts) and "/".join(parts) == name and parts[0] != "/" and ".." not in parts


def leads_out(folder: Path, path: Path) -> bool:
    """Whether a path ends elsewhere than in the folder, once every link is followed."""
    return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def no_way_out(folder: Path) -> None:
    """Refuse to write in a folder with links that lead out of it: what is written there would land elsewhere."""
    for place, folders, files in os.walk(folder):
        for path in (Path(place, name) for name in (*folders, *files)):
            if path.is_symlink() and leads_out(folder, path):
                raise BadFile(f"{shown(path)} is a link that leads out of {folder}; remove it, or use another folder")


def shown(name: str | Path, most: int = 400) -> str:
    """A name in a message: one line, without signs that move the cursor, and not too long."""
    text = str(name)
    cut = text if len(text) <= most else f"{text[: most - 1]}…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in cut)


def quoted(value: object) -> str:
    """A value in a message, as Python writes it, but neither long nor deep."""
    return shown(_short.repr(value))


class _Short(reprlib.Repr):
    """Python's own way to write values shortly, for whole numbers of any length too."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = 200

    def repr_int(self, x: int, level: int) -> str:
        return repr(x) if abs(x) < 10**40 else "a number of more than 40 digits"


_short = _Short()
