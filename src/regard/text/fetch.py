"""Ways to get a data set: downloads that go on where they stopped and are checked, or how to do it by hand."""

from __future__ import annotations

import gzip
import hashlib
import http.client
import os
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

LARGEST = 2**30
"""Bytes of a file, packed or not; none that can be fetched comes near."""
_GZIP = b"\x1f\x8b"

Get = Callable[[Path, Sequence[str]], Iterator[str]]
"""Fills a folder with a data set, in these languages if there are many, and says what it does."""


@dataclass(frozen=True)
class Remote:
    """A file to download: where to put it, where it is, and the SHA-256 of its text, packed or not."""

    name: str
    url: str
    sha256: str


def downloads(files: Sequence[Remote]) -> Get:
    """Get files one by one: those that are here and whole are left alone, a part that was got is gone on with."""

    def get(folder: Path, languages: Sequence[str]) -> Iterator[str]:
        if languages:
            raise ValueError(f"{folder.name} comes as a whole; leave out --languages")
        mirror = os.environ.get("REGARD_MIRROR")
        for file in files:
            path = folder / file.name
            if path.is_file() and digest(path) == file.sha256:
                continue
            url = f"{mirror.rstrip('/')}/{folder.name}/{file.name}" if mirror else file.url
            path.parent.mkdir(parents=True, exist_ok=True)
            _download(url, path, file.sha256)
            yield f"{path}: {path.stat().st_size:,} bytes, as expected"
        yield f"{folder} is complete"

    return get


def by_hand(how: str) -> Get:
    """For what no command can get."""

    def get(folder: Path, languages: Sequence[str]) -> Iterator[str]:
        raise ValueError(f"{folder.name} cannot be fetched; {how}")
        yield

    return get


def digest(path: Path) -> str:
    """SHA-256 of the text, whether it is packed or not: how it was packed does not matter.

    It is unpacked bit by bit, and no further than a text may be long: a few bytes can unpack to terabytes.
    """
    found, length = hashlib.sha256(), 0
    try:
        with gzip.open(path) if _is_packed(path) else path.open("rb") as file:
            while chunk := file.read(2**20):
                length += len(chunk)
                if length > LARGEST:
                    return "that of a larger file"
                found.update(chunk)
    except (OSError, EOFError, zlib.error):
        return "unreadable"
    return found.hexdigest()


def _is_packed(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == _GZIP


def _download(url: str, path: Path, sha256: str) -> None:
    """A file that is there whole and right, or not at all; the part that came is kept for the next time."""
    part = path.with_name(f".{path.name}.part")
    try:
        _go_on(url, part)
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise ValueError(f"{url} cannot be downloaded ({reason}); try again later, what came is kept") from None
    found = digest(part)
    if found != sha256:
        part.unlink()
        raise ValueError(f"{url} is not what it should be: its SHA-256 is {found}, not {sha256}; nothing was kept")
    if path.suffix == ".gz" and not _is_packed(part):
        part.write_bytes(gzip.compress(part.read_bytes(), mtime=0))
    part.replace(path)


def _go_on(url: str, part: Path) -> None:
    """Get what is missing of a file; all of it where the server cannot begin in the middle."""
    got = part.stat().st_size if part.is_file() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={got}-"} if got else {})
    try:
        answer = urllib.request.urlopen(request, timeout=60)
    except urllib.error.HTTPError as error:
        if error.code == 416:  # there is no more: the part is the whole
            return
        raise
    with answer, part.open("ab" if answer.status == 206 else "wb") as out:
        while chunk := answer.read(2**16):
            out.write(chunk)
            if out.tell() > LARGEST:
                raise OSError(f"more than {LARGEST:,} bytes came")
        if answer.length:
            raise OSError(f"{answer.length:,} bytes did not come")
