"""A file layer that fails on purpose: it sees every change below a folder, dies at one of them, or runs full.

Two deaths are told apart. A killed process leaves all it did. After a power cut only what was made durable is sure to
be there: of the rest of a file any part may be missing or zeros, of the names of a folder those that came last.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self


class Dead(BaseException):
    """As if killed: nothing that handles errors may catch it, and nothing can be written any more."""


@dataclass
class File:
    """What the disk has of a file, and what it was told since."""

    durable: bytes = b""
    since: list[tuple[int, bytes | None]] = field(default_factory=list)
    """Writes at a place; None cuts the file there."""

    def whole(self) -> bytes:
        return _applied(self.durable, self.since)

    def sync(self) -> None:
        self.durable, self.since = self.whole(), []

    def after_a_cut(self, rng: random.Random) -> bytes:
        kept = rng.randint(0, len(self.since))
        content = _applied(self.durable, self.since[:kept])
        if kept < len(self.since) and self.since[kept][1] and rng.random() < 0.7:
            place, data = self.since[kept]
            assert data is not None
            part = rng.randint(0, len(data))
            rest = rng.choice([b"", bytes(len(data) - part)])  # a length that came before its content
            content = _applied(content, [(place, data[:part] + rest)])
        return content


@dataclass
class Folder:
    """The names the disk has, and how they changed since; one change may be of two names, a renaming."""

    durable: dict[str, File | Folder] = field(default_factory=dict)
    now: dict[str, File | Folder] = field(default_factory=dict)
    since: list[dict[str, File | Folder | None]] = field(default_factory=list)

    def change(self, names: dict[str, File | Folder | None]) -> None:
        self.since.append(names)
        self.now = _renamed(self.now, names)

    def sync(self) -> None:
        self.durable, self.since = dict(self.now), []

    def after_a_cut(self, rng: random.Random, to: Path) -> None:
        to.mkdir()
        names = self.durable
        for change in self.since[: rng.randint(0, len(self.since))]:
            names = _renamed(names, change)
        for name, there in names.items():
            if isinstance(there, Folder):
                there.after_a_cut(rng, to / name)
            else:
                (to / name).write_bytes(there.after_a_cut(rng))


def _applied(content: bytes, changes: list[tuple[int, bytes | None]]) -> bytes:
    found = bytearray(content)
    for place, data in changes:
        found += bytes(max(0, place - len(found)))
        found[place : None if data is None else place + len(data)] = data or b""
    return bytes(found)


def _renamed(names: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    return {name: there for name, there in {**names, **change}.items() if there is not None}


def as_found(path: Path) -> File | Folder:
    """What is on the disk already, all of it durable."""
    if path.is_dir():
        names = {inner.name: as_found(inner) for inner in path.iterdir()}
        return Folder(names, dict(names))
    return File(path.read_bytes())


class Disk:
    """While entered, changes below `root` go through here. Counted from 1, the process dies before change `die_at`;
    a write then gets half of its bytes through. From change `full_at` on there is no room."""

    def __init__(self, root: Path, die_at: int | None = None, full_at: int | None = None) -> None:
        self.root, self.die_at, self.full_at = root.resolve(), die_at, full_at
        self.done: list[str] = []
        self.dead = False
        self._tree = as_found(self.root)
        assert isinstance(self._tree, Folder)

    def power_cut(self, to: Path, rng: random.Random) -> None:
        """A folder as it may be found when the power is back."""
        assert isinstance(self._tree, Folder)
        self._tree.after_a_cut(rng, to)

    def __enter__(self) -> Self:
        self._real: list[tuple[Any, str, Any]] = []
        for module, name, mine in (
            (io, "open", self._open), (builtins, "open", self._open), (os, "fsync", self._fsync),
            (os, "replace", self._replace), (os, "rename", self._replace), (os, "unlink", self._unlink),
            (os, "remove", self._unlink), (os, "rmdir", self._rmdir), (os, "mkdir", self._mkdir),
        ):  # fmt: skip
            self._real.append((module, name, getattr(module, name)))
            setattr(module, name, mine)
        self._was: dict[str, Callable[..., Any]] = {name: real for _, name, real in self._real}
        return self

    def __exit__(self, *_: object) -> None:
        for module, name, real in self._real:
            setattr(module, name, real)

    # What is done instead of each call.

    def _open(self, file: Any, mode: str = "r", buffering: int = -1, *args: Any, **options: Any) -> Any:
        if isinstance(file, int) or not set(mode) & set("wax+") or not self.owns(file):
            return self._was["open"](file, mode, buffering, *args, **options)
        new, path = not os.path.exists(file), self._at(file)
        if new or "w" in mode:
            self._step(f"open {path.name}", grows=new)
        raw = Raw(self, path, "".join(c for c in mode if c not in "bt"))
        if new:
            self._folder(path.parent).change({path.name: File()})
        elif "w" in mode:
            self._file(path).since.append((0, None))
        if buffering == 0:
            return raw
        buffered = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, *args, **options)

    def _fsync(self, handle: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{handle}"))
        if self.owns(path):
            self._step(f"fsync {path.name}")
            self._node(path).sync()  # the real disk need not be waited for

    def _replace(self, src: Any, dst: Any, **options: Any) -> None:
        if not self.owns(dst):
            return self._was["replace"](src, dst, **options)
        old, new = self._at(src), self._at(dst)
        assert old.parent == new.parent, "a renaming within one folder"
        self._step(f"rename {old.name} {new.name}")
        self._was["replace"](src, dst, **options)
        self._folder(new.parent).change({old.name: None, new.name: self._node(old)})

    def _unlink(self, path: Any, *, dir_fd: int | None = None) -> None:
        self._gone("unlink", path, dir_fd)

    def _rmdir(self, path: Any, *, dir_fd: int | None = None) -> None:
        self._gone("rmdir", path, dir_fd)

    def _gone(self, how: str, path: Any, dir_fd: int | None) -> None:
        at = self._at(path, dir_fd)
        if self.owns(at) and os.path.lexists(at):
            self._step(f"{how} {at.name}")
            self._folder(at.parent).change({at.name: None})
        self._was[how](path, dir_fd=dir_fd)

    def _mkdir(self, path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        at = self._at(path, dir_fd)
        new = self.owns(at) and not at.exists()
        if new:
            self._step(f"mkdir {at.name}", grows=True)
        self._was["mkdir"](path, mode, dir_fd=dir_fd)
        if new:
            self._folder(at.parent).change({at.name: Folder()})

    def wrote(self, raw: Raw, data: bytes, place: int) -> int:
        half = self._step(
            f"write {raw.path.name}", grows=True, dying=lambda: self._put(raw, data[: len(data) // 2], place)
        )
        assert half is None
        return self._put(raw, data, place)

    def cut(self, raw: Raw, size: int) -> None:
        if size != os.fstat(raw.fileno()).st_size:
            self._step(f"truncate {raw.path.name}")
            self._file(raw.path).since.append((size, None))

    def _put(self, raw: Raw, data: bytes, place: int) -> int:
        self._file(raw.path).since.append((place, data))
        return os.pwrite(raw.fileno(), data, place)

    # Where things are.

    def owns(self, path: Any) -> bool:
        """Whether it is below the folder that is watched."""
        return self._at(path).is_relative_to(self.root)

    def _at(self, path: Any, dir_fd: int | None = None) -> Path:
        base = Path(os.readlink(f"/proc/self/fd/{dir_fd}")) if dir_fd is not None else Path.cwd()
        return Path(os.path.normpath(base / os.fspath(path)))

    def _node(self, path: Path) -> File | Folder:
        found: File | Folder = self._tree
        for name in path.relative_to(self.root).parts:
            assert isinstance(found, Folder)
            found = found.now[name]
        return found

    def _folder(self, path: Path) -> Folder:
        found = self._node(path)
        assert isinstance(found, Folder)
        return found

    def _file(self, path: Path) -> File:
        found = self._node(path)
        assert isinstance(found, File)
        return found

    def _step(self, what: str, grows: bool = False, dying: Callable[[], object] = lambda: None) -> None:
        """One change more: it may be the last, or there may be no room for it."""
        if self.dead:
            raise Dead(what)
        self.done.append(what)
        if len(self.done) == self.die_at:
            dying()
            self.dead = True
            raise Dead(what)
        if grows and self.full_at is not None and len(self.done) >= self.full_at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class Raw(io.FileIO):
    """A file whose writes are seen."""

    def __init__(self, disk: Disk, path: Path, mode: str) -> None:
        super().__init__(path, mode)
        self.disk, self.path = disk, path

    def write(self, data: Any, /) -> int:
        content = bytes(data)
        place = os.fstat(self.fileno()).st_size if "a" in self.mode else self.tell()
        count = self.disk.wrote(self, content, place)
        self.seek(place + count)
        return count

    def truncate(self, size: int | None = None, /) -> int:
        wanted = self.tell() if size is None else size
        self.disk.cut(self, wanted)
        return super().truncate(wanted)
