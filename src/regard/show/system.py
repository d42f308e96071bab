"""A picture of what a trained system does, whatever it is: a new one is a function here and a line in `PICTURES`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import nn

from regard.models.copying import Copying
from regard.models.pointer import Pointer
from regard.models.turing import Machine
from regard.show import copying as copies
from regard.show import labels, learning, points, tape
from regard.tasks.copying import CopyingTask
from regard.tasks.few_shot import Naming
from regard.tasks.labelling import Labelling
from regard.tasks.playing import Playing
from regard.tasks.pointing import PointingTask
from regard.tasks.reading import Reading
from regard.tasks.taping import Taping, shown
from regard.tasks.task import Task
from regard.tasks.turing_machine import COPY, run

SEED = 7


def picture(task: Task, model: nn.Module, file: Path) -> None:
    """Draw what the model does on problems it never saw."""
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    with torch.no_grad():
        PICTURES[type(task)](figure, task, model.eval())
    figure.savefig(file, dpi=130)


def pointing(figure: Any, task: PointingTask, model: nn.Module) -> None:
    """What was pointed at, above; the right answers, below."""
    figure.set_size_inches(11, 5 if task.problem.width > 1 else 3)
    drawn = task.problem.draw(np.random.default_rng(SEED), 5, task.data.largest)
    said = task.answers(cast(Pointer, model), drawn, task.search)
    right = [answer.tolist() for answer in task.problem.solve(drawn)]
    axes = figure.subplots(2, 5)
    for column, (given, ours, theirs) in enumerate(zip(drawn, said, right, strict=True)):
        points.drawn(axes[0, column], task.problem.name, given, ours, theirs, "pointed at")
        points.drawn(axes[1, column], task.problem.name, given, theirs, theirs, "right")


def taping(figure: Any, task: Taping, model: nn.Module) -> None:
    """Bits that were asked for and said, heads on the tape, and an exact machine on its own."""
    size = max(task.data.largest, *task.data.tested, 1) if task.data.problem == "copy" else task.data.largest
    batch = shown(task.problem.draw(np.random.default_rng(SEED), 1, size), 0, 1)
    trail = cast(Machine, model).trail(batch.inputs)
    said = trail.outputs.sigmoid()[0].where(batch.asked.unsqueeze(1), torch.tensor(0.0))
    right = batch.outputs[0].where(batch.asked.unsqueeze(1), torch.tensor(0.0))
    rows = 4 if trail.read is None or trail.wrote is None else 7
    figure.set_size_inches(10, 1.3 * rows)
    axes = figure.subplots(rows, 1, height_ratios=[1, 1, 1, 1, 2, 2, 2][:rows])
    tape.bits(axes[0], batch.inputs[0].numpy(), f"shown ({task.data.problem}, size {size})")
    tape.bits(axes[1], right.numpy(), "to be said")
    tape.bits(axes[2], said.numpy(), "said")
    tape.bits(axes[3], (said - right).numpy(), "wrong by", signed=True)
    if trail.read is not None and trail.wrote is not None:
        tape.heads(axes[4], trail.wrote[0, :, 0].numpy(), "where it wrote")
        tape.heads(axes[5], trail.read[0, :, 0].numpy(), "where it read")
        tape.machine(axes[6], run(COPY, "1011#"), "a Turing machine copies 1011")


def copying(figure: Any, task: CopyingTask, model: nn.Module) -> None:
    """A text and its summary: what was looked at, and what was copied."""
    article, summariser = task.origin.valid()[0], cast(Copying, model)
    said = task.summaries(summariser, [article.text], task.search)[0]
    copies.drawn(
        figure, copies.trace(task.told(summariser, article.text, said), article.text, said), article.summaries[0]
    )


PICTURES: dict[type[Task], Callable[[Any, Any, nn.Module], None]] = {
    PointingTask: pointing,
    Taping: taping,
    CopyingTask: copying,
    Reading: learning.read,
    Naming: learning.named,
    Playing: learning.played,
    Labelling: labels.labelling,
}
