"""`regard evaluate`: how good a translator is, on files or on what its recipe puts aside; or which of several."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from regard.files import no_way_out
from regard.train.folder import read_manifest, write

if TYPE_CHECKING:
    from regard.evaluate.links import Gold
    from regard.evaluate.text import ScoredText

RUNS = Annotated[
    tuple[Path, ...],
    tyro.conf.Positional,
    tyro.conf.arg(metavar="RUN [RUN ...]", help="Folders of trained translators, compared with the first."),
]
Tokenize = Literal["auto", "13a", "none", "intl", "char", "zh", "ja-mecab", "ko-mecab"]
REPORT = "report.html"


@dataclass(frozen=True)
class Given:
    """What is translated, and what it should become; without files, what the run's recipe puts aside for this."""

    source: Path | None = None
    """Text to translate, one sentence a line; .gz is read everywhere."""
    reference: Annotated[tuple[Path, ...], tyro.conf.UseAppendAction] = ()
    """Its translation, line by line; again for another reference."""
    tokenize: Tokenize = "auto"
    """How sacreBLEU splits words; auto is as the recipe says (data.scored), or by the language."""
    links: Path | None = None
    """Gold word links for each line: 0-0 is sure, 1?2 or 1p2 possible. Measures the alignment error rate."""
    links_from_1: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """These links count words from 1."""


@dataclass(frozen=True)
class Searching:
    """How translations are found; what is not given is as the run's recipe has it."""

    beam: int | None = None
    """Hypotheses kept at each step; 1 is greedy."""
    length_penalty: float | None = None
    """Above 0 prefers longer translations."""
    batch_tokens: int | None = None
    """Source pieces searched together; the answers are the same."""


@dataclass(frozen=True)
class Chance:
    """How sure the figures are."""

    resamples: int | None = None
    """Resampled texts for the intervals: 1000, fewer where there are more than 10 000 lines; 0 for no intervals."""
    test: Literal["bootstrap", "randomisation"] = "bootstrap"
    """The paired test of several runs: bootstrap resampling, or approximate randomisation."""
    trials: int | None = None
    """Of that test: 1000 for bootstrap, 10 000 for randomisation."""


@dataclass(frozen=True)
class Written:
    """What is written."""

    json: Path | None = None
    """A file for everything that was measured."""
    report: Path | None = None
    """The page; without it report.html beside --json, or else in the (first) run folder."""
    translations: Path | None = None
    """A file for the translations of a single run, a line each."""


@dataclass(frozen=True)
class Aligned:
    """Which heads word links are read from."""

    choose_heads: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Choose layer and heads by these lines, and keep the choice with the run: by the error rate with --links, by
    agreement of both directions with --reverse, else by agreement within the model."""
    reverse: Path | None = None
    """The run of a translator for the other direction."""
    layer: int | None = None
    """The layer that links are read from: 0 is the first, -1 the last."""
    heads: tuple[int, ...] | None = None
    """The heads of it; without, all."""


@dataclass(frozen=True)
class Machine:
    """How it is run."""

    threads: int = 0
    """Processor threads; 0 = all cores."""
    trust_code: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Allow a run that names a mechanism in a file of its own, which is then run."""


def evaluate(
    runs: RUNS = (),
    given: Annotated[Given, tyro.conf.arg(name="")] = Given(),  # noqa: B008 (frozen)
    searching: Annotated[Searching, tyro.conf.arg(name="")] = Searching(),  # noqa: B008
    chance: Annotated[Chance, tyro.conf.arg(name="")] = Chance(),  # noqa: B008
    written: Annotated[Written, tyro.conf.arg(name="")] = Written(),  # noqa: B008
    aligned: Annotated[Aligned, tyro.conf.arg(name="")] = Aligned(),  # noqa: B008
    machine: Annotated[Machine, tyro.conf.arg(name="")] = Machine(),  # noqa: B008
) -> int:
    """How good a translator is: BLEU, chrF2++ and TER by sacreBLEU, speed, best and worst lines, by length.

    Example: regard evaluate runs/mine --source test.en --reference test.de --json scores.json
    """
    _can_be(runs, given, aligned, written)
    threads = machine.threads or len(os.sched_getaffinity(0))
    if given.source is None and not translates(runs[0]):
        return _other_system(runs[0], written, machine.trust_code, threads)
    texts = _texts(runs, given)
    gold = _gold(given, texts[0])
    page = _page(runs, written)
    import torch

    torch.set_num_threads(threads)
    from regard.commands.evaluating import Asked

    done = Asked(runs, given, searching, chance, aligned, machine).done(texts, gold)
    done.tell()
    done.write(page, written.json, written.translations)
    _say(f"the page is {page}" + (f", the figures are in {written.json}" if written.json else ""))
    return 0


