"""A text shaded by where a summary looked, the summary coloured by p_gen, and step by step who looked where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from torch import nn

from regard.models.copying import Copying, Told
from regard.show.draw import BLUE, INK, ORANGE
from regard.show.trace import Trace
from regard.tasks.copying import CopyingTask
from regard.text.articles import Article
from regard.text.words import Text

LINE = 100  # letters in a line of text
PAGES = 3  # texts on a page
Colour = tuple[float, float, float]


def trace(told: Told, text: Text, summary: Text) -> Trace:
    """What was looked at when each word was said, its end last; beside it p_gen of each."""
    own = told.own[0].tolist()
    return Trace("copying", told.weights[0], (*summary, "■"), text, about={"p_gen": own})


def drawn(figure: Any, seen: Trace, right: Text) -> None:
    """Text, summary, right summary, and the weights with the coverage they add up to."""
    weights = seen.weights.detach().numpy()
    coverage, own = weights.sum(0), np.array(seen.about["p_gen"])
    shades = [_mixed((1.0, 1.0, 1.0), ORANGE, 0.85 * float(min(1.0, value))) for value in coverage]
    inks = [_mixed(ORANGE, BLUE, float(value)) for value in own]
    flows: list[tuple[Sequence[str], Sequence[Colour] | None, Sequence[Any], str]] = [
        (seen.keys, shades, [INK] * len(shades), "read; the darker, the more it was looked at"),
        (seen.queries, None, inks, "said; blue words are its own, orange ones copied (p_gen from 1 to 0)"),
        ((*right, "■"), None, [INK] * (len(right) + 1), "right"),
    ]
    rows = [_rows(words) for words, _, _, _ in flows]
    table = max(2.0, 0.22 * len(seen.queries))
    figure.set_size_inches(11, 0.24 * sum(rows) + table + 2.9)
    heights = [*(0.24 * count + 0.25 for count in rows), 0.7, table]
    axes = figure.subplots(5, 1, height_ratios=heights)
    for place, (words, backs, colours, title) in enumerate(flows):
        _flow(axes[place], words, backs, colours, title)
    _bars(axes[3], coverage)
    _matrix(axes[4], weights, seen, inks)


def _bars(axes: Any, coverage: np.ndarray) -> None:
    axes.bar(range(len(coverage)), coverage, color=ORANGE, width=0.8)
    axes.set(xlim=(-0.5, len(coverage) - 0.5), xticks=[], ylim=(0, max(1.05, float(coverage.max()))))
    axes.tick_params(labelsize=6)
    axes.set_title("coverage: all that each word was looked at", fontsize=8, loc="left")


def _matrix(axes: Any, weights: np.ndarray, seen: Trace, inks: Sequence[Colour]) -> None:
    axes.imshow(weights, cmap="Oranges", vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    small = 6 if len(seen.keys) <= 100 else 3
    axes.set_xticks(range(len(seen.keys)), seen.keys, rotation=90, fontsize=small)
    axes.set_yticks(range(len(seen.queries)), seen.queries, fontsize=7)
    for label, ink in zip(axes.get_yticklabels(), inks, strict=True):
        label.set_color(ink)


def _places(words: Sequence[str]) -> list[tuple[int, int]]:
    """Line and column of each word, in letters."""
    found, line, column = [], 0, 0
    for word in words:
        if column and column + len(word) > LINE:
            line, column = line + 1, 0
        found.append((line, column))
        column += len(word) + 1
    return found


def _rows(words: Sequence[str]) -> int:
    return _places(words)[-1][0] + 1 if words else 1


def _flow(axes: Any, words: Sequence[str], backs: Sequence[Colour] | None, inks: Sequence[Any], title: str) -> None:
    """Words as running text; each has its ink, and a back where there is one."""
    from matplotlib.patches import Rectangle

    places = _places(words)
    for at, (word, (line, column)) in enumerate(zip(words, places, strict=True)):
        if backs is not None:
            axes.add_patch(
                Rectangle((column - 0.3, line - 0.42), len(word) + 0.6, 0.84, color=backs[at], linewidth=0)
            )
        font = {"family": "monospace", "size": 8, "weight": "bold" if backs is None else "normal"}
        axes.text(column + len(word) / 2, line, _plain(word), color=inks[at], ha="center", va="center", **font)
    axes.set(xlim=(-1, LINE + 1), ylim=(_rows(words) - 0.4, -0.6))
    axes.axis("off")
    axes.set_title(title, fontsize=8, loc="left")


def _plain(word: str) -> str:
    """A dollar sign is a dollar sign, and begins no formula."""
    return word.replace("$", r"\$")


def _mixed(one: Colour, other: Colour, share: float) -> Colour:
    a, b, c = ((1 - share) * x + share * y for x, y in zip(one, other, strict=True))
    return (a, b, c)


def pictured(figure: Any, task: CopyingTask, model: nn.Module) -> None:
    """A text and its summary: what was looked at, and what was copied."""
    article, summariser = task.origin.valid()[0], cast(Copying, model)
    said = task.summaries(summariser, [article.text], task.search)[0]
    drawn(figure, trace(task.told(summariser, article.text, said), article.text, said), article.summaries[0])


def looks(task: CopyingTask, model: nn.Module) -> list[Trace]:
    """What was looked at when each word of a few summaries was said."""
    some, summariser = task.origin.valid()[:PAGES], cast(Copying, model)
    said = task.summaries(summariser, [article.text for article in some], task.search)
    return [_told(task, summariser, *one) for one in zip(some, said, strict=True)]


def _told(task: CopyingTask, model: Copying, article: Article, said: Text) -> Trace:
    seen = trace(task.told(model, article.text, said), article.text, said)
    right = [" ".join(summary) for summary in article.summaries]
    title = "As it should be" if " ".join(said) in right else "Not word for word as it should be"
    note = "Blue words are its own, orange ones copied; point at one to see where it looked."
    own = [round(share, 3) for share in seen.about["p_gen"]]
    return replace(seen, kind="prose", about={"title": title, "note": note, "right": right, "p_gen": own})
