"""A ladder of runs: their scores side by side, beside published ones, by length, as table and figure.

`regard study ladder --to docs/results --name multi30k-de-en RUN ...`, from the lowest rung up. Each run
has been trained by `regard train`; its test text is translated here once more, with its own search.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sacrebleu

from regard.models.settings import RecurrentModel
from regard.recipe import load
from regard.systems.translation import TranslationRecipe
from regard.tasks.parallel_text import ParallelText
from regard.translate.translator import Translator

PUBLISHED = {  # Multi30k de-en, test_2016, of a widely used tutorial (bentrevett/pytorch-seq2seq)
    "multi30k-de-en": {"seq2seq": 14.0, "attention": 28.11, "transformer": 36.52},
}
BUCKETS = ((1, 8), (9, 12), (13, 16), (17, 22), (23, 1000))  # source words


@dataclass(frozen=True)
class Rung:
    """One run on the ladder."""

    name: str
    kind: str
    parameters: int
    step: int
    seconds: float
    bleu: float
    chrf: float
    signature: str
    by_length: tuple[float | None, ...]


def climb(run: Path) -> Rung:
    """Translate a run's test text and score it."""
    recipe = load(run / "recipe.toml")
    assert isinstance(recipe, TranslationRecipe)
    text, translator = ParallelText.open(run), Translator.load(run)
    pairs = text.tests["test"]
    sources, right = [pair[1] for pair in pairs], [pair[2] for pair in pairs]
    said = [result.text for result in translator(sources)]
    metric = sacrebleu.BLEU(tokenize=recipe.data.scored, force=True)
    bleu = metric.corpus_score(said, [right]).score
    by_length = []
    for low, high in BUCKETS:
        rows = [i for i, source in enumerate(sources) if low <= len(source.split()) <= high]
        here = metric.corpus_score([said[i] for i in rows], [[right[i] for i in rows]]).score if rows else None
        by_length.append(here)
    return Rung(
        run.resolve().name,
        _kind(recipe),
        sum(p.numel() for p in translator.model.parameters()),
        json.loads((run / "manifest.json").read_text(encoding="utf-8"))["step"],
        _seconds(run),
        bleu,
        sacrebleu.corpus_chrf(said, [right], word_order=2).score,
        str(metric.get_signature()),
        tuple(by_length),
    )


def _kind(recipe: TranslationRecipe) -> str:
    if not isinstance(recipe.model, RecurrentModel):
        return "transformer"
    return "seq2seq" if recipe.model.attention == "none" else "attention"


def _seconds(run: Path) -> float:
    lines = (run / "times.jsonl").read_text(encoding="utf-8").split("\n")
    return float(json.loads([line for line in lines if line][-1])["seconds"])


def table(rungs: Sequence[Rung], published: dict[str, float]) -> str:
    """The ladder in Markdown."""
    buckets = [f"{low}–{high if high < 1000 else ''}" for low, high in BUCKETS]
    head = [
        "run",
        "weights",
        "best step",
        "minutes",
        "BLEU",
        "published",
        "chrF2++",
        *(f"{b} words" for b in buckets),
    ]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for rung in rungs:
        cells = [
            rung.name,
            f"{rung.parameters:,}",
            f"{rung.step:,}",
            f"{rung.seconds / 60:.0f}",
            f"**{rung.bleu:.2f}**",
        ]
        cells += [f"{published[rung.kind]:.2f}" if rung.kind in published else "", f"{rung.chrf:.1f}"]
        cells += ["" if value is None else f"{value:.1f}" for value in rung.by_length]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def draw(rungs: Sequence[Rung], published: dict[str, float], path: Path) -> None:
    """BLEU as bars, the published ones as lines across them; and BLEU by length."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for place, rung in enumerate(rungs):
        left.bar(place, rung.bleu, color="#1d4ed8", width=0.6)
        left.annotate(f"{rung.bleu:.1f}", (place, rung.bleu), ha="center", va="bottom")
        if rung.kind in published:
            left.plot([place - 0.38, place + 0.38], [published[rung.kind]] * 2, color="#b45309", linewidth=2)
        shown = [(i, value) for i, value in enumerate(rung.by_length) if value is not None]
        right.plot(*zip(*shown, strict=True), marker="o", label=rung.name)
    left.set_xticks(range(len(rungs)), [rung.name for rung in rungs], rotation=12)
    left.set(ylabel="BLEU (test)", title="ours (bars), published (lines)")
    right.set_xticks(range(len(BUCKETS)), [f"{low}–{high if high < 1000 else ''}" for low, high in BUCKETS])
    right.set(xlabel="source words", title="BLEU by length")
    right.legend(frameon=False)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_ylim(bottom=0)
    figure.savefig(path, dpi=130)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read runs, write the ladder."""
    parser = argparse.ArgumentParser("regard study ladder", description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--to", type=Path, default=Path("docs/results"))
    parser.add_argument("--name", default="ladder")
    given = parser.parse_args(arguments)
    rungs, published = [climb(run) for run in given.runs], PUBLISHED.get(given.name, {})
    given.to.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {"rungs": [vars(rung) for rung in rungs], "published": published}
    (given.to / f"{given.name}.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (given.to / f"{given.name}.md").write_text(f"# {given.name}\n\n{table(rungs, published)}", encoding="utf-8")
    draw(rungs, published, given.to / f"{given.name}.png")
    print(table(rungs, published))


if __name__ == "__main__":
    main()
