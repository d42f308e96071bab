"""Attention as a look-up: a query asks, keys answer, values are what is found.

A dictionary gives the value of the one key that is equal; attention gives a mean of values by how alike their keys
are, and the sharper it is, the nearer it comes to the value of the nearest key. `regard study retrieval --to
docs/results` stores a thousand titles, asks for them with noisy keys, and turns the strength up.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from regard.attend.mechanism import Attention
from regard.attend.score import Cosine
from regard.studies import trial
from regard.studies.grid import At, Column, Found, Measured, Study, run
from regard.text.questions import PLACES
from regard.text.trees import ADJECTIVES, GOING, NOUNS
from regard.train.fit import seed_of

STORED, WIDTH, BEST = 1000, 64, 6
LITTLE, MUCH = "0.6", "1.2"  # noise, in lengths of a key
ASKED = "green dog in the garden"
SHARP = ("50", "100", "200")


def titles(seed: int) -> list[str]:
    """A thousand different titles, as of short films."""
    every = itertools.product(ADJECTIVES, NOUNS, GOING, PLACES)
    told = [f"{adjective} {noun} {verb} in the {place}" for adjective, noun, verb, place in every]
    return [told[at] for at in np.random.default_rng(seed).permutation(len(told))[:STORED]]


def vectors(texts: Sequence[str], seed: int) -> Float[Tensor, "n d"]:
    """A text as the direction of the sum of its words' vectors, which are random: alike texts, alike directions."""
    words = sorted({*ADJECTIVES, *NOUNS, *GOING, *PLACES})
    chance = torch.Generator().manual_seed(seed_of(seed))
    table = dict(zip(words, torch.randn(len(words), WIDTH, generator=chance), strict=True))
    sums = [torch.stack([table[word] for word in text.split() if word in table]).sum(0) for text in texts]
    return F.normalize(torch.stack(sums), dim=-1)


def measured(at: At, seed: int, steps: int) -> Measured:
    """Ask `steps` times with noisy keys, and see whose value is nearest to what was read."""
    chance = torch.Generator().manual_seed(seed_of(seed, 1))
    stored = titles(seed)
    keys = vectors(stored, seed)
    values = F.normalize(torch.randn(STORED, WIDTH, generator=chance), dim=-1)
    wanted = torch.randint(STORED, (steps,), generator=chance)
    noise = F.normalize(torch.randn(steps, WIDTH, generator=chance), dim=-1)
    query = keys[wanted] + float(at["noise"]) * noise
    attention = Attention(Cosine(float(at["strength"])))
    with torch.no_grad():
        memory = attention.memory(keys.unsqueeze(0), values.unsqueeze(0))
        look = attention.look(query.unsqueeze(0), memory)
        read = (look.context[0] @ values.T).argmax(-1)
        asked = attention.look(vectors([ASKED], seed).unsqueeze(0), memory)
    nearest = torch.cdist(F.normalize(query, dim=-1), keys).argmin(-1)
    figures = {
        "recall": float((read == wanted).float().mean()),
        "nearest": float((nearest == wanted).float().mean()),
        "agree": float((read == nearest).float().mean()),
        "largest": float(look.weights.amax(-1).mean()),
    }
    return Measured(figures, _ranked(asked.weights[0, 0, 0], stored))


def _ranked(weights: Float[Tensor, " n"], names: Sequence[str]) -> list[tuple[str, float]]:
    """The best of a search, as such lists are shown."""
    best = weights.topk(BEST)
    return [
        (names[at], round(value, 4)) for at, value in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    ]


def goals(found: Found) -> list[str]:
    """What was aimed at and what was found."""
    least = {
        noise: min(min(found.values("agree", {"strength": strength, "noise": noise})) for strength in SHARP)
        for noise in (LITTLE, MUCH)
    }
    weak = found.mean("agree", strength="1")
    agreement = "agreement with the exact nearest neighbour at β ≥ 50, the least (%)"
    return [
        *(trial.reached(f"{agreement}, noise {noise}", 100 * value, 99.9) for noise, value in least.items()),
        trial.reached("agreement at β = 1, where all are read alike (%)", 100 * weak, 50, at_least=False),
    ]


def draw(found: Found, path: Path) -> None:
    """Recall against strength, and ranked lists with their weights at three strengths."""
    figure = trial.figure_of(13, 3.4)
    axes = figure.subplots(1, 4, width_ratios=[1.3, 1, 1, 1])
    strengths = STUDY.axes["strength"]
    for noise, style in ((LITTLE, "-"), (MUCH, "--")):
        for name, label, ink in (("agree", "the nearest key's", trial.BLUE), ("recall", "asked for", trial.ORANGE)):
            values = [100 * found.mean(name, strength=strength, noise=noise) for strength in strengths]
            axes[0].plot([float(s) for s in strengths], values, style, color=ink, label=f"{label}, noise {noise}")
    axes[0].axhline(100 * found.mean("nearest", noise=MUCH), color=trial.GREY, linestyle=":", linewidth=1)
    axes[0].set(xscale="log", xlabel="strength β", ylabel="% of questions", title="The value that is read is")
    axes[0].legend(frameon=False, fontsize=7, loc="lower right")
    for place, strength in enumerate(("5", "20", "100"), start=1):
        ranked = found.seen(strength=strength)
        axes[place].barh(range(BEST), [weight for _, weight in ranked], color=trial.BLUE, height=0.5)
        for at, (name, weight) in enumerate(ranked):
            axes[place].text(0, at - 0.42, f"{name}  {weight:.3f}", fontsize=7, va="center")
        axes[place].set(xlim=(0, 1), yticks=[], ylim=(BEST - 0.5, -0.8))
        axes[place].set_title(f"“{ASKED}”, β = {strength}", fontsize=8)
    trial.plain(*axes)
    figure.savefig(path, dpi=130)


STUDY = Study(
    name="retrieval",
    title="Attention as a look-up",
    about=(
        f"{STORED:,} titles are stored, each with a key of {WIDTH} numbers made of its words and a random value. "
        f"{{steps}} of them are asked for with a noisy key (noise {LITTLE} and {MUCH} times as long as the key). "
        "What attention reads, with scores β cos(q, k), is a mean of values; it counts as the value that is nearest "
        "to it. `agree`: that is the value of the exact nearest key; `recall`: it is the one asked for. With "
        "much noise the nearest key is often another, and often hardly nearer than the next: a mean of both is read, "
        "until it is sharp enough."
    ),
    axes={"strength": ("1", "2", "5", "10", "20", *SHARP), "noise": (LITTLE, MUCH)},
    steps=1000,
    seeds=3,
    measure=measured,
    columns=(
        *(
            Column(f"{title}, noise {noise}", figure, {"noise": noise}, times, digits)
            for noise in (LITTLE, MUCH)
            for title, figure, times, digits in (
                ("agree %", "agree", 100, 2),
                ("recall %", "recall", 100, 1),
                ("recall of the nearest %", "nearest", 100, 1),
                ("largest weight", "largest", 1, 3),
            )
        ),
    ),
    goals=goals,
    draw=draw,
)

main = partial(run, STUDY)


if __name__ == "__main__":
    main()
