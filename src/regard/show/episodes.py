"""An episode of few-shot learning: the image that was asked about, and how much each image shown was looked at."""

from __future__ import annotations

from typing import Any

import numpy as np

GOOD, BAD, GREY = "#2a78b5", "#d1495b", "#d7dadd"


def image(
    axes: Any, pixels: np.ndarray, title: str, colour: str = "black", frame: str = GREY, width: float = 1
) -> None:
    """One drawing, with a frame that tells how much it matters."""
    axes.imshow(pixels, cmap="Greys", vmin=0, vmax=max(1e-6, float(pixels.max())), interpolation="nearest")
    axes.set(xticks=[], yticks=[])
    for side in axes.spines.values():
        side.set(color=frame, linewidth=width)
    axes.set_title(title, fontsize=8, color=colour)


def asked(axes: Any, pixels: np.ndarray, said: int, right: int) -> None:
    """The image asked about, blue where it was named rightly."""
    told = f"{said}" if said == right else f"{said}, not {right}"
    image(axes, pixels, f"? → {told}", GOOD if said == right else BAD, GOOD if said == right else BAD, 2)


def shown(axes: Any, pixels: np.ndarray, name: int, weight: float | None, right: bool) -> None:
    """An image that was shown with its name: the thicker its frame the more it was looked at."""
    title = f"{name}" if weight is None else f"{name}: {weight:.0%}"
    image(axes, pixels, title, "black", GOOD if right else GREY, 1 + 5 * (weight or 0.0))
