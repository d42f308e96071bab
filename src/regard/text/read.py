"""Read parallel text strictly: every line means one thing, or the file is refused with its place and a remedy.

Lines end with LF and nothing else: `str.splitlines` also breaks at U+2028, U+0085, form feeds and more, and from
there on one side is shifted against the other. docs/data.md lists what is accepted with which meaning, and what not.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, cast

LONGEST_LINE = 16 * 2**20
"""Bytes; a longer line is taken for a file without line ends, and refused before it fills the memory."""

_GZIP = b"\x1f\x8b"
_MARK = b"\xef\xbb\xbf"  # the byte-order mark, in UTF-8
_OTHER_FORMATS = {  # first bytes -> what it is, and how to make text of it
    b"\xff\xfe\x00\x00": ("UTF-32 text", "iconv -f UTF-32 -t UTF-8 {0} > {0}.utf8"),
    b"\x00\x00\xfe\xff": ("UTF-32 text", "iconv -f UTF-32 -t UTF-8 {0} > {0}.utf8"),
    b"\xff\xfe": ("UTF-16 text", "iconv -f UTF-16 -t UTF-8 {0} > {0}.utf8"),
    b"\xfe\xff": ("UTF-16 text", "iconv -f UTF-16 -t UTF-8 {0} > {0}.utf8"),
    b"BZh": ("compressed by bzip2", "bunzip2 -k {0}"),
    b"\xfd7zXZ": ("compressed by xz", "unxz -k {0}"),
    b"\x28\xb5\x2f\xfd": ("compressed by zstd", "unzstd {0}"),
    b"PK\x03\x04": ("a zip archive", "unzip {0}"),
    b"PAR1": ("a Parquet table", "write it as UTF-8 text first, one sentence a line"),
    b"%PDF": ("a PDF", "write it as UTF-8 text first, one sentence a line"),
}


class BadText(ValueError):
    """Text that cannot be read with one meaning; the message says where and what to do."""


class Unequal(BadText):
    """Two files of which one has more lines."""


def lines(path: Path) -> Iterator[str]:
    """The lines of a text file in strict UTF-8, gzipped or not (seen from its first bytes).

    A line ends with LF, or CR LF; the last may lack it. A byte-order mark at the start is dropped.
    """
    with _opened(path) as file:
        yield from _decoded(path, file)


def _decoded(path: Path, file: IO[bytes]) -> Iterator[str]:
    number = 0
    try:
        while raw := file.readline(LONGEST_LINE + 1):
            if number == 0 and raw.startswith(_MARK):
                raw = raw[len(_MARK) :]
                if not raw:  # a file of nothing but its mark has no line
                    return
            number += 1
            yield _line(path, number, raw)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BadText(
            f"{path}:{number + 1}: the gzip file is damaged here ({_reason(error)}). "
            "Copy or download it again, and test it with: gzip -t"
        ) from None
    except OSError as error:
        raise BadText(
            f"{path}:{number + 1}: cannot be read ({error.strerror or error}). Is the disk all right?"
        ) from None


def _reason(error: Exception) -> str:
    if isinstance(error, EOFError):
        return "it ends too early"
    return "something follows its end that is not gzip" if "Not a gzipped file" in str(error) else str(error)


def _line(path: Path, number: int, raw: bytes) -> str:
    """One line without its end; a carriage return before the line feed belongs to the end."""
    if len(raw) > LONGEST_LINE:
        raise BadText(
            f"{path}:{number}: the line is longer than {LONGEST_LINE >> 20} MB. "
            "One sentence a line is expected; is this another kind of file?"
        )
    raw = raw.removesuffix(b"\n").removesuffix(b"\r")
    if b"\0" in raw:
        raise BadText(
            f"{path}:{number}: byte {raw.index(0) + 1} of the line is NUL, which no text has. "
            "If this is UTF-16, convert it with: iconv -f UTF-16 -t UTF-8; otherwise remove it with: tr -d '\\000'"
        )
    if b"\r" in raw:
        raise BadText(
            f"{path}:{number}: a carriage return at byte {raw.index(13) + 1}, inside the line. "
            "If lines end with CR alone, convert them with: tr '\\r' '\\n'; otherwise remove it with: tr -d '\\r'"
        )
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadText(_not_utf8(path, number, raw, error.start)) from None


def _not_utf8(path: Path, number: int, raw: bytes, start: int) -> str:
    """The message for a byte that is not UTF-8, with the likeliest other encoding."""
    where = f"{path}:{number}: byte {start + 1} of the line (0x{raw[start]:02X}) is not UTF-8"
    if raw[start] == 0xED and len(raw) > start + 1 and raw[start + 1] >= 0xA0:
        return f"{where} but half of a surrogate pair. Write the file anew from its source, as UTF-8."
    guess = "CP1252" if any(0x80 <= byte < 0xA0 for byte in raw) else "LATIN1"
    return f"{where}. If it is {guess}, convert the file with: iconv -f {guess} -t UTF-8"


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, unpacked if gzipped; all that is wrong before the first line is said here."""
    if path.exists() and not path.is_file() and not path.is_dir():  # opening a pipe could wait for ever
        raise BadText(f"{path}: is not a plain file, and text is read more than once. Write it to a file first.")
    try:
        file = path.open("rb")
    except OSError as error:
        raise BadText(_cannot_open(path, error)) from None
    with file:
        try:
            start = cast("IO[bytes]", file).read(5)
            file.seek(0)
        except OSError as error:
            raise BadText(
                f"{path}: cannot be read twice ({error.strerror or error}). Write it to a file first."
            ) from None
        for magic, (kind, remedy) in _OTHER_FORMATS.items():
            if start.startswith(magic):
                raise BadText(f"{path}:1: this is {kind}, not UTF-8. Convert it first: {remedy.format(path)}")
        if start.startswith(_GZIP):
            with gzip.open(file, "rb") as unpacked:
                yield cast("IO[bytes]", unpacked)
        else:
            yield file


