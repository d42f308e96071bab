"""D3, D4, D5, placeholders and S12 for translating, at full size: 100 000 inputs that nobody would write."""

from __future__ import annotations

import io
import random
import time
from collections.abc import Iterator
from typing import Any

import torch

from regard.translate.lines import Output, blocks
from regard.translate.placeholders import counted, signs
from regard.translate.split import divided
from regard.translate.translator import Translator
from regard.translate.writers import plain
from tests.translate.toys import RUN, nasty_bytes, nasty_text

INPUTS = 100_000
UNITS = (
    "a",
    "a ",
    ".",
    ". ",
    "。",
    "A. ",
    "{",
    "{a",
    "<a",
    "<!--",
    "a@",
    "a.",
    "%",
    "%1",
    "http://",
    "&a",
    "\u0301",
    "1,",
)


def check(inputs: int = INPUTS, seed: int = 1) -> list[dict[str, Any]]:
    """Each promise with what was reached."""
    torch.set_num_threads(1)  # a toy's threads only wait for one another, for an hour beside other load
    toy = Translator.load(RUN)
    return [
        _row(
            "D4", "n lines in = n lines out, any bytes", f"{inputs:,} inputs, 0 mismatches", _lines(toy, inputs, seed)
        ),
        _row("D5", "source spans cover every character", "0 characters lost", _spans(toy, inputs // 50, seed)),
        _row(
            "D3",
            "attention asked or not: the same",
            "same pieces, scores within 2e-6",
            _seen(toy, inputs // 500, seed),
        ),
        _row("row 22", "placeholders: the same multiset", "0 differences", _placeholders(toy, inputs // 50, seed)),
        _row(
            "S12", "1 MB that careless patterns choke on", "each under 1 s, and 12 x the time of 100 kB", _linear(toy)
        ),
    ]


def _row(name: str, what: str, goal: str, found: Iterator[str | None]) -> dict[str, Any]:
    start, wrong, count = time.monotonic(), list[str](), 0
    for problem in found:
        count += 1
        wrong += [problem] if problem else []
    reached = f"{len(wrong):,} of {count:,}" + (f", first: {wrong[0]}" if wrong else "")
    seconds = round(time.monotonic() - start, 1)
    return {"id": name, "what": what, "goal": goal, "reached": reached, "passed": not wrong, "seconds": seconds}


def _lines(toy: Translator, inputs: int, seed: int) -> Iterator[str | None]:
    """Streams of up to 400 lines, read in chunks of any size, some without a last line feed."""
    rng = random.Random(seed)
    left = inputs
    while left > 0:
        rows = [nasty_bytes(rng, 5) for _ in range(min(left, rng.randint(1, 400)))]
        left -= len(rows)
        data = b"\n".join(rows) + rng.choice([b"\n", b"\n", b""])
        out = io.BytesIO()
        write = plain(Output(out))
        for block in blocks(_Chunks(data, rng)):  # type: ignore[arg-type]
            write(block, toy(block.lines, beam=1, longest=16, longest_ratio=1, longest_extra=3))
        said = out.getvalue()
        same = said.count(b"\n") == data.count(b"\n")
        silent = [not row.decode("utf-8", "replace").strip() for row in rows]
        blank = [not line.strip() for line in said.decode("utf-8").split("\n")[: len(rows)]]
        lost = any(before and not after for before, after in zip(silent, blank, strict=False))
        yield from ["lines differ" if not same else "an empty line has text" if lost else None] * len(rows)


class _Chunks:
    """A pipe that gives as much as it likes."""

    def __init__(self, data: bytes, rng: random.Random) -> None:
        self.data, self.rng = io.BytesIO(data), rng

    def read1(self, most: int) -> bytes:
        return self.data.read(self.rng.randint(1, 3000))

    read = read1


def _spans(toy: Translator, count: int, seed: int) -> Iterator[str | None]:
    rng = random.Random(seed + 1)
    for _ in range(count):
        text, limit = nasty_text(rng, 60), rng.randint(4, 60)
        spans = divided(text, toy.speaker.places, limit, signs(text) if rng.random() < 0.5 else ())
        whole = "".join(text[start:end] for start, end in spans) == text
        yield None if whole else repr(text)


def _seen(toy: Translator, count: int, seed: int) -> Iterator[str | None]:
    rng = random.Random(seed + 2)
    texts = [nasty_text(rng, 8) for _ in range(count)]
    for text, one, other in zip(texts, toy(texts), toy(texts, attention=True), strict=True):
        near = all(abs(a - b) <= 2e-6 for a, b in zip(one.scores, other.scores, strict=True))
        weights = other.attention
        sums = weights is None or bool(((weights.sum(-1) - 1).abs() < 1e-5).all())
        yield None if one.tokens == other.tokens and near and sums else repr(text)


def _placeholders(toy: Translator, count: int, seed: int) -> Iterator[str | None]:
    rng = random.Random(seed + 3)
    for _ in range(0, count, 100):
        texts = [nasty_text(rng, 10) for _ in range(100)]
        for text, one in zip(texts, toy(texts, keep_placeholders=True, beam=1, longest_ratio=1), strict=True):
            yield None if counted(one.text) == counted(text) else repr(text)


def _linear(toy: Translator) -> Iterator[str | None]:
    for unit in UNITS:
        small, large = (seconds(toy, unit, size) for size in (100_000, 1_000_000))
        yield None if large < min(1.0, 12 * small + 0.5) else f"{unit!r}: {small:.2f} s, then {large:.2f} s"


def seconds(toy: Translator, unit: str, size: int) -> float:
    """Of processor time, for a text of so many bytes that says the same over and over."""
    text = unit * (size // len(unit.encode()))
    start = time.process_time()
    found = signs(text)
    divided(text, toy.speaker.places, 256, found)
    return time.process_time() - start
