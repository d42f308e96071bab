"""The policy gradient: on average that of the expected reward, less noisy with a baseline."""

from __future__ import annotations

import pytest
import torch

from regard.attend.mechanism import Attention
from regard.attend.score import Dot
from regard.attend.select import Hard, Softmax
from regard.tasks.policy import cosine, moved, others, policy_loss, spread


def estimated(taken, draws: int = 40_000):
    """Gradients of single draws, and the exact one, of what a query is rewarded with."""
    torch.manual_seed(0)
    keys, query = torch.randn(1, 5, 4), torch.randn(1, 1, 4)
    values = 2 + torch.rand(1, 5, 1)
    asked = query.clone().requires_grad_()
    soft = Attention(Dot(), Softmax())
    (exact,) = torch.autograd.grad(soft(asked, soft.memory(keys, values)).sum(), asked)
    hard, many = Attention(Dot(), Hard()), query.expand(1, draws, -1).clone().requires_grad_()
    look = hard.look(many, hard.memory(keys, values))
    reward = look.context.squeeze(-1)
    (found,) = torch.autograd.grad(policy_loss(look.log_prob.squeeze(1), reward, taken(reward)), many)
    return -found[0], exact.flatten()


def test_its_mean_is_the_gradient_of_the_expected_reward():
    for taken in (lambda reward: 0.0, others):
        found, exact = estimated(taken)
        assert cosine(found.mean(0), exact) > 0.97
        assert found.mean(0).norm() == pytest.approx(float(exact.norm()), rel=0.2)


def test_a_baseline_makes_it_less_noisy():
    plain, better = (spread(estimated(taken)[0]) for taken in (lambda reward: 0.0, others))
    assert plain > 10 * better


def test_the_mean_of_the_others_leaves_each_out():
    assert others(torch.tensor([[1.0, 2.0, 6.0]])).tolist() == [[4.0, 3.5, 1.5]]
    with pytest.raises(ValueError, match="needs two draws"):
        others(torch.ones(3, 1))


def test_a_running_mean_moves_slowly():
    assert moved(1.0, torch.tensor([2.0, 4.0])) == pytest.approx(0.9 + 0.3)


def test_nothing_drawn_is_no_term():
    assert policy_loss(0.0, torch.tensor([5.0])) == 0


def test_no_gradient_flows_through_reward_or_baseline():
    log_prob, reward, baseline = (torch.tensor([0.5], requires_grad=True) for _ in range(3))
    policy_loss(log_prob, reward * 3, baseline).backward()
    assert log_prob.grad.tolist() == [-1.0]
    assert reward.grad is None
    assert baseline.grad is None
