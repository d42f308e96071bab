"""Attention drawn in characters, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

SHADES = " ░▒▓█"


def alignment(weights: Float[Tensor, "t s"], target: Sequence[str], source: Sequence[str]) -> list[str]:
    """Source across, target down; the darker, the more of its look a target piece spent there."""
    across = [word.replace("\u2581", "·") for word in source]
    down = [word.replace("\u2581", "·") for word in target]
    margin = max((len(word) for word in down), default=0)
    lines = [" " * (margin + 1) + " ".join(across)]
    for word, row in zip(down, weights.tolist(), strict=True):
        cells = (_shade(weight) * len(over) for weight, over in zip(row, across, strict=True))
        lines.append(f"{word:>{margin}} " + " ".join(cells))
    return lines


def _shade(weight: float) -> str:
    """Half of all attention is as dark as it gets."""
    return SHADES[min(len(SHADES) - 1, round(weight * 2 * (len(SHADES) - 1)))]
