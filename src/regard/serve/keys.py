"""API keys: only their hashes are kept, compared in constant time, each with its own rate.

A file of keys has a line for each: its name, the SHA-256 of the key, and how many requests a minute it may make (0 is
any number). Keys have 256 random bits, so that a plain hash is enough. The file is read again when it changes: a line
that is taken out is a key that no longer works.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from regard.files import plain_text

PREFIX = "rk_"
_LINE = re.compile(r"([A-Za-z0-9._-]{1,64})\s+sha256:([0-9a-f]{64})\s+([0-9]{1,9})/min")
_AGAIN = 1.0  # seconds between looks at the file


@dataclass(frozen=True)
class Key:
    """One line of the file."""

    name: str
    digest: str
    rate: int


def read(path: Path) -> list[Key]:
    """The keys of a file."""
    found: list[Key] = []
    for number, line in enumerate(plain_text(path).split("\n"), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None:
            raise ValueError(
                f"{path}:{number}: a name, sha256:... and a rate such as 120/min are expected; "
                "make a key with `regard serve --keys FILE --new-key NAME`"
            )
        found.append(Key(match[1], match[2], int(match[3])))
    twice = next((key.name for at, key in enumerate(found) if key.name in {k.name for k in found[:at]}), None)
    if twice is not None:
        raise ValueError(f"{path}: two keys are named {twice}; give each a name of its own")
    return found


def make(path: Path, name: str, rate: int) -> str:
    """A new key, told once; the file, made if it is not there, gets its hash."""
    key = PREFIX + secrets.token_urlsafe(32)
    line = f"{name} sha256:{_digest(key)} {rate}/min"
    if _LINE.fullmatch(line) is None:
        raise ValueError(f"'{name}' cannot be the name of a key; letters, digits, dots, _ and - can, up to 64")
    if path.exists() and name in {known.name for known in read(path)}:
        raise ValueError(f"{path} has a key named {name} already; take that line out, or choose another name")
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(handle, "a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    return key


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


class Keys:
    """The keys of a file, as it is now."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._keys = read(path)
        self._stamp, self._looked = self._now(), time.monotonic()
        if not self._keys:
            raise ValueError(f"{path} has no key; make one with `regard serve --keys {path} --new-key NAME`")

    def _now(self) -> tuple[int, int]:
        told = self.path.stat()
        return told.st_mtime_ns, told.st_size

    def find(self, given: str) -> Key | None:
        """The key that was given, if it is one. Every line is compared, wherever the right one stands."""
        self._refresh()
        digest, found = _digest(given), None
        for key in self._keys:
            if hmac.compare_digest(key.digest, digest):
                found = key
        return found

    def _refresh(self) -> None:
        """What changed in the file; as long as it cannot be read, the keys stay as they were."""
        if time.monotonic() - self._looked < _AGAIN:
            return
        self._looked = time.monotonic()
        try:
            stamp = self._now()
            if stamp != self._stamp:
                self._keys, self._stamp = read(self.path), stamp
        except (OSError, ValueError):
            return


class Rates:
    """How many requests each may still make: a minute's worth at once, and then as they come back."""

    def __init__(self, most: int = 10_000) -> None:
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._most = most  # names that are remembered; the longest unseen goes

    def wait(self, name: str, per_minute: int) -> float:
        """Count a request: 0 if it may be made, else the seconds until the next may."""
        if per_minute <= 0:
            return 0.0
        now = time.monotonic()
        left, then = self._left.pop(name, (float(per_minute), now))
        left = min(float(per_minute), left + (now - then) * per_minute / 60)
        allowed = left >= 1
        self._left[name] = (left - 1 if allowed else left, now)
        if len(self._left) > self._most:
            self._left.popitem(last=False)
        return 0.0 if allowed else (1 - left) * 60 / per_minute
