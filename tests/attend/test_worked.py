"""Examples worked by hand, and facts of the lectures that must come out exactly."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from regard import attend as A
from regard.attend.bias import sinusoid
from regard.attend.heads import join, split
from tests import oracle


def test_thinking_machines_K1() -> None:
    """Scores 112 and 96, over 8: 14 and 12; softmax 0.8808 and 0.1192 (printed 0.88 and 0.12)."""
    query, keys = torch.zeros(1, 1, 64), torch.zeros(1, 2, 64)
    query[0, 0, :2] = torch.tensor([8.0, 4.0])
    keys[0, 0, :2], keys[0, 1, :2] = torch.tensor([12.0, 4.0]), torch.tensor([10.0, 4.0])
    score, attention = A.Dot(), A.Attention(A.ScaledDot())
    assert score(query[None], keys[None]).flatten().tolist() == [112.0, 96.0]
    memory = attention.memory(keys, torch.eye(2)[None])
    assert attention.score(query[None], memory.keys).flatten().tolist() == [14.0, 12.0]
    weights = attention.look(query, memory).weights.flatten()
    assert weights.tolist() == pytest.approx([0.8808, 0.1192], abs=5e-5)
    unscaled = A.Attention(A.Dot())
    assert unscaled.look(query.double(), unscaled.memory(keys.double())).weights[0, 0, 0, 0].item() == pytest.approx(
        0.99999989, abs=5e-9
    )


def test_matrix_form_equals_vector_form_K2() -> None:
    """X (2 x 512), W (512 x 64), Z (2 x 64): one row at a time or all at once."""
    torch.manual_seed(0)
    X = torch.randn(2, 512, dtype=torch.float64)
    W_q, W_k, W_v = (torch.randn(512, 64, dtype=torch.float64) * 512**-0.5 for _ in range(3))
    attention = A.Attention(A.ScaledDot())
    Z = attention((X @ W_q)[None], attention.memory((X @ W_k)[None], (X @ W_v)[None]))[0]
    for i, x in enumerate(X):
        scores = torch.stack([(x @ W_q) @ (other @ W_k) / 8 for other in X])
        by_hand = sum(w * (other @ W_v) for w, other in zip(scores.softmax(0), X, strict=True))
        assert torch.allclose(Z[i], by_hand, atol=1e-6)


def test_two_heads_by_hand_K8() -> None:
    """Two heads of width 1 over two tokens, joined and mixed by W_O."""
    heads = A.Heads(A.Attention(A.ScaledDot()), d_model=2, heads=2).double()
    with torch.no_grad():
        for layer in (heads.query, heads.key, heads.value):
            layer.weight.copy_(torch.eye(2))
        heads.out.weight.copy_(torch.tensor([[1.0, 2.0], [0.0, 1.0]]))
    x = torch.tensor([[[1.0, 0.0], [0.0, 2.0]]], dtype=torch.float64)
    look = heads.look(x, heads.memory(x))
    e = math.e
    first = [[e / (e + 1), 1 / (e + 1)], [0.5, 0.5]]  # head 1 sees 1, 0: scores q k = 1 0 / 0 0
    second = [[0.5, 0.5], [1 / (1 + e**4), e**4 / (1 + e**4)]]  # head 2 sees 0, 2: scores 0 0 / 0 4
    assert torch.allclose(look.weights[0], torch.tensor([first, second], dtype=torch.float64))
    left, right = np.array(first) @ [1, 0], np.array(second) @ [0, 2]
    expected = np.stack([left + 2 * right, right], -1)
    np.testing.assert_allclose(look.context[0].detach().numpy(), expected, atol=1e-12)


def test_three_by_two_K10() -> None:
    Q = torch.tensor([[[0.3367, 0.1288], [0.2345, 0.2303], [-1.1229, -0.1863]]])
    K = torch.tensor([[[2.2082, -0.6380], [0.4617, 0.2674], [0.5349, 0.8094]]])
    V = torch.tensor([[[1.1103, -1.6898], [-0.9890, 0.9580], [1.3221, 0.8172]]])
    weights = [[0.4028, 0.2886, 0.3086], [0.3538, 0.3069, 0.3393], [0.1303, 0.4630, 0.4067]]
    values = [[0.5698, -0.1520], [0.5379, -0.0265], [0.2246, 0.5556]]
    attention = A.Attention(A.ScaledDot())
    look = attention.look(Q, attention.memory(K, V))
    assert torch.allclose(look.weights[0, 0], torch.tensor(weights), atol=2e-4)
    assert torch.allclose(look.context[0], torch.tensor(values), atol=2e-4)


def test_linear_concat_ignores_its_query_X6() -> None:
    torch.manual_seed(0)
    keys, queries = torch.randn(1, 8, 16), torch.randn(1, 100, 16) * 3
    degenerate = A.Attention(A.LinearConcat(16, 16))
    weights = degenerate.look(queries, degenerate.memory(keys)).weights[0, 0]
    assert float((weights - weights[0]).detach().abs().max()) < 1e-6
    concat = A.Concat(16, 16, 16)
    nn.init.normal_(concat.strength)
    proper = A.Attention(concat)
    weights = proper.look(queries, proper.memory(keys)).weights[0, 0]
    assert float((weights - weights[0]).detach().abs().max()) > 0.1


def test_additive_is_the_perceptron_X7() -> None:
    """W [q; k] = W_q q + W_k k: "additive" and "perceptron" are one function."""
    torch.manual_seed(0)
    concat, additive = A.Concat(5, 6, 7).double(), A.Additive(5, 6, 7).double()
    with torch.no_grad():
        additive.query.weight.copy_(concat.joint.weight[:, :5])
        additive.key.weight.copy_(concat.joint.weight[:, 5:])
        additive.query.bias.zero_()
        additive.strength.copy_(concat.strength)
    q, k = torch.randn(2, 1, 3, 5, dtype=torch.float64), torch.randn(2, 1, 4, 6, dtype=torch.float64)
    assert torch.allclose(concat(q, concat.prepare(k)), additive(q, additive.prepare(k)), atol=1e-7)


def test_general_with_the_identity_is_dot() -> None:
    general = A.General(6, 6)
    nn.init.eye_(general.key.weight)
    q, k = torch.randn(2, 1, 3, 6), torch.randn(2, 1, 4, 6)
    assert torch.equal(general(q, general.prepare(k)), A.Dot()(q, k))


@pytest.mark.parametrize(("keys", "bound"), [(10, 0.451), (20, 0.280), (50, 0.131)])
def test_cosine_without_strength_cannot_focus_A8(keys: int, bound: float) -> None:
    """The best case: one key along the query, all others against it. e / (e + (n - 1) / e)."""
    query = torch.tensor([[[1.0, 0.0]]])
    memory_of = -query.expand(1, keys, 2).clone()
    memory_of[0, 0] = query[0, 0]
    weak = A.Attention(A.Cosine(1.0))
    best = weak.look(query, weak.memory(memory_of)).weights.max().item()
    assert best == pytest.approx(bound, abs=6e-4)
    assert best == pytest.approx(math.e / (math.e + (keys - 1) / math.e), abs=1e-6)
    strong = A.Attention(A.Cosine(20.0))
    assert strong.look(query, strong.memory(memory_of)).weights.max().item() > 0.999


@pytest.mark.parametrize(
    ("width", "largest", "entropy"),
    [(4, 0.42, 1.78), (16, 0.69, 0.90), (64, 0.84, 0.41), (256, 0.92, 0.20), (1024, 0.96, 0.09)],
)
def test_why_the_scale_A12(width: int, largest: float, entropy: float) -> None:
    """Var(q·k) = d: without 1/sqrt(d) softmax saturates as d grows; with it nothing changes."""
    torch.manual_seed(width)
    q, k = torch.randn(4000, 1, 1, width), torch.randn(4000, 1, 16, width)
    assert float(A.Dot()(q, k).var()) / width == pytest.approx(1.0, abs=0.02)

    def measure(score: A.Score) -> tuple[float, float, float]:
        p = A.Attention(score).look(q, A.Memory(k, k)).weights.flatten(0, 2)
        jacobian = torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)
        h = -(p * p.clamp_min(1e-30).log()).sum(-1)
        return float(p.amax(-1).mean()), float(h.mean()), float(jacobian.flatten(1).norm(dim=1).mean())

    plain, scaled = measure(A.Dot()), measure(A.ScaledDot())
    assert plain[0] == pytest.approx(largest, abs=0.015)
    assert plain[1] == pytest.approx(entropy, abs=0.03)
    if width >= 16:
        assert 0.23 <= scaled[0] <= 0.26
        assert scaled[1] == pytest.approx(2.36, abs=0.02)
    if width == 64:
        assert (plain[2], scaled[2]) == (pytest.approx(0.175, abs=0.01), pytest.approx(0.304, abs=0.01))


def test_sinusoid_E4() -> None:
    """PE(0) = 0 1 0 1 ...; PE(p + k) is a rotation of PE(p) that does not depend on p."""
    table = sinusoid(torch.arange(200), 32)
    assert table[0].tolist() == [0.0, 1.0] * 16
    assert table[1, :2].tolist() == pytest.approx([0.8415, 0.5403], abs=5e-5)
    np.testing.assert_allclose(table[7].numpy(), oracle.sinusoid(7, 32), atol=1e-12)
    for shift in (1, 13, 60):
        angle = shift * 10000.0 ** -(torch.arange(0, 32, 2, dtype=torch.float64) / 32)
        sin, cos = table[:, 0::2], table[:, 1::2]
        moved = torch.stack((sin * angle.cos() + cos * angle.sin(), cos * angle.cos() - sin * angle.sin()), -1)
        assert float((moved.flatten(-2)[:-shift] - table[shift:]).abs().max()) < 1e-12


def test_appending_a_one_hot_position_is_adding_a_learned_one_E5() -> None:
    """[W_I W_P] [x; p] = W_I x + W_P p."""
    torch.manual_seed(0)
    x, place = torch.randn(5, 6, dtype=torch.float64), torch.eye(5, dtype=torch.float64)
    joint = nn.Linear(11, 8, bias=False).double()
    learned = joint.weight[:, 6:].T  # row p is the position's embedding
    assert torch.allclose(joint(torch.cat((x, place), -1)), x @ joint.weight[:, :6].T + learned, atol=1e-7)


def test_columns_equal_rows_E15() -> None:
    """Lee's form: A = K^T Q, softmax of each column, O = V A; the row form transposed."""
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 4, 3, dtype=torch.float64) for _ in range(3))
    attention = A.Attention(A.ScaledDot())
    Q, K, V = q[0].T, k[0].T, v[0].T
    columns = V @ (K.T @ Q / math.sqrt(3)).softmax(0)
    assert torch.allclose(attention(q, attention.memory(k, v))[0], columns.T, atol=1e-7)


