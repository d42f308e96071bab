"""`regard runs`: all runs below a folder at a glance, read without torch. A damaged one is told, not passed over."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table
from rich.text import Text

import regard.recipe as recipes
from regard.commands.runs import how_far, imported
from regard.files import shown
from regard.train.folder import MANIFEST, damage, holder, read_manifest, saves_in

DEEPEST = 4  # folders below the one given


@dataclass(frozen=True)
class Line:
    """One run, in words."""

    run: str
    state: str
    step: str = ""
    score: str = ""
    save: str = ""
    problem: str = ""
    """Why it could not be read."""


def runs(folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DIR")] = Path("runs")) -> None:
    """The runs below a folder: state, step, score, last complete save.

    Args:
        folder: Where to look; its folders and theirs are searched.
    """
    if not folder.is_dir():
        raise ValueError(f"there is no folder {folder}; give the one your runs are in")
    lines = [line(run, folder) for run in found(folder)]
    if not lines:
        raise ValueError(f"there is no run below {folder}; `regard train --run {folder / 'mine'}` makes one")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("run", "state", "step", "best score", "last complete save"):
        table.add_column(title)
    for told in lines:
        cells = (told.run, told.state, told.step, told.score, told.save)
        table.add_row(*(Text(shown(cell)) for cell in cells))
    console = Console()
    console.print(table)
    for told in lines:
        if told.problem:
            console.print(Text(shown(f"{told.run}: {told.problem}", 2000)))


def found(folder: Path) -> Iterator[Path]:
    """Every run, by name; a run has no other inside it, and links are not followed."""
    for place, inside, files in os.walk(folder):
        inside.sort()
        here = Path(place)
        if "recipe.toml" in files:
            inside.clear()
            yield here
        elif len(here.relative_to(folder).parts) >= DEEPEST:
            inside.clear()


def line(run: Path, folder: Path) -> Line:
    """What there is to say of a run; of one that cannot be read, why."""
    name = str(run.relative_to(folder)) if run != folder else run.name or str(run)
    try:
        recipe = recipes.of_run(run, trust_code=True)  # it is told, not built
        step = f"{how_far(run)['step']:,} of {recipe.train.steps:,}"
        return Line(name, _state(run), step, _score(run), _last_save(run))
    except (ValueError, OSError) as error:
        return Line(name, "unreadable", problem=str(error))


def _state(run: Path) -> str:
    process = holder(run)
    if process is not None:
        return f"running (process {process})"
    if (run / "scores.json").is_file():
        return "finished"
    return imported(run) or "stopped: the same command goes on"


def _score(run: Path) -> str:
    """The validation's first figure that is not a loss, and where it was reached."""
    if not (run / MANIFEST).is_file():
        return "no model yet"
    manifest = read_manifest(run)
    figures = manifest.get("measured", {})
    chosen = [name for name in figures if name not in ("loss", "perplexity")] or list(figures)
    return f"{chosen[0]} {figures[chosen[0]]:.4g} at step {manifest.get('step', 0):,}" if chosen else ""


def _last_save(run: Path) -> str:
    """The newest save whose every byte is as it was written, and what is wrong with newer ones."""
    places = saves_in(run)
    for number, path in enumerate(places):
        if damage(path) is None:
            return f"step {int(path.name):,}" + (f"; {number} newer damaged" if number else "")
    return "none" + (f"; {len(places)} damaged" if places else "")
