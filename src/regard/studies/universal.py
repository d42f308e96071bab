"""One layer again and again against layers of their own, at twice the length; and what thought costs.

`python -m regard.studies.universal --to docs/results`. Both are given the same examples, steps and rate. The
Transformer comes in two sizes: as wide, with weights for each layer, and with as many weights in all.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch

from regard.models.labeller import Labeller
from regard.recipe import load, with_overrides
from regard.studies.trial import (
    BLUE,
    GREY,
    ORANGE,
    circumstances,
    figure_of,
    mean_of,
    parser,
    plain,
    reached,
    stepping,
    table,
    write,
)
from regard.systems.labelling import LabelRecipe
from regard.systems.system import Here
from regard.tasks.labelling import Labelling, scored
from regard.train.fit import Fit, seed_of
from regard.train.optimise import optimiser
from regard.train.progress import Progress

PROBLEMS = {
    "switch": "Lamps, each with a switch that turns it and all that follow: which are lit? The share of right ones",
    "sum": "Sums of two binary numbers, many of whose columns hand on a carry: the share of right digits",
}
TITLES = {"switch": "Lamps", "sum": "Sums"}
RIVALS = {
    "Universal Transformer": "universal-{}",
    "Transformer, as deep and wide": "layers-{}",
    "Transformer, as many weights": "layers-{}-small",
}
LONGEST = 20
COLOURS = (ORANGE, BLUE, GREY)
PRICES = (0.0, 0.001, 0.01, 0.03, 0.1)
PAPER = {"Universal Transformer": "0.34", "Transformer, as deep and wide": "0.07"}
"""Dehghani et al. 2019, table 3: decimal digits of sums at ten times the length, 400 for 40. Lamps are not theirs."""


@dataclass(frozen=True)
class Run:
    """One model, trained: how many weights, how long it took, and what it can do."""

    task: Labelling
    model: Labeller
    weights: int
    seconds: float


def trained(recipe: LabelRecipe) -> Run:
    """A recipe's model, trained from its seed in one go."""
    torch.manual_seed(seed_of(recipe.train.seed))
    task = recipe.make(Here())
    model = task.build()
    weights = sum(weight.numel() for weight in model.parameters())
    fit = Fit(task, model, {"model": optimiser(list(model.parameters()), recipe.train)}, recipe.train, Progress())
    start = time.process_time()
    for _ in stepping(fit, recipe.train.steps, f"{weights:,} weights, seed {recipe.train.seed}"):
        pass
    return Run(task, model.eval(), weights, time.process_time() - start)


def recipe_of(name: str, seed: int, steps: int, options: Sequence[str] = ()) -> LabelRecipe:
    """A shipped recipe with another seed, and fewer steps where so many are wanted."""
    found = load(name)
    changed = ["--train.seed", str(seed), *(["--train.steps", str(steps)] if steps else []), *options]
    recipe = with_overrides(found, changed)
    assert isinstance(recipe, LabelRecipe)
    return recipe


@torch.no_grad()
def by_length(run: Run, count: int) -> dict[int, float]:
    """The share of right answers at every size that is measured."""
    sizes = run.task.sizes.measured
    return {size: scored(run.model, run.task.held_out(size, count))["right"] for size in sizes}


def rivals(problem: str, seeds: int, steps: int, count: int) -> dict[str, Any]:
    """Every model, every seed: right answers by length."""
    found: dict[str, Any] = {}
    for name, form in RIVALS.items():
        recipe = form.format(problem)
        runs = [trained(recipe_of(recipe, seed, steps)) for seed in range(1, seeds + 1)]
        lengths = [by_length(run, count) for run in runs]
        found[name] = {
            "recipe": recipe,
            "weights": runs[0].weights,
            "seconds": [round(run.seconds, 1) for run in runs],
            "right": {str(size): [one[size] for one in lengths] for size in lengths[0]},
        }
        print(problem, name, found[name]["right"], flush=True)
    return found


def priced(steps: int) -> dict[str, Any]:
    """What a price on thought does: mean steps, where a question is asked and everywhere, and right answers."""
    found = {}
    for price in PRICES:
        run = trained(recipe_of("stories", 1, steps, ["--model.price", str(price)]))
        with torch.no_grad():
            found[str(price)] = run.task.final(run.model)
        print(price, found[str(price)], flush=True)
    return found


