"""Fast readings at sizes where they differ from the plain one: blocks, chunks, running sums."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from regard import attend as A
from regard.attend import fast


class Largest(TorchDispatchMode):
    """Notes the most numbers that any tensor made inside held."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for tensor in out if isinstance(out, tuple | list) else (out,):
            if isinstance(tensor, Tensor) and tensor.untyped_storage().size() > 0:
                self.numbers = max(self.numbers, tensor.untyped_storage().size() // tensor.element_size())
        return out


def gradients(attention: A.Attention, context: Tensor, *leaves: Tensor) -> list[Tensor]:
    leaves = (*leaves, *attention.parameters())
    return list(torch.autograd.grad(context.square().sum(), leaves, allow_unused=True))


def held_equal(attention: A.Attention, q: Tensor, k: Tensor, v: Tensor, at: int = 0, **memory: Any) -> None:
    leaves = [x.requires_grad_() for x in (q, k, v)]
    plain = attention.look(q, attention.memory(k, v, **memory), at).context
    quick = attention(q, attention.memory(k, v, **memory), at)
    assert float((plain - quick).detach().abs().max()) < 1e-9
    for a, b in zip(gradients(attention, plain, *leaves), gradients(attention, quick, *leaves), strict=True):
        assert (a is None) == (b is None)
        assert a is None or float((a - b).abs().max()) < 1e-8 * max(1.0, float(a.abs().max()))


def rows(n: int, d: int, h: int = 2, b: int = 1) -> Tensor:
    return torch.randn(b, h, n, d, dtype=torch.float64)


SHORT = [
    A.window(5),
    A.window(30, 0),
    A.window(0, 40),
    A.block(17),
    A.dilated(6, 3),
    A.causal & A.window(20),
    A.window(10) & A.strided(2),
    A.window(3) | A.block(9),
]


@pytest.mark.parametrize("scope", SHORT, ids=lambda s: s.name)
@pytest.mark.parametrize("score", [A.ScaledDot(), A.Additive(6, 6, 4)], ids=lambda s: type(s).__name__)
def test_blocks_equal_the_plain_reading(scope: A.Scope, score: A.Score, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "BLOCK", 16)
    torch.manual_seed(0)
    attention = A.Attention(score, scope=scope).double()
    assert fast._short_reach(attention, rows(200, 6), attention.memory(rows(200, 6)))
    held_equal(attention, rows(200, 6), rows(200, 6), rows(200, 5), scope=A.lengths([150]))
    held_equal(attention, rows(50, 6), rows(200, 6), rows(200, 6), at=170)
    held_equal(attention, rows(100, 6), rows(200, 6), rows(200, 6), at=37, start=-41)


def test_blocks_with_a_bias_that_learns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "BLOCK", 16)
    for bias in (A.Alibi(2), A.RelativeKeys(6, 4), A.TransformerXL(2, 6, 8), A.AdaptiveSpan(2, 9, ramp=4)):
        attention = A.Attention(A.ScaledDot(), scope=A.window(12, 0), bias=bias).double()
        held_equal(attention, rows(150, 6), rows(150, 6), rows(150, 6))


def test_blocks_serve_grouped_heads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "BLOCK", 16)
    attention = A.Attention(A.ScaledDot(), scope=A.window(5)).double()
    held_equal(attention, rows(150, 6, h=4), rows(150, 6, h=2), rows(150, 6, h=2))


def test_a_window_never_forms_the_table() -> None:
    n = 2048
    attention = A.Attention(A.ScaledDot(), scope=A.window(32))
    x = torch.randn(1, 1, n, 8, requires_grad=True)
    with Largest() as seen:
        attention(x, attention.memory(x)).sum().backward()
    assert seen.numbers < n * n / 16
    with Largest() as seen:
        attention.look(x, attention.memory(x))
    assert seen.numbers >= n * n


@pytest.mark.parametrize("select", [A.Softmax(), A.Sparsemax(), A.Hard()], ids=lambda s: type(s).__name__)
def test_additive_in_chunks_equals_the_plain_reading(select: A.Select, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "ROOM", 500)
    attention = A.Attention(A.Additive(6, 5, 4), select, scope=A.causal).double().eval()
    held_equal(attention, rows(23, 6), rows(23, 5), rows(23, 3), scope=A.lengths([20]))


