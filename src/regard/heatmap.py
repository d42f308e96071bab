"""A table of weights as an SVG, for notebooks: nothing to import, no script, words stay words.

Colours are those of the paper underneath (`currentColor`) and one ink, so it can be read in light and in dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

CELL, LETTER = 20, 7.2
INK, HIDDEN = "#2f8fd3", "#8884"
MOST = 120
"""Rows and columns that are drawn; more could not be read."""


Weights = Sequence[Sequence[float | None]]


def heatmap(weights: Weights, queries: Sequence[str], keys: Sequence[str], title: str) -> str:
    """Queries down, keys across; None is out of scope. What is beyond `MOST` is left out, and said."""
    rows, columns = queries[:MOST], keys[:MOST]
    most = max((value for row in weights for value in row if value is not None), default=0.0) or 1.0
    left = 14 + LETTER * max(map(len, rows), default=0)
    top = 16 + 0.77 * LETTER * max(map(len, columns), default=0)
    wide = left + CELL * len(columns) + 0.64 * LETTER * len(columns[-1] if columns else "") + 10
    high = top + CELL * len(rows) + 4
    parts = [_text(word, left - 6, top + CELL * (row + 0.5), "end") for row, word in enumerate(rows)]
    for column, word in enumerate(columns):
        parts.append(_text(word, left + CELL * (column + 0.6), top - 6, "start", turned=True))
    for row, word in enumerate(rows):
        for column, key in enumerate(columns):
            parts.append(_cell(weights[row][column], most, f"{word} → {key}", left + CELL * column, top + CELL * row))
    parts.append(
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{CELL * len(columns)}" height="{CELL * len(rows)}" fill="none" '
        'stroke="currentColor" stroke-opacity="0.3"/>'
    )
    all_of_it = len(queries) <= MOST and len(keys) <= MOST
    cut = "" if all_of_it else f"<p>The first {MOST} of {len(queries)} rows and {len(keys)} columns.</p>"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" height="{high:.0f}" '
        f'viewBox="0 0 {wide:.0f} {high:.0f}" role="img" aria-label="{escape(title)}" font-size="12" '
        f'font-family="system-ui, sans-serif" fill="currentColor">{"".join(parts)}</svg>{cut}'
    )


def _text(word: str, x: float, y: float, anchor: str, turned: bool = False) -> str:
    turn = f' transform="rotate(-50 {x:.1f} {y:.1f})"' if turned else ' dominant-baseline="central"'
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{turn}>{escape(word)}</text>'


def _cell(value: float | None, most: float, told: str, x: float, y: float) -> str:
    box = f'<rect x="{x:.1f}" y="{y:.1f}" width="{CELL - 1}" height="{CELL - 1}"'
    if value is None:
        return f'{box} fill="{HIDDEN}"/>'
    if value < most / 300:
        return ""
    return f'{box} fill="{INK}" fill-opacity="{value / most:.3f}"><title>{escape(told)}: {value:.3f}</title></rect>'
