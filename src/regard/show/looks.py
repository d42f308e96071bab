"""What a system looked at while it answered something it never saw, as traces: for the page that shows any of them.

A task names the function that gives its traces (`looked_by`), here or beside its picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from regard.attend.watch import watch
from regard.show.trace import Trace, packed
from regard.tasks.task import Task

if TYPE_CHECKING:
    from regard.show.page import Shown
    from regard.tasks.few_shot import Naming
    from regard.tasks.playing import Playing
    from regard.tasks.reading import Reading

SEED = 7
MOST = 24
"""Tables of weights on a page; a model of many layers and heads has its last."""


def shown(task: Task, model: nn.Module, name: str, about: str) -> Shown:
    """The page of a run that is no translator."""
    from regard.show.page import Shown

    if not task.looked_by:
        raise ValueError(f"{name} has no page; its task can name what gives its looks with `looked_by`")
    module, _, function = task.looked_by.partition(":")
    with torch.no_grad():
        traces: list[Trace] = getattr(import_module(f"regard.show.{module}"), function)(task, model.eval())
    if not traces:
        raise ValueError(f"{name} looks at nothing: it has a picture (--png F, --svg F), but no page")
    kept = fitting(traces)
    if len(kept) < len(traces):
        about = f"{about} The last {MOST} of {MOST + len(traces) - len(kept)} tables of weights."
    return Shown([{"id": name, "name": name}], {name: {"looks": packed(kept)}}, name, about, first="looks")


def fitting(traces: Sequence[Trace]) -> list[Trace]:
    """What has room on a page: every picture, and of tables of weights, which may be hundreds, the last."""
    tables = [number for number, trace in enumerate(traces) if trace.kind == "text"]
    left_out = set(tables[:-MOST])
    return [trace for number, trace in enumerate(traces) if number not in left_out]


def reading(task: Reading, model: nn.Module) -> list[Trace]:
    """What each word of a held-out sentence looked back at."""
    from regard.show.learning import sentence

    ids = sentence(task)
    words = [task.passages.vocabulary[number] for number in ids.tolist()]
    with watch(model) as seen:
        model(ids.unsqueeze(0))
    looks = [one.weights[0, 0, 0] for one in seen[: len(ids) - 1]]  # of the first layer
    return [_backwards("What each word looked back at", looks, words)] if looks else []


def _backwards(title: str, looks: Sequence[Tensor], labels: Sequence[str]) -> Trace:
    """Looks of growing length, the first label looking at nothing."""
    weights = torch.zeros(len(looks), len(labels))
    for row, look in enumerate(looks):
        weights[row, : len(look)] = look
    allowed = torch.ones_like(weights, dtype=torch.bool).tril()
    return Trace("back", weights, labels[1:], labels, allowed=allowed, about={"title": title})


def naming(task: Naming, model: nn.Module) -> list[Trace]:
    """Which of the drawings shown the one asked about looks at; a page for each episode."""
    from regard.models.few_shot import FewShot

    few = cast(FewShot, model)
    drawn = task.drawn(task.unseen, 1, 4, number=1)
    said, weights = task.said(few, drawn), task.looks(few, drawn)
    if weights is None:
        return []
    found = []
    for row in range(len(drawn.support)):
        pictures = [drawn.queries[row, 0], *drawn.support[row]]
        strip = np.concatenate(pictures, 1)
        names = drawn.names[row].tolist()
        told: dict[str, Any] = {
            "title": f"Named {int(said[row, 0])}, right is {int(drawn.right[row, 0])}",
            "note": f"First the one asked about, then those shown, named {', '.join(map(str, names))}.",
            "grid": [1, len(pictures)], "image": (1 - strip).round(2).tolist(),
        }  # fmt: skip
        look = torch.cat((torch.zeros(1, 1), torch.from_numpy(weights[row, :1])), 1)
        found.append(Trace("naming", look, ["?"], ["?", *map(str, names)], kind="image", about=told))
    return found


def playing(task: Playing, model: nn.Module) -> list[Trace]:
    """What each pull looked back at."""
    from regard.tasks.playing import told

    game = task.drawn((SEED, SEED), 1)
    trail = task.play(model, game, best=True)
    with watch(model) as seen:
        model(told(trail, task.data.arms))
    if not seen:
        return []
    pulls = zip(trail.pulled[0].tolist(), trail.paid[0].tolist(), strict=True)
    labels = [f"arm {arm} {'won' if won else 'lost'}" for arm, won in pulls]
    weights = seen[-1].weights[0, 0]
    chances = ", ".join(f"{chance:.2f}" for chance in game.chances[0].tolist())
    about = {
        "title": "What each pull looked back at",
        "note": f"Before a pull its own pay is not known. Chances: {chances}.",
    }
    asked = [f"before pull {at + 1}" for at in range(len(labels))]
    return [Trace("playing", weights, asked, ["begin", *labels[:-1]], allowed=weights > 0, about=about)]