def test_additive_never_forms_five_axes() -> None:
    attention = A.Attention(A.Concat(32, 32, 64))
    q = torch.randn(1, 1, 256, 32, requires_grad=True)
    with Largest() as seen:
        attention(q, attention.memory(q)).sum().backward()
    assert seen.numbers <= fast.ROOM < 256 * 256 * 64
    with Largest() as seen:
        attention.look(q, attention.memory(q))
    assert seen.numbers == 256 * 256 * 64


@pytest.mark.parametrize("features", [A.EluPlusOne(), A.Favor(6, 11)], ids=lambda f: type(f).__name__)
def test_linear_attention_plain_parallel_and_recurrent(features: A.Features) -> None:
    torch.manual_seed(0)
    for scope in (A.everything, A.causal):
        attention = A.Attention(A.Kernel(features), scope=scope).double()
        held_equal(attention, rows(150, 6), rows(150, 6), rows(150, 3), scope=A.lengths([140]))
        held_equal(attention, rows(20, 6), rows(150, 6), rows(150, 3), at=130)
        held_equal(attention, rows(20, 6), rows(150, 6), rows(150, 3), at=40)
    q, memory = rows(100, 6), attention.memory(rows(100, 6), rows(100, 3))
    whole = attention(q, memory)
    state, asked = A.Recurrence.empty(memory.keys, memory.values), features(q)
    for t in range(100):
        state = state.then(memory.keys[:, :, t : t + 1], memory.values[:, :, t : t + 1])
        assert torch.allclose(state.read(asked[:, :, t : t + 1]), whole[:, :, t : t + 1], atol=1e-9)


def test_linear_attention_never_forms_the_table() -> None:
    n = 2048
    attention, x = A.Attention(A.Kernel(A.EluPlusOne()), scope=A.causal), torch.randn(1, 1, n, 8, requires_grad=True)
    with Largest() as seen:
        attention(x, attention.memory(x)).sum().backward()
    assert seen.numbers < n * n / 16


def test_favor_is_unbiased_and_orthogonal_directions_are_better() -> None:
    """The error of the kernel falls as m^-1/2, and is smaller with orthogonal directions."""
    torch.manual_seed(0)
    q, k = torch.randn(1, 1, 64, 16) * 0.7, torch.randn(1, 1, 64, 16) * 0.7
    exact = (q @ k.transpose(-2, -1) / 4).exp()

    def error(count: int, orthogonal: bool) -> float:
        squares = []
        for _ in range(40):
            features = A.Favor(16, count, orthogonal)
            squares.append((features(q) @ features(k).transpose(-2, -1) - exact).square().mean())
        return float(torch.stack(squares).mean().sqrt())

    counts = torch.tensor([16.0, 64.0, 256.0, 1024.0])
    errors = torch.tensor([error(int(m), True) for m in counts])
    slope = torch.linalg.lstsq(torch.stack((counts.log(), torch.ones(4)), 1), errors.log()[:, None]).solution[0]
    assert float(slope) == pytest.approx(-0.5, abs=0.1)
    assert error(64, True) < error(64, False)


def test_widths_that_differ_take_the_fused_kernel() -> None:
    """Zeros are added to the narrower side, and taken off again."""
    for d_key, d_value in ((4, 9), (9, 4)):
        attention = A.Attention(A.ScaledDot(), scope=A.causal).double()
        held_equal(attention, rows(30, d_key), rows(30, d_key), rows(30, d_value))


@pytest.mark.parametrize("score", [A.Dot(), A.ScaledDot(), A.Cosine(heads=3), A.General(4, 4)])
@pytest.mark.parametrize(("queries", "keys"), [(0, 3), (2, 0), (0, 0)])
def test_no_queries_and_no_keys_read_zeros(score: A.Score, queries: int, keys: int) -> None:
    attention, query = A.Attention(score), torch.randn(2, 3, queries, 4)
    memory = attention.memory(torch.randn(2, 3, keys, 4), torch.randn(2, 3, keys, 5))
    look = attention.look(query, memory)
    assert look.weights.shape == (2, 3, queries, keys)
    assert look.context.shape == (2, 3, queries, 5)
    assert not look.context.any()
    assert torch.equal(attention(query, memory), look.context)