def _can_be(runs: Sequence[Path], given: Given, aligned: Aligned, written: Written) -> None:
    """What cannot be asked for is told before anything is waited for."""
    if not runs:
        raise ValueError("name the folder of a trained translator: regard evaluate runs/mine")
    for run in (*runs, *([aligned.reverse] if aligned.reverse else [])):
        read_manifest(run)
    if len(set(runs)) < len(runs):
        raise ValueError("a run is named twice; it is as good as itself")
    if (given.source is None) == bool(given.reference):
        raise ValueError("give both --source F and --reference F, or neither for the text the run was tested on")
    if len(runs) > 1 and given.source is None:
        raise ValueError("several runs are compared on one text: give it with --source F --reference F")
    if len(runs) > 1 and (aligned.choose_heads or written.translations):
        option = "--choose-heads" if aligned.choose_heads else "--translations"
        raise ValueError(f"{option} is for a single run; give one")
    if aligned.reverse and not aligned.choose_heads:
        raise ValueError("--reverse is what heads are chosen by: give --choose-heads with it")
    if given.links is not None and given.source is None:
        raise ValueError("--links are of a text: give it with --source F --reference F")


def translates(run: Path) -> bool:
    """Whether a run is a translator's; other systems have figures and pictures of their own."""
    from regard.recipe import of_run
    from regard.systems.translation import TranslationRecipe

    return isinstance(of_run(run, trust_code=True), TranslationRecipe)  # it is read, not built


def _other_system(run: Path, written: Written, trust_code: bool, threads: int) -> int:
    """What is no translator is measured by its own task, on what nothing was chosen by."""
    if written.report or written.translations:
        raise ValueError(f"{run} is no translator: it has figures (--json F), but no page and no translations")
    import torch
    from rich.console import Console
    from rich.table import Table

    from regard.evaluate.system import System

    torch.set_num_threads(threads)
    system = System.load(run, trust_code)
    found = system.measured()
    names = list(dict.fromkeys(name for figures in found.values() for name in figures))
    table = Table("", *names)
    for split, figures in found.items():
        table.add_row(split, *(f"{figures[name]:.4g}" if name in figures else "" for name in names))
    Console().print(table)
    if written.json:
        told = {"run": run.resolve().name, "task": system.recipe.task, "scores": found}
        write(written.json, json.dumps(told, indent=1) + "\n")
    return 0


def _texts(runs: Sequence[Path], given: Given) -> list[ScoredText]:
    from regard.evaluate.text import from_files, of_run_itself

    return of_run_itself(runs[0]) if given.source is None else [from_files(given.source, given.reference)]


def _gold(given: Given, text: ScoredText) -> list[Gold] | None:
    from regard.evaluate.links import read_links

    if given.links is None:
        return None
    return read_links(given.links, text.sources, text.references[0], int(given.links_from_1))


def _page(runs: Sequence[Path], written: Written) -> Path:
    """Where the page goes; that it can is seen before anything is waited for."""
    beside = written.json.parent / REPORT if written.json else runs[0] / REPORT
    page = written.report or beside
    for path in filter(None, (page, written.json, written.translations)):
        if not path.parent.is_dir():
            raise ValueError(f"there is no folder {path.parent}; make it, or name another")
        if path.is_dir() or not os.access(path.parent, os.W_OK):
            raise ValueError(f"{path} cannot be written; name another file (the page has --report F)")
    if page.parent == runs[0]:
        no_way_out(runs[0])
    return page


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
