"""Lines of any bytes: as many out as in, early, and none by half."""

from __future__ import annotations

import io
import os
import random
import threading

import pytest

from regard.translate.lines import FIRST, Block, Output, blocks
from tests.translate.toys import nasty_bytes


def read(data: bytes) -> list[Block]:
    return list(blocks(io.BytesIO(data)))


def lines(data: bytes) -> list[str]:
    return [line for block in read(data) for line in block.lines]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a", ["a"]),
        (b"a\n\nb", ["a", "", "b"]),
        (b"a\r\nb\rc\n", ["a\r", "b\rc"]),
        ("a\u2028b\x85c\x0b\0d\n".encode(), ["a\u2028b\x85c\x0b\0d"]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb", ["a", "\ufeffb"]),
        (b"\xffa\n", ["\ufffda"]),
    ],
)
def test_only_a_line_feed_ends_a_line(data: bytes, found: list[str]) -> None:
    assert lines(data) == found


def test_damage_is_counted_by_line() -> None:
    block = read("good \ufffd\n".encode() + b"\xff\xfe bad\n" + b"\xe6\x97 \xc3")[0]
    assert block.damaged == ((2, 2),)
    last = read(b"x\n\xe6\x97 \xc3")[-1]
    assert last.damaged == ((2, 2),)
    assert not last.ended


def test_what_comes_out_is_what_went_in() -> None:
    rng = random.Random(1)
    for _ in range(200):
        data = b"\n".join(nasty_bytes(rng) for _ in range(rng.randint(0, 40))) + rng.choice([b"", b"\n"])
        out = io.BytesIO()
        numbers = []
        for block in blocks(io.BytesIO(data)):
            Output(out).write(block.lines, block.ended)
            numbers += range(block.number, block.number + len(block.lines))
        said = out.getvalue()
        assert said.count(b"\n") == data.count(b"\n")
        assert said == data.decode("utf-8", "replace").removeprefix("\ufeff").encode()
        assert numbers == list(range(1, len(numbers) + 1))


def test_blocks_are_small_at_first_and_then_grow() -> None:
    sizes = [len(block.lines) for block in read(b"a\n" * 3000)]
    assert sizes[0] == FIRST
    assert max(sizes) == 1024
    assert sum(sizes) == 3000


def test_a_line_is_answered_before_the_next_comes() -> None:
    """Through a pipe: nobody waits for a block to fill."""
    receiving, sending = os.pipe()
    with os.fdopen(receiving, "rb") as stream, os.fdopen(sending, "wb", buffering=0) as pipe:
        source = blocks(stream)
        for text in (b"one\n", b"two\nthr", b"ee\n"):
            pipe.write(text)
            answer: list[Block] = []
            waiting = threading.Thread(target=lambda into: into.append(next(source)), args=(answer,))
            waiting.start()
            waiting.join(10)
            assert answer
        assert answer[0].lines == ("three",)
        assert answer[0].number == 3


def test_a_file_without_line_ends_is_refused_before_it_fills_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.translate.lines.LONGEST_LINE", 2**20)
    with pytest.raises(ValueError, match="line 2 is longer than 1 MB; is this text"):
        lines(b"a\n" + b"b" * (2**20 + 1))
    assert len(lines(b"b" * 2**20 + b"\nc")) == 2


def test_lines_are_written_whole(tmp_path: object) -> None:
    """However long, through a pipe whose reader is slow."""
    receiving, sending = os.pipe()
    got = bytearray()

    def reader() -> None:
        while some := os.read(receiving, 1000):
            got.extend(some)

    slow = threading.Thread(target=reader)
    slow.start()
    with os.fdopen(sending, "wb", buffering=0) as pipe:
        Output(pipe).write(["a" * 100_000, "", "b" * 5000, "c"], ended=False)
    slow.join(10)
    os.close(receiving)
    assert bytes(got) == b"a" * 100_000 + b"\n\n" + b"b" * 5000 + b"\nc"
