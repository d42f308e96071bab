"""A plain fuzzer: files that are changed a little, by a seed. It needs nothing but Python."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence

TOKENS = (
    b"{", b"}", b"[", b"]", b'"', b":", b",", b"=", b".", b"\n", b"\r", b"\t", b"\0", b"\\u0000", b"\xff",
    b"\xed\xa0\x80", b"null", b"true", b"NaN", b"1e999", b"-1", b"9" * 5000, b"[" * 2000, b'{"a":' * 2000, b"../",
    b"/etc/hostname",
    b"nan", b"inf", b"1979-05-27", b"0x" + b"f" * 5000, b"'''", b"[model]", b"[model.x]", b"base = 'dates'\n",
    b"kind = []", b"\x7f\xff\xff\xff", b"\xff" * 8, b"\0" * 8, b"\x0a\xff\xff\xff\xff\x0f", b"\xef\xbb\xbf",
    b"\x1f\x8b", b"a.b.c.d = 1\n",
)  # fmt: skip


def changed(rng: random.Random, content: bytes) -> bytes:
    """The same with a few bytes, words or stretches exchanged, taken out, put in or said twice."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 4, 8))):
        at, length = rng.randrange(len(data) + 1), rng.choice((1, 1, 2, 4, 16, 64, 1024))
        match rng.randrange(6):
            case 0 if data:
                data[min(at, len(data) - 1)] ^= 1 << rng.randrange(8)
            case 1:
                data[at : at + length] = rng.randbytes(length)
            case 2:
                del data[at : at + length]
            case 3:
                data[at:at] = data[at : at + length]
            case 4:
                data[at:at] = rng.choice(TOKENS)
            case _:
                words = data.split(rng.choice((b"\n", b" ", b",")))
                rng.shuffle(words)
                data = bytearray(rng.choice((b"\n", b" ", b",")).join(words))
    return bytes(data[:200_000])


def tries(seeds: Sequence[bytes], seed: int, count: int | None = None, seconds: float = 60) -> Iterator[bytes]:
    """So many changed files, or as many as there is time for."""
    rng, end = random.Random(seed), time.monotonic() + seconds
    yield from seeds
    made = 0
    while made < count if count is not None else time.monotonic() < end:
        made += 1
        yield changed(rng, rng.choice(seeds))
