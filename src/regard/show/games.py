"""Games of bandits: what was pulled and paid, which earlier pulls were looked at, and what is won pull by pull."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

GOOD, BAD = "#2a78b5", "#d1495b"


def game(axes: Any, chances: Sequence[float], pulled: Sequence[int], paid: Sequence[float]) -> None:
    """One game: arms down, pulls across; blue paid, red did not."""
    axes.imshow(np.array(chances)[:, None], cmap="Greys", vmin=0, vmax=2, aspect="auto",
                extent=(-0.5, len(pulled) - 0.5, len(chances) - 0.5, -0.5))  # fmt: skip
    axes.scatter(range(len(pulled)), pulled, s=60, color=[GOOD if won else BAD for won in paid])
    axes.set_yticks(range(len(chances)), [f"{chance:.0%}" for chance in chances], fontsize=7)
    axes.set(xlabel="pull", xlim=(-0.5, len(pulled) - 0.5), ylim=(len(chances) - 0.5, -0.5))
    axes.set_title("a game: blue paid, red did not", fontsize=9, loc="left")


def looks(axes: Any, weights: np.ndarray) -> None:
    """Which earlier steps each pull was decided by."""
    axes.imshow(weights, cmap="Blues", vmin=0, vmax=1, interpolation="nearest", aspect="auto")
    axes.set(xlabel="step looked at", ylabel="pull")
    axes.set_title("what it looked at", fontsize=9, loc="left")


def curves(axes: Any, won: Mapping[str, np.ndarray], total: Mapping[str, float]) -> None:
    """The mean pay of every pull, by the model and by known ways to play."""
    for name, rewards in won.items():
        wide = 2.4 if name == "model" else 1.0
        axes.plot(range(1, len(rewards) + 1), rewards, label=f"{name} {total[name]:.2f}", linewidth=wide)
    axes.set(xlabel="pull", ylabel="mean pay")
    axes.legend(fontsize=6)
    axes.set_title("what is won; in a game", fontsize=9, loc="left")
