"""A picture of what a trained system does, whatever it is: a new one is a function here and a line in `PICTURES`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import nn

from regard.models.copying import Copying
from regard.models.pointer import Pointer
from regard.models.seq2seq import Seq2Seq
from regard.models.turing import Machine
from regard.show import copying as copies
from regard.show import labels, learning, matrix, points, tape
from regard.tasks.copying import CopyingTask
from regard.tasks.few_shot import Naming
from regard.tasks.labelling import Labelling
from regard.tasks.playing import Playing
from regard.tasks.pointing import PointingTask
from regard.tasks.reading import Reading
from regard.tasks.taping import Taping, shown
from regard.tasks.task import Task
from regard.tasks.texts import Pair
from regard.tasks.translation import Translation
from regard.tasks.turing_machine import COPY, run
from regard.translate.align import chosen
from regard.translate.speaker import Speaker, place_of

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


def saying(figure: Any, task: Translation, model: nn.Module) -> None:
    """What was looked at while each of three held-out texts was answered, and whether the answer is right."""
    speaker = Speaker(cast(Seq2Seq, model), task.text.source, task.text.target)
    some = _different(next(iter(task.text.tests.values()), task.text.valid))
    texts = [source for _, source, _ in some]
    places = [place_of(text, 0, len(text)) for text in texts]
    said = [row[0] for row in speaker.say(texts, places, task.search, task.origin.data.longest)]
    figure.set_size_inches(14, 5)
    for axes, pair, spoken in zip(figure.subplots(1, len(some)), some, said, strict=True):
        part = speaker.watched(spoken).part
        right = part.text == pair[2]
        axes.set_title(f"{pair[1]}\n{part.text}"[:160], fontsize=7, color="black" if right else points.BAD, wrap=True)
        if part.attention is None:
            axes.text(0.5, 0.5, "it does not look at the source", ha="center", va="center", color=points.GREY)
            axes.set(xticks=[], yticks=[])
        else:
            matrix.matrix(axes, chosen(part.attention.numpy(), None, None), part.tokens, part.source_tokens)


def _different(pairs: Sequence[Pair]) -> list[Pair]:
    """Three texts among those of the upper half by length, spread evenly."""
    ranked = sorted({pair[1]: pair for pair in pairs}.values(), key=lambda pair: len(pair[1]))
    return [ranked[len(ranked) * place // 8] for place in (4, 5, 6)]


PICTURES: dict[type[Task], Callable[[Any, Any, nn.Module], None]] = {
    PointingTask: pointing,
    Taping: taping,
    CopyingTask: copying,
    Reading: learning.read,
    Naming: learning.named,
    Playing: learning.played,
    Labelling: labels.labelling,
    Translation: saying,
}
