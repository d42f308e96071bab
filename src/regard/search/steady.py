"""The same answer every time: what a batch must be like for a sentence's numbers not to depend on its company.

A product of few rows is summed in another order than one of many, and so is a sum over keys whose number is no
multiple of a register's width: in the seventh digit, yet a tie is decided by it. So sources are padded to whole
blocks, and a step has as many rows as this machine's products need, which is found by trying. Intel's library adds
alike for any number of rows and threads if asked before its first product (`ask_for_strict`); unasked, or on another
maker's processor, it may split sums among several threads: then one thread searches. And it may sum many keys in
two halves, padding included: so a long source is not searched beside every other (`together`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attend.fast import whatever_the_company
from regard.attend.maps import Linear, mapped
from regard.models.products import Turned
from regard.models.seq2seq import Lengths, Searchable, Source, Stepper
from regard.models.swift import Swift

BLOCK = 16  # keys; the float32 numbers of the widest register
WHOLE = 192  # keys that are summed in one go; more, padding included, are summed in two halves
ROWS = (1, 2, 4, 16, 64)  # for strict products; oneDNN's and swift ones; MKL's on AMD; one thread; to be sure
READING = 16  # rows of a model that reads word by word: its cells multiply by vectors too, in fours
MANY = 300
FEW = 8  # hypotheses of a narrow model, whose products are over before a second thread has begun
COLUMNS = 1024  # of a wider map the rest is alike


def whole_blocks(length: int, limit: int | None) -> int:
    """How long a source is made by padding."""
    blocks = -(-length // BLOCK) * BLOCK
    return blocks if limit is None else max(length, min(blocks, limit))


def together(longest: int, length: int) -> bool:
    """Whether a source of this length may be padded as far as a longer one is, and be read alike.

    It is if it is read in one go by itself, and in one go, or in the first half, beside the other.
    """
    keys = whole_blocks(longest, None)
    if whole_blocks(length, None) == keys:
        return True
    return length <= WHOLE and (keys <= WHOLE or 2 * length <= keys)


def padded(model: Searchable, source: Source, lengths: Lengths, least: int) -> tuple[Source, Lengths]:
    """Sources in whole blocks; the first repeated until there are enough, for a model that reads word by word."""
    missing = whole_blocks(source.shape[1], model.longest_source) - source.shape[1]
    source = F.pad(source, (*(0, 0) * (source.dim() - 2), 0, missing))
    missing = 0 if model.reads_at_once else max(0, least - len(source))
    more = torch.zeros(missing, dtype=torch.long, device=source.device)
    return torch.cat((source, source[more])), torch.cat((lengths, lengths[more]))


@dataclass(frozen=True)
class Steady:
    """What a search goes by, and how many rows a step must have at least."""

    stepper: Stepper
    rows: int


@contextmanager
def steadily(model: Searchable, hypotheses: int = MANY) -> Iterator[Steady]:
    """What a search of so many hypotheses at a time needs to be steady; inside there may be fewer threads."""
    stepper = model.stepper()
    device = next(model.parameters()).device
    if device.type != "cpu":
        yield Steady(stepper, 1)
        return
    products = _products(model, stepper)
    threads = torch.get_num_threads()
    rows = _rows(products, threads) if _looks_alike(threads) else None
    least = 1 if model.reads_at_once else READING
    with whatever_the_company():
        if rows is not None and not (isinstance(stepper, Swift) and stepper.form is Turned and hypotheses <= FEW):
            yield Steady(stepper, max(rows, least))
            return
        torch.set_num_threads(1)
        try:
            yield Steady(stepper, max(rows or _rows(products, 1) or ROWS[-1], least))
        finally:
            torch.set_num_threads(threads)


def _products(model: Searchable, stepper: Stepper) -> frozenset[Product]:
    """How a step multiplies, and by what."""
    if isinstance(stepper, Swift):
        return frozenset((stepper.form, min(width, COLUMNS), terms) for width, terms in stepper.shapes())
    layers = (part for part in model.modules() if isinstance(part, nn.Linear))
    kinds = ((_mapped if isinstance(part, Linear) else _plain, part) for part in layers)
    return frozenset((kind, min(part.out_features, COLUMNS), part.in_features) for kind, part in kinds)


def ask_for_strict() -> None:
    """Ask Intel's library for sums in one order; only heard before its first product in this process."""
    os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")


Product = tuple[Callable[..., Any], int, int]
"""What makes a product of a map; its outputs, its inputs."""


def _mapped(layer: nn.Linear) -> Callable[[Tensor], Tensor]:
    return lambda x: mapped(x, layer.weight, layer.bias)


def _plain(layer: nn.Linear) -> Callable[[Tensor], Tensor]:
    return lambda x: F.linear(x, layer.weight, layer.bias)


@cache
def _rows(products: frozenset[Product], threads: int) -> int | None:
    """The fewest rows from which on a row's products depend neither on how many there are nor on the threads.

    None where there is no such number.
    """
    random = torch.Generator().manual_seed(1)
    enough = 1
    with torch.no_grad():
        for form, width, terms in sorted(products, key=lambda product: product[1:]):
            given, layer = torch.randn(MANY, terms, generator=random), nn.Linear(terms, width, bias=False)
            layer.weight.copy_(torch.randn((width, terms), generator=random))
            product = form(layer)
            torch.set_num_threads(1)
            by_one = product(given)
            torch.set_num_threads(threads)
            steady = [rows for rows in ROWS if rows >= enough and _alike(given, by_one, rows, product)]
            if not steady:
                return None
            enough = steady[0]
    return enough


@cache
def _looks_alike(threads: int) -> bool:
    """Whether so many threads read what one reads."""
    random = torch.Generator().manual_seed(1)
    return all(
        _reads_alike(
            [torch.randn(rows, 8, count, width, generator=random) for count in (queries, keys, keys)], threads
        )
        for rows, queries, keys in ((16, 1, 16), (6, 3, 19), (11, 3, 48), (3, 48, 48))
        for width in (32, 64)
    )


def _reads_alike(asked: list[Tensor], threads: int) -> bool:
    query, keys, values = asked
    several = F.scaled_dot_product_attention(query, keys, values)
    torch.set_num_threads(1)
    by_one = F.scaled_dot_product_attention(query, keys, values)
    torch.set_num_threads(threads)
    return torch.equal(several, by_one)


def _alike(given: Tensor, by_one: Tensor, least: int, product: Callable[[Tensor], Tensor]) -> bool:
    sizes = (size for size in (*range(1, 22), 33, 64, 100, 160, MANY) if size >= least)
    return all(torch.equal(product(given[:size]), by_one[:size]) for size in sizes)
