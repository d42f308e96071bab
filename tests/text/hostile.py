"""Files as users have them: each is read with one meaning, or refused with its place and a remedy (T13)."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from dataclasses import dataclass

S = b"one two\nthree\n"
T = b"eins zwei\ndrei\n"
PAIRS = (("one two", "eins zwei"), ("three", "drei"))
LONG = "wort " * 200_000  # a line of 1 MB


@dataclass(frozen=True)
class Case:
    """Bytes of source and target, or of one table; what they mean, or why they are refused."""

    name: str
    source: bytes
    target: bytes | None
    means: tuple[tuple[str, str], ...] | str
    """Pairs if accepted; if refused, a pattern of the message, where FILE:n is the place."""
    told: str = ""
    """A pattern that some line of the data report matches."""
    suffix: str = ""


def inside(name: str, character: str, told: str = "") -> Case:
    """A character in the middle of the first source line, kept as text."""
    text = f"one {character} two"
    return Case(name, f"{text}\nthree\n".encode(), T, ((text, "eins zwei"), ("three", "drei")), told)


def packed(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


ACCEPTED = [
    Case("plain", S, T, PAIRS),
    Case("no final line feed", S[:-1], T, PAIRS),
    Case("byte-order mark on one side", b"\xef\xbb\xbf" + S, T, PAIRS),
    Case("byte-order mark on both sides", b"\xef\xbb\xbf" + S, b"\xef\xbb\xbf" + T, PAIRS),
    Case("CR LF on one side", S.replace(b"\n", b"\r\n"), T, PAIRS),
    Case("CR LF and LF mixed", b"one two\r\nthree\n", T, PAIRS),
    Case("CR LF cut short", b"one two\r\nthree\r", T, PAIRS),
    Case("byte-order mark and CR LF", b"\xef\xbb\xbf" + S.replace(b"\n", b"\r\n"), T, PAIRS),
    inside("line separator U+2028", "\u2028", "line separators inside lines"),
    inside("paragraph separator U+2029", "\u2029", "line separators inside lines"),
    inside("next line U+0085", "\x85", "line separators inside lines"),
    inside("vertical tab", "\x0b", "line separators inside lines"),
    inside("form feed", "\x0c", "line separators inside lines"),
    inside("file, group and record separators", "\x1c\x1d\x1e", "line separators inside lines"),
    inside("zero-width space", "\u200b", "zero-width"),
    inside("zero-width joiner", "👩\u200d💻", "zero-width"),
    inside("soft hyphen", "wo\u00adrd", "zero-width"),
    inside("right-to-left mark", "\u200fשלום\u200f", "direction marks"),
    inside("right-to-left override", "\u202egnp.exe\u202c", "direction marks"),
    inside("byte-order mark inside", "\ufeff", "byte-order marks inside"),
    Case("byte-order mark twice", "\ufeff\ufeffa\n".encode(), b"b\n", (("\ufeffa", "b"),), "byte-order marks inside"),
    inside("tab in a plain file", "\t", "tabs"),
    inside("no-break space", "\xa0", "unusual spaces"),
    inside("replacement character", "\ufffd", "WARNING.*replacement"),
    inside("decoded twice", "schÃ¶n", "WARNING.*decoded twice"),
    inside("private character", "\ue000", "private"),
    inside("no character U+FFFE", "\ufffe", "private"),
    inside("sentencepiece's space U+2581", "\u2581", r"U\+2581"),
    inside("accent apart", "e\u0301", "accents written apart"),
    inside("bell and escape", "\x07\x1b[31m", "control characters"),
    inside("emoji", "😀"),
    inside("control words", "</s> <pad> <unk> <0x41>", "HTML"),
    inside("HTML", "<b>bold</b> &amp;", "HTML"),
    inside("two spaces", " ", "two together"),
    inside("a thousand combining marks", "\u0300" * 1000, "accents written apart"),
    Case("empty line on one side", b"one two\n\n", T, (("one two", "eins zwei"), ("", "drei")), "empty side"),
    Case("blank line on one side", b"one two\n  \n", T, (("one two", "eins zwei"), ("  ", "drei")), "empty side"),
    Case("empty lines on both sides", b"one two\n\nthree\n", b"eins zwei\n\ndrei\n", (PAIRS[0], ("", ""), PAIRS[1])),
    Case("empty lines at the end of both", S + b"\n", T + b"\n", (*PAIRS, ("", ""))),
    Case("pairs twice", S + S, T + T, PAIRS + PAIRS, "there before: 2"),
    Case("source is target", S, S, (("one two",) * 2, ("three",) * 2), "WARNING.*equal sides: 2"),
    Case("a line of 1 MB", LONG.encode() + b"\nthree\n", T, ((LONG, "eins zwei"), PAIRS[1]), "uneven length|longest"),
    Case("gzip", packed(S), T, PAIRS, suffix=".gz"),
    Case("gzip without its suffix", packed(S), T, PAIRS),
    Case("plain text called .gz", S, T, PAIRS, suffix=".gz"),
    Case("gzip in two members", packed(S[:8]) + packed(S[8:]), T, PAIRS),
    Case("gzip padded with zeros", packed(S) + bytes(512), T, PAIRS),
    Case("gzip of byte-order mark and CR LF", packed(b"\xef\xbb\xbf" + S.replace(b"\n", b"\r\n")), T, PAIRS),
    Case("table", b"one two\teins zwei\nthree\tdrei\n", None, PAIRS),
    Case("table with CR LF and no end", b"one two\teins zwei\r\nthree\tdrei", None, PAIRS),
    Case("table with byte-order mark", b"\xef\xbb\xbfone two\teins zwei\nthree\tdrei\n", None, PAIRS),
    Case("table in gzip", packed(b"one two\teins zwei\nthree\tdrei\n"), None, PAIRS),
    Case("quotes in a table are text", b'"a\t"b\n', None, (('"a', '"b'),)),
    Case("table with an empty side", b"one two\t\nthree\tdrei\n", None, (("one two", ""), PAIRS[1]), "empty side"),
]

REFUSED = [
    Case("CR inside a line", b"one\rtwo\nthree\n", T, "FILE:1: a carriage return at byte 4.*tr -d"),
    Case("lines that end with CR alone", S.replace(b"\n", b"\r"), T, r"FILE:1: a carriage return.*tr '\\r' '\\n'"),
    Case("CR CR LF", b"one two\nthree\r\r\n", T, "FILE:2: a carriage return"),
    Case("UTF-16, little end first", S.decode().encode("utf-16"), T, "FILE:1: this is UTF-16.*iconv -f UTF-16"),
    Case("UTF-16, big end first", b"\xfe\xff" + S.decode().encode("utf-16-be"), T, "FILE:1: this is UTF-16.*iconv"),
    Case("UTF-16 unmarked", S.decode().encode("utf-16-le"), T, "FILE:1: byte 2 of the line is NUL.*iconv -f UTF-16"),
    Case("UTF-32", S.decode().encode("utf-32"), T, "FILE:1: this is UTF-32.*iconv -f UTF-32"),
    Case("UTF-16 in gzip", packed(S.decode().encode("utf-16")), T, "FILE:1: .*iconv"),
    Case("Latin-1", b"one two\nsch\xf6n\n", T, r"FILE:2: byte 4 of the line \(0xF6\) is not UTF-8.*iconv -f LATIN1"),
    Case(
        "CP1252", b"one two\n\x93three\x94\n", T, r"FILE:2: byte 1 of the line \(0x93\) is not UTF-8.*iconv -f CP1252"
    ),
    Case("half a surrogate pair", b"one\xed\xa0\xbd\nthree\n", T, "FILE:1: byte 4.*half of a surrogate pair.*anew"),
    Case("overlong slash", b"one\xc0\xaf\nthree\n", T, "FILE:1: byte 4 of the line .0xC0. is not UTF-8.*iconv"),
    Case("character cut at the end of the file", S + "ö".encode()[:1], T, "FILE:3: byte 1 .*not UTF-8"),
    Case("NUL", b"one two\nth\0ree\n", T, r"FILE:2: byte 3 of the line is NUL.*tr -d '\\000'"),
    Case("gzip cut short", packed(S * 999)[:-40], T, r"FILE:\d+: the gzip file is damaged.*too early.*gzip -t"),
    Case("gzip cut in its head", packed(S)[:8], T, "FILE:1: the gzip file is damaged.*too early"),
    Case("gzip with junk behind", packed(S) + b"junk", T, "FILE:3: the gzip file is damaged.*not gzip.*again"),
    Case("gzip with a wrong sum", packed(S)[:-8] + b"\0\0\0\0" + packed(S)[-4:], T, "FILE:3: the gzip.*CRC"),
    Case("gzip with flipped bits", packed(S)[:14] + b"\xff\xff\xff" + packed(S)[17:], T, "FILE:1: the gzip.*damaged"),
    Case("zlib, not gzip", zlib.compress(S), T, "FILE:1: byte .* (not UTF-8|NUL)"),
    Case("bzip2", bz2.compress(S), T, "FILE:1: this is compressed by bzip2.*bunzip2"),
    Case("xz", lzma.compress(S), T, "FILE:1: this is compressed by xz.*unxz"),
    Case("zstd", b"\x28\xb5\x2f\xfd\x04\x00", T, "FILE:1: this is compressed by zstd.*unzstd"),
    Case("zip", b"PK\x03\x04junk", T, "FILE:1: this is a zip archive.*unzip"),
    Case("nothing in either", b"", b"", "FILE:1: there is no line. Give a file with one sentence a line"),
    Case("a byte-order mark alone", b"\xef\xbb\xbf", b"", "FILE:1: there is no line"),
    Case("nothing in the source", b"", T, "FILE:1: there is no such line.* has 0 lines and .* 2"),
    Case("a line too few in the source", b"one two\n", T, "FILE:2: there is no such line.* has 1 lines and .* 2"),
    Case("a line too many in the source", S + b"four\n", T, "TARGET:3: there is no such line.* has 3 lines and .* 2"),
    Case("an empty line too many", S + b"\n", T, "TARGET:3: there is no such line.*look for the place"),
    Case("table without tab", b"one two\teins zwei\nthree drei\n", None, "FILE:2: there is no tab.*one tab, target"),
    Case("table with an empty line", b"one two\teins zwei\n\nthree\tdrei\n", None, "FILE:2: there is no tab"),
    Case("table with three columns", b"a\tb\na\tb\tc\n", None, "FILE:2: 3 columns where two.*cut -f1,2"),
    Case("table with a line end in quotes", b'"a\t"b\n"', None, "FILE:2: there is no tab"),
    Case("empty table", b"", None, "FILE:1: there is no line"),
    Case("a line of 17 MB", b"x" * (17 << 20), T, "FILE:1: the line is longer than 16 MB.*sentence a line"),
]
CASES = ACCEPTED + REFUSED
