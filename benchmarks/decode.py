"""How fast translating is, against peers, in target words per second and in milliseconds a call.

`python benchmarks/decode.py --to docs/results` writes decode.json, decode.md and decode.png. Every peer has a process
in an environment of its own, made on first use. All take turns, in one run, on the same sources, and everybody says
exactly as many words of each; a ratio is our speed over theirs, taken round by round.
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from measure import Row, Section, circumstances, patience, ratio, write
from peers.corpus import _pairs
from peers.environment import Entrant, Unavailable, Worker, python_of
from peers.sizes import MODELS

SEED, OURS, HF, WORDS = 0, "ours", "Hugging Face", 15
ENTRANTS = [
    Entrant(OURS, "decode_ours.py"),
    Entrant(HF, "decode_marian.py", ("transformers==5.22.2",)),
    Entrant("JoeyNMT", "decode_joey.py", ("joeynmt==2.3.0", "importlib_metadata")),
    Entrant("CTranslate2", "decode_ctranslate2.py", ("ctranslate2==4.8.4",)),
]
HOMES = {HF: "marian"}  # where an environment made for another benchmark serves this one too
INSTRUCTIONS = ("", "AVX512", "AVX2")  # that CTranslate2 can be told to take; "" is what it finds best by itself
CELLS = [(batch, beam) for batch in (1, 32, 0) for beam in (1, 5)]  # 0 is all at one go
COUNTS = {"tiny": {1: 10, 32: 64, 0: 1000}, "base": {1: 5, 32: 32, 0: 256}}  # sentences of a round
TRIED = 64  # sentences with which the forms of a peer are told apart
SLOW = 20.0  # seconds; whoever takes longer for a round is timed once
GOAL = 1.4


@dataclass
class Contestant:
    """One peer in one form: how long every round took."""

    worker: Worker
    form: str
    rounds: list[Row] = field(default_factory=list)

    @property
    def name(self) -> str:
        kind = self.form.partition(":")[0] if ":" in self.form else ""
        return f"{self.worker.name} {kind}".strip()

    @property
    def seconds(self) -> list[float]:
        return [one["seconds"] for one in self.rounds]

    @property
    def speeds(self) -> list[float]:
        """Words a second of every round."""
        return [one["words"] / one["seconds"] for one in self.rounds]

    @property
    def speed(self) -> float:
        return statistics.median(self.speeds)


@dataclass
class Cell:
    """One size of batch and beam, in which all take turns."""

    model: str
    batch: int
    beam: int
    count: int
    contestants: list[Contestant] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"batch {self.batch or 'all'}, beam {self.beam}"

    def enter(self, workers: Sequence[Worker]) -> None:
        """Everybody in the form that is fastest, of each kind of numbers it has."""
        for worker in workers:
            best: dict[str, tuple[float, Contestant]] = {}
            for form in worker.ask(forms=self.batch)["forms"]:
                one, kind = Contestant(worker, form), form.partition(":")[0] if ":" in form else ""
                count = min(self.count, TRIED)
                try:
                    first = self._run(one, count)
                    if self.is_slow(worker, first["seconds"] * self.count / count):
                        one.rounds.append(first)
                        took = first["seconds"]
                    else:
                        took = self._run(one, count)["seconds"]
                except Unavailable as why:
                    self.notes.append(f"{worker.name}, {form}: {why}")
                    continue
                best[kind] = min(best.get(kind, (math.inf, one)), (took, one), key=lambda pair: pair[0])
            self.contestants += [one for _, one in best.values()]

    def turn(self, number: int) -> None:
        """Everybody once, each time starting with another one; the very slow only in the first round."""
        first = number % max(1, len(self.contestants))
        for one in self.contestants[first:] + self.contestants[:first]:
            if one.rounds and self.is_slow(
                one.worker, one.rounds[0]["seconds"] * self.count / one.rounds[0]["count"]
            ):
                continue
            patience.wait()
            try:
                one.rounds.append(self._run(one, self.count))
            except Unavailable as why:
                self.notes.append(f"{one.name}, round {number + 1}: {why}")
                self.contestants.remove(one)

    def is_slow(self, worker: Worker, seconds: float) -> bool:
        """Whether a round of it takes too long to be repeated."""
        return seconds > SLOW and worker.name not in (OURS, HF)

    def _run(self, one: Contestant, count: int) -> Row:
        return one.worker.ask(decode=self.batch, beam=self.beam, form=one.form, count=count) | {"count": count}

    def of(self, name: str) -> Contestant | None:
        return next((one for one in self.contestants if one.name == name and one.rounds), None)


# What is told.


def _row(cell: Cell, one: Contestant) -> Row:
    speeds = one.speeds
    row: Row = {
        "cell": cell.name,
        "who": one.name,
        "its form": one.form.partition(":")[2].strip() if ":" in one.form else one.form,
        "words/s": statistics.median(speeds),
        "least": min(speeds),
        "most": max(speeds),
        "ms a call": 1000 * WORDS * cell.batch / one.speed if cell.batch else None,
        "MiB": one.rounds[-1]["MiB"],
        "rounds": len(speeds),
    }
    ours = cell.of(OURS)
    if ours is None:
        return row
    both = min(len(speeds), len(ours.speeds))
    return row | ratio(ours.speeds[:both], speeds[:both])


def summary(cells: Sequence[Cell]) -> list[Row]:
    """Ours over Hugging Face in every cell, and beside it the others' share of ours."""
    told = []
    for cell in cells:
        ours, theirs = cell.of(OURS), cell.of(HF)
        if ours is None or theirs is None:
            continue
        both = min(len(ours.speeds), len(theirs.speeds))
        found = ratio(ours.speeds[:both], theirs.speeds[:both])
        row: Row = {"model": cell.model, "cell": cell.name, "ours, words/s": ours.speed}
        row |= {"Hugging Face, words/s": theirs.speed} | found
        row |= {"goal": f"≥ {GOAL}", "reached": found["ratio"] >= GOAL}
        for name in ("JoeyNMT", "CTranslate2 float32", "CTranslate2 int8"):
            other = cell.of(name)
            row[f"ours / {name}"] = None if other is None else ours.speed / other.speed
        told.append(row)
    return told


