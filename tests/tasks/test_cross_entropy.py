"""The chunked loss against the plain one, in double precision, and where numbers are extreme."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from regard.tasks import cross_entropy as module
from regard.tasks.cross_entropy import ROWS, cross_entropy
from regard.text.ids import PAD


def plain(states: Tensor, weight: Tensor, words: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """The same from its definition: the whole table of scores, the whole target distribution."""
    log_probs = torch.log_softmax(states @ weight.T, 1)
    target = torch.full_like(log_probs, smoothing / (len(weight) - 1))
    target[:, PAD] = 0.0
    target += (1 - smoothing) * F.one_hot(words, len(weight)).to(target)
    return -(target * log_probs).sum(), -log_probs.gather(1, words[:, None]).sum()


def example(rows: int, vocabulary: int = 37, width: int = 12, dtype: torch.dtype = torch.float64) -> Any:
    generator = torch.Generator().manual_seed(rows)
    states = torch.randn(rows, width, generator=generator, dtype=torch.float64).to(dtype)
    weight = torch.randn(vocabulary, width, generator=generator, dtype=torch.float64).to(dtype)
    words = torch.randint(1, vocabulary, (rows,), generator=generator)
    return states.requires_grad_(), weight.requires_grad_(), words


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("rows", [1, 3, ROWS - 1, ROWS, ROWS + 1, 2 * ROWS + 77])
def test_chunks_give_the_plain_loss_and_gradients(rows: int, smoothing: float) -> None:
    states, weight, words = example(rows)
    found = []
    for loss in (cross_entropy, plain):
        smoothed, likelihood = loss(states, weight, words, smoothing)
        found.append((smoothed, likelihood, *torch.autograd.grad(3 * smoothed, (states, weight))))
    for ours, exact in zip(*found, strict=True):
        assert float((ours - exact).detach().abs().max()) < 1e-9


def pairs_that_agree(
    states: Tensor, weight: Tensor, words: Tensor, smoothing: float, agreement: float
) -> tuple[Tensor, Tensor]:
    """The same with what two guesses of a word cost by differing, from its definition."""
    smoothed, likelihood = plain(states, weight, words, smoothing)
    p, q = torch.log_softmax(states @ weight.T, 1).view(-1, 2, len(weight)).unbind(1)
    apart = F.kl_div(q, p, reduction="sum", log_target=True) + F.kl_div(p, q, reduction="sum", log_target=True)
    return smoothed + agreement * apart / 2, likelihood


@pytest.mark.parametrize("agreement", [0.5, 5.0])
@pytest.mark.parametrize("rows", [2, 10, ROWS, ROWS + 2, 2 * ROWS + 76])
def test_what_two_guesses_of_a_word_cost_by_differing(rows: int, agreement: float) -> None:
    states, weight, words = example(rows)
    words = words[: rows // 2].repeat_interleave(2)
    found = []
    for loss in (cross_entropy, pairs_that_agree):
        smoothed, likelihood = loss(states, weight, words, 0.1, agreement)
        found.append((smoothed, likelihood, *torch.autograd.grad(3 * smoothed, (states, weight))))
    for ours, exact in zip(*found, strict=True):
        assert float((ours - exact).detach().abs().max()) < 1e-8
    with torch.no_grad():
        assert float(cross_entropy(states, weight, words, 0.1, agreement)[0]) == pytest.approx(float(found[0][0]))


def test_guesses_that_agree_cost_nothing_more() -> None:
    states, weight, words = example(6)
    states, words = states.detach().repeat_interleave(2, 0).requires_grad_(), words.repeat_interleave(2)
    losses = [cross_entropy(states, weight, words, 0.1, much)[0] for much in (0.0, 5.0)]
    assert losses[0].item() == losses[1].item()
    one, other = (torch.autograd.grad(loss, states)[0] for loss in losses)
    assert torch.allclose(one, other, atol=1e-12)


def test_guesses_in_half_precision_agree_as_exactly_as_they_can() -> None:
    states, weight, words = example(2 * ROWS + 6, dtype=torch.float32)
    states = (0.5 * states).detach().requires_grad_()
    words = words[: len(words) // 2].repeat_interleave(2)
    with torch.autocast("cpu", torch.bfloat16):
        smoothed, _ = cross_entropy(states, weight, words, 0.1, 5.0)
    exact = pairs_that_agree(states, weight, words, 0.1, 5.0)[0]
    assert smoothed.item() == pytest.approx(exact.item(), rel=1e-2)
    ours, right = (torch.autograd.grad(x, (states, weight)) for x in (smoothed, exact))
    for one, other in zip(ours, right, strict=True):
        assert float((one - other).norm() / other.norm()) < 0.02


def test_certain_guesses_that_differ_stay_finite() -> None:
    states = torch.tensor([[1.0], [-1.0]], requires_grad=True)
    weight = torch.tensor([[0.0], [400.0], [-400.0]], requires_grad=True)
    smoothed, _ = cross_entropy(states, weight, torch.tensor([1, 1]), 0.1, 5.0)
    assert all(bool(x.isfinite().all()) for x in (smoothed, *torch.autograd.grad(smoothed, (states, weight))))


def test_without_smoothing_it_is_torchs() -> None:
    states, weight, words = example(300)
    smoothed, likelihood = cross_entropy(states, weight, words)
    expected = F.cross_entropy(states @ weight.T, words, reduction="sum")
    assert smoothed.item() == pytest.approx(expected.item(), rel=1e-12)
    assert likelihood.item() == pytest.approx(expected.item(), rel=1e-12)
    assert not likelihood.requires_grad


def test_five_words() -> None:
    """Four words and padding, ε = 0.1: 0.9 + 0.1/4 for the right one, 0.1/4 for the others, nothing for padding."""
    target = torch.tensor([0.0, 0.025, 0.025, 0.925, 0.025], dtype=torch.float64)
    weight = torch.tensor([[0.3], [-1.2], [0.5], [2.0], [0.1]], dtype=torch.float64, requires_grad=True)
    states = torch.ones(1, 1, dtype=torch.float64)
    smoothed, _ = cross_entropy(states, weight, torch.tensor([3]), 0.1)
    log_probs = torch.log_softmax(weight.detach()[:, 0], 0)
    assert smoothed.item() == pytest.approx(-float(target @ log_probs), abs=1e-12)
    smoothed.backward()
    assert weight.grad is not None
    # softmax minus target: so the target can be read off the gradient
    assert torch.allclose(log_probs.exp() - weight.grad[:, 0], target, atol=1e-12)


def test_smoothing_punishes_certainty() -> None:
    """The plain loss falls for ever as the right word's score grows; the smoothed one has a best score."""
    weight, word = torch.tensor([[0.0], [0.0], [1.0], [0.0], [0.0]]), torch.tensor([2])
    losses = {
        smoothing: [
            float(cross_entropy(torch.tensor([[s]]), weight, word, smoothing)[0]) for s in (2.0, 4.0, 8.0, 16.0)
        ]
        for smoothing in (0.0, 0.1)
    }
    assert losses[0.0] == sorted(losses[0.0], reverse=True)
    assert losses[0.1][1] < losses[0.1][2] < losses[0.1][3]


