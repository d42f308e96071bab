"""The policy gradient: what was left to chance is made likelier where it brought more than was expected.

∇ E[R] = E[(R - b) ∇ log p]: Williams 1992, REINFORCE. A baseline b that does not depend on the choice leaves the mean
as it is, and takes away spread.
"""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor


def reinforce(
    log_prob: Float[Tensor, "*n"], reward: Float[Tensor, "*n"], baseline: Float[Tensor, "*#n"] | float = 0.0
) -> Float[Tensor, ""]:
    """A number whose gradient is that of minus the expected reward, summed; rewards themselves carry none."""
    return -((reward - baseline).detach() * log_prob).sum()


def to_go(rewards: Float[Tensor, "b t"]) -> Float[Tensor, "b t"]:
    """What is still to come at each step, that step's own reward included: no choice changes what was before it."""
    return rewards.flip(1).cumsum(1).flip(1)
