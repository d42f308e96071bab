"""What is measured of labels besides being right: where the model looked, how long it thought, what others say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.attend.watch import watch
from regard.models.labeller import Labeller
from regard.tasks.drawn import HELD_OUT
from regard.tasks.labelling import Labelling, Measure, Scores, answered, scored
from regard.tasks.labels import Drawn, LabelProblem
from regard.tasks.odd_pictures import OddPicture
from regard.tasks.rows import Mirror, Parity, Sum
from regard.tasks.sentences import Referent
from regard.tasks.sets import Digits, OddOneOut, farthest
from regard.tasks.stories import Story

COUNT = 500
"""Examples that looks are measured on."""


def looks(model: Labeller, drawn: Drawn) -> list[Float[Tensor, "b h n n"]]:
    """Who looked at what, look by look, as they are seen from outside."""
    with watch(model) as seen:
        answered(model, drawn)
    return [one.weights for one in seen]


def opposite(task: Labelling, model: Labeller) -> dict[str, Scores]:
    """How much of each place's look goes to the place as far from the other end: the mass on the anti-diagonal."""
    found = {}
    for size in task.sizes.measured:
        weights = looks(model, task.held_out(size, COUNT))[-1]
        mass = weights.flip(-1).diagonal(dim1=-2, dim2=-1)
        found[f"size={size}"] = {"anti-diagonal": float(mass.mean())}
    return found


def in_any_order(task: Labelling, model: Labeller) -> dict[str, Scores]:
    """By how much a probability changes when the items of a set change places: nothing, but for rounding."""
    found = {}
    for size in task.sizes.measured:
        drawn = task.held_out(size, COUNT)
        moved, order = shuffled(task.problem, drawn)
        before, after = (answered(model, some).scores.softmax(-1) for some in (drawn, moved))
        if not task.problem.classes:  # the answer is a place, and moves with it
            before = before.gather(-1, torch.from_numpy(order).unsqueeze(1))
        found[f"size={size}"] = {"changed by order": float((before - after).abs().max())}
    return found


def shuffled(problem: LabelProblem, drawn: Drawn) -> tuple[Drawn, np.ndarray]:
    """The same sets in another order, the question staying first where there is one; and that order."""
    count, size = drawn.items.shape[:2]
    fixed = 1 if problem.classes else 0
    order = np.argsort(np.random.default_rng(0).random((count, size - fixed)), 1) + fixed
    order = np.concatenate((np.zeros((count, fixed), int), order), 1)
    items = np.take_along_axis(drawn.items, order[..., None], 1)
    right = drawn.right if problem.classes else (order == drawn.right).argmax(1)[:, None]
    return Drawn(items, drawn.asked, right), order


def others_guess(task: Labelling, model: Labeller) -> dict[str, Scores]:
    """What one would say who has learned nothing, and what nobody can be better than."""
    problem, found = task.problem, {}
    guesses = {"farthest from the mean": farthest}
    if isinstance(problem, OddOneOut):
        guesses["best possible"] = problem.best
    for size in task.sizes.measured:
        drawn = task.held_out(size)
        right = {name: guess(drawn.items) == drawn.right[:, 0] for name, guess in guesses.items()}
        found[f"size={size}"] = {name: float(hits.mean()) for name, hits in right.items()}
    return found


def without_the_reason(task: Labelling, model: Labeller) -> dict[str, Scores]:
    """The same sentences with the telling word masked: a coin is as good."""
    assert isinstance(task.problem, Referent)
    drawn = task.problem.masked(task.held_out(task.sizes.largest))
    return {"without the reason": scored(model, drawn)}


def moves(task: Labelling, model: Labeller) -> dict[str, Scores]:
    """In how many pairs of sentences the look of *it* goes from the being to the place when the reason does."""
    assert isinstance(task.problem, Referent)
    tired, wide = task.problem.pairs(HELD_OUT, COUNT)
    being, place = (referents(drawn) for drawn in (tired, wide))
    seen = [look_of_it(model, drawn, nouns) for drawn in (tired, wide) for nouns in (being, place)]
    fallen, risen = seen[0] > seen[2], seen[3] > seen[1]
    right = (seen[0] > seen[1]) & (seen[3] > seen[2])
    return {
        "pairs": {
            "moves": float((fallen & risen).mean()),
            "rests on the right one": float(right.mean()),
            "animal, tired": float(seen[0].mean()),
            "street, tired": float(seen[1].mean()),
            "animal, wide": float(seen[2].mean()),
            "street, wide": float(seen[3].mean()),
        }
    }


def rollout(seen: Sequence[Float[Tensor, "b h n n"]]) -> Float[Tensor, "b n n"]:
    """How much of each item reaches each place through all layers. Abnar & Zuidema 2020.

    Heads count alike, and half of every state is what it was before the look: ½(A + 1), layer upon layer. A noun that
    *it* meets by way of another word counts as well as one it looks at itself.
    """
    own = torch.eye(seen[0].shape[-1])
    reached = own.expand(len(seen[0]), -1, -1)
    for weights in seen:
        reached = (weights.mean(1) + own) / 2 @ reached
    return reached


def referents(drawn: Drawn) -> np.ndarray:
    """The words that are meant."""
    return drawn.right[:, 0]


def look_of_it(model: Labeller, drawn: Drawn, nouns: np.ndarray) -> np.ndarray:
    """How much *it* has of these nouns after all layers, as its looks and those of the words between them tell."""
    weights = rollout(looks(model, drawn)).numpy()
    rows = np.arange(len(weights))
    places = (drawn.items[..., 0] == nouns[:, None]).argmax(1)
    return np.asarray(weights[rows, drawn.asked[:, 0], places])


def by_hardness(task: Labelling, model: Labeller) -> dict[str, Scores]:
    """Right answers and steps of thought where they are asked, by hardness; and how these go together."""
    drawn = task.held_out(task.sizes.largest)
    assert drawn.hard is not None
    found = answered(model, drawn)
    right = found.scores.argmax(-1).numpy() == drawn.right
    steps = found.pondered.steps.gather(1, torch.from_numpy(drawn.asked)).numpy()
    everywhere = np.broadcast_to(found.pondered.steps.mean(1, keepdim=True).numpy(), steps.shape)
    table: dict[str, Scores] = {}
    for hard in np.unique(drawn.hard).tolist()[:12]:
        which = drawn.hard == hard
        table[f"{task.problem.hardness}={hard}"] = {
            "right": float(right[which].mean()),
            "steps where asked": float(steps[which].mean()),
            "steps": float(everywhere[which].mean()),
        }
    return table | {"steps and hardness": {"rank correlation": rank_correlation(drawn.hard.ravel(), steps.ravel())}}


def rank_correlation(x: np.ndarray, y: np.ndarray) -> float:
    """Spearman's: the correlation of ranks, equal values sharing theirs; 0 where one of them never changes."""
    one, other = _ranks(x), _ranks(y)
    if one.std() == 0 or other.std() == 0:
        return 0.0
    return float(np.corrcoef(one, other)[0, 1])


def _ranks(values: np.ndarray) -> np.ndarray:
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    after = counts.cumsum()
    return np.asarray((after - (counts - 1) / 2)[which])


MEASURES: dict[type[LabelProblem], Sequence[Measure]] = {
    Mirror: (opposite,),
    Digits: (in_any_order,),
    OddOneOut: (others_guess, in_any_order),
    OddPicture: (others_guess, in_any_order),
    Referent: (without_the_reason, moves),
    Story: (by_hardness,),
    Sum: (by_hardness,),
    Parity: (by_hardness,),
}
