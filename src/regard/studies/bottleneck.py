"""The fixed-length bottleneck: how well a sentence is translated by its length, with and without attention.

Bahdanau et al. 2015, figure 2, on a toy language whose every answer is known. `regard study bottleneck
--to docs/results` trains GRU models with and without attention on short and on longer sentences, and tests them far
beyond; then models without attention of other widths, as the width is all that such a model remembers a source by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from regard.models.settings import RecurrentModel
from regard.studies.trial import (
    BLUE,
    GREY,
    ORANGE,
    circumstances,
    figure_of,
    parser,
    plain,
    reached,
    score,
    table,
    train,
    write,
)
from regard.tasks.toy import Language, ToyTranslation

TESTED = (5, 10, 15, 20, 25, 30, 40, 50, 60)
LANGUAGE = Language(words=30)
WIDTH = 64


@dataclass(frozen=True)
class Curve:
    """One model: BLEU and exact share at each tested length."""

    attention: str
    trained_to: int
    width: int
    seed: int
    parameters: int
    seconds: float
    bleu: tuple[float, ...]
    exact: tuple[float, ...]

    @property
    def within(self) -> tuple[float, ...]:
        """BLEU at lengths it was trained on."""
        return tuple(b for length, b in zip(TESTED, self.bleu, strict=True) if length <= self.trained_to)


def measured(attention: str, longest: int, width: int, steps: int, seed: int) -> Curve:
    """Train one model, then test it at every length."""
    sizes = RecurrentModel(width=width, embedding=32, attention=attention, dropout=0.0)
    task = ToyTranslation(LANGUAGE, sizes, 3, longest, seed=seed)
    trained = train(task, steps)
    scores = [score(task, trained.model, LANGUAGE.sentences(100, n, n, 10_000 + n)) for n in TESTED]
    bleu, exact = tuple(s.bleu for s in scores), tuple(s.exact for s in scores)
    return Curve(attention, longest, width, seed, trained.parameters, trained.seconds, bleu, exact)


def gap(curves: Sequence[Curve], length: int = 30) -> float:
    """BLEU with attention minus without at this length, of those of one width trained up to it."""
    at = TESTED.index(length)
    means = {
        name: np.mean([c.bleu[at] for c in curves if (c.attention, c.trained_to, c.width) == (name, length, WIDTH)])
        for name in ("bahdanau", "none")
    }
    return float(means["bahdanau"] - means["none"])


def sag(curves: Sequence[Curve]) -> float:
    """How far attention falls from its best, at worst, at lengths it was trained on."""
    return max(max(c.within) - min(c.within) for c in curves if c.attention != "none")


def draw(curves: Sequence[Curve], path: Path) -> None:
    """BLEU against length: with and without attention; and without, by width."""
    figure = figure_of(10, 3.8)
    left, right = figure.subplots(1, 2, sharey=True)
    for curve in (c for c in curves if c.seed == 1 and c.width == WIDTH):
        seeing = curve.attention != "none"
        label = f"{'attention' if seeing else 'no attention'}, trained to {curve.trained_to}"
        style = "-" if curve.trained_to == 30 else "--"
        left.plot(TESTED, curve.bleu, style, color=BLUE if seeing else ORANGE, marker=".", label=label)
    blind = sorted((c for c in curves if (c.seed, c.attention, c.trained_to) == (1, "none", 30)), key=_width)
    for place, curve in enumerate(blind):
        strength = 0.35 + 0.65 * (place + 1) / len(blind)
        right.plot(TESTED, curve.bleu, color=ORANGE, alpha=strength, marker=".", label=f"{curve.width} units")
    left.set(xlabel="source words", ylabel="BLEU", title=f"With and without attention, {WIDTH} units", ylim=(0, 103))
    right.set(xlabel="source words", title="No attention, trained to 30, by width")
    left.axvline(20, color=GREY, linewidth=0.7, linestyle=":")
    for axes in (left, right):
        axes.axvline(30, color=GREY, linewidth=0.7, linestyle=":")
        axes.legend(frameon=False, fontsize=8)
    plain(left, right)
    figure.savefig(path, dpi=130)


def _width(curve: Curve) -> int:
    return curve.width


def page(curves: Sequence[Curve], steps: int) -> str:
    """What was done, what was found, and the table, in Markdown."""
    head = ["attention", "trained to", "units", "seed", "weights", "seconds", *(str(length) for length in TESTED)]
    rows = [
        [c.attention, c.trained_to, c.width, c.seed, f"{c.parameters:,}", f"{c.seconds:.0f}", *c.bleu] for c in curves
    ]
    exact = [[c.attention, c.trained_to, c.width, c.seed, *(100 * e for e in c.exact)] for c in curves]
    goals = [
        reached("gap at length 30, trained to 30 (BLEU)", gap(curves), 30),
        reached("attention's fall from its best up to the trained length (BLEU)", sag(curves), 5, at_least=False),
    ]
    return "\n".join(
        [
            "# BLEU by length, with and without attention",
            "",
            f"A toy language of {LANGUAGE.words} words, each translated by a fixed dictionary, an adjective going "
            f"behind the word that follows it. GRU models read both ways; all are trained for {steps:,} updates of "
            "64 fresh sentences of 3 words up to 20 or 30, and translate 100 sentences of each length greedily. "
            "Seconds are of processor time, for training. Bahdanau et al. 2015, figure 2, show the same shape: "
            "without attention BLEU falls with length, with it the curve stays flat as far as it was trained.",
            "",
            *goals,
            "",
            "![BLEU by length](bottleneck.png)",
            "",
            "BLEU:",
            "",
            table(head, rows),
            "Sentences said exactly, in percent:",
            "",
            table([*head[:4], *head[6:]], exact),
        ]
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Train all, write table, numbers and figure."""
    asked = parser(str(__doc__), steps=1200)
    asked.add_argument("--widths", type=int, nargs="*", default=[32, 128, 256])
    given = asked.parse_args(arguments)
    about = circumstances("bottleneck", given)
    wanted = [(name, longest, WIDTH) for longest in (30, 20) for name in ("bahdanau", "none")]
    wanted += [("none", 30, width) for width in given.widths]
    curves = []
    for seed in range(1, given.seeds + 1):
        for attention, longest, width in wanted:
            curves.append(measured(attention, longest, width, given.steps, seed))
            print(curves[-1], flush=True)
    found = {
        "gap at 30": gap(curves),
        "sag of attention": sag(curves),
        "tested": TESTED,
        "curves": [asdict(c) for c in curves],
    }
    write(given.to, "bottleneck", about, found, page(curves, given.steps))
    draw(curves, given.to / "bottleneck.png")


if __name__ == "__main__":
    main()
