"""What a labeller looked at and how long it thought: the anti-diagonal, what *it* means, ponder bars, the odd one.

All weights are those that `watch` saw, as traces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import torch
from torch import nn

from regard.attend.watch import watch
from regard.models.labeller import Labelled, Labeller
from regard.show.draw import BLUE, FAINT, INK, ORANGE
from regard.show.trace import Trace, of_look
from regard.tasks.label_measures import rollout
from regard.tasks.labelling import Labelling, answered
from regard.tasks.labels import Drawn, LabelProblem
from regard.tasks.odd_pictures import OddPicture
from regard.tasks.rows import Again, Mirror
from regard.tasks.sentences import NUMBER, Referent
from regard.tasks.sets import Digits, OddOneOut

SEED = 7


def traces(model: Labeller, drawn: Drawn, labels: Sequence[str]) -> tuple[Labelled, list[Trace]]:
    """The answers to one example, and who looked at what on the way: a trace for each head of each look."""
    with watch(model) as seen:
        found = answered(model, drawn)
    every = [
        replace(trace, layer=number)
        for number, one in enumerate(seen)
        for trace in of_look(one.look, one.name, labels, labels)
    ]
    return found, every


def labelling(figure: Any, task: Labelling, model: nn.Module) -> None:
    """Draw what belongs to the task's problem; ponder bars, where it has no picture of its own."""
    VIEWS.get(type(task.problem), thought)(figure, task, cast(Labeller, model))


def _examples(task: Labelling, count: int) -> Drawn:
    return task.problem.held_out(np.random.default_rng(SEED), count, task.sizes.largest)


def maps(figure: Any, task: Labelling, model: Labeller) -> None:
    """Who looked at whom in the last layer, head by head."""
    drawn = _examples(task, 1)
    labels = task.problem.told(drawn.items[0])
    _, seen = traces(model, drawn, labels)
    last = [trace for trace in seen if trace.layer == seen[-1].layer]
    figure.set_size_inches(5 * len(last), 5)
    for axes, trace in zip(np.ravel(figure.subplots(1, len(last))), last, strict=True):
        axes.imshow(trace.weights.numpy(), cmap="Blues", vmin=0, vmax=1)
        axes.set_xticks(range(len(trace.keys)), trace.keys, fontsize=8)
        axes.set_yticks(range(len(trace.queries)), trace.queries, fontsize=8)
        axes.set(xlabel="looks at", ylabel="place")
        axes.set_title(f"layer {trace.layer + 1}, head {trace.head + 1}", fontsize=9, loc="left")


def thought(figure: Any, task: Labelling, model: Labeller) -> None:
    """Steps of thought at each item of a few examples, of each hardness where there is one."""
    some = _by_hardness(_examples(task, 200))
    rows = max(len(one.items[0]) for one in some)
    figure.set_size_inches(5 * len(some), 1.5 + 0.24 * rows)
    for axes, one in zip(np.ravel(figure.subplots(1, len(some))), some, strict=True):
        labels, found = task.problem.told(one.items[0]), answered(model, one)
        _ponder_bars(axes, labels, found.pondered.shares[0].numpy(), found.pondered.steps[0].numpy(), one.asked[0])
        right, said = (task.problem.answer(int(x[0])) for x in (one.right[0], found.scores.argmax(-1)[0]))
        title = f"{said} (right: {right})" if len(one.asked[0]) == 1 else ""
        hard = "" if one.hard is None else f"{task.problem.hardness}: {int(one.hard.max())}  "
        axes.set_title(f"{hard}{title}", fontsize=9, loc="left")