MIDDLE_SCOPES = {
    "everything": (A.everything, A.everything),
    "causal": (A.causal, A.everything),
    "padding": (A.everything, A.lengths([100, 70])),
    "both": (A.causal, A.lengths([100, 70])),
    "window": (A.window(20), A.lengths([100, 70])),  # queries far beyond the padding's border see nothing
    "blind": (A.everything, A.lengths([100, 0])),
}


@pytest.mark.parametrize("count", [128, 100], ids=["more", "as many"])  # queries than keys: 100 is a triangle
@pytest.mark.parametrize("limits", MIDDLE_SCOPES.values(), ids=MIDDLE_SCOPES)
def test_middle_lengths_are_read_by_two_products(limits: Any, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    scope, padding = limits
    query, keys, values = torch.randn(2, 4, count, 64), torch.randn(2, 4, 100, 64), torch.randn(2, 4, 100, 80)
    attention = A.Attention(A.ScaledDot(), scope=scope)
    memory = attention.memory(keys, values, padding)
    calls = spied(monkeypatch, "two_products")
    attention(query, memory)
    assert not calls  # with gradients the fused kernel
    with torch.no_grad():
        by_products = attention(query, memory)
        assert len(calls) == 1
        torch.testing.assert_close(by_products, attention.look(query, memory).context, atol=2e-6, rtol=0)
        monkeypatch.setattr(fast, "MIDDLE", range(0))
        torch.testing.assert_close(by_products, attention(query, memory), atol=2e-6, rtol=0)
    assert len(calls) == 1


def test_two_products_are_for_single_precision_and_a_head_each(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = spied(monkeypatch, "two_products")
    attention = A.Attention(A.ScaledDot())
    x = torch.randn(2, 4, 128, 64)
    with torch.no_grad():
        attention(x, attention.memory(x[:, :1]))
        attention(x.double(), attention.memory(x.double()))
        with torch.autocast("cpu", torch.bfloat16):
            attention(x, attention.memory(x))
        beside = x.transpose(1, 2).contiguous().transpose(1, 2)  # as a projection leaves heads: they would be copied
        attention(beside, attention.memory(x))
        assert not calls
        attention(x, attention.memory(x))
    assert calls


def spied(monkeypatch: pytest.MonkeyPatch, name: str) -> list[Any]:
    """Every call of this reading from now on."""
    reading, calls = getattr(fast, name), []

    def spy(*given: Any) -> Any:
        calls.append(given)
        return reading(*given)

    monkeypatch.setattr(fast, name, spy)
    return calls


def test_an_unknown_part_is_read_plainly() -> None:
    class Shy(A.Select):
        def forward(self, scores, allowed, query, past=None):  # type: ignore[no-untyped-def]
            return A.Selection(A.Softmax()(scores, allowed, query).weights / 2, 0.0)

    x = torch.randn(1, 4, 6)
    shy, bold = A.Attention(A.ScaledDot(), Shy()), A.Attention(A.ScaledDot())
    assert torch.allclose(shy(x, shy.memory(x)) * 2, bold(x, bold.memory(x)), atol=1e-6)


def test_autocast_reads_every_kind() -> None:
    x = torch.randn(2, 30, 16)
    for name in ("vaswani", "press", "dai", "katharopoulos", "beltagy", "su", "wang_linformer"):
        heads: Any = A.papers.build(name, d_model=16, heads=4, longest=30)
        exact = heads(x, heads.memory(x, scope=A.lengths([30, 20]))).detach()
        with torch.autocast("cpu", torch.bfloat16):
            rough = heads(x, heads.memory(x, scope=A.lengths([30, 20]))).detach()
        assert float((rough.float() - exact).abs().max()) < 0.2, name
