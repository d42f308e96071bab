"""A tape over time: bits shown and said, where heads stood at each step, and a plain Turing machine beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from regard.tasks.turing_machine import BLANK, Moment


def bits(axes: Any, table: np.ndarray, title: str, signed: bool = False) -> None:
    """Rows of bits over time; with `signed`, errors above and below zero."""
    shades, low = ("RdBu_r", -1) if signed else ("Greys", 0)
    axes.imshow(table.T, cmap=shades, vmin=low, vmax=1, aspect="auto", interpolation="nearest")
    axes.set(xticks=[], yticks=[])
    axes.set_title(title, fontsize=9, loc="left")


def heads(axes: Any, weights: np.ndarray, title: str) -> None:
    """Where a head stood: steps across, places of the tape down, the darker the more of it."""
    axes.imshow(weights.T, cmap="magma_r", vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    axes.set(xlabel="step", ylabel="place")
    axes.set_title(title, fontsize=9, loc="left")


def machine(axes: Any, moments: Sequence[Moment], title: str) -> None:
    """The tape of a plain machine, a column for each moment, its head marked."""
    symbols = sorted({symbol for moment in moments for symbol in moment.tape} - {BLANK})
    shade = {BLANK: 0.0} | {symbol: (at + 1) / len(symbols) for at, symbol in enumerate(symbols)}
    table = np.array([[shade[symbol] for symbol in moment.tape] for moment in moments])
    axes.imshow(table.T, cmap="Blues", vmin=0, vmax=1.4, aspect="auto", interpolation="nearest")
    for step, moment in enumerate(moments):
        for place, symbol in enumerate(moment.tape):
            if symbol != BLANK and len(moments) <= 60:
                axes.text(step, place, symbol, ha="center", va="center", fontsize=6)
    axes.plot(range(len(moments)), [moment.head for moment in moments], "s", mfc="none", mec="crimson", ms=7)
    axes.set(xlabel="step", ylabel="place")
    axes.set_title(title, fontsize=9, loc="left")
