"""The worked example has the numbers that the lectures print."""

import io

import pytest
import torch
from rich.console import Console

from regard.show import worked


@pytest.fixture(scope="module")
def steps():
    return worked.thinking_machines()


def test_thinking_machines(steps):
    torch.testing.assert_close(steps.scores.tolist(), [112.0, 96.0])
    torch.testing.assert_close(steps.scaled.tolist(), [14.0, 12.0])
    assert [round(weight, 4) for weight in steps.weights.tolist()] == [0.8808, 0.1192]
    assert f"{steps.unscaled_weights[0]:.8f}" == "0.99999989"


def test_every_step_follows_from_the_one_before(steps):
    torch.testing.assert_close(steps.keys @ steps.queries[0], steps.scores)
    torch.testing.assert_close(steps.scores / 8, steps.scaled)
    torch.testing.assert_close(steps.scaled.softmax(-1), steps.weights)
    torch.testing.assert_close(steps.weighted.sum(0), steps.total)


def test_matrices_give_what_vectors_give(steps):
    assert steps.embeddings.shape == (2, 512)
    assert steps.matrix.shape == (2, 64)
    torch.testing.assert_close(steps.matrix[0], steps.total, rtol=0, atol=1e-6)


def test_three_by_two():
    small = worked.numbers()
    weights = torch.tensor([[0.4028, 0.2886, 0.3086], [0.3538, 0.3069, 0.3393], [0.1303, 0.4630, 0.4067]])
    values = torch.tensor([[0.5698, -0.1520], [0.5379, -0.0265], [0.2246, 0.5556]])
    torch.testing.assert_close(small.weights, weights, rtol=0, atol=2e-4)
    torch.testing.assert_close(small.context, values, rtol=0, atol=2e-4)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_it_reads_well_on_a_terminal(width):
    text = io.StringIO()
    worked.show(Console(file=text, width=width))
    for told in ("Thinking", "Machines", "112", "96", "14", "12", "0.88", "0.12", "0.99999989", "√64"):
        assert told in text.getvalue()
