"""The same answer every time: what a batch must be like for a sentence's numbers not to depend on its company.

A product of few rows is summed in another order than one of many, and so is a sum over keys whose number is no
multiple of a register's width: in the seventh digit, yet a tie is decided by it. So sources are padded to whole
blocks, and a step has as many rows as this machine's products need, which is found by trying. Intel's library adds
alike for any number of rows and threads if asked before its first product (`ask_for_strict`); unasked, and with
several threads, it may split long sums among them: then one thread searches.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch
from torch import nn
from torch.nn import functional as F

from regard.models.seq2seq import Ids, Lengths, Seq2Seq

BLOCK = 16  # keys; the float32 numbers of the widest register
ROWS = (1, 16, 64)  # enough for strict products; for those of one thread; and to be sure
MANY = 300
COLUMNS = 1024  # of a wider map the rest is alike


def whole_blocks(length: int, limit: int | None) -> int:
    """How long a source is made by padding."""
    blocks = -(-length // BLOCK) * BLOCK
    return blocks if limit is None else max(length, min(blocks, limit))


def padded(model: Seq2Seq, source: Ids, lengths: Lengths, least: int) -> tuple[Ids, Lengths]:
    """Sources in whole blocks; the first repeated until there are enough, for a model that reads word by word."""
    source = F.pad(source, (0, whole_blocks(source.shape[1], model.longest_source) - source.shape[1]))
    missing = 0 if model.reads_at_once else max(0, least - len(source))
    more = torch.zeros(missing, dtype=torch.long, device=source.device)
    return torch.cat((source, source[more])), torch.cat((lengths, lengths[more]))


@contextmanager
def steadily(model: Seq2Seq) -> Iterator[int]:
    """How many rows a step must have, at least; inside there may be fewer threads."""
    device = next(model.parameters()).device
    if device.type != "cpu":
        yield 1
        return
    shapes = frozenset(
        (min(part.out_features, COLUMNS), part.in_features) for part in model.modules() if isinstance(part, nn.Linear)
    )
    threads = torch.get_num_threads()
    rows = _rows(shapes, threads)
    least = 1 if model.reads_at_once else ROWS[1]  # cells that go word by word multiply by vectors too, in fours
    if rows is not None:
        yield max(rows, least)
        return
    torch.set_num_threads(1)
    try:
        yield max(_rows(shapes, 1) or ROWS[-1], least)
    finally:
        torch.set_num_threads(threads)


def ask_for_strict() -> None:
    """Ask Intel's library for sums in one order; only heard before its first product in this process."""
    os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")


@cache
def _rows(shapes: frozenset[tuple[int, int]], threads: int) -> int | None:
    """The fewest rows from which on a row's products do not depend on how many there are, if it is so for any."""
    random = torch.Generator().manual_seed(1)
    enough = 1
    with torch.no_grad():
        for shape in sorted(shapes):
            given, weight = torch.randn(MANY, shape[1], generator=random), torch.randn(shape, generator=random)
            among_many = F.linear(given, weight)
            steady = [rows for rows in ROWS if rows >= enough and _alike(given, weight, among_many, rows)]
            if not steady:
                return None
            enough = steady[0]
    return enough


def _alike(given: torch.Tensor, weight: torch.Tensor, among_many: torch.Tensor, least: int) -> bool:
    sizes = (size for size in (1, 2, 3, 5, 8, 12, 15, 16, 17, 20, 33, 64, 100, 160) if size >= least)
    return all(torch.equal(F.linear(given[:size], weight), among_many[:size]) for size in sizes)
