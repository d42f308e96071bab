"""Where well-known texts have a formula wrong: each test shows the wrong one failing and the right one holding.

The numbers are those of docs/corrections.md.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from regard import attend as A
from regard.attend.bias import sinusoid


def test_scale_is_the_width_not_the_length_X1() -> None:
    """Scaled by the number of keys, weights would change when a key that nobody sees is added."""
    torch.manual_seed(0)
    q, k = torch.randn(1, 1, 16), torch.randn(1, 5, 16)
    longer = torch.cat((k, torch.zeros(1, 20, 16)), 1)
    attention = A.Attention(A.ScaledDot())
    right = attention.look(q, attention.memory(longer, scope=A.lengths([5]))).weights[..., :5]
    assert torch.allclose(right, attention.look(q, attention.memory(k)).weights, atol=1e-6)
    wrong = [(q @ x.mT / x.shape[1] ** 0.5)[..., :5].softmax(-1) for x in (k, longer)]
    assert float((wrong[0] - wrong[1]).abs().max()) > 0.05


def test_rows_of_queries_meet_rows_of_keys_X2() -> None:
    """Q^T K of row-stacked matrices is d x d; scores are queries x keys."""
    q, k = torch.randn(1, 1, 3, 8), torch.randn(1, 1, 5, 8)
    assert A.ScaledDot()(q, k).shape == (1, 1, 3, 5)


def test_softmax_is_of_exponentials_X4() -> None:
    """score / sum(score) can be negative or infinite, and adding a constant would change it."""
    scores = torch.tensor([[[[2.0, -1.0, 0.5]]]])
    weights = A.Softmax()(scores, None, scores).weights
    assert torch.allclose(weights, A.Softmax()(scores + 7, None, scores).weights, atol=1e-6)
    assert (weights > 0).all()
    ratio = scores / scores.sum()
    assert (ratio < 0).any()


def test_location_scores_depend_on_the_state_X8() -> None:
    """Two states at the same target place look at different source places."""
    attention = A.papers.luong_location(d_query=8, longest=6)
    nn.init.normal_(attention.score.place.weight)  # type: ignore[union-attr, arg-type]
    memory, states = attention.memory(torch.zeros(2, 6, 3)), torch.randn(2, 1, 8)
    weights = attention.look(states, memory, at=3).weights
    assert float((weights[0] - weights[1]).detach().abs().max()) > 0.05


def test_local_is_differentiable_and_hard_is_not_X9() -> None:
    torch.manual_seed(0)
    x = torch.randn(1, 6, 8)
    for select, reaches in ((A.LocalP(8, 3), True), (A.Hard(), False)):
        attention = A.Attention(A.General(8, 8), select)
        look = attention.look(x, attention.memory(x))
        assert look.context.requires_grad == reaches
        assert isinstance(look.log_prob, torch.Tensor) != reaches  # hard attention is trained through this instead


def test_positions_make_order_representable_and_force_nothing_X15() -> None:
    """PE(p)·PE(p + k) falls with k at first, yet a learned map can prefer far to near."""
    table = sinusoid(torch.arange(64), 32)
    similar = table @ table[0]
    assert (similar[:5].diff() < 0).all()
    sin, cos = table[20, 0::2], table[20, 1::2]
    turn = torch.block_diag(*(torch.tensor([[c, -s], [s, c]]) for s, c in zip(sin, cos, strict=True))).double()
    looking_ahead = table[:40] @ turn  # a linear map that looks 20 places ahead
    assert (looking_ahead @ table.T).argmax(-1).tolist() == list(range(20, 60))


def test_variance_of_a_dot_product_X16() -> None:
    """For variance s² each it is s⁴ d, not s d."""
    torch.manual_seed(0)
    for s, d in ((0.5, 64), (2.0, 64), (1.0, 256)):
        product = A.Dot()(s * torch.randn(20_000, 1, 1, d), s * torch.randn(20_000, 1, 1, d))
        assert abs(float(product.var()) / (s**4 * d) - 1) < 0.05


def test_the_receiver_owns_the_query_X18() -> None:
    """An edge (receiver, sender) lets the receiver's row read the sender's value, and not the other way."""
    attention = A.Attention(A.ScaledDot(), scope=A.edges([(0, 2)], 3))
    x = torch.randn(1, 3, 4)
    context = attention(x, attention.memory(x))
    assert torch.allclose(context[0, 0], x[0, 2])
    assert not context[0, 2].any()


def test_pointers_are_softmax_over_inputs_X27() -> None:
    """The same weights point into any number of inputs, and the distribution sums to one over them."""
    pointer = A.papers.vinyals(8, 8, 8)
    for n in (3, 10, 50):
        weights = pointer.look(torch.randn(1, 4, 8), pointer.memory(torch.randn(1, n, 8))).weights
        assert weights.shape == (1, 1, 4, n)
        assert torch.allclose(weights.sum(-1), torch.ones(1, 1, 4), atol=1e-5)


def test_softmax_never_gives_zero_and_scope_does_X33() -> None:
    torch.manual_seed(0)
    x = torch.randn(1, 9, 8)
    soft, local = A.Attention(A.ScaledDot()), A.Attention(A.ScaledDot(), scope=A.window(1))
    far = ~A.window(1).table(1, 1, torch.arange(9), torch.arange(9))
    assert (soft.look(x, soft.memory(x)).weights[far] > 0).all()
    assert not local.look(x, local.memory(x)).weights[far].any()


def test_without_residue_of_order_outputs_are_permuted_not_equal_X34() -> None:
    torch.manual_seed(0)
    heads, x = A.papers.vaswani(8, 2), torch.randn(1, 3, 8)  # "A hit B" and "B hit A"
    swapped = x[:, [2, 1, 0]]
    one, other = heads(x, heads.memory(x)), heads(swapped, heads.memory(swapped))
    assert torch.allclose(one[:, [2, 1, 0]], other, atol=1e-6)
    assert float((one - other).detach().abs().max()) > 0.1
    assert torch.allclose(one.mean(1), other.mean(1), atol=1e-6)


def test_the_misprinted_interpolation_cannot_walk_X23() -> None:
    """With the previous *content* weighting a head with its gate shut stays where content put it."""
    N, steps = 8, 5
    content = F.one_hot(torch.tensor(0), N).double()
    final = wrong = content
    for _ in range(steps):
        final = final.roll(1)  # shift of the previous final weighting
        wrong = content.roll(1)  # shift of the previous content weighting, again and again
    assert (final.argmax().item(), wrong.argmax().item()) == (steps, 1)
