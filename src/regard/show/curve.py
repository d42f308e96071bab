"""The loss of a run over its steps, and its scores, as a picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def curve(run: Path) -> Path | None:
    """Draw `loss.png` from the run's log; None where matplotlib is not installed or there is nothing to draw."""
    try:
        import matplotlib
    except ImportError:
        return None
    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    lines = _lines(run / "log.jsonl")
    trained = [(line["step"], line["loss"]) for line in lines if "loss" in line]
    valid = [(line["step"], line["valid"]) for line in lines if "valid" in line]
    if not trained and not valid:
        return None
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    if trained:
        axes.plot(*zip(*trained, strict=True), color="#6b7280", linewidth=1, label="training, with dropout")
    measured = [name for name in ("bleu", "exact", "bits") if valid and name in valid[0][1]][:1]
    if valid and "loss" in valid[0][1]:
        axes.plot(
            [s for s, _ in valid], [v["loss"] for _, v in valid], color="#1d4ed8", marker=".", label="validation"
        )
    axes.set(xlabel="step", ylabel="loss", title=run.resolve().name)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="center right", frameon=False)
    for name in measured:
        right = axes.twinx()
        right.plot([s for s, _ in valid], [v[name] for _, v in valid], color="#b45309", linewidth=1)
        right.set_ylabel(f"{'BLEU' if name == 'bleu' else name} (validation)", color="#b45309")
        right.set_ylim(bottom=0)
    for side in figure.axes:
        side.spines["top"].set_visible(False)
    path = run / "loss.png"
    figure.savefig(path, dpi=120)
    return path


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
