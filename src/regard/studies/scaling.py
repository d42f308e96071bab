"""Large runs worked out before anybody pays for them: data, memory by rank, operations, traffic and saves.

`regard study scaling --to docs` counts the shipped recipes' models on tensors without contents and writes
the tables of scaling.md between its markers; what stands outside them is written by hand.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.models.build import build_model
from regard.recipe import load
from regard.studies.dry_run import DryRun, without_contents
from regard.systems.translation import TranslationRecipe
from regard.train.settings import Train

RECIPES = ("transformer-base", "transformer-big", "deep-encoder")
LENGTH = 30  # tokens of a side, about WMT14's mean
FEW, MANY = 26, 52  # rows of the two dry runs; costs are a straight line through them
FLOAT = 4  # bytes of a weight, a gradient and each of Adam's two moments
WRITTEN = 1e9  # bytes a second to the disk, and through SHA-256 on one core
TRAFFIC = 0.1  # share of an update's time that may go into summing gradients


@dataclass(frozen=True)
class Text:
    """Parallel text: pairs, and mean pieces of each side."""

    name: str
    pairs: int
    source: int
    target: int

    @property
    def ids(self) -> int:
        """Bytes of the pieces, two each: no vocabulary here has more than 65 536."""
        return 2 * self.pairs * (self.source + self.target)

    @property
    def places(self) -> int:
        """Bytes of where each side begins and of each pair's line."""
        return 8 * (2 * (self.pairs + 1) + self.pairs)


GERMAN, FRENCH = Text("4.5 M (en-de)", 4_500_000, 29, 30), Text("40 M (en-fr)", 40_000_000, 29, 33)


@dataclass(frozen=True)
class Model:
    """A recipe's model: what it weighs, and what a batch adds, in bytes, by a straight line."""

    name: str
    train: Train
    weights: int
    tensors: int
    optimiser: int
    gathered: int
    """Weights that are whole while the rest are split: the tables, and two blocks."""
    kept: float
    """Bytes kept for the backward pass for each token of a side, and of the other with it."""
    kept_always: float
    """And those kept whatever the batch: weights in bfloat16, the gradient of the output."""
    batch: float
    """Bytes alive in the forward pass beyond weights and optimiser, for each token."""
    batch_always: float
    peak: int
    """Bytes alive at once in a whole update of the larger dry run."""
    products: int
    """Operations with weights for each pair of tokens."""
    attention: int
    """Operations of attention for each, at this study's length."""

    def beyond(self, tokens: float) -> float:
        """What an update needs beyond weights and optimiser, with so many tokens of each side."""
        return self.batch_always + self.batch * tokens

    def held(self, ranks: int, shard: str) -> float:
        """Bytes of weights, gradients and moments on each rank."""
        whole = FLOAT * self.weights
        part = whole / ranks
        if shard == "no" or ranks == 1:
            return whole + whole + self.optimiser
        if shard == "all":
            return FLOAT * self.gathered + part + part + self.optimiser / ranks
        gradients = whole if shard == "optimiser" else part
        return whole + part + gradients + self.optimiser / ranks  # the parts are kept beside what is gathered of them


@dataclass(frozen=True)
class Run:
    """A run on so many accelerators, to be done in so many hours."""

    text: Text
    recipe: str
    ranks: int
    batch: int
    """Tokens of a side in one batch; a rank has one at a time."""
    accumulate: int
    steps: int
    rate: float
    hours: float

    @property
    def update(self) -> int:
        """Tokens of each side in an update."""
        return self.batch * self.accumulate

    @property
    def seconds(self) -> float:
        """Of one update."""
        return 3600 * self.hours / self.steps


