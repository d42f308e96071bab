"""Lines of a text file, strictly: each means one thing, or the file is refused with its place and a remedy.

Lines end with LF and nothing else: `str.splitlines` also breaks at U+2028, U+0085, form feeds and more, and from
there on one side is shifted against the other. docs/data.md lists what is accepted with which meaning, and what not.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

LONGEST_LINE = 16 * 2**20
"""Bytes; a longer line is taken for a file without line ends, and refused before it fills the memory."""

_BLOCK = 2**18  # bytes read at once
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


def lines(path: Path) -> Iterator[str]:
    """The lines of a text file in strict UTF-8, gzipped or not (seen from its first bytes).

    A line ends with LF, or CR LF; the last may lack it. A byte-order mark at the start is dropped.
    """
    with _opened(path) as file:
        for some in _decoded(path, file):
            yield from some


def _decoded(path: Path, file: IO[bytes]) -> Iterator[list[str]]:
    """The lines of a file, many at a time: one by one takes five times as long."""
    number = 0
    try:
        for raw in _whole_lines(file):
            if number == 0 and raw.startswith(_MARK):
                raw = raw[len(_MARK) :]
                if not raw:  # a file of nothing but its mark has no line
                    return
            some = _many(raw)
            if some is None:  # something is wrong in one of them: before it is said, those before it are given
                for one in raw.removesuffix(b"\n").split(b"\n"):
                    number += 1
                    yield [_line(path, number, one)]
            else:
                number += len(some)
                yield some
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BadText(
            f"{path}:{number + 1}: the gzip file is damaged here ({_reason(error)}). "
            "Copy or download it again, and test it with: gzip -t"
        ) from None
    except OSError as error:
        raise BadText(
            f"{path}:{number + 1}: cannot be read ({error.strerror or error}). Is the disk all right?"
        ) from None


def _whole_lines(file: IO[bytes]) -> Iterator[bytes]:
    """The bytes of a file, cut behind line ends; one line too long is cut anywhere."""
    parts: list[bytes] = []
    held = 0
    while block := cast("io.BufferedReader", file).read1(_BLOCK):
        cut = block.rfind(b"\n") + 1
        if cut or held + len(block) > LONGEST_LINE:
            cut = cut or len(block)
            yield b"".join([*parts, block[:cut]])
            parts, held = [], 0
        parts.append(block[cut:])
        held += len(block) - cut
    if held:
        yield b"".join(parts)


def _many(raw: bytes) -> list[str] | None:
    """Lines without their ends, where nothing is wrong with any of them."""
    if len(raw) > LONGEST_LINE or b"\0" in raw:
        return None
    if b"\r" in raw:
        raw = raw.replace(b"\r\n", b"\n").removesuffix(b"\r")
        if b"\r" in raw:
            return None
    try:
        return raw.removesuffix(b"\n").decode("utf-8").split("\n")
    except UnicodeDecodeError:
        return None


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
    raw = raw.removesuffix(b"\r")
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
