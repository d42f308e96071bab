"""Adaptive computation time against NumPy that follows the paper place by place (C7)."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from regard.models.pondering import Halting, PonderingCell, Steps, StepsPerPlace
from regard.models.recurrence.cells import CELLS


def by_hand(states: np.ndarray, chances: np.ndarray, slack: float) -> tuple[np.ndarray, list[float], int, float]:
    """Graves 2016, eq. 5-12, for one place: its state, shares, N and R."""
    count = next((n for n in range(len(chances)) if chances[: n + 1].sum() >= 1 - slack), len(chances) - 1) + 1
    remainder = 1 - chances[: count - 1].sum()
    shares = [*chances[: count - 1].tolist(), float(remainder)]
    mixed = sum(share * state for share, state in zip(shares, states, strict=False))
    return np.asarray(mixed), shares, count, float(remainder)


class Told(torch.nn.Module):
    """Chances of stopping that are written in the state's first number."""

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        return states[..., :1].logit()


def told(chances: np.ndarray, slack: float) -> tuple[Halting, np.ndarray, object]:
    """A pace that reads its chances from the states, and a step that gives each place the states drawn for it."""
    rng = np.random.default_rng(3)
    places, most = chances.shape
    states = np.concatenate((chances[..., None], rng.normal(size=(places, most, 3))), -1)
    pace = Halting(4, most, slack)
    pace.chance = Told()  # type: ignore[assignment]
    table = torch.from_numpy(states)
    return pace, states, lambda before, number: table[:, number]


CHANCES = np.array(
    [
        [0.995, 0.5, 0.5, 0.5],  # at once: R = 1
        [0.3, 0.3, 0.395, 0.9],  # just far enough: 0.995 ≥ 0.99
        [0.3, 0.3, 0.38, 0.2],  # just not
        [0.1, 0.1, 0.1, 0.1],  # never: the last step is all there is
        [0.6, 0.9, 0.1, 0.1],  # more than is left
    ]
)


def test_halting_is_the_papers():
    pace, states, step = told(CHANCES, 0.01)
    found = pace(torch.zeros(5, 4, dtype=torch.float64), step)
    for place, chances in enumerate(CHANCES):
        mixed, shares, count, remainder = by_hand(states[place], chances, 0.01)
        np.testing.assert_allclose(found.states[place], mixed, atol=1e-12)
        np.testing.assert_allclose(found.shares[place], [*shares, *[0.0] * (4 - count)], atol=1e-12)
        assert found.steps[place] == count
        assert float(found.remainder[place]) == pytest.approx(remainder)
        assert float(found.cost[place]) == pytest.approx(count + remainder)
    assert found.steps.tolist() == [1, 3, 4, 4, 2]
    torch.testing.assert_close(found.shares.sum(-1), torch.ones(5, dtype=torch.float64))


@pytest.mark.parametrize("seed", range(5))
def test_halting_is_the_papers_for_any_chances(seed):
    chances = np.random.default_rng(seed).beta(0.7, 1.5, (20, 6)).clip(1e-6, 1 - 1e-6)
    pace, states, step = told(chances, 0.05)
    found = pace(torch.zeros(20, 4, dtype=torch.float64), step)
    for place in range(20):
        mixed, _, count, remainder = by_hand(states[place], chances[place], 0.05)
        np.testing.assert_allclose(found.states[place], mixed, atol=1e-9)
        assert (found.steps[place], float(found.remainder[place])) == (count, pytest.approx(remainder))


def test_the_cost_is_learned_from_through_the_remainder():
    """R = 1 - Σ p before the last step, so each of these chances pulls the cost down, and the last one does not."""
    table = torch.tensor([[0.3, 0.3, 0.5, 0.9]], dtype=torch.float64, requires_grad=True)
    pace = Halting(1, 4, 0.01)
    pace.chance = Told()  # type: ignore[assignment]
    pace(
        torch.zeros(1, 1, dtype=torch.float64), lambda before, number: table[:, number : number + 1]
    ).cost.sum().backward()
    np.testing.assert_allclose(table.grad, [[-1, -1, 0, 0]], atol=1e-12)


