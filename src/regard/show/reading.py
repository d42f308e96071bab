"""Words and what was looked back at, and the tree of a stack of dilated convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

RED, BLUE, GREY = "#d1495b", "#2a78b5", "#9aa0a6"
LETTER = 0.7  # of a label's width, in units of the axes


def links(axes: Any, words: Sequence[str], weights: Sequence[np.ndarray], lines: int) -> None:
    """A line for each of the last `lines` words: the word in red, those before it the bluer the more they were seen.

    Cheng et al. 2016, figure 1. `weights[i]` are those of word i on the words before it.
    """
    shown = range(max(1, len(words) - lines), len(words))
    for row, now in enumerate(shown):
        place = 0.0
        for at, word in enumerate(words[: now + 1]):
            seen = float(weights[now][at]) if at < now else 0.0
            axes.text(
                place, -row, word, fontsize=8, va="center", color=RED if at == now else "black",
                bbox={"boxstyle": "round,pad=0.15", "fc": BLUE, "alpha": min(1.0, seen) * 0.75, "ec": "none"},
            )  # fmt: skip
            place += LETTER * (len(word) + 1.5)
    widest = LETTER * sum(len(word) + 1.5 for word in words)
    axes.set(xlim=(-1, widest), ylim=(-len(shown), 1))
    axes.axis("off")


def map_of(axes: Any, words: Sequence[str], weights: Sequence[np.ndarray], title: str) -> None:
    """The same as a table: a row for each word, a column for each word before it."""
    table = np.full((len(words), len(words)), np.nan)
    for now, row in enumerate(weights):
        table[now, : len(row)] = row
    axes.imshow(table, cmap="Blues", vmin=0, vmax=1, interpolation="nearest")
    axes.set_xticks(range(len(words)), words, rotation=90, fontsize=6)
    axes.set_yticks(range(len(words)), words, fontsize=6)
    axes.set_title(title, fontsize=9, loc="left")


def surprises(axes: Any, words: Sequence[str], bits: np.ndarray, title: str) -> None:
    """How many bits of surprise each word was."""
    axes.bar(range(len(words)), bits, color=BLUE)
    axes.set_xticks(range(len(words)), words, rotation=90, fontsize=6)
    axes.set(ylabel="bits")
    axes.set_title(title, fontsize=9, loc="left")


def tree(axes: Any, kernel: int, dilations: Sequence[int], steps: int, title: str) -> None:
    """What the last output is made of, layer by layer: red is seen, grey is not."""
    seen = {steps - 1}
    for layer in range(len(dilations), 0, -1):
        gap, below = dilations[layer - 1], set()
        for at in range(steps):
            for back in range(kernel):
                before = at - back * gap
                if before >= 0:
                    hot = at in seen
                    axes.plot(
                        [before, at], [layer - 1, layer], color=RED if hot else GREY, lw=1.2 if hot else 0.25,
                        zorder=2 if hot else 1,
                    )  # fmt: skip
                    below |= {before} if hot else set()
        axes.scatter(range(steps), [layer] * steps, s=10, color=[RED if at in seen else GREY for at in range(steps)])
        seen = below
    axes.scatter(
        range(steps), [0] * steps, s=10, color=[RED if at in seen else GREY for at in range(steps)], zorder=3
    )
    axes.set_yticks(range(len(dilations) + 1), ["inputs", *(f"dilation {gap}" for gap in dilations)], fontsize=7)
    axes.set_title(title, fontsize=9, loc="left")


def field(axes: Any, slopes: np.ndarray, title: str) -> None:
    """How much the last output changes with each input: nothing before the receptive field."""
    axes.bar(range(len(slopes)), slopes, color=[RED if slope > 0 else GREY for slope in slopes])
    axes.set(xlabel="input", ylabel="|gradient|")
    axes.set_title(title, fontsize=9, loc="left")
