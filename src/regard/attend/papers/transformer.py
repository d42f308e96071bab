"""The Transformer's heads, and what tells them about positions."""

from __future__ import annotations

from torch import nn

from regard.attend.bias import AdaptiveSpan, Alibi, Relative, RelativeKeys, TransformerXL
from regard.attend.heads import Heads, Rotary, head_width
from regard.attend.maps import Linear
from regard.attend.mechanism import Attention
from regard.attend.memory import Tokens
from regard.attend.scope import Scope, causal, everything
from regard.attend.score import Dot, Leaky, ScaledDot


def vaswani(d_model: int, heads: int, scope: Scope = everything, dropout: float = 0.0) -> Heads:
    """Vaswani et al. 2017, Attention Is All You Need.

    Formula: softmax(q·k / √d), in `heads` heads
    Cost: n·d
    """
    return Heads(Attention(ScaledDot(), scope=scope, dropout=dropout), d_model, heads)


def shazeer(d_model: int, heads: int) -> Heads:
    """Shazeer 2019, Fast Transformer Decoding: multi-query, one head of keys and values for all.

    Formula: softmax(q·k / √d), keys and values shared by all heads
    Cost: n·d, the cache 1/heads as large
    """
    return Heads(Attention(ScaledDot()), d_model, heads, groups=1)


def ainslie(d_model: int, heads: int, groups: int) -> Heads:
    """Ainslie et al. 2023, GQA: grouped-query attention.

    Formula: softmax(q·k / √d), keys and values shared within a group
    Cost: n·d, the cache groups/heads as large
    """
    return Heads(Attention(ScaledDot()), d_model, heads, groups=groups)


def su(d_model: int, heads: int) -> Heads:
    """Su et al. 2021, RoFormer: rotary positions; projections have a bias, which turned is a pure sense of place.

    Formula: softmax(R_q q·R_k k / √d), R a rotation by position
    Cost: n·d
    """
    rotary = Rotary(head_width(d_model, heads))
    return Heads(Attention(ScaledDot()), d_model, heads, rotary=rotary, linear=Linear)


def press(d_model: int, heads: int) -> Heads:
    """Press, Smith & Lewis 2022, Train Short, Test Long: ALiBi.

    Formula: softmax(q·k / √d - m·|q - k|), a slope m per head
    Cost: n·d
    """
    return Heads(Attention(ScaledDot(), scope=causal, bias=Alibi(heads)), d_model, heads)


def shaw(d_model: int, heads: int, reach: int = 16) -> Heads:
    """Shaw, Uszkoreit & Vaswani 2018, Self-Attention with Relative Position Representations.

    Formula: softmax(q·(k + r) / √d), r learned per distance up to `reach`
    Cost: n·d
    """
    return Heads(Attention(ScaledDot(), bias=RelativeKeys(head_width(d_model, heads), reach)), d_model, heads)


def raffel(d_model: int, heads: int, reach: int = 16) -> Heads:
    """Raffel et al. 2020, T5: a learned number per head and distance (one distance a bucket here), no 1/√d.

    Formula: softmax(q·k + b), b learned per distance
    Cost: n·d
    """
    return Heads(Attention(Dot(), bias=Relative(heads, reach)), d_model, heads)


def dai(d_model: int, heads: int) -> Heads:
    """Dai et al. 2019, Transformer-XL: relative positions and older segments as memory.

    Formula: softmax((q·k + q·W r + u·k + v·W r) / √d), r the sinusoid of the distance
    Cost: n·d
    """
    bias = TransformerXL(heads, head_width(d_model, heads), d_model)
    return Heads(Attention(ScaledDot(), scope=causal, bias=bias), d_model, heads)


def sukhbaatar_span(d_model: int, heads: int, longest: int, ramp: int = 32) -> Heads:
    """Sukhbaatar, Grave, Bojanowski & Joulin 2019, Adaptive Attention Span in Transformers.

    Formula: m·exp(s) / Σ m·exp(s), m = clamp((R + z - distance) / R, 0, 1), z learned per head
    Cost: span·d
    """
    return Heads(Attention(ScaledDot(), scope=causal, bias=AdaptiveSpan(heads, longest, ramp)), d_model, heads)


def sukhbaatar_memory(d_model: int, heads: int, count: int = 16) -> Heads:
    """Sukhbaatar, Grave, Lample, Jégou & Joulin 2019, Augmenting Self-attention with Persistent Memory.

    Formula: softmax over [learned keys; k], learned values beside the read ones
    Cost: (n + count)·d
    """
    tokens = Tokens(count, heads, head_width(d_model, heads))
    return Heads(Attention(ScaledDot(), scope=causal), d_model, heads, on_memory=tokens)


def wang_nonlocal(d_model: int) -> Heads:
    """Wang, Girshick, Gupta & He 2018, Non-local Neural Networks: embedded Gaussian, starting as the identity.

    Formula: W_z softmax(θ(x)·φ(x)) g(x), W_z = 0 at first
    Cost: n·d
    """
    heads = Heads(Attention(Dot()), d_model, 1, d_key=max(1, d_model // 2), d_value=max(1, d_model // 2))
    nn.init.zeros_(heads.out.weight)
    return heads


def velickovic(d_model: int, heads: int, scope: Scope = everything) -> Heads:
    """Veličković et al. 2018, Graph Attention Networks; give the graph as `scope`, or with the memory.

    Formula: softmax(LeakyReLU(a·W h_q + c·W h_k)) over neighbours
    Cost: neighbours
    """
    width = head_width(d_model, heads)
    shared = Heads(Attention(Leaky(width, width, heads), scope=scope), d_model, heads)
    shared.key = shared.value = shared.query
    return shared
