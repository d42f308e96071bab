"""Figures: who looks at what as a heat map, and the weights of one query as bars.

White is a weight of 0. What is out of scope is grey and hatched, so that *may not see* differs from *sees and
does not care*. matplotlib is imported when something is drawn, and no figure is kept in any global state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.attend.mechanism import Look
from regard.attend.scope import Scope

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe & Ito's blue and vermilion: colour-blind readers tell them apart.
BLUE, ORANGE = (0.0, 0.447, 0.698), (0.835, 0.369, 0.0)
INK, FAINT, HIDDEN = "#222222", "#9a9a9a", (0.925, 0.925, 0.925)
SMALLEST_LABEL = 5.0  # points; below it a label is a smudge

PALETTE = 256  # colours in a file

Ink = tuple[float, float, float]
Labels = Sequence[str] | None


def weights(
    look: Look | Tensor,
    queries: Labels = None,
    keys: Labels = None,
    *,
    scope: Scope | Bool[Tensor, ...] | None = None,
    row: int = 0,
    full: float | None = None,
    title: str = "",
    inks: Sequence[Ink] = (BLUE,),
) -> Figure:
    """A heat map: keys across, queries down, heads side by side.

    `look` may be a table of weights `q k`, `h q k` or `b h q k`; `row` is the row of the batch to draw. `full` is
    the weight drawn in full ink, by default the largest. A look knows what may be seen; for a table `scope` tells.
    """
    scope = look.allowed if scope is None and isinstance(look, Look) else scope
    table = one_row(look, row)
    heads, n_queries, n_keys = table.shape
    queries, keys = _fitting("query", queries, n_queries), _fitting("key", keys, n_keys)
    allowed = _seen(scope, table, row)
    most = float(table.max()) if full is None else full
    plan = _Plan(heads, queries, keys, bool(title))
    figure = new_figure(plan.width, plan.height)
    for head in range(heads):
        axes = figure.add_axes(plan.box(head))
        paint(axes, table[head : head + 1], allowed[head : head + 1], full=most, inks=[inks[head % len(inks)]])
        _label(axes, queries if head == 0 else (), keys, plan.cell)
        if heads > 1:
            axes.set_xlabel(f"head {head + 1}", fontsize=8, color=FAINT, labelpad=4)
    corner = plan.left / plan.width
    figure.text(corner, 1 - 0.2 / plan.height, title, fontsize=10, color=INK, weight="bold", va="center")
    _legend(figure, (corner, 0.2 / plan.height), most, inks[0], bool((~allowed).any()))
    return figure


@dataclass(frozen=True)
class _Plan:
    """Where everything goes on a heat map, in inches: cells of one size, and room for the labels around them."""

    heads: int
    queries: Sequence[str]
    keys: Sequence[str]
    titled: bool
    bottom: float = 0.5

    @property
    def cell(self) -> float:
        return min(0.24, 6.0 / max(len(self.queries), len(self.keys)))

    @property
    def left(self) -> float:
        return 0.2 + _room(self.queries)

    @property
    def gap(self) -> float:
        return 0.25 + 0.45 * _room(self.keys[-1:])  # labels lean to the right

    @property
    def width(self) -> float:
        across = self.cell * len(self.keys) + self.gap
        return self.left + self.heads * across + 0.1

    @property
    def height(self) -> float:
        return self.bottom + self.cell * len(self.queries) + 0.75 * _room(self.keys) + 0.3 + 0.2 * self.titled

    def box(self, head: int) -> tuple[float, float, float, float]:
        """A head's corner and size, in shares of the figure."""
        across, down = self.cell * len(self.keys), self.cell * len(self.queries)
        x = self.left + head * (across + self.gap)
        return x / self.width, self.bottom / self.height, across / self.width, down / self.height


def bars(
    look: Look | Tensor, keys: Labels = None, *, row: int = 0, head: int = 0, query: int = 0, title: str = ""
) -> Figure:
    """The weights of one query, a bar over each word; `look` may also be a row of weights."""
    flat = isinstance(look, Tensor) and look.dim() == 1
    line = look.detach() if flat and isinstance(look, Tensor) else one_row(look, row)[head, query]
    names = _fitting("key", keys, len(line))
    values = line.float().tolist()
    figure = new_figure(0.5 + max(0.55 * len(line), 2.0), 2.4)
    axes = figure.add_axes((0.04, 0.17, 0.92, 0.66))
    axes.bar(range(len(values)), values, color=BLUE, width=0.72)
    axes.set_xticks(range(len(values)), labels=list(names), fontsize=9, color=INK)
    axes.set_ylim(0, max([*values, 1e-9]) * 1.18)
    axes.set_yticks([])
    axes.tick_params(length=0)
    axes.spines[["left", "top", "right"]].set_visible(False)
    axes.spines["bottom"].set_color(FAINT)
    for place, value in enumerate(values):
        axes.annotate(
            f"{value:.2f}", (place, value), (0, 3), textcoords="offset points", ha="center", fontsize=8, color=INK
        )
    axes.set_title(title, fontsize=10, color=INK, weight="bold", loc="left")
    return figure


