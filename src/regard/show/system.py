"""A picture of what a trained system does, whatever it is: its task names the function here that draws it."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import torch
from torch import nn

from regard.tasks.task import Task


def picture(task: Task, model: nn.Module, file: Path) -> None:
    """Draw what the model does on problems it never saw."""
    from matplotlib.figure import Figure

    if not task.drawn_by:
        raise ValueError("this system has no picture; its task can name one with `drawn_by`")
    module, _, name = task.drawn_by.partition(":")
    figure = Figure(layout="constrained")
    with torch.no_grad():
        getattr(import_module(f"regard.show.{module}"), name)(figure, task, model.eval())
    figure.savefig(file, dpi=130)
