"""The loss of choosing the right word, without ever forming the table of all scores."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.text.ids import PAD

ROWS = 256  # states whose scores are formed at a time: they stay in the cache


def cross_entropy(
    states: Float[Tensor, "n m"], weight: Float[Tensor, "v m"], words: Int[Tensor, " n"], smoothing: float = 0.0
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """The smoothed loss with its gradient, and the plain negative log-likelihood; both summed over words.

    The target is (1 - ε) on the right word and ε spread evenly over all words but padding (Szegedy et al. 2016). The
    gradient is found in the forward pass, a chunk at a time, because softmax minus target is at hand just then.
    """
    if not torch.is_grad_enabled():  # inside the function below one cannot tell
        states, weight = states.detach(), weight.detach()
    if torch.is_autocast_enabled(states.device.type):
        kind = torch.get_autocast_dtype(states.device.type)
        states, weight = states.to(kind), weight.to(kind)
    with torch.autocast(states.device.type, enabled=False):
        loss, likelihood = _Chunked.apply(states, weight, words, smoothing)  # type: ignore[no-untyped-call]
    return loss, likelihood


class _Chunked(torch.autograd.Function):
    """Scores, softmax and both gradients, chunk by chunk.

    What smoothing adds is the same for every word but padding, so it needs no pass over the scores: Σ scores is
    states · Σ weight, and its gradient has rank one.
    """

    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: Tensor, words: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
        wanted = ctx.needs_input_grad[0] or ctx.needs_input_grad[1]
        spread = smoothing / (len(weight) - 1)
        exact = torch.promote_types(states.dtype, torch.float32)  # what sums are kept in
        others = weight.to(exact).sum(0) - weight[PAD].to(exact)
        to_states = torch.empty_like(states) if wanted else None
        to_weight = torch.zeros_like(weight, dtype=exact) if wanted else None
        likelihood = states.new_zeros((), dtype=exact)
        chosen = likelihood.clone()
        for first in range(0, len(states), ROWS):
            rows, right = states[first : first + ROWS], words[first : first + ROWS, None]
            scores = rows @ weight.t()  # n v
            right_scores = scores.gather(1, right).to(exact)
            weights = torch.softmax(scores, 1, dtype=exact)
            right_weights = weights.gather(1, right)
            log_sum = right_scores - right_weights.log()
            if not bool((right_weights >= torch.finfo(exact).tiny).all()):  # too small for its logarithm to be exact
                log_sum = scores.to(exact).logsumexp(1, keepdim=True)
            likelihood += (log_sum - right_scores).sum()
            chosen += (log_sum - (1 - smoothing) * right_scores).sum()
            if to_states is not None and to_weight is not None:
                weights.scatter_add_(1, right, torch.full_like(right_scores, smoothing - 1))
                weights = weights.to(states.dtype)
                torch.mm(weights, weight, out=to_states[first : first + ROWS])
                _add_product(to_weight, weights, rows)
        all_states = states.to(exact).sum(0)
        loss = chosen - spread * (all_states @ others)
        if to_states is not None and to_weight is not None:
            to_states -= (spread * others).to(to_states.dtype)
            to_weight -= spread * all_states
            to_weight[PAD] += spread * all_states
            ctx.save_for_backward(to_states, to_weight.to(weight.dtype))
        ctx.mark_non_differentiable(likelihood)
        return loss, likelihood

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor, Tensor, None, None]:
        to_states, to_weight = ctx.saved_tensors
        return to_states * grad.to(to_states.dtype), to_weight * grad.to(to_weight.dtype), None, None


def _add_product(total: Tensor, weights: Tensor, rows: Tensor) -> None:
    if total.dtype == weights.dtype:
        total.addmm_(weights.t(), rows)
    else:
        total += weights.t() @ rows