def test_heads_equal_the_frameworks_E1() -> None:
    torch.manual_seed(0)
    theirs, ours = nn.MultiheadAttention(16, 4, bias=False, batch_first=True), A.papers.vaswani(16, 4)
    with torch.no_grad():
        for layer, weight in zip((ours.query, ours.key, ours.value), theirs.in_proj_weight.chunk(3), strict=True):
            layer.weight.copy_(weight)
        ours.out.load_state_dict(theirs.out_proj.state_dict())
    q, x = torch.randn(2, 5, 16), torch.randn(2, 7, 16)
    context, weights = theirs(q, x, x, average_attn_weights=False)
    look = ours.look(q, ours.memory(x))
    assert torch.allclose(look.context, context, atol=1e-5)
    assert torch.allclose(look.weights, weights, atol=1e-5)
    assert torch.allclose(ours(q, ours.memory(x)), context, atol=1e-5)


def test_splitting_and_joining_are_inverse() -> None:
    x = torch.randn(2, 5, 12)
    assert torch.equal(join(split(x, 3)), x)
    assert torch.equal(split(x, 3)[:, 1], x[..., 4:8])


def test_equivariance_G1() -> None:
    """Without positions a permutation of tokens permutes the outputs; pooled outputs stay; causal breaks it."""
    torch.manual_seed(0)
    heads, x, order = A.papers.vaswani(16, 4).double(), torch.randn(1, 9, 16).double(), torch.randperm(9)
    out, permuted = heads(x, heads.memory(x)), heads(x[:, order], heads.memory(x[:, order]))
    assert torch.allclose(permuted, out[:, order], atol=1e-5)
    assert torch.allclose(permuted.mean(1), out.mean(1), atol=1e-5)
    for broken in (A.papers.vaswani(16, 4, scope=A.causal).double(), A.papers.su(16, 4).double()):
        a, b = broken(x, broken.memory(x)), broken(x[:, order], broken.memory(x[:, order]))
        assert float((b - a[:, order]).detach().abs().max()) > 1e-2


