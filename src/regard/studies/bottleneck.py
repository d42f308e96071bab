"""The fixed-length bottleneck: how well a sentence is translated by its length, with and without attention.

Bahdanau et al. 2015, figure 2, on a toy language whose every answer is known. `python -m regard.studies.bottleneck
--to docs/results` trains GRU models with and without attention on short and on longer sentences, and tests them far
beyond; `--steps` and `--seeds` set the budget.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import sacrebleu
import torch

from regard.models.seq2seq import Seq2Seq
from regard.models.settings import RecurrentModel
from regard.tasks.toy import Language, ToyTranslation
from regard.train.fit import Fit, seed_of
from regard.train.optimise import optimiser
from regard.train.progress import Progress
from regard.train.settings import Train

TESTED = (5, 10, 15, 20, 25, 30, 40, 50, 60)
LANGUAGE = Language(words=60)


@dataclass(frozen=True)
class Curve:
    """One model: BLEU and exact share at each tested length."""

    attention: str
    trained_to: int
    width: int
    seed: int
    seconds: float
    bleu: tuple[float, ...]
    exact: tuple[float, ...]


def measured(attention: str, longest: int, width: int, steps: int, seed: int) -> Curve:
    """Train one model, then test it at every length."""
    torch.manual_seed(seed_of(seed))
    sizes = RecurrentModel(width=width, embedding=64, attention=attention, dropout=0.0, bidirectional=True)
    task = ToyTranslation(LANGUAGE, sizes, 3, longest, seed=seed)
    model, settings = task.build(), Train(rate=3e-3, schedule="linear", steps=steps, warmup=steps // 20, seed=seed)
    fit = Fit(task, model, {"model": optimiser(list(model.parameters()), settings)}, settings, Progress())
    start = time.monotonic()
    for _update, _ in zip(fit.updates(), range(steps), strict=False):
        pass
    model.eval()
    scores = [tested(task, model, length) for length in TESTED]
    bleu, exact = zip(*scores, strict=True)
    return Curve(attention, longest, width, seed, time.monotonic() - start, bleu, exact)


def tested(task: ToyTranslation, model: Seq2Seq, length: int) -> tuple[float, float]:
    """BLEU and exact share on sentences of this length."""
    sentences = task.language.sentences(100, length, length, 10_000 + length)
    said = task.said(model, sentences)
    texts = [" ".join(map(str, words)) for words in said]
    right = [" ".join(map(str, sentence.target)) for sentence in sentences]
    exact = float(np.mean([a == b for a, b in zip(texts, right, strict=True)]))
    return sacrebleu.corpus_bleu(texts, [right], tokenize="none", force=True).score, exact


def gap(curves: Sequence[Curve], length: int = 30) -> float:
    """BLEU with attention minus without at this length, of those trained up to it."""
    at = TESTED.index(length)
    means = {
        name: np.mean([c.bleu[at] for c in curves if c.attention == name and c.trained_to == length])
        for name in ("bahdanau", "none")
    }
    return float(means["bahdanau"] - means["none"])


def draw(curves: Sequence[Curve], path: Path) -> None:
    """BLEU against length, a line per model."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    for curve in curves:
        with_attention = curve.attention != "none"
        label = f"{'attention' if with_attention else 'none'}, trained to {curve.trained_to}, width {curve.width}"
        style = "-" if curve.trained_to == 30 else "--"
        axes.plot(
            TESTED, curve.bleu, style, color="#1d4ed8" if with_attention else "#b45309", marker=".", label=label
        )
    axes.set(xlabel="source words", ylabel="BLEU", title="The bottleneck: BLEU by length", ylim=(0, 102))
    axes.legend(frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)


def page(curves: Sequence[Curve], command: str) -> str:
    """The table in Markdown."""
    head = ["attention", "trained to", "width", "seed", *(str(length) for length in TESTED)]
    lines = ["# BLEU by length, with and without attention", "", f"`{command}`", ""]
    lines += ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for curve in curves:
        cells = [
            curve.attention,
            curve.trained_to,
            curve.width,
            curve.seed,
            *(f"{value:.1f}" for value in curve.bleu),
        ]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join([*lines, "", f"Gap at length 30, trained to 30: {gap(curves):.1f} BLEU.", ""])


def main(arguments: Sequence[str] | None = None) -> None:
    """Train all, write table, numbers and figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=Path("docs/results"))
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--widths", type=int, nargs="+", default=[128])
    given = parser.parse_args(arguments)
    curves = []
    for seed in range(1, given.seeds + 1):
        for width in given.widths:
            for longest in (20, 30):
                for attention in ("bahdanau", "none"):
                    curves.append(measured(attention, longest, width, given.steps, seed))
                    print(curves[-1], flush=True)
    given.to.mkdir(parents=True, exist_ok=True)
    command = f"python -m regard.studies.bottleneck --steps {given.steps} --seeds {given.seeds} --widths "
    command += " ".join(map(str, given.widths))
    found = {"command": command, "gap at 30": gap(curves), "curves": [asdict(curve) for curve in curves]}
    (given.to / "bottleneck.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (given.to / "bottleneck.md").write_text(page(curves, command), encoding="utf-8")
    draw(curves, given.to / "bottleneck.png")


if __name__ == "__main__":
    main()