def report(to: Path, about: Row, cells: Sequence[Cell], absent: Sequence[str]) -> None:
    sections = [Section("Ours over Hugging Face", BEST, found)] if (found := summary(cells)) else []
    for model in dict.fromkeys(cell.model for cell in cells):
        some = [cell for cell in cells if cell.model == model]
        rows = [_row(cell, one) for cell in some for one in cell.contestants if one.rounds]
        says = [f"`{MODELS[model]}`.", *(note for cell in some for note in cell.notes)]
        sections.append(Section(model, "\n\n".join(says), rows))
    taken = {f"{cell.model}, {cell.name}": {one.name: one.seconds for one in cell.contestants} for cell in cells}
    tables = {one.title: one.rows for one in sections}
    write(to / "decode.json", about | tables | {"seconds of every round": taken, "absent": list(absent)})
    heads = [
        "# Translating, measured",
        SAYS,
        "\n".join(f"- {name}: {value}" for name, value in about.items()),
        *(f"Not taking part: {one}" for one in absent),
        "![words per second](decode.png)",
    ]
    (to / "decode.md").write_text("\n\n".join(heads + [one.text() for one in sections]), encoding="utf-8")
    draw(cells, to / "decode.png")


SAYS = (
    f"Made by the command below; not edited by hand. Everybody says exactly {WORDS} words of every sentence, END "
    "forbidden, so that the work is the same; models are of the same sizes, with random weights. Batches of 1 and 32 "
    "are translated one after the other; *all* is given at one go, to be batched as each likes. Ours is "
    "`regard.tasks.decode.hypotheses` with its defaults, in float32, where a sentence's words and scores do not "
    "depend on its company to the last bit. Every peer is given the form that is fastest before the rounds: "
    "Hugging Face's `generate` SDPA or eager, cache growing or static, 64 or 128 at a time; CTranslate2 its best "
    "workers and threads, with the instructions found best at the start. Whoever takes longer than "
    f"{SLOW:.0f} s for a round is timed once. A ratio is our speed over theirs, the median over rounds, with the "
    "least and the most in brackets; above 1 ours is faster."
)
BEST = "Beside it, our speed over that of the other peers: below 1 they are faster."