def _by_hardness(drawn: Drawn) -> list[Drawn]:
    """The first example of the easiest, a middle and the hardest; just the first, where all are alike."""
    if drawn.hard is None:
        return [drawn.some(0, 1)]
    degrees = drawn.hard.max(1)
    there = np.unique(degrees)
    wanted = np.unique([there[0], there[len(there) // 2], there[-1]])
    places = [int((degrees == degree).argmax()) for degree in wanted]
    return [drawn.some(place, place + 1) for place in places]


def _ponder_bars(axes: Any, labels: Sequence[str], shares: np.ndarray, steps: np.ndarray, asked: np.ndarray) -> None:
    """A bar for each item, as long as it thought; each step the darker the more of the answer is from it."""
    for place, row in enumerate(shares):
        colour = ORANGE if place in asked and len(asked) < len(labels) else BLUE
        for step in range(int(steps[place])):
            axes.barh(place, 0.94, left=step, color=colour, alpha=0.15 + 0.85 * float(row[step]), height=0.8)
    axes.set_yticks(range(len(labels)), labels, fontsize=7)
    axes.invert_yaxis()
    axes.set_xlim(0, shares.shape[1])
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("steps of thought", fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def lines(figure: Any, task: Labelling, model: Labeller) -> None:
    """*it* on the left, what it has of each word on the right, a line as wide as that: for both reasons."""
    assert isinstance(task.problem, Referent)
    figure.set_size_inches(10, 4.6)
    for axes, drawn in zip(figure.subplots(1, 2), _minimal_pair(task.problem), strict=True):
        words = task.problem.told(drawn.items[0])
        found, seen = traces(model, drawn, words)
        layers = range(seen[-1].layer + 1)
        looks = [torch.stack([trace.weights for trace in seen if trace.layer == layer])[None] for layer in layers]
        asked = int(drawn.asked[0, 0])
        weights = rollout(looks)[0, asked].numpy()
        weights[asked] = 0  # what it has of itself would hide the rest
        _line_view(axes, words, asked, weights / weights.sum())
        said = task.problem.answer(int(found.scores.argmax(-1)[0, 0]))
        axes.set_title(f"... too {words[-1]}: it is the {said}", fontsize=10)


def _minimal_pair(problem: Referent) -> list[Drawn]:
    """The famous sentence, with either reason."""
    found = []
    for why, noun in (("tired", "animal"), ("wide", "street")):
        words = f"the animal did not cross the street because it was too {why}".split()
        items = np.array([[[NUMBER[word]] for word in words]])
        found.append(Drawn(items, np.array([[words.index("it")]]), np.array([[NUMBER[noun]]])))
    return found


def _line_view(axes: Any, words: Sequence[str], asked: int, weights: np.ndarray) -> None:
    for place, (word, weight) in enumerate(zip(words, weights, strict=True)):
        axes.text(-0.04, -place, word, ha="right", va="center", fontsize=9, color=INK if place == asked else FAINT)
        axes.text(
            1.04, -place, word, ha="left", va="center", fontsize=9, color=INK, alpha=0.35 + 0.65 * float(weight)
        )
        axes.plot([0, 1], [-asked, -place], color=BLUE, linewidth=9 * float(weight), alpha=0.75)
    axes.set(xlim=(-0.5, 1.5), ylim=(-len(words) + 0.4, 0.6))
    axes.axis("off")


def odd_pictures(figure: Any, task: Labelling, model: Labeller) -> None:
    """Rows of drawings, above each how likely it is the odd one; the right one in a frame."""
    assert isinstance(task.problem, OddPicture)
    drawn = _examples(task, 5)
    chances = answered(model, drawn).scores.softmax(-1)[:, 0].numpy()
    count, side = drawn.items.shape[1], task.problem.side
    figure.set_size_inches(count, 6.5)
    for row, axes in enumerate(figure.subplots(5, count)):
        for place, one in enumerate(axes):
            one.imshow(drawn.items[row, place].reshape(side, side), cmap="Greys", vmin=0, vmax=1)
            right = place == drawn.right[row, 0]
            one.set(xticks=[], yticks=[])
            one.set_title(f"{100 * chances[row, place]:.0f} %", fontsize=9, color=ORANGE if right else FAINT)
            for spine in one.spines.values():
                spine.set(color=ORANGE if right else FAINT, linewidth=3 if right else 0.5)


def odd(figure: Any, task: Labelling, model: Labeller) -> None:
    """How likely each item of a few sets is the odd one; the right one in colour."""
    drawn = _examples(task, 4)
    chances = answered(model, drawn).scores.softmax(-1)[:, 0].numpy()
    figure.set_size_inches(9, 6)
    for axes, row, right in zip(figure.subplots(4, 1), chances, drawn.right[:, 0], strict=True):
        axes.bar(range(len(row)), row, color=[ORANGE if place == right else BLUE for place in range(len(row))])
        axes.set_xticks(range(len(row)), task.problem.told(drawn.items[0]), fontsize=8)
        axes.set_ylim(0, 1)
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle("how likely each is the odd one; the one that is, in orange", fontsize=10, color=INK)


def question(figure: Any, task: Labelling, model: Labeller) -> None:
    """What the question looks at in a set, look by look."""
    drawn = _examples(task, 1)
    labels = task.problem.told(drawn.items[0])
    found, seen = traces(model, drawn, labels)
    layers = sorted({trace.layer for trace in seen})
    figure.set_size_inches(8, 1.8 * len(layers) + 0.5)
    for axes, layer in zip(np.ravel(figure.subplots(len(layers), 1)), layers, strict=True):
        weights = np.mean([trace.weights[0].numpy() for trace in seen if trace.layer == layer], 0)
        axes.bar(range(len(labels)), weights, color=BLUE)
        axes.set_xticks(range(len(labels)), labels, fontsize=9)
        axes.set_title(f"look {layer + 1} of the question", fontsize=9, loc="left")
        axes.spines[["top", "right"]].set_visible(False)
    said, right = int(found.scores.argmax(-1)[0, 0]), int(drawn.right[0, 0])
    figure.suptitle(f"said {said}, right is {right}", fontsize=10)


VIEWS: dict[type[LabelProblem], Callable[[Any, Labelling, Labeller], None]] = {
    Mirror: maps,
    Again: maps,
    Referent: lines,
    OddOneOut: odd,
    OddPicture: odd_pictures,
    Digits: question,
}


def looks(task: Labelling, model: nn.Module) -> list[Trace]:
    """How long was thought about each item, where that differs, and who looked at whom, look by look."""
    labeller = cast(Labeller, model)
    drawn = _examples(task, 1)
    labels = task.problem.told(drawn.items[0])
    found, seen = traces(labeller, drawn, labels)
    said, right = (
        " ".join(task.problem.answer(int(label)) for label in some)
        for some in (found.scores.argmax(-1)[0], drawn.right[0])
    )
    note = f"Said: {said}. Right: {right}."
    titled = [
        replace(one, about={"title": f"Look {one.layer + 1}, head {one.head + 1}", "note": note}) for one in seen
    ]
    ponders = found.pondered.steps.unique().numel() > 1
    return [*(_thought(task, labeller, one) for one in _by_hardness(_examples(task, 200)) if ponders), *titled]


def _thought(task: Labelling, model: Labeller, one: Drawn) -> Trace:
    """Of each item, how much of its answer is from which step."""
    labels, found = task.problem.told(one.items[0]), answered(model, one)
    said, right = (task.problem.answer(int(some[0])) for some in (found.scores.argmax(-1)[0], one.right[0]))
    shares, asked = found.pondered.shares[0], one.asked[0].tolist()
    single = len(asked) == 1
    hard = "" if one.hard is None else f", {task.problem.hardness} {int(one.hard.max())}"
    answer = f"Said: {said}. Right: {right}. " if single else ""
    told = {
        "title": f"Steps of thought{hard}",
        "note": f"{answer}The darker, the more of the answer is from that step.",
        "steps": found.pondered.steps[0].int().tolist(),
        "asked": asked if single else [],
    }
    steps = [f"step {number + 1}" for number in range(shares.shape[1])]
    return Trace("pondered", shares, labels, steps, kind="ponder", about=told)
