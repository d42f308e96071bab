"""A toy model trained and tested, and all that its figures depend on: what the toy studies share."""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import sacrebleu
import torch

from regard.checkout import commit
from regard.models.seq2seq import Seq2Seq
from regard.tasks.toy import Sentence, ToyTranslation
from regard.train.fit import Fit, seed_of
from regard.train.optimise import optimiser
from regard.train.progress import Progress
from regard.train.settings import Train

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREY = "#1d4ed8", "#b45309", "#6b7280"
EVERY = 15.0  # seconds between two lines that say how far training is
Watcher = Callable[[int, Seq2Seq], None]


@dataclass(frozen=True)
class Trained:
    """A trained model, and what it took: weights, and seconds of processor time."""

    model: Seq2Seq
    parameters: int
    seconds: float


@dataclass(frozen=True)
class Score:
    """BLEU, the share of sentences said exactly, and of words that stand in their place."""

    bleu: float
    exact: float
    words: float


def stepping(fit: Fit, steps: int, what: str) -> Iterator[int]:
    """Each step before it is taken; now and then a line says how far it is and how long it will be."""
    begun = said = time.monotonic()
    updates = fit.updates()
    for step in range(steps):
        yield step
        next(updates)
        now, taken = time.monotonic(), step + 1
        if now - said >= EVERY:
            said, left = now, (now - begun) * (steps - taken) / taken
            print(f"{what}: step {taken:,} of {steps:,}, {left / 60:.1f} minutes left", file=sys.stderr, flush=True)


def train(task: ToyTranslation, steps: int, rate: float = 4e-3, before: Watcher | None = None) -> Trained:
    """Train from the task's seed; `before` is told each step before it is taken, and may change the model."""
    torch.manual_seed(seed_of(task.seed))
    model = task.build()
    settings = Train(rate=rate, schedule="linear", steps=steps, warmup=steps // 20, seed=task.seed)
    fit = Fit(task, model, {"model": optimiser(list(model.parameters()), settings)}, settings, Progress())
    start = time.process_time()
    for step in stepping(fit, steps, f"{type(task).__name__}, seed {task.seed}"):
        if before is not None:
            before(step, model)
    parameters = sum(weights.numel() for weights in model.parameters())
    return Trained(model.eval(), parameters, time.process_time() - start)


def score(task: ToyTranslation, model: Seq2Seq, sentences: Sequence[Sentence]) -> Score:
    """Greedy translations against the right ones."""
    said, right = task.said(model, sentences), [sentence.target.tolist() for sentence in sentences]
    texts, answers = ([" ".join(map(str, words)) for words in rows] for rows in (said, right))
    bleu = sacrebleu.corpus_bleu(texts, [answers], tokenize="none", force=True).score
    exact = np.mean([a == b for a, b in zip(said, right, strict=True)])
    placed = sum(a == b for ours, theirs in zip(said, right, strict=True) for a, b in zip(ours, theirs, strict=False))
    longer = sum(max(len(ours), len(theirs)) for ours, theirs in zip(said, right, strict=True))
    return Score(bleu, float(exact), placed / longer)


def parser(about: str, steps: int, seeds: int = 1) -> argparse.ArgumentParser:
    """What every toy study is asked with."""
    found = argparse.ArgumentParser("regard study NAME", description=about)
    found.add_argument("--to", type=Path, default=Path("docs/results"))
    found.add_argument("--steps", type=int, default=steps)
    found.add_argument("--seeds", type=int, default=seeds)
    return found


def circumstances(study: str, given: argparse.Namespace) -> dict[str, str | int]:
    """All that the numbers depend on besides the code; one thread, so that they come out the same again."""
    torch.set_num_threads(1)
    options = [(name, value) for name, value in vars(given).items() if name != "to"]
    spelt = [f"--{name} {' '.join(map(str, v)) if isinstance(v, list) else v}" for name, v in options]
    return {
        "command": " ".join([f"regard study {study}", *spelt]),
        "commit": commit(),
        "seeds": f"1 ... {given.seeds}" if given.seeds > 1 else "1",
        "threads": torch.get_num_threads(),
        **machine(),
    }


def machine() -> dict[str, str | int]:
    """What it ran on."""
    return {
        "cores": os.cpu_count() or 1,
        "processor": _processor(),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Rows as Markdown; numbers with one digit after the point."""
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for row in rows:
        lines.append("| " + " | ".join(f"{x:.1f}" if isinstance(x, float) else str(x) for x in row) + " |")
    return "\n".join(lines) + "\n"


def reached(what: str, value: float, goal: float, at_least: bool = True) -> str:
    """One line of a page: what was found, what was aimed at, and whether that is enough."""
    good = value >= goal if at_least else value <= goal
    sign = "≥" if at_least else "≤"
    return f"- {what}: {value:.2f} (goal {sign} {goal:g}): {'reached' if good else '**not reached**'}"


def mean_of(values: Sequence[float], digits: int = 1) -> str:
    """The mean, and the spread where there is more than one."""
    mean = f"{np.mean(values):.{digits}f}"
    return mean if len(values) < 2 else f"{mean} ± {spread(values):.{digits}f}"


def spread(values: Sequence[float]) -> float:
    """The standard deviation over seeds; 0 of a single one."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def write(to: Path, name: str, about: Mapping[str, object], found: Mapping[str, object], page: str) -> None:
    """The numbers and the page, with the circumstances in both."""
    to.mkdir(parents=True, exist_ok=True)
    (to / f"{name}.json").write_text(json.dumps({**about, **found}, indent=1) + "\n", encoding="utf-8")
    title, rest = page.split("\n", 1)
    lines = [f"- {key}: {f'`{value}`' if key == 'command' else value}" for key, value in about.items()]
    (to / f"{name}.md").write_text("\n".join([title, "", *lines]) + "\n" + rest, encoding="utf-8")


def figure_of(width: float, height: float) -> Figure:
    """An empty figure, in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def plain(*all_axes: Axes) -> None:
    """No frame above and to the right."""
    for axes in all_axes:
        axes.spines[["top", "right"]].set_visible(False)


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*:\s*(.+)", cpuinfo.read_text()) if cpuinfo.exists() else None
    return found[1].strip() if found else platform.processor() or platform.machine()
