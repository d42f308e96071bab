"""The loss of choosing the right word, without ever forming the table of all scores."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.text.ids import PAD

ROWS = 512  # states whose scores are formed at a time: they stay in the cache


def cross_entropy(
    states: Float[Tensor, "n m"],
    weight: Float[Tensor, "v m"],
    words: Int[Tensor, " n"],
    smoothing: float = 0.0,
    agreement: float = 0.0,
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """The smoothed loss with its gradient, and the plain negative log-likelihood; both summed over words.

    The target is (1 - ε) on the right word and ε spread evenly over all words but padding (Szegedy et al. 2016). The
    gradient is found in the forward pass, a chunk at a time, because softmax minus target is at hand just then.

    With `agreement`, every two rows in turn are two guesses of one word, which shall agree: for each pair the mean of
    either guess's divergence from the other is added, so many times (R-Drop, Liang et al. 2021).
    """
    if not torch.is_grad_enabled():  # inside the function below one cannot tell
        states, weight = states.detach(), weight.detach()
    place = states.device.type
    kind = torch.get_autocast_dtype(place) if torch.is_autocast_enabled(place) else weight.dtype
    with torch.autocast(place, enabled=False):
        loss, likelihood = _Chunked.apply(states.to(kind), weight, words, smoothing, agreement)  # type: ignore[no-untyped-call]
    return loss, likelihood


class _Chunked(torch.autograd.Function):
    """Scores, softmax and both gradients, chunk by chunk, in the states' precision; sums in the weight's.

    What smoothing adds is the same for every word but padding, so it needs no pass over the scores: Σ scores is
    states · Σ weight, and its gradient has rank one.
    """

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, weight: Tensor, words: Tensor, smoothing: float, agreement: float
    ) -> tuple[Tensor, Tensor]:
        wanted = ctx.needs_input_grad[0] or ctx.needs_input_grad[1]
        spread = smoothing / (len(weight) - 1)
        exact, table = weight.dtype, weight.to(states.dtype)
        others = weight.sum(0) - weight[PAD]
        to_states = torch.empty_like(states) if wanted else None
        to_weight = torch.zeros_like(weight) if wanted else None
        likelihood = weight.new_zeros(())
        chosen = likelihood.clone()
        room = states.new_empty(min(ROWS, len(states)), len(weight))  # one for all chunks: new memory costs more
        each = torch.arange(len(room), device=states.device)
        part = torch.empty_like(table) if wanted and table is not weight else None
        for first in range(0, len(states), ROWS):
            rows, right = states[first : first + ROWS], words[first : first + ROWS, None]
            scores = torch.mm(rows, table.t(), out=room[: len(rows)])  # n v
            right_scores = scores.gather(1, right).to(exact)
            weights = torch.softmax(scores, 1, out=scores)
            right_weights = weights.gather(1, right).to(exact)
            log_sum = right_scores - right_weights.log()
            if not bool((right_weights >= torch.finfo(exact).tiny).all()):  # too small for its logarithm to be exact
                log_sum = (rows @ table.t()).to(exact).logsumexp(1, keepdim=True)
            likelihood += (log_sum - right_scores).sum()
            chosen += (log_sum - (1 - smoothing) * right_scores).sum()
            apart, to_apart = _disagreement(weights, agreement, wanted) if agreement else (0.0, None)
            chosen += apart
            if to_states is not None and to_weight is not None:
                weights[each[: len(rows)], right[:, 0]] = (right_weights[:, 0] - (1 - smoothing)).to(weights.dtype)
                if to_apart is not None:
                    weights += to_apart
                torch.mm(weights, table, out=to_states[first : first + ROWS])
                _add_product(to_weight, weights, rows, part)
        all_states = states.to(exact).sum(0)
        loss = chosen - spread * (all_states @ others)
        if to_states is not None and to_weight is not None:
            to_states -= (spread * others).to(to_states.dtype)
            to_weight -= spread * all_states
            to_weight[PAD] += spread * all_states
            ctx.save_for_backward(to_states, to_weight)
        ctx.mark_non_differentiable(likelihood)
        return loss, likelihood

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        to_states, to_weight = ctx.saved_tensors
        return to_states * grad.to(to_states.dtype), to_weight * grad.to(to_weight.dtype), None, None, None


def _disagreement(guesses: Float[Tensor, "n v"], much: float, wanted: bool) -> tuple[Tensor, Tensor | None]:
    """`much` · ½ (KL(p‖q) + KL(q‖p)), p and q taking turns, and its gradient with respect to their scores.

    It is found from the quotient of two probabilities: their logarithms would be rounded more than they differ.
    """
    p, q = guesses.unflatten(0, (-1, 2)).unbind(1)
    least = torch.finfo(guesses.dtype).tiny
    log_ratio = (p.clamp_min(least) / q.clamp_min(least)).log_()
    from_q, from_p = torch.linalg.vecdot(p, log_ratio), -torch.linalg.vecdot(q, log_ratio)  # KL(p‖q), KL(q‖p)
    total = much / 2 * (from_q + from_p).sum(dtype=torch.float64)
    if not wanted:
        return total, None
    gradient = torch.empty_like(guesses).unflatten(0, (-1, 2))
    moved = p - q
    gradient[:, 0] = (log_ratio - from_q[:, None]).mul_(p).add_(moved)
    gradient[:, 1] = (log_ratio + from_p[:, None]).mul_(q).add_(moved).neg_()
    return total, gradient.flatten(0, 1).mul_(much / 2)


def _add_product(total: Tensor, weights: Tensor, rows: Tensor, part: Tensor | None) -> None:
    """`part` is room for a product in a lower precision than the total's."""
    if part is None:
        total.addmm_(weights.t(), rows)
    else:
        total += torch.mm(weights.t(), rows, out=part)