def draw(cells: Sequence[Cell], file: Path) -> None:
    """Bars of speed, a panel for each cell; whiskers reach from the slowest round to the fastest."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    models = list(dict.fromkeys(cell.model for cell in cells))
    figure, panels = pyplot.subplots(
        len(models), len(CELLS), figsize=(3.1 * len(CELLS), 2.1 * len(models)), squeeze=False, layout="constrained"
    )
    for panel in panels.flat:
        panel.set_axis_off()
    for cell in cells:
        panel = panels[models.index(cell.model)][CELLS.index((cell.batch, cell.beam))]
        panel.set_axis_on()
        found = sorted((one for one in cell.contestants if one.rounds), key=lambda one: one.speed)
        speeds = [one.speeds for one in found]
        middle = [statistics.median(some) for some in speeds]
        reach = [[m - min(s), max(s) - m] for m, s in zip(middle, speeds, strict=True)]
        colours = ["tab:orange" if one.name == OURS else "tab:gray" for one in found]
        panel.barh([one.name for one in found], middle, xerr=[*zip(*reach, strict=True)], color=colours)
        panel.set_title(f"{cell.model}: {cell.name}", fontsize=10)
        panel.set_xlabel("words per second", fontsize=9)
        panel.tick_params(labelsize=8)
    figure.savefig(file, dpi=110)
    pyplot.close(figure)


# All of it.


@contextmanager
def entered(
    names: Sequence[str], folder: Path, environment: dict[str, str], sources: Path
) -> Iterator[tuple[list[Worker], list[str]]]:
    """A process for everyone who can be installed, and why the others cannot."""
    workers, absent = [], []
    folder.mkdir(parents=True, exist_ok=True)
    for entrant in (one for one in ENTRANTS if one.name in names):
        home = Entrant(HOMES.get(entrant.name, entrant.name), entrant.script, entrant.needs)
        try:
            python, log = python_of(home, folder), folder / f"{entrant.script}.log"
            more = _instructions(entrant, python, environment, log, sources) if "ctranslate2" in log.name else {}
            workers.append(Worker(entrant, python, environment | more, log))
        except Unavailable as why:
            absent.append(f"{entrant.name}: {why}")
            print(absent[-1], flush=True)
    try:
        yield workers, absent
    finally:
        for worker in workers:
            worker.close()


def _instructions(
    entrant: Entrant, python: str, environment: dict[str, str], log: Path, sources: Path
) -> dict[str, str]:
    """With which instructions CTranslate2 is fastest here, in the form that is fastest with them."""
    took: dict[str, float] = {}
    for name in INSTRUCTIONS:
        worker = Worker(entrant, python, environment | ({"CT2_FORCE_CPU_ISA": name} if name else {}), log)
        try:
            worker.ask(model="base", sources=str(sources))
            each = [
                min(worker.ask(decode=32, beam=1, form=form, count=32)["seconds"] for _ in range(3))
                for form in worker.ask(forms=32)["forms"]
            ]
            took[name] = min(each)
        except Unavailable as why:
            print(f"CTranslate2 with {name}: {why}", flush=True)
        finally:
            worker.close()
    if not took:
        raise Unavailable("fails with any instructions")
    best = min(took, key=lambda name: took[name])
    print(f"CTranslate2 takes {best or 'its own instructions'}: {took}", flush=True)
    return {"CT2_FORCE_CPU_ISA": best} if best else {}


def sources_to(file: Path) -> None:
    """As many sources as are ever asked for, drawn by chance from all there are."""
    (rows, _), _ = _pairs(SEED)
    chosen = np.random.default_rng(SEED).permutation(len(rows))[: max(max(one.values()) for one in COUNTS.values())]
    np.savez(file, **{f"source{n}": rows[row] for n, row in enumerate(chosen)})


def run(model: str, workers: Sequence[Worker], sources: Path, rounds: int, about: Row) -> Iterator[Cell]:
    """All cells of one model; its workers build it first."""
    present = []
    for worker in workers:
        try:
            about.setdefault("versions", {}).update(worker.ask(model=model, sources=str(sources))["versions"])
            present.append(worker)
        except Unavailable as why:
            print(f"{worker.name}: {why}", flush=True)
    for batch, beam in CELLS:
        start = time.perf_counter()
        cell = Cell(model, batch, beam, COUNTS[model][batch])
        cell.enter(present)
        for number in range(rounds):
            cell.turn(number)
        told = ", ".join(f"{one.name} {one.speed:.0f}" for one in cell.contestants if one.rounds)
        print(f"{model}, {cell.name}: {told}; {time.perf_counter() - start:.0f} s", flush=True)
        yield cell


def asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=Path("docs/results"), help="the folder for the results")
    parser.add_argument("--rounds", type=int, default=5, help="how often each contestant is timed")
    parser.add_argument("--models", nargs="+", choices=list(COUNTS), default=list(COUNTS), help="what translates")
    parser.add_argument("--peers", nargs="+", default=[one.name for one in ENTRANTS], help="who takes part")
    parser.add_argument("--envs", type=Path, default=Path("~/.cache/regard-bench"), help="where peers are installed")
    parser.add_argument("--threads", type=int, default=2, help="of everyone")
    parser.add_argument("--patience", type=float, default=5, help="minutes to wait, in all, for a quiet machine")
    return parser.parse_args()


def main() -> None:
    options = asked()
    patience.seconds = 60 * options.patience
    torch.set_num_threads(options.threads)
    options.to.mkdir(parents=True, exist_ok=True)
    about: dict[str, Any] = circumstances(SEED, options.rounds)
    start, cells, envs = time.perf_counter(), list[Cell](), options.envs.expanduser()
    environment = {"OMP_NUM_THREADS": str(options.threads)}
    with tempfile.TemporaryDirectory() as folder:
        sources = Path(folder) / "sources.npz"
        sources_to(sources)
        with entered(options.peers, envs, environment, sources) as (workers, absent):
            for model in options.models:
                for cell in run(model, workers, sources, options.rounds, about):
                    cells.append(cell)
                    about["minutes"] = round((time.perf_counter() - start) / 60, 1)
                    about["of these, waiting for a quiet machine"] = round(patience.waited / 60, 1)
                    report(options.to, about, cells, absent)  # after every cell: a run cut short leaves what it has


if __name__ == "__main__":
    main()
