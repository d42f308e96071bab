"""Learning from rewards where something was drawn: the score-function estimator. Williams 1992 (REINFORCE).

One estimator for hard attention, glimpses and bandits. `log_prob` is what a `Look` has: 0.0 where nothing was left to
chance, so that the term can stand in every loss and vanish there.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

Rewards = Float[Tensor, " *b"]


def policy_loss(log_prob: Rewards | float, reward: Rewards, baseline: Rewards | float = 0.0) -> Tensor:
    """-(reward - baseline) · log_prob, summed: its gradient is, on average, that of minus the expected reward.

    What is taken off does not change the average as long as it does not depend on what was drawn; a good one makes
    the estimate far less noisy. No gradient flows through either.
    """
    return -((reward - baseline).detach() * log_prob).sum()


def others(reward: Float[Tensor, "b s"]) -> Float[Tensor, "b s"]:
    """For each of several draws of the same thing, the mean reward of the others. Kool, van Hoof & Welling 2019."""
    draws = reward.shape[-1]
    if draws < 2:
        raise ValueError("the mean of the others needs two draws of each; got one: draw more, or use `moved`")
    return (reward.sum(-1, keepdim=True) - reward) / (draws - 1)


def moved(baseline: float, reward: Rewards, keep: float = 0.9) -> float:
    """A running mean of rewards, as it stands after these. Xu et al. 2015, 4.1."""
    return keep * baseline + (1 - keep) * float(reward.mean())


def spread(gradients: Float[Tensor, "n d"]) -> float:
    """How noisy an estimate is: the variance of single draws' gradients, summed over what is learned."""
    return float(gradients.var(0, unbiased=True).sum())


def cosine(one: Float[Tensor, " d"], other: Float[Tensor, " d"]) -> float:
    """Whether two gradients point the same way: 1 if they do."""
    return float(torch.nn.functional.cosine_similarity(one, other, dim=0))


def to_go(rewards: Float[Tensor, "b t"]) -> Float[Tensor, "b t"]:
    """What is still to come at each step, that step's own reward included: no choice changes what was before it."""
    return rewards.flip(1).cumsum(1).flip(1)
