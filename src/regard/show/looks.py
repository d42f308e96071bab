"""What a system looked at while it answered something it never saw, as traces: for the page that shows any of them.

A task names its function here (`looked_by`): points are seen in a plane, a tape by its cells, examples as pictures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
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
    from regard.tasks.copying import CopyingTask
    from regard.tasks.few_shot import Naming
    from regard.tasks.labelling import Labelling
    from regard.tasks.playing import Playing
    from regard.tasks.pointing import PointingTask
    from regard.tasks.reading import Reading
    from regard.tasks.taping import Taping

SEED = 7
MOST = 24
"""Traces on a page; a model of many layers and heads has its last."""


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
    if len(traces) > MOST:
        about = f"{about} The last {MOST} of {len(traces)} looks."
    return Shown([{"id": name, "name": name}], {name: {"looks": packed(traces[-MOST:])}}, name, about, first="looks")


def pointing(task: PointingTask, model: nn.Module) -> list[Trace]:
    """Which points were weighed at each step of an answer."""
    from regard.models.pointer import FIRST, Pointer
    from regard.text.ids import END, START

    pointer = cast(Pointer, model)
    points = task.problem.draw(np.random.default_rng(SEED), 1, task.data.largest)
    answer = task.answers(pointer, points, task.search)[0]
    before = torch.tensor([[START, *(number + FIRST for number in answer)]])
    scores = pointer(torch.tensor(points, dtype=torch.float32), torch.tensor([points.shape[1]]), before)
    weights = scores[0].softmax(-1)[:, [END, *range(FIRST, scores.shape[-1])]]
    flat = np.concatenate((points[0], np.zeros((points.shape[1], 1))), 1)[:, :2]
    outside = [[float(flat[:, 0].min()), float(flat[:, 1].min()) - 0.12]]  # the sign that ends the answer
    keys = ["end", *map(str, range(points.shape[1]))]
    asked = [f"step {at + 1}: {number}" for at, number in enumerate([*answer, "end"])]
    right = " ".join(map(str, task.problem.solve(points)[0].tolist()))
    told = {"title": "What is pointed at", "note": f"The larger, the more weight. Right: {right}.",
            "places": [*outside, *flat.tolist()]}  # fmt: skip
    return [Trace("pointing", weights, asked, keys, kind="points", about=told)]


def tape(task: Taping, model: nn.Module) -> list[Trace]:
    """Where heads stood on the tape, step by step."""
    from regard.models.turing import Machine
    from regard.tasks.taping import shown as drawn

    batch = drawn(task.problem.draw(np.random.default_rng(SEED), 1, task.data.largest), 0, 1)
    trail = cast(Machine, model).trail(batch.inputs)
    found = []
    for title, heads in (("Where it wrote", trail.wrote), ("Where it read", trail.read)):
        if heads is not None:
            for head, weights in enumerate(heads[0].unbind(1)):
                steps, cells = ([str(number) for number in range(count)] for count in weights.shape)
                told = {"title": f"{title}, head {head + 1}", "note": "Steps down, cells of the tape across."}
                found.append(Trace("tape", weights, steps, cells, head=head, kind="tape", about=told))
    return found


def copying(task: CopyingTask, model: nn.Module) -> list[Trace]:
    """What was looked at when each word of a summary was said."""
    from regard.models.copying import Copying
    from regard.show.copying import trace

    article, summariser = task.origin.valid()[0], cast(Copying, model)
    said = task.summaries(summariser, [article.text], task.search)[0]
    seen = trace(task.told(summariser, article.text, said), article.text, said)
    own = [f"{word} ({share:.2f})" for word, share in zip(seen.queries, seen.about["p_gen"], strict=True)]
    right = " ".join(article.summaries[0])
    told = {"title": "Said and looked at", "note": f"Behind each word p_gen: 1 its own, 0 copied. Right: {right}"}
    return [replace(seen, queries=own, about=told)]


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


def labelling(task: Labelling, model: nn.Module) -> list[Trace]:
    """Who looked at whom, look by look and head by head."""
    from regard.models.labeller import Labeller
    from regard.show.labels import traces

    drawn = task.problem.held_out(np.random.default_rng(SEED), 1, task.sizes.largest)
    found, seen = traces(cast(Labeller, model), drawn, task.problem.told(drawn.items[0]))
    said, right = (
        " ".join(task.problem.answer(int(label)) for label in some)
        for some in (found.scores.argmax(-1)[0], drawn.right[0])
    )
    note = f"Said: {said}. Right: {right}."
    return [replace(one, about={"title": f"Look {one.layer + 1}, head {one.head + 1}", "note": note}) for one in seen]