RUNS = (
    Run(GERMAN, "transformer-base", 8, 3125, 8, 100_000, 7e-4, 4),
    Run(GERMAN, "transformer-base", 64, 1600, 64, 25_000, 1e-3, 1),
    Run(GERMAN, "transformer-big", 8, 3125, 8, 300_000, 5e-4, 24),
    Run(GERMAN, "transformer-big", 64, 6250, 64, 18_750, 1e-3, 4),
    Run(FRENCH, "transformer-big", 8, 6250, 64, 18_750, 1e-3, 24),
    Run(FRENCH, "transformer-big", 64, 6250, 64, 18_750, 1e-3, 4),
)


def counted(name: str) -> Model:
    """The model of a recipe, by dry runs of two sizes in bfloat16."""
    recipe = load(name)
    assert isinstance(recipe, TranslationRecipe)
    with without_contents():
        model = build_model(recipe.model, recipe.data.pieces, recipe.data.pieces)
        dry = DryRun(model, recipe.train, half=True)
        few, whole = dry.forward(FEW, LENGTH), dry.update(MANY, LENGTH)
        blocks = [sum(parameter.numel() for parameter in block.parameters()) for block in model.blocks()]
    many, tokens = whole.forward, MANY * LENGTH
    more = (MANY - FEW) * LENGTH
    kept, batch = (many.kept - few.kept) / more, (many.peak - few.peak) / more
    return Model(
        name, recipe.train, whole.weights, whole.tensors, whole.optimiser,
        whole.weights - sum(blocks) + 2 * max(blocks),
        kept, many.kept - kept * tokens,
        batch, many.peak - FLOAT * whole.weights - whole.optimiser - batch * tokens,
        whole.peak, whole.products // tokens, whole.attention // tokens,
    )  # fmt: skip


def models_table(models: Mapping[str, Model]) -> str:
    """What each model weighs and costs for a token of each side."""
    head = "recipe | weights | tensors | weights and gradients, each | Adam | kept for a token | kept always | "
    rows = [
        [
            m.name, f"{m.weights:,}", m.tensors, _bytes(FLOAT * m.weights), _bytes(m.optimiser), _bytes(m.kept),
            _bytes(m.kept_always), *(f"{n / 1e6:,.1f} M" for n in (m.products, 6 * m.weights, m.attention)),
        ]
        for m in models.values()
    ]  # fmt: skip
    return _table(head + "operations for a token | 6 × weights | of attention", rows)