@pytest.mark.parametrize("size", [50.0, 100.0, 1e4, 1e30])
def test_extreme_scores_stay_finite_and_exact(size: float) -> None:
    """The right word's probability is far below what a float can hold: e^-100 and less."""
    states = torch.tensor([[1.0], [-1.0], [0.5]], requires_grad=True)
    weight = torch.tensor([[0.0], [size], [-size], [size / 2]], requires_grad=True)
    words = torch.tensor([2, 1, 3])
    smoothed, likelihood = cross_entropy(states, weight, words, 0.1)
    exact = plain(states.double(), weight.double(), words, 0.1)
    assert smoothed.item() == pytest.approx(exact[0].item(), rel=1e-6)
    assert likelihood.item() == pytest.approx(exact[1].item(), rel=1e-6)
    ours, right = (torch.autograd.grad(x, (states, weight)) for x in (smoothed, exact[0]))
    for one, other in zip(ours, right, strict=True):
        assert torch.allclose(one, other, rtol=1e-5, atol=1e-6 * size)


def test_one_improbable_word_does_not_blur_the_others() -> None:
    """A probability near the smallest float has few digits: its logarithm must come from the scores."""
    states = torch.full((1, 1), 1.0)
    weight = torch.tensor([[-200.0], [103.0], [0.0], [-1.0]])
    _, likelihood = cross_entropy(states, weight, torch.tensor([2]))
    assert likelihood.item() == pytest.approx(103.0, abs=1e-4)


def test_half_precision_where_autocast_says_so() -> None:
    states, weight, words = example(2 * ROWS + 5, dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        smoothed, likelihood = cross_entropy(states, weight, words, 0.1)
    assert smoothed.dtype == likelihood.dtype == torch.float32  # sums are not rounded
    exact = plain(states, weight, words, 0.1)
    assert smoothed.item() == pytest.approx(exact[0].item(), rel=3e-3)
    assert likelihood.item() == pytest.approx(exact[1].item(), rel=3e-3)
    ours, right = (torch.autograd.grad(x, (states, weight)) for x in (smoothed, exact[0]))
    for one, other in zip(ours, right, strict=True):
        assert one.dtype == torch.float32
        assert float((one - other).norm() / other.norm()) < 0.02


def test_smoothing_gives_padding_no_mass() -> None:
    """Raising padding's score can only hurt, however much is smoothed; another word's share of ε is wanted."""
    weight = torch.zeros(5, 1, dtype=torch.float64, requires_grad=True)
    states = torch.ones(1, 1, dtype=torch.float64)
    cross_entropy(states, weight, torch.tensor([3]), 0.9)[0].backward()
    assert weight.grad is not None
    assert float(weight.grad[PAD]) == pytest.approx(1 / 5)
    assert float(weight.grad[4]) == pytest.approx(1 / 5 - 0.9 / 4)


def test_no_gradient_is_formed_where_none_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    states, weight, words = example(10)
    expected = cross_entropy(states, weight, words, 0.1)

    def formed(*_: object) -> None:
        raise AssertionError("a gradient was formed")

    monkeypatch.setattr(module, "_add_product", formed)
    with torch.no_grad():
        found = cross_entropy(states, weight, words, 0.1)
    assert [x.item() for x in found] == [x.item() for x in expected]


def test_no_words_cost_nothing() -> None:
    states, weight, words = example(4)
    smoothed, likelihood = cross_entropy(states[:0], weight, words[:0], 0.1)
    assert float(smoothed.detach()) == likelihood.item() == 0.0


def test_a_uniform_guess_costs_log_v() -> None:
    states, words = torch.randn(9, 4), torch.randint(1, 50, (9,))
    for smoothing in (0.0, 0.1):
        found = cross_entropy(states, torch.zeros(50, 4), words, smoothing)
        assert [x.item() for x in found] == pytest.approx([9 * math.log(50)] * 2, rel=1e-6)
