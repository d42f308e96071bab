"""A tape over time: bits shown and said, where heads stood at each step, and a plain Turing machine beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from regard.models.turing import Machine
from regard.show.trace import Trace
from regard.tasks.taping import Taping, shown
from regard.tasks.turing_machine import BLANK, COPY, Moment, run

SEED = 7


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
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.set_title(title, fontsize=9, loc="left")


def pictured(figure: Any, task: Taping, model: nn.Module) -> None:
    """Bits that were asked for and said, heads on the tape, and an exact machine on its own."""
    size = max(task.data.largest, *task.data.tested, 1) if task.data.problem == "copy" else task.data.largest
    batch = shown(task.problem.draw(np.random.default_rng(SEED), 1, size), 0, 1)
    trail = cast(Machine, model).trail(batch.inputs)
    said = trail.outputs.sigmoid()[0].where(batch.asked.unsqueeze(1), torch.tensor(0.0))
    right = batch.outputs[0].where(batch.asked.unsqueeze(1), torch.tensor(0.0))
    rows = 4 if trail.read is None or trail.wrote is None else 7
    figure.set_size_inches(10, 1.3 * rows)
    axes = figure.subplots(rows, 1, height_ratios=[1, 1, 1, 1, 2, 2, 2][:rows])
    bits(axes[0], batch.inputs[0].numpy(), f"shown ({task.data.problem}, size {size})")
    bits(axes[1], right.numpy(), "to be said")
    bits(axes[2], said.numpy(), "said")
    bits(axes[3], (said - right).numpy(), "wrong by", signed=True)
    if trail.read is not None and trail.wrote is not None:
        heads(axes[4], trail.wrote[0, :, 0].numpy(), "where it wrote")
        heads(axes[5], trail.read[0, :, 0].numpy(), "where it read")
        machine(axes[6], run(COPY, "1011#"), "a Turing machine copies 1011")


def looks(task: Taping, model: nn.Module) -> list[Trace]:
    """Where heads stood on the tape, and what it holds at the end; an exact machine on the same view."""
    batch = shown(task.problem.draw(np.random.default_rng(SEED), 1, task.data.largest), 0, 1)
    trail = cast(Machine, model).trail(batch.inputs)
    if trail.read is None or trail.wrote is None or trail.tape is None:
        return []
    right, said = batch.outputs[0], trail.outputs.sigmoid()[0]
    asked = batch.asked.unsqueeze(1)
    wrong = int((((said > 0.5) != (right > 0.5)) & asked).sum())
    verdict = "every bit is right" if wrong == 0 else f"{wrong} of {int(asked.sum()) * right.shape[1]} bits are wrong"
    found = []
    for title, heads, name, bits in (
        ("Where it wrote", trail.wrote, "shown", batch.inputs[0]),
        ("Where it read", trail.read, f"said; {verdict}", said * asked),
    ):
        for head, weights in enumerate(heads[0].unbind(1)):
            steps, places = ([str(number + 1) for number in range(count)] for count in weights.shape)
            told = {
                "title": f"{title}, head {head + 1}",
                "note": "Steps across, places down. On the tape at the end, orange is below zero.",
                "above": {"name": name, "rows": _rounded(bits.T)},
                "beside": {"name": "the tape at the end", "rows": _rounded(trail.tape[0])},
            }  # fmt: skip
            found.append(Trace("tape", weights, steps, places, head=head, kind="tape", about=told))
    return [*found, _exact("1011")]


def _exact(text: str) -> Trace:
    """A machine of rules copies a text."""
    moments = run(COPY, f"{text}#")
    heads = torch.zeros(len(moments), len(moments[0].tape))
    heads[range(len(moments)), [moment.head for moment in moments]] = 1
    steps, places = ([str(number + 1) for number in range(count)] for count in heads.shape)
    told = {
        "title": f"A Turing machine copies {text}",
        "note": "The same view of a machine of rules: its head is at one place, and what stands there is one sign.",
        "signs": [["" if sign == BLANK else sign for sign in moment.tape] for moment in moments],
    }
    return Trace("machine", heads, steps, places, kind="tape", about=told)


def _rounded(table: Tensor) -> list[list[float]]:
    return [[round(value, 3) for value in row] for row in table.tolist()]
