"""Text that is made on the spot, the same for everyone: which generators there are, and what each is asked for.

A new one is a module here with `pairs(split, seed)` and `TESTS`, the names of what is scored at the end, and a line
in `GENERATORS`.
"""

from __future__ import annotations

import difflib
import hashlib
import importlib
from collections.abc import Callable, Iterator
from typing import Protocol, cast

Pair = tuple[int, str, str]

GENERATORS = {
    "dates": "regard.text.dates",
    "arithmetic": "regard.text.arithmetic",
    "trees": "regard.text.trees",
    "questions": "regard.text.questions",
}
"""Generators by the name that `data.generated` has for them."""


class Generator(Protocol):
    """A module that makes pairs."""

    TESTS: tuple[str, ...]
    """Splits that are scored once, at the end."""

    @property
    def pairs(self) -> Callable[[str, int], Iterator[Pair]]:
        """(line, source, target) of a split, the same for the same seed; splits share no source."""


def generator(name: str) -> Generator:
    """The generator of that name."""
    if name not in GENERATORS:
        near = difflib.get_close_matches(name, GENERATORS, 1)
        raise ValueError(
            f"there is no generator '{name}'; "
            + (f"perhaps you meant {near[0]}" if near else f"there are: {', '.join(GENERATORS)}")
        )
    return cast(Generator, importlib.import_module(GENERATORS[name]))


def percent(text: str) -> int:
    """A number below 100 that depends on the text alone, so that splits stay apart for every seed."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "big") % 100


def split_of(text: str) -> str:
    """The split that a source belongs to."""
    bucket = percent(text)
    return "valid" if bucket < 5 else "test" if bucket < 15 else "train"
