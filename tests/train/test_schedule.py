"""How the learning rate goes."""

from __future__ import annotations

import math

import pytest

from regard.train.schedule import Schedule, constant, cosine, inverse_root, linear, noam, schedule
from regard.train.settings import Train


def test_the_papers_rate() -> None:
    rate = noam(512, 4000)
    assert rate(4000) == pytest.approx(6.988e-4, abs=5e-8)
    assert max(range(1, 20000), key=rate) == 4000
    assert rate(1) == pytest.approx(6.988e-4 / 4000, rel=1e-3)
    assert rate(16000) == pytest.approx(rate(4000) / 2)
    assert noam(512, 8000)(8000) == pytest.approx(rate(4000) / math.sqrt(2))
    assert noam(256, 4000)(4000) == pytest.approx(rate(4000) * math.sqrt(2))


def test_inverse_root_is_the_papers_with_its_peak() -> None:
    ours, theirs, peak = inverse_root(400), noam(64, 400), (64 * 400) ** -0.5
    assert [peak * ours(step) for step in range(1, 3000)] == pytest.approx([theirs(s) for s in range(1, 3000)])


SHAPES: dict[str, tuple[Schedule, dict[int, float]]] = {
    "inverse-root": (inverse_root(100), {1: 0.01, 50: 0.5, 100: 1.0, 400: 0.5, 10_000: 0.1}),
    "linear": (linear(100, 300), {1: 0.01, 50: 0.5, 100: 1.0, 200: 0.5, 250: 0.25, 300: 0.0, 400: 0.0}),
    "cosine": (cosine(100, 300), {1: 0.01, 50: 0.5, 100: 1.0, 150: 0.5 + 0.5**1.5, 200: 0.5, 300: 0.0, 400: 0.0}),
    "constant": (constant(100), {1: 0.01, 50: 0.5, 100: 1.0, 101: 1.0, 10_000: 1.0}),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name: str) -> None:
    factor, expected = SHAPES[name]
    assert {step: factor(step) for step in expected} == pytest.approx(expected, abs=1e-12)
    every = [factor(step) for step in range(1, 500)]
    assert max(every) == 1.0 == every[99]
    assert every[:100] == sorted(every[:100])
    assert every[99:] == sorted(every[99:], reverse=True)
    assert min(every) >= 0


@pytest.mark.parametrize("name", SHAPES)
def test_settings_name_them(name: str) -> None:
    chosen = schedule(Train(schedule=name, warmup=100, steps=300))  # type: ignore[arg-type]
    assert [chosen(step) for step in range(1, 400)] == [SHAPES[name][0](step) for step in range(1, 400)]


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize(("warmup", "steps"), [(0, 10), (1, 10), (10, 10), (100, 10), (0, 1)])
def test_odd_numbers_do_no_harm(name: str, warmup: int, steps: int) -> None:
    factor = schedule(Train(schedule=name, warmup=warmup, steps=steps))  # type: ignore[arg-type]
    every = [factor(step) for step in range(1, steps + 1)]
    assert all(0 <= value <= 1 for value in every)
    assert every[0] == (1.0 if warmup <= 1 and name in ("constant", "inverse-root") else every[0])
    assert sum(every) > 0 or (name, steps) in (("linear", 1), ("cosine", 1))
