"""What a translator is scored on: text with its references, from files or from the run itself. Needs no torch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.files import leads_out, shown
from regard.recipe import located, of_run
from regard.tasks.settings import TextData
from regard.tasks.texts import tests_of
from regard.text.read import BadText, lines, read_pairs

KEPT = ("test", "held_out")  # what a run may have put aside, the one that counts first


@dataclass(frozen=True)
class ScoredText:
    """Lines to translate, and what they should become."""

    name: str
    where: str
    """The files, or what else they are from."""
    sources: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]
    """One or more of them, each as long as `sources`."""

    def __len__(self) -> int:
        return len(self.sources)


def from_files(source: Path, references: Sequence[Path]) -> ScoredText:
    """Files with a line each for each other; .gz is read, and unequal counts are refused with their place."""
    first, *others = references
    pairs = list(read_pairs(source, first))
    read = [tuple(target for _, _, target in pairs), *(_as_many(path, source, len(pairs)) for path in others)]
    where = " and ".join(map(str, (source, *references)))
    return ScoredText(source.name, where, tuple(text for _, text, _ in pairs), tuple(read))


def _as_many(path: Path, source: Path, count: int) -> tuple[str, ...]:
    found = tuple(lines(path))
    if len(found) != count:
        raise BadText(
            f"{path}:{min(len(found), count) + 1}: it has {len(found):,} lines and {source} {count:,}. "
            "Every reference needs one line for each line of the source."
        )
    return found


def of_run_itself(run: Path) -> list[ScoredText]:
    """The text that the run's recipe puts aside for this: what was kept in its folder, else what the recipe names."""
    kept = [_kept(run, name) for name in KEPT if (run / "data" / f"{name}.jsonl").is_file()]
    if kept:
        return kept
    recipe = of_run(run, trust_code=True)  # it is read, not built
    data = recipe.sections().get("data")
    if not isinstance(data, TextData):
        raise ValueError(f"{run} is a run of {recipe.task}, not a translator")
    named = data.generated or data.test_source or data.test_pairs
    if not named:
        raise ValueError(f"the recipe of {run} names no test text; give some with --source F --reference F")
    only_tests = {key: None for key, value in data if isinstance(value, Path) and not key.startswith("test_")}
    found = located(recipe.with_sections({"data": data.model_copy(update=only_tests)})).sections()["data"]
    assert isinstance(found, TextData)
    sets = tests_of(found)
    return [_set(name, str(named), ((s, t) for _, s, t in pairs)) for name, pairs in sets.items()]


def _kept(run: Path, name: str) -> ScoredText:
    path = run / "data" / f"{name}.jsonl"
    if leads_out(run, path):
        raise BadText(f"{path} is a link that leads out of {run}; put the file itself there")
    return _set(name, str(path), _rows(path))


def _rows(path: Path) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(lines(path), start=1):
        try:
            told = json.loads(line)
        except (ValueError, RecursionError):
            told = None
        match told:
            case [int(), str(source), str(target)]:
                yield source, target
            case _:
                raise BadText(f"{path}:{number}: not a line that training writes: {shown(line, 60)}; restore it")


def _set(name: str, where: str, pairs: Iterator[tuple[str, str]]) -> ScoredText:
    found = list(pairs)
    if not found:
        raise BadText(f"{where}:1: there is no line. Give other text with --source F --reference F.")
    return ScoredText(name, where, tuple(s for s, _ in found), (tuple(t for _, t in found),))