def _cannot_open(path: Path, error: OSError) -> str:
    if path.is_dir():
        return f"{path}: is a folder, not a text file. Name a file in it."
    if isinstance(error, FileNotFoundError):
        near = sorted(p.name for p in path.parent.glob(f"{path.stem[:4]}*"))[:5] if path.parent.is_dir() else []
        hint = f"There is: {', '.join(near)}." if near else "Check the spelling, and the folder you are in."
        return f"{path}: there is no such file. {hint}"
    return f"{path}: cannot be opened ({error.strerror or error}). Check its permissions."


def digest(path: Path) -> str:
    """SHA-256 of the text in a file, the same whether it is gzipped or not."""
    sha = hashlib.sha256()
    with _opened(path) as file:
        try:
            while chunk := file.read(2**20):
                sha.update(chunk)
        except (EOFError, zlib.error, OSError) as error:
            raise BadText(f"{path}: the file is damaged ({_reason(error)}). Copy or download it again.") from None
    return sha.hexdigest()


@dataclass(frozen=True)
class PairSource:
    """Where pairs come from: two files line by line, or one of tab-separated columns.

    Iterating gives (line number from 1, source, target), and may be repeated. `swap` exchanges the sides. `more`
    allows further columns, as validation files have them: other translations of the same source, see `references`.
    """

    source: Path | None = None
    target: Path | None = None
    pairs: Path | None = None
    swap: bool = False
    more: bool = False

    def __post_init__(self) -> None:
        two = self.source is not None and self.target is not None
        if (self.pairs is None) != two or (self.pairs is not None and (self.source or self.target)):
            raise BadText("Give a source and a target file, or one file of tab-separated pairs, and not both.")
        if self.source is not None and self.target is not None and _same(self.source, self.target):
            raise BadText(f"{self.source}: source and target are the same file. Name the translation as target.")

    def __iter__(self) -> Iterator[tuple[int, str, str]]:
        for number, source, targets in self.references():
            yield (number, targets[0], source) if self.swap else (number, source, targets[0])

    def references(self) -> Iterator[tuple[int, str, tuple[str, ...]]]:
        """(line number, source, its translations) as the files have them, not swapped."""
        if self.pairs is not None:
            return _columns(self.pairs, self.more)
        return _beside(cast(Path, self.source), cast(Path, self.target))

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that are read."""
        return (self.pairs,) if self.pairs is not None else (cast(Path, self.source), cast(Path, self.target))

    def swapped(self) -> PairSource:
        """The same pairs, translated the other way."""
        return replace(self, swap=not self.swap)

    def where(self, line: int) -> str:
        """The place of a pair, for people."""
        return " and ".join(f"{path}:{line}" for path in self.files)

    def count(self) -> int:
        """How many pairs there are; reads everything, so whatever is wrong is said now."""
        return sum(1 for _ in self)

    def fingerprint(self) -> str:
        """SHA-256 of the contents: equal text, equal fingerprint, wherever the files lie."""
        parts = [digest(path) for path in self.files] + [f"swap={self.swap}"]
        return hashlib.sha256(" ".join(parts).encode()).hexdigest()


def read_pairs(
    source: Path | None = None, target: Path | None = None, pairs: Path | None = None, swap: bool = False
) -> PairSource:
    """Pairs from two files or from one, read through once to see that they can be read and are not empty."""
    found = PairSource(source, target, pairs, swap)
    try:
        count = found.count()
    except Unequal as error:
        raise Unequal(f"{error}{_place(found)}") from None
    if count == 0:
        raise BadText(f"{found.files[0]}:1: there is no line. Give a file with one sentence a line.")
    return found


def _place(pairs: PairSource) -> str:
    """Where one of two unequal files has a line too many, if it can be told."""
    from regard.text.shift import WINDOW, Alignment  # it needs numpy, which reading does not

    seen, window = Alignment(), list[tuple[int, str, str]]()
    with suppress(Unequal):
        for pair in pairs:
            window.append(pair)
            if len(window) == WINDOW:
                seen.add(window)
                window = []
    seen.add(window)
    seen.close()
    return f" It is probably near line {seen.shift.first}: {seen.shift.meaning}." if seen.shift else ""


def _same(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _beside(source: Path, target: Path) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Two files line by line; they must end together."""
    left, right = lines(source), lines(target)
    number = 0
    for text in left:
        other = next(right, None)
        if other is None:
            raise Unequal(_unequal(source, target, number + 1 + sum(1 for _ in left), number))
        number += 1
        yield number, text, (other,)
    surplus = sum(1 for _ in right)
    if surplus:
        raise Unequal(_unequal(source, target, number, number + surplus))


def _unequal(source: Path, target: Path, left: int, right: int) -> str:
    short, there = (target, right) if right < left else (source, left)
    return (
        f"{short}:{there + 1}: there is no such line: {source} has {left:,} lines and {target} {right:,}. "
        "Both need one line per pair: look for the place where one has a line too few or too many."
    )


def _columns(path: Path, more: bool) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """One file of source, tab, target; quotes are text."""
    for number, text in enumerate(lines(path), start=1):
        source, *targets = text.split("\t")
        if not targets:
            raise BadText(
                f"{path}:{number}: there is no tab in the line, so no translation. "
                "Write each line as: source, one tab, target."
            )
        if len(targets) > 1 and not more:
            raise BadText(
                f"{path}:{number}: {len(targets) + 1} columns where two are expected (source, tab, target). "
                f"Keep the two you want with: cut -f1,2 {path}; or replace tabs inside sentences by spaces."
            )
        yield number, source, tuple(targets)