def memory_table(models: Mapping[str, Model]) -> str:
    """Bytes on each rank, by what is split."""
    rows = []
    for m in models.values():
        update = m.train.batch_tokens * m.train.accumulate
        shapes = [(1, update), (8, update // 8), (64, update // 64)]
        shapes += [(run.ranks, run.batch) for run in RUNS if run.recipe == m.name]
        for ranks, tokens in sorted(set(shapes)):
            batch = m.beyond(tokens)
            sums = [_bytes(m.held(ranks, shard) + batch) for shard in ("no", "optimiser", "gradients", "all")]
            rows.append([m.name, ranks, f"{tokens:,}", _bytes(batch), sums[0], *(sums[1:] if ranks > 1 else "–––")])
    return _table("recipe | ranks | tokens on a rank | batch | no | optimiser | gradients | all", rows)


def check_table(models: Mapping[str, Model]) -> str:
    """The sum of the parts beside a whole update."""
    tokens = MANY * LENGTH
    rows = [
        [m.name, f"{tokens:,}", _bytes(m.peak), _bytes(m.held(1, "no") + m.beyond(tokens))] for m in models.values()
    ]
    return _table("recipe | tokens | whole update, dry run | weights, gradients, Adam and batch, summed", rows)


def data_table(texts: Sequence[Text]) -> str:
    """Bytes of text as numbers."""
    rows = [
        [t.name, f"{t.source} + {t.target}", *map(_bytes, (t.ids, t.places, t.ids + t.places, 8 * t.pairs))]
        for t in texts
    ]
    return _table("pairs | pieces a pair | pieces on disk | places and lines | together | lengths in memory", rows)


def runs_table(models: Mapping[str, Model]) -> str:
    """What must be reached for a run to be done in its hours."""
    head = "pairs | recipe | ranks | `batch_tokens` × `accumulate` | rate | steps | epochs | hours | operations | "
    rows = []
    for run in RUNS:
        model = models[run.recipe]
        work = (model.products + model.attention) * run.update * run.steps
        speed, sent = run.update / run.seconds, 2 * (run.ranks - 1) / run.ranks * FLOAT * model.weights
        rows.append([
            run.text.name, run.recipe, run.ranks, f"{run.batch:,} × {run.accumulate}", f"{run.rate:g}",
            f"{run.steps:,}", f"{run.update * run.steps / (run.text.pairs * run.text.target):.1f}", f"{run.hours:g}",
            f"{work:.1e}", f"{speed:,.0f}", f"{speed / run.ranks:,.0f}",
            f"{work / (3600 * run.hours) / run.ranks / 1e12:.1f}", _bytes(sent),
            f"{sent / (TRAFFIC * run.seconds) / 1e9:.1f}",
        ])  # fmt: skip
    return _table(head + "tokens/s | on a rank | TFLOP/s on a rank | sent by a rank | GB/s for that", rows)


def saves_table(models: Mapping[str, Model]) -> str:
    """Bytes of saves, and how long each takes."""
    rows = []
    for m in models.values():
        weights = FLOAT * m.weights
        one, most = weights + m.optimiser, on_disk(weights, m.optimiser, m.train)
        rows.append([m.name, *map(_bytes, (weights, m.optimiser, one, most)), f"{2 * one / WRITTEN:.1f}"])
    return _table("recipe | weights | optimiser | one save | saves and models, at most | seconds a save", rows)


def on_disk(weights: int, optimiser: int, train: Train) -> int:
    """Bytes of a run's saves and models: one more of each than are kept, while one is written."""
    means = max(0, train.average - train.keep)
    return (train.keep + 1) * (weights + optimiser) + means * weights + 2 * weights


def tables() -> dict[str, str]:
    """Every table of the page, by the name in its marker."""
    models = {name: counted(name) for name in RECIPES}
    return {
        "models": models_table(models),
        "data": data_table((GERMAN, FRENCH)),
        "memory": memory_table(models),
        "check": check_table(models),
        "runs": runs_table(models),
        "saves": saves_table(models),
    }


def filled(page: str, made: Mapping[str, str]) -> str:
    """The page with every table between its markers; ValueError where one has no place."""
    for name, table in made.items():
        before, begin, rest = page.partition(f"<!-- table: {name} -->\n")
        _, end, after = rest.partition(f"<!-- end: {name} -->")
        if not end or begin in after:
            raise ValueError(
                f"the page has not one place for the table '{name}'; write <!-- table: {name} --> and "
                f"<!-- end: {name} --> once, each on its line"
            )
        page = f"{before}{begin}{table}{end}{after}"
    return page


def _table(head: str, rows: Iterable[Sequence[object]]) -> str:
    lines = ["| " + " | ".join(map(str, cells)) + " |" for cells in rows]
    return "\n".join([f"| {head} |", "|---" * (head.count("|") + 1) + "|", *lines]) + "\n"


def _bytes(count: float) -> str:
    """Bytes with three digits."""
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= 0.9995 * unit:
            digits = 2 if count < 9.995 * unit else 1 if count < 99.95 * unit else 0
            return f"{count / unit:,.{digits}f} {name}"
    return f"{count:.0f} B"


def main(arguments: Sequence[str] | None = None) -> None:
    """Count, and write the tables into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=None, help="the folder of scaling.md; without it, print")
    given = parser.parse_args(arguments)
    made = tables()
    if given.to is None:
        print("\n".join(made.values()))
        return
    page = given.to / "scaling.md"
    page.write_text(filled(page.read_text(encoding="utf-8"), made), encoding="utf-8")


if __name__ == "__main__":
    main()
