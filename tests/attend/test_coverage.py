"""Coverage: the sum of earlier weights in the score, and what looking twice costs, against NumPy."""

from __future__ import annotations

import numpy as np
import torch

from regard import attend as A
from regard.attend.coverage import looked_twice
from regard.models.mechanisms import minds_the_past

D = torch.float64


def setting():
    torch.manual_seed(2)
    attention = A.papers.see(4, 6, 5).to(D)
    return attention, torch.randn(2, 7, 4, dtype=D), torch.randn(2, 9, 6, dtype=D)


def by_hand(score, query, keys, lengths):
    """Their eq. 10 and 11, a row and a step at a time."""
    w, u, v, b = (
        x.detach().numpy()
        for x in (
            score.additive.query.weight,
            score.additive.key.weight,
            score.additive.strength,
            score.additive.query.bias,
        )
    )
    seen = score.seen.detach().numpy()
    weights = np.zeros((len(query), query.shape[1], keys.shape[1]))
    for row, length in enumerate(lengths):
        covered = np.zeros(length)
        for t in range(query.shape[1]):
            e = [v @ np.tanh(w @ query[row, t] + u @ keys[row, i] + seen * covered[i] + b) for i in range(length)]
            a = np.exp(e) / np.exp(e).sum()
            weights[row, t, :length] = a
            covered = covered + a
    return weights


def test_weights_are_those_of_the_formula():
    attention, query, keys = setting()
    look = attention.look(query, attention.memory(keys, scope=A.lengths([9, 5])))
    right = by_hand(attention.score, query.numpy(), keys.numpy(), [9, 5])
    np.testing.assert_allclose(look.weights[:, 0].detach().numpy(), right, atol=1e-12)
    np.testing.assert_allclose(look.context.detach().numpy(), right @ keys.numpy(), atol=1e-12)


def test_without_a_weight_on_what_was_seen_it_is_bahdanau():
    attention, query, keys = setting()
    torch.nn.init.zeros_(attention.score.seen)
    plain = A.Attention(attention.score.additive)
    ours, theirs = (one.look(query, one.memory(keys)).weights for one in (attention, plain))
    torch.testing.assert_close(ours, theirs)


def test_it_is_among_the_mechanisms_that_mind_the_past():
    assert minds_the_past(A.papers.see(4, 6, 5))
    assert not minds_the_past(A.papers.bahdanau(4, 6, 5))


def test_chances_and_limits_of_all_queries_are_kept():
    torch.manual_seed(1)
    attention = A.Attention(A.Coverage(4, 6, 5), A.Hard(), A.window(2)).to(D).train()
    look = attention.look(torch.randn(2, 3, 4, dtype=D), attention.memory(torch.randn(2, 4, 6, dtype=D)))
    assert look.log_prob.shape == (2, 1, 3)
    assert look.allowed.shape[-2:] == (3, 4)
    assert not bool(look.allowed[..., 0, 3].any())


def test_looking_twice_costs_the_smaller_of_both():
    weights = torch.rand(2, 4, 5, generator=torch.Generator().manual_seed(1), dtype=D)
    expected = np.zeros((2, 4))
    for b, t in np.ndindex(2, 4):
        expected[b, t] = sum(min(weights[b, t, i], sum(weights[b, s, i] for s in range(t))) for i in range(5))
    np.testing.assert_allclose(looked_twice(weights).numpy(), expected, atol=1e-12)
    apart = torch.eye(4, dtype=D).unsqueeze(0)
    assert looked_twice(apart).sum() == 0
    assert looked_twice(apart[:, :1].expand(1, 3, 4)).tolist() == [[0, 1, 1]]
