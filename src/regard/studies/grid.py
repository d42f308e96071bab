"""A grid of settings times seeds: every cell measured once and kept, then a table, numbers and a figure.

A study that is stopped goes on where it was: a cell that stands in its file with the same steps and `version` of the
study is not measured again.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from regard.files import json_object
from regard.studies.trial import circumstances, mean_of, parser, table
from regard.train.folder import write as write_whole

At = Mapping[str, str]
"""A place on the grid: the name of each axis, and the value there."""


@dataclass(frozen=True)
class Measured:
    """What one cell came to: figures, and whatever a picture of it needs (only of the first seed is it kept)."""

    figures: Mapping[str, float]
    seen: Any = None


@dataclass(frozen=True)
class Cell:
    """A cell that was measured, and what it depended on."""

    at: At
    seed: int
    steps: int
    version: int
    figures: Mapping[str, float]
    seen: Any
    seconds: float
    commit: str


@dataclass(frozen=True)
class Column:
    """A figure of the table: which, of which cells (axis=value), times what, with how many digits."""

    title: str
    figure: str
    where: At = field(default_factory=dict)
    times: float = 1.0
    digits: int = 1
    spread: bool = True
    """Whether it differs by seed."""


@dataclass(frozen=True)
class Found:
    """All cells of a study."""

    cells: Sequence[Cell]

    def values(self, figure: str, at: At) -> list[float]:
        """One number for each seed, and for each cell that lies there."""
        here = [cell.figures for cell in self.cells if at.items() <= cell.at.items()]
        return [figures[figure] for figures in here if figure in figures]

    def mean(self, figure: str, **at: str) -> float:
        """The mean over seeds, and over all cells that lie there."""
        return float(np.mean(self.values(figure, at)))

    def seen(self, **at: str) -> Any:
        """What the first seed kept for a picture."""
        return next(cell.seen for cell in self.cells if cell.seen is not None and at.items() <= cell.at.items())


@dataclass(frozen=True)
class Study:
    """What is varied, how a cell is measured, and what is told of it. The first axis makes the rows of the table."""

    name: str
    title: str
    about: str
    """What was done, in Markdown; {steps} stands for the steps."""
    axes: Mapping[str, Sequence[str]]
    steps: int
    seeds: int
    measure: Callable[[At, int, int], Measured]
    """Of a place, a seed and so many steps."""
    columns: Sequence[Column]
    goals: Callable[[Found], Sequence[str]]
    draw: Callable[[Found, Path], None]
    published: Mapping[str, str] = field(default_factory=dict)
    """What papers report, by row."""
    version: int = 1
    """To be raised when a cell would come to something else."""

    def grid(self, seeds: int) -> Iterator[tuple[dict[str, str], int]]:
        """Every place with every seed; a seed's whole grid before the next, so that a first answer comes early."""
        for seed in range(1, seeds + 1):
            for values in itertools.product(*self.axes.values()):
                yield dict(zip(self.axes, values, strict=True)), seed

    def page(self, found: Found, steps: int) -> str:
        """What was done and found, in Markdown."""
        by, rows = next(iter(self.axes)), []
        for value in next(iter(self.axes.values())):
            cells = [_told(found, column, {by: value}) for column in self.columns]
            rows.append([value, *cells, *([self.published.get(value, "")] if self.published else [])])
        head = [by, *(column.title for column in self.columns), *(["paper"] if self.published else [])]
        return "\n".join(
            [f"# {self.title}", "", self.about.format(steps=f"{steps:,}"), "", *self.goals(found), "",
             f"![{self.title}]({self.name}.png)", "", table(head, rows)]
        )  # fmt: skip


def _told(found: Found, column: Column, at: At) -> str:
    values = [value * column.times for value in found.values(column.figure, {**at, **column.where})]
    return mean_of(values if column.spread else values[:1], column.digits) if values else ""


def run(study: Study, arguments: Sequence[str] | None = None) -> None:
    """Measure what is not measured yet, then write NAME.json, NAME.md and NAME.png."""
    asked = parser(study.about.split("\n")[0], study.steps, study.seeds)
    asked.add_argument("--again", action="store_true", help="measure every cell anew")
    given = asked.parse_args(arguments)
    again, file = given.again, given.to / f"{study.name}.json"
    del given.again
    about = circumstances(study.name, given)
    given.to.mkdir(parents=True, exist_ok=True)
    kept = [] if again else finished(file, study, given)
    for cell in _measured(study, given, kept, str(about["commit"])):
        kept.append(cell)
        _save(file, about, kept)
        print(_line(cell), flush=True)
    about["commit"] = ", ".join(dict.fromkeys(cell.commit for cell in kept))  # those that cells were measured with
    _save(file, about, kept)
    found = Found(kept)
    lines = [f"- {key}: {f'`{value}`' if key == 'command' else value}" for key, value in about.items()]
    title, rest = study.page(found, given.steps).split("\n", 1)
    write_whole(given.to / f"{study.name}.md", "\n".join([title, "", *lines]) + "\n" + rest)
    study.draw(found, given.to / f"{study.name}.png")
    print(f"{given.to / study.name}.md has the table, .json the numbers, .png the figure")


def finished(file: Path, study: Study, given: argparse.Namespace) -> list[Cell]:
    """The cells of this grid that an earlier session measured alike."""
    if not file.is_file():
        return []
    try:
        told = json_object(file.read_text(encoding="utf-8"))
        cells = [Cell(**cell) for cell in told["cells"]]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{file} does not hold the cells of a study ({error}); move it away, or measure anew with --again"
        ) from None
    wanted = [(at, seed) for at, seed in study.grid(given.seeds)]
    return [
        cell
        for cell in cells
        if (cell.steps, cell.version) == (given.steps, study.version) and (cell.at, cell.seed) in wanted
    ]


def _measured(study: Study, given: argparse.Namespace, kept: Sequence[Cell], commit: str) -> Iterator[Cell]:
    there = [(cell.at, cell.seed) for cell in kept]
    for at, seed in study.grid(given.seeds):
        if (at, seed) in there:
            continue
        start = time.process_time()
        got = study.measure(at, seed, given.steps)
        seconds = round(time.process_time() - start, 2)
        seen = got.seen if seed == 1 else None
        yield Cell(at, seed, given.steps, study.version, dict(got.figures), seen, seconds, commit)


def _save(file: Path, about: Mapping[str, object], cells: Sequence[Cell]) -> None:
    write_whole(file, json.dumps({**about, "cells": [vars(cell) for cell in cells]}) + "\n")


def _line(cell: Cell) -> str:
    figures = ", ".join(f"{name} {value:.4g}" for name, value in cell.figures.items())
    return f"{', '.join(cell.at.values())}, seed {cell.seed}: {figures} ({cell.seconds} s)"
