"""Sentences to check an export with: the run's own test or validation text, or files."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from regard.files import leads_out, plain_text
from regard.recipe import located
from regard.systems.text import TextRecipe
from regard.tasks.settings import TextData
from regard.tasks.texts import Pair, texts_of
from regard.text.read import lines

LARGEST = 64 * 2**20
HELD_OUT = ("test", "valid")


@dataclass(frozen=True)
class Sentences:
    """What is translated and, where it is known, what is right."""

    sources: list[str]
    references: list[str] | None
    where: str

    def first(self, count: int) -> Sentences:
        """So many of them."""
        right = None if self.references is None else self.references[:count]
        return replace(self, sources=self.sources[:count], references=right)


def from_files(source: Path, reference: Path | None) -> Sentences:
    """A sentence a line; references line by line."""
    said = list(lines(source))
    right = None if reference is None else list(lines(reference))
    if right is not None and len(right) != len(said):
        raise ValueError(
            f"{source} has {len(said):,} lines and {reference} {len(right):,}; they must go line by line"
        )
    if not any(said):
        raise ValueError(f"{source} has no text in it; give a file with a sentence a line")
    return Sentences(said, right, source.name)


def of_run(run: Path, recipe: TextRecipe) -> Sentences | None:
    """The run's own: what it keeps, else what its recipe names and can be found; None where there is neither."""
    for name in HELD_OUT:
        path = run / "data" / f"{name}.jsonl"
        if path.is_file() and not leads_out(run, path):
            return _sentences(_kept(path), f"the {name} text")
    try:
        data = located(recipe).sections()["data"]
        assert isinstance(data, TextData)
        texts = texts_of(data, recipe.train.seed)
    except (ValueError, OSError):
        return None
    found = texts.tests.get("test") or texts.valid
    return None if not found else _sentences(found, "the test text" if "test" in texts.tests else "the valid text")


def _sentences(pairs: Iterable[Pair], where: str) -> Sentences:
    some = list(pairs)
    return Sentences([source for _, source, _ in some], [target for _, _, target in some], where)


def _kept(path: Path) -> list[Pair]:
    found: list[Pair] = []
    for number, line in enumerate(islice(plain_text(path, LARGEST).split("\n"), 10**6), 1):
        try:
            told = json.loads(line) if line else None
        except ValueError:
            told = ()
        match told:
            case None:
                continue
            case [int(at), str(source), str(target)]:
                found.append((at, source, target))
            case _:
                raise ValueError(
                    f"{path}:{number}: not a pair of sentences; give others with --source and --reference"
                )
    return found