def page(found: Mapping[str, Mapping[str, Any]], thought: Mapping[str, Any]) -> str:
    """What was found, in Markdown."""
    lines = ["# One layer again and again, or layers of their own", ""]
    for problem, models in found.items():
        lines += _problem_page(problem, models)
    lines += ["![by length](universal.png)", "", *_priced_page(thought)]
    return "\n".join(lines) + "\n"


def _problem_page(problem: str, models: Mapping[str, Any]) -> list[str]:
    sizes = list(next(iter(models.values()))["right"])
    paper = PAPER if problem == "sum" else {}
    rows: list[list[object]] = [
        [
            name,
            f"{one['weights']:,}",
            *(mean_of([100 * x for x in one["right"][size]]) for size in sizes),
            *([paper.get(name, "")] if paper else []),
        ]
        for name, one in models.items()
    ]
    means = [100 * float(np.mean(one["right"][sizes[-1]])) for one in models.values()]
    head = ["", "weights", *(f"n = {size}" for size in sizes), *(["paper, ten times the length"] if paper else [])]
    return [
        f"{PROBLEMS[problem]} in %, by length; trained on up to {LONGEST}.", "", table(head, rows),
        reached(f"points over the better Transformer at n = {sizes[-1]}", means[0] - max(means[1:]), 10), "",
    ]  # fmt: skip


def _priced_page(thought: Mapping[str, Any]) -> list[str]:
    if not thought:
        return []
    names = [name for name in next(iter(thought.values())) if name.startswith("facts=")]
    rows: list[list[object]] = []
    for price, scores in thought.items():
        steps = [f"{scores[name]['steps where asked']:.2f}" for name in names]
        right = [f"{100 * scores[name]['right']:.1f}" for name in names]
        correlation = f"{scores['steps and hardness']['rank correlation']:.2f}"
        rows.append([price, *steps, *right, correlation])
    head = [
        "price τ",
        *(f"steps, {name}" for name in names),
        *(f"right %, {name}" for name in names),
        "rank correlation",
    ]
    means = [float(np.mean([one[name]["steps where asked"] for name in names])) for one in thought.values()]
    falls = all(a >= b for a, b in pairwise(means))
    return [
        "## What thought costs", "",
        "Stories of one, two and three facts; steps at the question. Paper: 2.3, 3.1 and 3.8 steps.", "",
        table(head, rows),
        f"- a larger price lowers the mean number of steps ({', '.join(f'{m:.2f}' for m in means)}): "
        f"{'reached' if falls else '**not reached**'}", "",
    ]  # fmt: skip


def drawn(found: Mapping[str, Mapping[str, Any]], file: Path) -> None:
    """Right answers by length: a panel for each problem, a line for each model, a point for each seed."""
    figure = figure_of(5.5 * len(found), 4)
    for axes, (problem, models) in zip(figure.subplots(1, len(found), squeeze=False)[0], found.items(), strict=True):
        for (name, one), colour in zip(models.items(), COLOURS, strict=True):
            sizes = [int(size) for size in one["right"]]
            rows = 100 * np.array(list(one["right"].values()))
            axes.plot(sizes, rows.mean(1), color=colour, label=f"{name} ({one['weights']:,})")
            for column in rows.T:
                axes.plot(sizes, column, ".", color=colour)
        axes.set(title=TITLES[problem], xlabel="length", ylabel="right, %", ylim=(0, 102))
        axes.axvline(LONGEST, color="#cccccc", linewidth=1, zorder=0)
        words = {"fontsize": 8, "color": "#888888", "xytext": (4, 0), "textcoords": "offset points"}
        axes.annotate("longest in training", (LONGEST, 24), **words)
        axes.legend(frameon=False, fontsize=8, loc="lower left")
        plain(axes)
    figure.savefig(file, dpi=130)


def main(arguments: Sequence[str] | None = None) -> None:
    """Train all, and write universal.json, universal.md and universal.png."""
    asks: argparse.ArgumentParser = parser(__doc__ or "", steps=0, seeds=3)
    asks.add_argument("--count", type=int, default=500)
    asks.add_argument("--prices", type=int, default=1, help="0: leave out what thought costs")
    given = asks.parse_args(arguments)
    about = circumstances("universal", given)
    found = {problem: rivals(problem, given.seeds, given.steps, given.count) for problem in PROBLEMS}
    thought = priced(given.steps) if given.prices else {}
    write(given.to, "universal", about, {"rivals": found, "prices": thought}, page(found, thought))
    drawn(found, given.to / "universal.png")


if __name__ == "__main__":
    main()