def paint(
    axes: Axes,
    table: Float[Tensor, "h q k"],
    allowed: Bool[Tensor, "h q k"] | None = None,
    *,
    full: float = 1.0,
    inks: Sequence[Ink] = (BLUE, ORANGE),
    hatch: bool = True,
) -> None:
    """Put weights on axes as coloured cells; heads are laid over each other, each in its ink."""
    hidden = torch.zeros(table.shape[1:], dtype=torch.bool) if allowed is None else ~allowed.any(0)
    size = (0, table.shape[2], table.shape[1], 0)
    if hatch:
        for q, k in hidden.nonzero().tolist():
            axes.plot((k, k + 1), (q + 1, q), color="#d0d0d0", linewidth=0.6, solid_capstyle="butt")
    axes.imshow(colours(table, hidden, full, inks).numpy(), extent=size, interpolation="nearest", aspect="auto")
    axes.set(xlim=(0, table.shape[2]), ylim=(table.shape[1], 0), xticks=[], yticks=[])
    axes.spines[:].set(color=FAINT, linewidth=0.6)


def colours(
    table: Float[Tensor, "h q k"], hidden: Bool[Tensor, "q k"], full: float, inks: Sequence[Ink]
) -> Float[Tensor, "q k 3"]:
    """Each cell's colour: white paper under one transparent ink for each head."""
    share = (table.detach().float().cpu() / max(full, 1e-12)).clamp(0, 1).unsqueeze(-1)
    paper = torch.where(hidden.cpu().unsqueeze(-1), torch.tensor(HIDDEN), torch.ones(3))
    for head, covered in enumerate(share):
        paper = paper * (1 - covered * (1 - torch.tensor(inks[head % len(inks)])))
    return paper


def save(figure: Figure, path: str | Path, dpi: int = 110) -> Path:
    """Write a figure, making its folder; the same figure gives the same PNG, byte for byte."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix != ".png":
        figure.savefig(path, dpi=dpi)
        return path
    from PIL import Image

    drawn = BytesIO()
    figure.savefig(drawn, format="png", dpi=dpi)
    # Flat colours: a palette halves the file, and one that covers rare colours keeps the tints true.
    few = Image.open(drawn).convert("RGB").quantize(PALETTE, method=Image.Quantize.MAXCOVERAGE)
    few.save(path, optimize=True)
    return path


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, in inches, or a word about what to install."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ValueError("drawing needs matplotlib: pip install 'regard[show]'") from None
    return Figure(figsize=(width, height), facecolor="white")


def one_row(look: Look | Tensor, row: int = 0) -> Float[Tensor, "h q k"]:
    """The weights of one row of the batch."""
    table = look.weights if isinstance(look, Look) else look
    if not 2 <= table.dim() <= 4:
        raise ValueError(
            f"weights to draw have shape (q, k), (h, q, k) or (b, h, q, k); got {tuple(table.shape)}: "
            "give the Look itself, or look.weights"
        )
    table = table[row] if table.dim() == 4 else table
    return (table if table.dim() == 3 else table.unsqueeze(0)).detach().float().cpu()


def _seen(scope: Scope | Bool[Tensor, ...] | None, table: Float[Tensor, "h q k"], row: int) -> Bool[Tensor, "h q k"]:
    """What may be seen, for each head."""
    heads, queries, keys = table.shape
    if scope is None:
        return torch.ones_like(table, dtype=torch.bool)
    if isinstance(scope, Scope):
        scope = scope.table(row + 1, heads, torch.arange(queries), torch.arange(keys))
    if scope.dim() == 4:
        scope = scope[min(row, scope.shape[0] - 1)]
    return scope.cpu().expand(heads, queries, keys)


def _fitting(what: str, labels: Labels, count: int) -> Sequence[str]:
    if labels is None:
        return [str(place + 1) for place in range(count)]
    if len(labels) != count:
        raise ValueError(f"{len(labels)} {what} labels for {count} of them; give one for each, or none")
    return labels


def _room(labels: Sequence[str]) -> float:
    """Inches that the longest label takes."""
    return 0.075 * max(map(len, labels), default=0)


def _label(axes: Axes, queries: Sequence[str], keys: Sequence[str], cell: float) -> None:
    size = min(8.5, cell * 72 * 0.62)
    axes.tick_params(length=0, pad=2, top=False, labeltop=True, labelbottom=False, labelcolor=INK)
    if size < SMALLEST_LABEL:
        return
    axes.set_xticks([place + 0.5 for place in range(len(keys))], labels=list(keys), fontsize=size)
    for label in axes.get_xticklabels():
        label.set(rotation=50, ha="left", va="bottom", rotation_mode="anchor")
    if queries:
        axes.set_yticks([place + 0.5 for place in range(len(queries))], labels=list(queries), fontsize=size)


def _legend(figure: Figure, corner: tuple[float, float], full: float, ink: Ink, hides: bool) -> None:
    """A small scale under the picture: from 0 to full ink, and what is hidden."""
    width, height = figure.get_size_inches()
    x, y = corner
    ramp = figure.add_axes((x, y, 0.6 / width, 0.1 / height))
    paint(ramp, torch.linspace(0, 1, 24).view(1, 1, -1), inks=[ink])
    figure.text(x - 0.05 / width, y, "0", fontsize=7, color=FAINT, ha="right")
    figure.text(x + 0.65 / width, y, f"{full:.2g}", fontsize=7, color=FAINT)
    if hides:
        box = figure.add_axes((x + 1.0 / width, y, 0.2 / width, 0.1 / height))
        paint(box, torch.zeros(1, 1, 1), torch.zeros(1, 1, 1, dtype=torch.bool))
        figure.text(x + 1.25 / width, y, "out of scope", fontsize=7, color=FAINT)
