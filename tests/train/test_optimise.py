"""Update rules against their formulas, and their memory put away and brought back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from regard.train.optimise import as_tensors, gradient_norm, optimiser, restore, set_rate
from regard.train.settings import Train

Array = Any
Rule = Callable[[Array, Array, Array, int], Array]
RATE, FIRST, SECOND, EPSILON = 1e-2, 0.9, 0.98, 1e-9


def gradients(count: int = 100) -> list[Array]:
    random = np.random.default_rng(0)
    return [random.normal(size=7) * 10.0 ** random.integers(-3, 3, 7) for _ in range(count)]


def by_formula(step: Rule, decay: float = 0.0) -> Iterator[Array]:
    """Weights after each update, moments kept as all of Adam's kin keep them."""
    weights, mean, square = np.linspace(-1, 1, 7), np.zeros(7), np.zeros(7)
    for t, gradient in enumerate(gradients(), 1):
        weights = weights * (1 - RATE * decay)
        mean, square = FIRST * mean + (1 - FIRST) * gradient, SECOND * square + (1 - SECOND) * gradient**2
        weights = weights - RATE * step(mean, square, gradient, t)
        yield weights


def by_torch(name: Literal["adam", "adamw", "radam"], decay: float = 0.0) -> Iterator[Array]:
    weights = nn.Parameter(torch.linspace(-1, 1, 7, dtype=torch.float64))
    rule = optimiser([weights], Train(optimiser=name, rate=RATE, betas=(FIRST, SECOND), epsilon=EPSILON, decay=decay))
    for gradient in gradients():
        weights.grad = torch.from_numpy(gradient)
        rule.step()
        yield weights.detach().numpy().copy()


def adam(mean: Array, square: Array, gradient: Array, t: int) -> Array:
    """Kingma & Ba 2015: both moments corrected for having started at 0."""
    return mean / (1 - FIRST**t) / (np.sqrt(square / (1 - SECOND**t)) + EPSILON)


def halfway(mean: Array, square: Array, gradient: Array, t: int) -> Array:
    """As a lecture prints it: the second moment is left as it is."""
    return mean / (1 - FIRST**t) / (np.sqrt(square) + EPSILON)


def uncorrected(mean: Array, square: Array, gradient: Array, t: int) -> Array:
    """Neither is corrected, as in some libraries' fine-tuning."""
    return mean / (np.sqrt(square) + EPSILON)


def radam(switch: float) -> Rule:
    """Liu et al. 2020: no division while too little is known of the second moment."""
    most = 2 / (1 - SECOND) - 1

    def step(mean: Array, square: Array, gradient: Array, t: int) -> Array:
        known = most - 2 * t * SECOND**t / (1 - SECOND**t)
        if known <= switch:
            return mean / (1 - FIRST**t)
        r = np.sqrt((known - 4) * (known - 2) * most / ((most - 4) * (most - 2) * known))
        return r * adam(mean, square, gradient, t)

    return step


def apart(one: Iterator[Array], other: Iterator[Array]) -> float:
    return max(float(np.abs(a - b).max()) for a, b in zip(one, other, strict=True))


def test_adam_is_the_papers() -> None:
    assert apart(by_formula(adam), by_torch("adam")) < 1e-7
    assert apart(by_formula(halfway), by_torch("adam")) > 1e-2


def test_adamw_takes_decay_off_the_weights() -> None:
    assert apart(by_formula(adam, decay=0.1), by_torch("adamw", decay=0.1)) < 1e-7
    assert apart(by_formula(adam, decay=0.1), by_torch("adam", decay=0.1)) > 1e-3  # there it is part of the gradient
    assert apart(by_torch("adam"), by_torch("adamw")) == 0.0


def test_radam_is_the_papers_but_for_its_switch() -> None:
    """The paper divides once ρ > 4, torch once ρ > 5; with β₂ = 0.98 that is one step later."""
    assert apart(by_formula(radam(5)), by_torch("radam")) < 1e-7
    assert apart(by_formula(radam(4)), by_torch("radam")) > 1e-3
    known = [99 - 2 * t * 0.98**t / (1 - 0.98**t) for t in range(1, 12)]
    assert sum(4 < rho <= 5 for rho in known) == 1


