"""Bernoulli bandits: arms that pay 1 with chances of their own, drawn evenly, and known ways to play. NumPy only.

A way to play sees wins and losses of every arm so far, and how many pulls are left. The best that any can do on
average is found exactly, by going back from the last pull over everything that can have happened.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache

import numpy as np

Counts = np.ndarray  # b arms
Play = Callable[[np.random.Generator, Counts, Counts, int], np.ndarray]
"""Which arm to pull in each game, from wins, losses and the pulls left."""

SOLVED = 100_000  # things that can have happened, up to the order of arms; beyond, the best is not looked for


def random(rng: np.random.Generator, wins: Counts, losses: Counts, left: int) -> np.ndarray:
    """Any arm."""
    return rng.integers(0, wins.shape[1], len(wins))


def greedy(rng: np.random.Generator, wins: Counts, losses: Counts, left: int) -> np.ndarray:
    """The arm with the highest mean, each counted as if it had won once and lost once."""
    return _highest(rng, (wins + 1) / (wins + losses + 2))


def epsilon_greedy(share: float = 0.1) -> Play:
    """The best arm so far, but in a share of the pulls any arm."""

    def play(rng: np.random.Generator, wins: Counts, losses: Counts, left: int) -> np.ndarray:
        stray = rng.random(len(wins)) < share
        return np.where(stray, random(rng, wins, losses, left), greedy(rng, wins, losses, left))

    return play


def thompson(rng: np.random.Generator, wins: Counts, losses: Counts, left: int) -> np.ndarray:
    """The best arm of chances drawn from what is believed of them. Thompson 1933."""
    arms: np.ndarray = rng.beta(wins + 1, losses + 1).argmax(1)
    return arms


def ucb1(rng: np.random.Generator, wins: Counts, losses: Counts, left: int) -> np.ndarray:
    """Mean and √(2 ln n / pulls), each arm once at first. Auer, Cesa-Bianchi & Fischer 2002."""
    pulls = wins + losses
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = wins / pulls + np.sqrt(2 * np.log(pulls.sum(1, keepdims=True)) / pulls)
    return _highest(rng, np.where(pulls == 0, np.inf, bound))


def gittins(horizon: int) -> Play:
    """The arm of the highest index: the sure pay for which one would leave it. Gittins 1979, finite horizon."""

    def play(rng: np.random.Generator, wins: Counts, losses: Counts, left: int) -> np.ndarray:
        return _highest(rng, indices(horizon)[left, wins.astype(int), losses.astype(int)])

    return play


@lru_cache(maxsize=8)
def indices(horizon: int, steps: int = 2001) -> np.ndarray:
    """The index for each number of pulls left, wins and losses, to one part in `steps`."""
    pay = np.linspace(0, 1, steps)
    found = np.zeros((horizon + 1, horizon + 1, horizon + 1))
    later = np.zeros((horizon + 2, horizon + 2, steps))
    for left in range(1, horizon + 1):
        now = np.zeros_like(later)
        for wins in range(horizon + 1 - left):
            for losses in range(horizon + 1 - left - wins):
                chance = (wins + 1) / (wins + losses + 2)
                pull = chance * (1 + later[wins + 1, losses]) + (1 - chance) * later[wins, losses + 1]
                found[left, wins, losses] = pay[np.argmax(pay * left >= pull - 1e-12)]
                now[wins, losses] = np.maximum(pull, pay * left)
        later = now
    return found


def best_possible(arms: int, pulls: int) -> float | None:
    """What the best way to play wins on average, exactly; None where too much can happen."""
    if math.comb(2 * arms + pulls, pulls) > SOLVED * math.factorial(min(arms, 5)):
        return None

    @cache
    def value(seen: tuple[tuple[int, int], ...], left: int) -> float:
        if left == 0:
            return 0.0
        found = 0.0
        for arm in {pair: at for at, pair in enumerate(seen)}.values():  # of arms alike, one
            wins, losses = seen[arm]
            chance = (wins + 1) / (wins + losses + 2)
            won, lost = (
                value(tuple(sorted((*seen[:arm], pair, *seen[arm + 1 :]))), left - 1)
                for pair in ((wins + 1, losses), (wins, losses + 1))
            )
            found = max(found, chance * (1 + won) + (1 - chance) * lost)
        return found

    return value(((0, 0),) * arms, pulls)


def played(play: Play, chances: np.ndarray, pulls: int, rng: np.random.Generator) -> np.ndarray:
    """What a way to play wins at each pull of each game."""
    wins, losses, rows = np.zeros_like(chances), np.zeros_like(chances), np.arange(len(chances))
    rewards = np.zeros((len(chances), pulls))
    for at in range(pulls):
        arm = play(rng, wins, losses, pulls - at)
        paid = rng.random(len(chances)) < chances[rows, arm]
        rewards[:, at] = paid
        wins[rows, arm] += paid
        losses[rows, arm] += ~paid
    return rewards


def known(pulls: int) -> dict[str, Play]:
    """Ways to play that a learner is compared with."""
    return {
        "gittins": gittins(pulls),
        "thompson": thompson,
        "ucb1": ucb1,
        "epsilon-greedy": epsilon_greedy(),
        "greedy": greedy,
        "random": random,
    }


def _highest(rng: np.random.Generator, values: np.ndarray) -> np.ndarray:
    """The place of the highest value; of several, any."""
    places: np.ndarray = np.where(values == values.max(1, keepdims=True), rng.random(values.shape), -1.0).argmax(1)
    return places
