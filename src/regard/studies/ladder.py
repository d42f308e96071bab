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

import sacrebleu

from regard.checkout import commit
from regard.models.settings import RecurrentModel
from regard.recipe import load
from regard.studies.trial import figure_of, machine, plain, reached, table, write
from regard.systems.translation import TranslationRecipe
from regard.tasks.parallel_text import ParallelText
from regard.train.folder import read_manifest
from regard.translate.translator import Translator

PUBLISHED = {  # test_2016 by a widely used tutorial (bentrevett/pytorch-seq2seq), on lower-case tokens
    "multi30k-de-en": {"attention": 28.11, "transformer": 36.52},
}
GOALS = {"multi30k-de-en": {"attention": 28.0, "transformer": 36.5}}
OVER_NONE, SURER = 5.0, 1.4
"""BLEU that attention is to add to a model without, and how many times lower its perplexity is to be."""
BUCKETS = ((1, 8), (9, 12), (13, 16), (17, 22), (23, 1000))  # source words


@dataclass(frozen=True)
class Rung:
    """One run on the ladder."""

    name: str
    kind: str
    seed: int
    parameters: int
    step: int
    """Of the model that is best on the validation set, which is what is scored ..."""
    steps: int
    """... of so many."""
    seconds: float
    """Of the clock, all sessions together."""
    perplexity: float
    """On the validation set, by pieces: comparable where the pieces are the same."""
    bleu: float
    chrf: float
    signature: str
    by_length: tuple[float | None, ...]


def climb(run: Path) -> Rung:
    """Translate a run's test text and score it."""
    recipe = load(run / "recipe.toml")
    assert isinstance(recipe, TranslationRecipe)
    translator, pairs = Translator.load(run), _tests(run)
    sources, right = [pair[1] for pair in pairs], [pair[2] for pair in pairs]
    said = [result.text for result in translator(sources)]
    metric = sacrebleu.BLEU(tokenize=recipe.data.scored, force=True)
    bleu = metric.corpus_score(said, [right]).score
    by_length = []
    for low, high in BUCKETS:
        rows = [i for i, source in enumerate(sources) if low <= len(source.split()) <= high]
        here = metric.corpus_score([said[i] for i in rows], [[right[i] for i in rows]]).score if rows else None
        by_length.append(here)
    manifest = read_manifest(run)
    return Rung(
        run.resolve().name,
        _kind(recipe),
        recipe.train.seed,
        sum(p.numel() for p in translator.model.parameters()),
        manifest["step"],
        recipe.train.steps,
        _seconds(run),
        manifest["measured"]["perplexity"],
        bleu,
        sacrebleu.corpus_chrf(said, [right], word_order=2).score,
        str(metric.get_signature()),
        tuple(by_length),
    )


def _tests(run: Path) -> list[tuple[int, str, str]]:
    """The number, source and reference of each line that was kept for the end."""
    return list(ParallelText.open(run).tests["test"])


def _kind(recipe: TranslationRecipe) -> str:
    if not isinstance(recipe.model, RecurrentModel):
        return "transformer"
    return "seq2seq" if recipe.model.attention == "none" else "attention"


def _seconds(run: Path) -> float:
    lines = (run / "times.jsonl").read_text(encoding="utf-8").split("\n")
    return float(json.loads([line for line in lines if line][-1])["seconds"])


def goals(rungs: Sequence[Rung], wanted: dict[str, float]) -> list[str]:
    """What was aimed at, a line each."""
    found = {rung.kind: rung for rung in rungs}
    lines = [reached(f"{kind} (BLEU)", found[kind].bleu, wanted[kind]) for kind in wanted if kind in found]
    if "attention" in found and "seq2seq" in found:
        seeing, blind = found["attention"], found["seq2seq"]
        lines.append(reached("attention over none (BLEU)", seeing.bleu - blind.bleu, OVER_NONE))
        lines.append(
            reached("perplexity without attention over that with it", blind.perplexity / seeing.perplexity, SURER)
        )
    return lines


def page(name: str, rungs: Sequence[Rung]) -> str:
    """The ladder in Markdown."""
    published = PUBLISHED.get(name, {})
    buckets = [f"{low}–{high if high < 1000 else ''} words" for low, high in BUCKETS]
    head = ["run", "seed", "weights", "best step", "minutes", "perplexity", "BLEU", "published", "chrF2++", *buckets]
    rows = [
        [
            rung.name, rung.seed, f"{rung.parameters:,}", f"{rung.step:,} of {rung.steps:,}",
            f"{rung.seconds / 60:.0f}", f"{rung.perplexity:.2f}", f"**{rung.bleu:.2f}**",
            f"{published[rung.kind]:.2f}" if rung.kind in published else "", rung.chrf,
            *("" if value is None else value for value in rung.by_length),
        ]
        for rung in rungs
    ]  # fmt: skip
    signatures = ", ".join(dict.fromkeys(f"`{rung.signature}`" for rung in rungs))
    about = (
        f"Each run's own test text, translated with its own search; BLEU by sacreBLEU, {signatures}. Perplexity is "
        "of pieces of the validation set, comparable where pieces are the same; minutes are of the clock."
    )
    if published:
        about += " The published scores are of lower-case tokens, so not quite the same thing."
    lines = [f"# {name}", "", about, "", *goals(rungs, GOALS.get(name, {})), ""]
    return "\n".join([*lines, f"![BLEU, and BLEU by length]({name}.png)", "", table(head, rows)])


def draw(rungs: Sequence[Rung], published: dict[str, float], path: Path) -> None:
    """BLEU as bars, the published ones as lines across them; and BLEU by length."""
    figure = figure_of(9, 3.6)
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
    plain(left, right)
    for axes in (left, right):
        axes.set_ylim(bottom=0)
    figure.savefig(path, dpi=130)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read runs, write the ladder."""
    parser = argparse.ArgumentParser("regard study ladder", description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--to", type=Path, default=Path("docs/results"))
    parser.add_argument("--name", default="ladder")
    given = parser.parse_args(arguments)
    names = " ".join(run.resolve().name for run in given.runs)
    about = {"command": f"regard study ladder --name {given.name} {names}", "commit": commit(), **machine()}
    rungs = []
    for run in given.runs:
        rungs.append(climb(run))
        print(rungs[-1], flush=True)
    write(given.to, given.name, about, {"rungs": [vars(rung) for rung in rungs]}, page(given.name, rungs))
    draw(rungs, PUBLISHED.get(given.name, {}), given.to / f"{given.name}.png")


if __name__ == "__main__":
    main()
