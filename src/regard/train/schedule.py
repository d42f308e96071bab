"""How the learning rate goes: up while warming up, then down. Each is a factor of the peak."""

from __future__ import annotations

import math
from collections.abc import Callable

from regard.train.settings import Train

Schedule = Callable[[int], float]


def inverse_root(warmup: int) -> Schedule:
    """1 / √step after the warm-up. Vaswani et al. 2017, 5.3: their peak is (d_model · warmup) ^ -1/2."""
    return lambda step: min(step / max(1, warmup), math.sqrt(max(1, warmup) / step))


def linear(warmup: int, steps: int) -> Schedule:
    """In a straight line to 0 at the last step."""
    return lambda step: _rise(step, warmup) if step < warmup else max(0.0, (steps - step) / max(1, steps - warmup))


def cosine(warmup: int, steps: int) -> Schedule:
    """Half a cosine to 0 at the last step."""

    def factor(step: int) -> float:
        if step < warmup:
            return _rise(step, warmup)
        done = min(1.0, (step - warmup) / max(1, steps - warmup))
        return 0.5 * (1 + math.cos(math.pi * done))

    return factor


def constant(warmup: int) -> Schedule:
    """The peak, once reached."""
    return lambda step: _rise(step, warmup)


def noam(width: int, warmup: int) -> Schedule:
    """The paper's own formula, a rate and not a factor: width^-½ · min(step^-½, step · warmup^-1½)."""
    return lambda step: width**-0.5 * min(step**-0.5, step * warmup**-1.5)


def schedule(settings: Train) -> Schedule:
    """The factor at each step, counted from 1, that these settings describe."""
    kinds: dict[str, Callable[[], Schedule]] = {
        "inverse-root": lambda: inverse_root(settings.warmup),
        "linear": lambda: linear(settings.warmup, settings.steps),
        "cosine": lambda: cosine(settings.warmup, settings.steps),
        "constant": lambda: constant(settings.warmup),
    }
    return kinds[settings.schedule]()


def _rise(step: int, warmup: int) -> float:
    return min(1.0, step / max(1, warmup))
