"""Dilated causal convolutions: an output depends on exactly the inputs its receptive field says, and on no later."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from regard.models.convolution import (
    CausalConvolution,
    Dilated,
    TemporalConvolution,
    dilations_for,
    receptive_field,
)


def depends_on(module: torch.nn.Module, width: int, steps: int, at: int) -> list[int]:
    """Inputs whose change changes the output at one step: an impulse at each place in turn."""
    torch.manual_seed(1)
    given = torch.randn(steps + 1, steps, width, dtype=torch.double)
    given[:] = given[0]
    given[torch.arange(steps), torch.arange(steps)] += 1.0  # the last row stays as it was
    with torch.no_grad():
        found = module.double()(given)[:, at]
    return torch.nonzero(((found[:-1] - found[-1]).abs() > 1e-12).any(1)).squeeze(1).tolist()


def test_a_convolution_is_the_sum_it_is_written_as():
    """y_t = c + Σ_j W_j x_{t - (k - 1 - j) d}, zeros before the first; in NumPy."""
    torch.manual_seed(0)
    layer, given = CausalConvolution(3, 2, kernel=3, dilation=2), torch.randn(1, 9, 3)
    weight, bias, x = layer.map.weight.detach().numpy(), layer.map.bias.detach().numpy(), given[0].numpy()
    right = np.stack(
        [bias + sum(weight[:, :, 2 - j] @ x[t - 2 * j] for j in range(3) if t >= 2 * j) for t in range(9)]
    )
    np.testing.assert_allclose(layer(given)[0].detach().numpy(), right, atol=1e-6)


@pytest.mark.parametrize(("kernel", "dilations"), [(2, [1]), (2, [1, 2, 4]), (3, [1, 2]), (2, [1, 2, 4, 1, 2, 4])])
def test_a_stack_sees_exactly_its_receptive_field(kernel, dilations):
    torch.manual_seed(0)
    stack = Dilated(6, kernel, dilations).double()
    field = receptive_field(kernel, dilations)
    assert field == stack.field == 1 + (kernel - 1) * sum(dilations)
    steps = field + 5
    with torch.no_grad():
        for show in stack.show:  # a negative sum would be hidden by the ReLU
            show.bias.fill_(50.0)
    for at in (0, field - 2, field - 1, steps - 1):
        given = torch.randn(1, steps, 6, dtype=torch.double, requires_grad=True)
        (slopes,) = torch.autograd.grad(stack(given)[0, at].sum(), given)
        seen = torch.nonzero(slopes[0].abs().sum(-1)).squeeze(1).tolist()
        assert seen == list(range(max(0, at - field + 1), at + 1))


@pytest.mark.parametrize("steps", [2, 3, 6, 8, 9, 26])
def test_a_block_for_so_many_steps_sees_all_of_them_and_the_one_before(steps):
    """SNAIL's printed loop has dilations 2, 4, ...: the last step never sees the one before. Ours begins at 1."""
    torch.manual_seed(0)
    block = TemporalConvolution(3, 4, steps)
    assert block.dilations[0] == 1
    assert receptive_field(2, block.dilations) >= steps
    assert receptive_field(2, block.dilations[:-1]) < steps
    assert depends_on(block, 3, steps, steps - 1) == list(range(steps))
    assert block(torch.zeros(1, steps, 3).double()).shape[-1] == block.width == 3 + 4 * len(block.dilations)


def test_from_dilation_two_on_the_step_before_is_never_seen():
    printed = torch.nn.Sequential(*(CausalConvolution(3, 3, 2, 2**i) for i in (1, 2, 3)))
    seen = depends_on(printed, 3, 16, 15)
    assert seen == list(range(1, 16, 2))
    assert 14 not in seen


def test_dilations_double_until_all_is_seen():
    assert dilations_for(6) == [1, 2, 4]
    assert dilations_for(8) == [1, 2, 4]
    assert dilations_for(9) == [1, 2, 4, 8]
    assert dilations_for(1) == [1]
