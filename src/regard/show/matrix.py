"""Who looked at what while a text was said, and, where the answer has brackets, the stretch that each one spans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

BLUE, SPAN = "#2a78b5", "#d1495b"
SPACE = "\u2581"


def matrix(axes: Any, weights: Float[np.ndarray, "t s"], said: Sequence[str], source: Sequence[str]) -> None:
    """A heat map on a matplotlib axes: the source across, what was said down."""
    axes.imshow(weights, cmap="Blues", vmin=0, vmax=max(1e-9, float(weights.max())), aspect="auto")
    axes.set_xticks(range(len(source)), [_written(piece) for piece in source], rotation=90, fontsize=_size(source))
    axes.set_yticks(range(len(said)), [_written(piece) for piece in said], fontsize=_size(said))
    axes.tick_params(length=0)
    for row, first, after in spans(said, len(source)):
        axes.plot([first - 0.5, after - 0.5], [row + 0.5, row + 0.5], color=SPAN, linewidth=1.2)


def spans(said: Sequence[str], words: int) -> list[tuple[int, int, int]]:
    """(row, first source word, the one after the last) of every opening bracket, as far as they are closed.

    Between brackets stand the words of the source in their order, each once; answers without brackets have no spans.
    """
    found, opened, at = list[tuple[int, int, int]](), list[tuple[int, int]](), 0
    for row, piece in enumerate(said):
        text = piece.lstrip(SPACE)
        if text.startswith("("):
            opened.append((row, at))
        elif text == ")" and opened:
            found.append((*opened.pop(), at))
        elif opened:
            at += 1
    return sorted(found) if at <= words else []


def _written(piece: str) -> str:
    return piece.replace(SPACE, "") or "·"


def _size(labels: Sequence[str]) -> float:
    return 8.0 if len(labels) <= 24 else 5.5