@pytest.mark.parametrize("graph", ["full", "random", "empty rows"])
def test_message_passing_equals_the_matrix_form_G2(graph: str) -> None:
    rng = np.random.default_rng(3)
    n = 7
    pairs = [(i, j) for i in range(n) for j in range(n) if graph == "full" or rng.random() < 0.4]
    if graph == "empty rows":
        pairs = [(i, j) for i, j in pairs if i != 2]
    q, k, v = (rng.normal(size=(n, 4)) for _ in range(3))
    attention = A.Attention(A.ScaledDot(), scope=A.edges(pairs, n))
    context = attention(
        *(torch.from_numpy(q)[None], attention.memory(torch.from_numpy(k)[None], torch.from_numpy(v)[None]))
    )
    np.testing.assert_allclose(context[0].numpy(), oracle.message_passing(q, k, v, pairs), atol=1e-6)


def test_retrieval_is_the_limit_of_attention_A17() -> None:
    """1 000 stored pairs, noisy keys: at strength 50 the heaviest value is the nearest neighbour's."""
    torch.manual_seed(0)
    keys = nn.functional.normalize(torch.randn(1, 1000, 32), dim=-1)
    query = nn.functional.normalize(keys + 0.05 * torch.randn_like(keys), dim=-1)
    sharp = A.Attention(A.Cosine(50.0))
    weights = sharp.look(query, sharp.memory(keys)).weights[0, 0]
    nearest = (query[0] @ keys[0].T).argmax(-1)
    assert float((weights.argmax(-1) == nearest).float().mean()) >= 0.999
    assert float((nearest == torch.arange(1000)).float().mean()) > 0.99


def test_causal_gradients_are_exactly_zero_E3() -> None:
    heads, x = A.papers.vaswani(8, 2, scope=A.causal), torch.randn(1, 6, 8, requires_grad=True)
    out = heads(x, heads.memory(x))
    (gradient,) = torch.autograd.grad(out[0, 2].sum(), x)
    assert not gradient[0, 3:].any()
    assert gradient[0, :3].abs().sum(-1).gt(0).all()


def test_over_smoothing_without_residuals_G5() -> None:
    """Attention alone draws all tokens together, layer by layer; a residual keeps them apart."""
    torch.manual_seed(0)
    x = residual = torch.randn(1, 16, 32)

    def spread(y: torch.Tensor) -> float:
        return float((y - y.mean(1, keepdim=True)).norm() / y.norm())

    with torch.no_grad():
        for _ in range(12):
            layer = A.papers.vaswani(32, 4)
            x = layer(x, layer.memory(x))
            normed = nn.functional.layer_norm(residual, (32,))
            residual = residual + layer(normed, layer.memory(normed))
    assert spread(x) < 1e-3
    assert spread(residual) > 0.3