@pytest.mark.parametrize(("second", "factor"), [(0.98, 7.07), (0.999, 31.6)])
def test_without_its_correction_the_first_step_is_much_larger(
    monkeypatch: pytest.MonkeyPatch, second: float, factor: float
) -> None:
    monkeypatch.setattr(f"{__name__}.SECOND", second)
    start = np.linspace(-1, 1, 7)
    right, wrong = (np.abs(next(by_formula(rule)) - start) for rule in (adam, halfway))
    first = np.abs(next(by_torch("adam")) - start)
    assert first == pytest.approx(right)
    assert first == pytest.approx(np.full(7, RATE), rel=1e-4)  # whatever the gradient
    assert wrong / first == pytest.approx(np.full(7, factor), rel=0.01)


def test_skipping_both_corrections_has_a_known_ratio() -> None:
    mean, square = np.array([0.3]), np.array([0.02])
    for t in (1, 2, 10, 100):
        ratio = uncorrected(mean, square, mean, t) / adam(mean, square, mean, t)
        assert ratio == pytest.approx((1 - FIRST**t) / np.sqrt(1 - SECOND**t), rel=1e-6)


def parts() -> dict[str, list[nn.Parameter]]:
    torch.manual_seed(0)
    return {
        "model": [nn.Parameter(torch.randn(3, 2)), nn.Parameter(torch.randn(4))],
        "critic": [nn.Parameter(torch.randn(5))],
    }


def train(players: dict[str, list[nn.Parameter]], rules: dict[str, Any], steps: range) -> None:
    for step in steps:
        for player, parameters in players.items():
            for number, parameter in enumerate(parameters):
                generator = torch.Generator().manual_seed(100 * step + number)
                parameter.grad = torch.randn(parameter.shape, generator=generator)
            set_rate(rules[player], 0.01 / step)
            rules[player].step()


@pytest.mark.parametrize("name", ["adam", "adamw", "radam"])
def test_a_rule_brought_back_goes_on_as_if_nothing_had_been(name: Literal["adam", "adamw", "radam"]) -> None:
    settings = Train(optimiser=name, decay=0.01)
    whole = parts()
    rules = {player: optimiser(parameters, settings) for player, parameters in whole.items()}
    train(whole, rules, range(1, 8))
    kept = {key: value.clone() for key, value in as_tensors(rules).items()}
    halves = {player: [nn.Parameter(p.detach().clone()) for p in ps] for player, ps in whole.items()}
    train(whole, rules, range(8, 12))

    again = {player: optimiser(parameters, settings) for player, parameters in halves.items()}
    restore(again, kept)
    train(halves, again, range(8, 12))
    for player, parameters in whole.items():
        for one, other in zip(parameters, halves[player], strict=True):
            assert torch.equal(one, other)
    assert kept.keys() == as_tensors(again).keys()
    assert all(torch.equal(value, as_tensors(rules)[key]) for key, value in as_tensors(again).items())


def test_what_is_remembered_has_names_and_is_all_tensors() -> None:
    whole = parts()
    rules = {player: optimiser(parameters, Train()) for player, parameters in whole.items()}
    assert as_tensors(rules) == {}
    restore(rules, {})
    train(whole, rules, range(1, 2))
    kept = as_tensors(rules)
    assert {key.rsplit(".", 1)[0] for key in kept} == {"model.0", "model.1", "critic.0"}
    assert {"model.0.step", "model.0.exp_avg", "model.0.exp_avg_sq"} <= kept.keys()
    assert all(isinstance(value, Tensor) for value in kept.values())


def test_a_weight_without_gradient_is_left_alone() -> None:
    used, frozen = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2), requires_grad=False)
    rule = optimiser([used, frozen], Train())
    used.grad = torch.ones(2)
    rule.step()
    assert torch.equal(frozen, torch.ones(2))
    assert {key.split(".")[1] for key in as_tensors({"model": rule})} == {"0"}
    assert float(gradient_norm([used, frozen])) == pytest.approx(2**0.5)


def test_the_norm_is_over_all_gradients() -> None:
    parameters = parts()["model"]
    for parameter in parameters:
        parameter.grad = torch.randn(parameter.shape)
    expected = torch.cat([p.grad.flatten() for p in parameters if p.grad is not None]).norm()
    assert float(gradient_norm(parameters)) == pytest.approx(float(expected))
    for bad in (torch.nan, torch.inf):
        parameters[0].grad[0, 0] = bad  # type: ignore[index]
        assert not gradient_norm(parameters).isfinite()


def test_the_rate_is_that_of_the_next_update() -> None:
    weight = nn.Parameter(torch.zeros(1))
    rule = optimiser([weight], Train(rate=1.0))
    set_rate(rule, 0.25)
    weight.grad = torch.ones(1)
    rule.step()
    assert float(weight.detach()) == pytest.approx(-0.25)
