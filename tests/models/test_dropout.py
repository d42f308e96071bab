"""Dropout with cheap random numbers: the right share, unbiased, the same for the same seed."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from regard.models.dropout import SIDES, Dropout, ResidualDropout

SHARES = [0.0, 0.1, 0.3, 0.5, 0.9, 0.999]


def kept(share: float, *shape: int, seed: int = 1) -> Tensor:
    """What becomes of ones."""
    torch.manual_seed(seed)
    return Dropout(share)(torch.ones(shape))  # type: ignore[no-any-return]


@pytest.mark.parametrize("share", SHARES)
def test_the_share_is_exact_to_a_byte(share: float) -> None:
    numbers = kept(share, 1000, 1000)
    sides = min(SIDES - 1, round(share * SIDES))  # of the die, those that leave a number out
    assert abs(sides / SIDES - share) <= 1 / SIDES
    expected, deviation = sides / SIDES, (sides / SIDES * (1 - sides / SIDES) / numbers.numel()) ** 0.5
    assert abs(float((numbers == 0).float().mean()) - expected) <= 4 * deviation
    assert numbers.unique().tolist() == pytest.approx([0.0, SIDES / (SIDES - sides)] if sides else [1.0])


@pytest.mark.parametrize("share", SHARES)
def test_the_mean_stays(share: float) -> None:
    numbers = kept(share, 1000, 1000)
    assert float(numbers.mean()) == pytest.approx(1.0, abs=4 * float(numbers.std()) / 1000 + 1e-6)


def test_no_number_knows_its_neighbour() -> None:
    numbers = (kept(0.5, 400, 800) > 0).float() - 0.5
    for other in (numbers.roll(1, 1), numbers.roll(8, 1), numbers.roll(1, 0)):
        assert abs(float((numbers * other).mean()) * 4) < 0.01  # a correlation; its deviation is 0.0018


def test_the_seed_decides() -> None:
    assert torch.equal(kept(0.3, 7, 5), kept(0.3, 7, 5))
    assert not torch.equal(kept(0.3, 7, 5), kept(0.3, 7, 5, seed=2))
    torch.manual_seed(1)
    first, second = (Dropout(0.3)(torch.ones(7, 5)) for _ in range(2))
    assert not torch.equal(first, second)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (8,), (3, 0, 5), (2, 3, 11)])
def test_any_shape(shape: tuple[int, ...]) -> None:
    assert kept(0.5, *shape).shape == shape


def test_the_gradient_is_the_mask() -> None:
    x = torch.randn(50, 9, dtype=torch.float64, requires_grad=True)
    torch.manual_seed(3)
    dropped = Dropout(0.3)(x)
    dropped.sum().backward()
    torch.manual_seed(3)
    mask = Dropout(0.3)(torch.ones(50, 9, dtype=torch.float64))
    assert torch.equal(x.grad, mask)
    assert torch.equal(dropped, x * mask)


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_a_residual_is_x_and_the_dropped_change(share: float) -> None:
    x, change = (torch.randn(50, 9, dtype=torch.float64, requires_grad=True) for _ in range(2))
    weight = torch.randn(50, 9, dtype=torch.float64)
    answers, gradients = [], []
    for add in (ResidualDropout(share), lambda a, b: a + Dropout(share)(b)):
        torch.manual_seed(3)
        answers.append(add(x, change))
        gradients.append(torch.autograd.grad((answers[-1] * weight).sum(), (x, change)))
    assert torch.allclose(*answers, atol=1e-15)
    for one, other in zip(*gradients, strict=True):
        assert torch.allclose(one, other, atol=1e-15)
    assert torch.equal(gradients[0][0], weight)


def test_a_change_in_half_precision_has_its_gradient_so() -> None:
    x, change = torch.randn(4, 8, requires_grad=True), torch.randn(4, 8).bfloat16().requires_grad_()
    ResidualDropout(0.5)(x, change).sum().backward()
    assert x.grad is not None
    assert change.grad is not None
    assert change.grad.dtype == torch.bfloat16
    assert set(change.grad.unique().tolist()) == {0.0, 2.0}


def test_nothing_is_left_out_of_an_answer() -> None:
    x, change = torch.randn(4, 8), torch.randn(4, 8)
    assert Dropout(0.9).eval()(x) is x
    assert torch.equal(ResidualDropout(0.9).eval()(x, change), x + change)
    assert Dropout(0.0)(x) is x
