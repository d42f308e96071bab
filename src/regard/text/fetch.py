"""Ways to get a data set: downloads that go on where they stopped and are checked, or how to do it by hand."""

from __future__ import annotations

import gzip
import hashlib
import http.client
import os
import shutil
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

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
            if path.is_file() and digest(path.read_bytes()) == file.sha256:
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


def digest(content: bytes) -> str:
    """SHA-256 of the text, whether it is packed or not: how it was packed does not matter."""
    try:
        text = gzip.decompress(content) if content[:2] == _GZIP else content
    except (OSError, EOFError, zlib.error):
        return "unreadable"
    return hashlib.sha256(text).hexdigest()


def _download(url: str, path: Path, sha256: str) -> None:
    """A file that is there whole and right, or not at all; the part that came is kept for the next time."""
    part = path.with_name(f".{path.name}.part")
    try:
        _go_on(url, part)
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise ValueError(f"{url} cannot be downloaded ({reason}); try again later, what came is kept") from None
    content = part.read_bytes()
    found = digest(content)
    if found != sha256:
        part.unlink()
        raise ValueError(f"{url} is not what it should be: its SHA-256 is {found}, not {sha256}; nothing was kept")
    if path.suffix == ".gz" and content[:2] != _GZIP:
        part.write_bytes(gzip.compress(content, mtime=0))
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
        shutil.copyfileobj(answer, out)
        if answer.length:
            raise OSError(f"{answer.length:,} bytes did not come")
