"""Years of fields: how each looked, and which dates were looked at to tell what grew there."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import nn

from regard.show.trace import Trace
from regard.tasks.crops import CropMapping
from regard.tasks.seasons import Fields

SHOWN = 6


def chosen(task: CropMapping) -> Fields:
    """A field of each of some crops."""
    unseen = task.unseen
    _, firsts = np.unique(unseen.crops, return_index=True)
    return unseen.some(firsts[np.linspace(0, len(firsts) - 1, min(SHOWN, len(firsts))).astype(int)])


def mapped(figure: Any, task: CropMapping, model: nn.Module) -> None:
    """A panel for each field: its year as a line, and as bars how much each date was looked at."""
    fields = chosen(task)
    said, weights = task.said(model, fields), task.looks(model, fields).mean((1, 2)).numpy()
    figure.set_size_inches(11, 2.4 * -(-len(fields) // 3))
    panels = figure.subplots(-(-len(fields) // 3), 3, sharex=True, squeeze=False).flatten()
    for panel in panels[len(fields) :]:
        panel.set_visible(False)
    for panel, series, right, told, looked in zip(panels, fields.series, fields.crops, said, weights, strict=False):
        dates = np.arange(1, len(series) + 1)
        panel.bar(dates, looked, color="tab:orange", alpha=0.5, width=1)
        panel.set_yticks([])
        line = panel.twinx()
        line.plot(dates, series, color="tab:blue", lw=1.4)
        line.set_yticks([])
        verdict = f"crop {told + 1}" + ("" if told == right else f", really {right + 1}")
        panel.set_title(verdict, fontsize=9, color="black" if told == right else "crimson")
        panel.set_xlabel("date", fontsize=8)
    figure.suptitle("Blue: how the field looked. Orange: how much each date was looked at, last layer", fontsize=9)


def looks(task: CropMapping, model: nn.Module) -> list[Trace]:
    """Each head of the last layer on a field of each of some crops, over its year."""
    fields = chosen(task)
    said, weights = task.said(model, fields), task.looks(model, fields)
    dates = [str(date + 1) for date in range(fields.series.shape[1])]
    found = []
    for row in range(min(4, len(fields))):
        told = {
            "title": f"Crop {said[row] + 1}, right is {fields.crops[row] + 1}",
            "note": "A date looks at the dates of its year.",
            "values": fields.series[row, :, 0].round(3).tolist(),
        }
        found += [
            Trace("crops", head, dates, dates, head=number, kind="series", about=told)
            for number, head in enumerate(weights[row])
        ]
    return found
