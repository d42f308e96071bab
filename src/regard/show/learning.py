"""Pictures of systems that read step by step: what a reader looked back at, a query chose, a player remembered."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, cast

import numpy as np
import torch
from torch import nn

from regard.attend.watch import watch
from regard.models.convolution import Dilated
from regard.models.few_shot import FewShot
from regard.models.reading import LanguageModel, Lstmn
from regard.models.sequence_settings import DilatedModel
from regard.show import episodes, games, reading
from regard.tasks.few_shot import Naming
from regard.tasks.playing import Playing, told
from regard.tasks.reading import Reading
from regard.text.ids import END

WORDS, LETTERS = 14, 28  # of a sentence that is drawn, or of what is read letter by letter
UNSEEN = {" ": "␣", "\t": "⇥"}  # letters that leave no ink, as they are drawn


def read(figure: Any, task: Reading, model: nn.Module) -> None:
    """What the words of a held-out sentence looked back at; of convolutions, how far back they see."""
    language = cast(LanguageModel, model)
    if isinstance(task.model, DilatedModel):
        _field(figure, task.model, language)
        return
    ids = sentence(task)
    words = [task.passages.vocabulary[number] for number in ids.tolist()]
    words = [UNSEEN.get(word, word) for word in words]
    with watch(language) as seen:
        bits = -language(ids.unsqueeze(0))[0].log_softmax(-1) / np.log(2)
    surprise = bits[torch.arange(len(ids) - 1), ids[1:]].numpy()
    if not any(isinstance(module, Lstmn) for module in language.modules()):
        figure.set_size_inches(8, 3)
        reading.surprises(figure.subplots(), words[1:], surprise, "how surprising each word was")
        return
    steps = [look.weights[0, 0, 0].numpy() for look in seen[: len(ids) - 1]]  # of the first layer
    weights = [np.zeros(0), *steps]
    figure.set_size_inches(11, 7)
    top, below = figure.subfigures(2, 1)
    reading.links(top.subplots(), words, weights, 12)
    left, right = below.subplots(1, 2)
    reading.map_of(left, words, weights, "what each word looked back at")
    reading.surprises(right, words[1:], surprise, "how surprising each word was")


def sentence(task: Reading) -> torch.Tensor:
    """The first held-out sentence of a good length, or question."""
    found = task.passages.held_out("test") or task.passages.held_out("valid")
    assert found is not None
    if task.data.text is None:
        return torch.from_numpy(found.before[0])
    stream = found.before.reshape(-1)
    ends = np.flatnonzero(stream == END)
    long = LETTERS if task.data.unit == "characters" else WORDS
    fits = [(a + 1, b) for a, b in pairwise(ends) if long - 4 <= b - a - 1 <= long]
    first, after = fits[0] if fits else (0, long)
    return torch.from_numpy(np.concatenate(([END], stream[first:after])))


def _field(figure: Any, settings: DilatedModel, model: LanguageModel) -> None:
    """The tree of dilations, and what the last output really depends on."""
    stack = next(module for module in model.modules() if isinstance(module, Dilated))
    steps = stack.field + 8
    with torch.enable_grad():
        given = torch.randn(1, steps, settings.width, requires_grad=True)
        (slopes,) = torch.autograd.grad(stack(given)[0, -1].sum(), given)
    figure.set_size_inches(10, 6)
    above, below = figure.subplots(2, 1, height_ratios=[2, 1], sharex=True)
    reading.tree(above, settings.kernel, settings.dilations, steps, f"the last output sees {stack.field} inputs")
    reading.field(below, slopes[0].abs().sum(-1).numpy(), "measured: how much it changes with each")


def named(figure: Any, task: Naming, model: nn.Module) -> None:
    """Episodes of unseen alphabets: the image asked about, then those shown, framed by how much each was seen."""
    few = cast(FewShot, model)
    drawn = task.drawn(task.unseen, 1, 6, number=1)
    said, weights = task.said(few, drawn), task.looks(few, drawn)
    count = drawn.support.shape[1]
    figure.set_size_inches(1.3 * (count + 1), 1.5 * len(drawn.support))
    axes = figure.subplots(len(drawn.support), count + 1)
    for row, line in enumerate(axes):
        right = int(drawn.right[row, 0])
        episodes.asked(line[0], drawn.queries[row, 0], int(said[row, 0]), right)
        for place in range(count):
            seen = None if weights is None else float(weights[row, 0, place])
            name = int(drawn.names[row, place])
            episodes.shown(line[place + 1], drawn.support[row, place], name, seen, name == right)


def played(figure: Any, task: Playing, model: nn.Module) -> None:
    """A game, what each pull looked back at, and what is won beside known ways to play."""
    game = task.drawn((7, 7), 1)
    trail = task.play(model, game, best=True)
    with watch(model) as seen:
        model(told(trail, task.data.arms))
    won = {"model": task.rewards(model, 2000), **task.others()}
    figure.set_size_inches(12, 3.6)
    axes = figure.subplots(1, 3 if seen else 2)
    games.game(axes[0], game.chances[0].tolist(), trail.pulled[0].tolist(), trail.paid[0].tolist())
    if seen:
        games.looks(axes[1], seen[-1].weights[0, 0].numpy())
    means = {name: rewards.mean(0) for name, rewards in won.items()}
    games.curves(axes[-1], means, {name: float(rewards.sum()) for name, rewards in means.items()})