def test_gradients_are_those_of_differences():
    torch.manual_seed(1)
    pace = Halting(3, 5, 0.01, eager=-0.5).double()
    layer = torch.nn.Linear(3, 3).double()

    def mixed(start: torch.Tensor) -> torch.Tensor:
        found = pace(start, lambda before, number: layer(before).tanh())
        return torch.cat((found.states.flatten(), found.remainder))

    assert torch.autograd.gradcheck(mixed, torch.randn(4, 3, dtype=torch.float64, requires_grad=True))


def test_who_has_stopped_stays_as_it_is_for_others_to_see():
    chances = torch.tensor([[0.999, 0.1, 0.1], [0.1, 0.1, 0.1]])
    seen = []

    def step(before: torch.Tensor, number: int) -> torch.Tensor:
        seen.append(before.clone())
        return torch.stack((chances[:, number], before[:, 1] + 1), -1)

    pace = Halting(2, 3)
    pace.chance = Told()  # type: ignore[assignment]
    pace(torch.zeros(2, 2), step)
    assert seen[1][:, 1].tolist() == [1, 1]
    assert seen[2][:, 1].tolist() == [1, 2]


def test_nobody_waits_for_steps_that_nobody_takes():
    taken = []
    pace = Halting(2, 50, eager=50.0)
    found = pace(torch.zeros(3, 2), lambda before, number: taken.append(number) or before)
    assert taken == [0]
    assert found.shares.shape == (3, 1)


def test_a_sum_and_not_an_average_over_time():
    """Listings of the Universal Transformer mix p·h + (1 - p)·what was mixed: shares that do not sum to 1."""
    chances, states = np.array([0.5, 0.5]), np.eye(2)
    listed = np.zeros(2)
    for chance, state in zip(chances, states, strict=True):
        listed = chance * state + (1 - chance) * listed
    assert listed.tolist() == [0.25, 0.5]
    assert by_hand(states, chances, 0.01)[0].tolist() == [0.5, 0.5]
    pace = Halting(1, 2)
    pace.chance = torch.nn.Linear(2, 1)
    torch.nn.init.zeros_(pace.chance.weight)
    torch.nn.init.zeros_(pace.chance.bias)
    found = pace(torch.zeros(1, 2), lambda before, number: torch.eye(2)[number : number + 1])
    assert found.states.tolist() == [[0.5, 0.5]]


def test_a_fixed_number_of_steps_is_the_last_state():
    start = torch.randn(2, 3, 4)
    for pace, count in ((Steps(5), 5), (StepsPerPlace(), 3)):
        found = pace(start, lambda before, number: before + number)
        torch.testing.assert_close(found.states, start + sum(range(count)))
        assert found.steps.unique().tolist() == [count]
        assert found.shares[..., -1].unique().tolist() == [1]
        assert found.shares.sum(-1).unique().tolist() == [1]


@pytest.mark.parametrize("kind", list(CELLS))
@torch.no_grad()
def test_a_cell_ponders_each_input_from_the_mixed_state(kind):
    torch.manual_seed(2)
    cell = CELLS[kind](4, 5)
    pace = Halting(cell.size, 6, eager=-1.0)
    given = torch.randn(3, 4, 3)
    found = PonderingCell(cell, pace)(given)
    state = torch.zeros(3, cell.size)
    for place in range(4):
        rows = []
        for row in range(3):
            here, states, chances = state[row], [], []
            for number in range(6):
                marked = torch.cat((given[row, place], torch.tensor([float(number == 0)])))
                here = cell(marked[None], here[None])[0]
                states.append(here.detach().numpy())
                chances.append(float(pace.chance(here).sigmoid()))
            mixed, _, count, remainder = by_hand(np.stack(states), np.array(chances), 0.01)
            assert found.steps[row, place] == count
            assert float(found.remainder[row, place]) == pytest.approx(remainder, abs=1e-5)
            rows.append(torch.from_numpy(mixed).float())
        state = torch.stack(rows)
        torch.testing.assert_close(found.states[:, place], state, atol=1e-5, rtol=1e-5)
    assert found.steps.unique().numel() > 1 or int(found.steps[0, 0]) > 1
