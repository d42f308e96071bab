"""Long memories: sparse patterns, kernels, compression, buckets."""

from __future__ import annotations

from regard.attend.bias import SelfLast
from regard.attend.efficient import EluPlusOne, Favor, Hashing, Linformer, Routing, StridedPool
from regard.attend.heads import Heads, head_width
from regard.attend.mechanism import Attention
from regard.attend.scope import causal, first, strided, window
from regard.attend.score import Kernel, Mapped, Scale, ScaledDot, Unit
from regard.attend.select import TopK


def child(d_model: int, heads: int, reach: int = 8) -> Heads:
    """Child, Gray, Radford & Sutskever 2019, Generating Long Sequences with Sparse Transformers: strided.

    Formula: softmax(q·k / √d) over the last `reach` keys and every `reach`-th one
    Cost: √n·d for reach ≈ √n
    """
    scope = causal & (window(reach, 0) | strided(reach))
    return Heads(Attention(ScaledDot(), scope=scope), d_model, heads)


def beltagy(d_model: int, heads: int, reach: int = 8, count: int = 1) -> Heads:
    """Beltagy, Peters & Cohan 2020, Longformer: a window and a few global tokens.

    Formula: softmax(q·k / √d) over |q - k| ≤ reach, and to and from the first `count` tokens
    Cost: (reach + count)·d
    """
    return Heads(Attention(ScaledDot(), scope=window(reach) | first(count)), d_model, heads)


def katharopoulos(d_model: int, heads: int) -> Heads:
    """Katharopoulos, Vyas, Pappas & Fleuret 2020, Transformers are RNNs: linear attention.

    Formula: φ(q)·Σ φ(k) v / φ(q)·Σ φ(k), φ = elu + 1
    Cost: d²
    """
    return Heads(Attention(Kernel(EluPlusOne()), scope=causal), d_model, heads)


def choromanski(d_model: int, heads: int, features: int = 64) -> Heads:
    """Choromanski et al. 2021, Rethinking Attention with Performers: FAVOR+.

    Formula: φ(q)·Σ φ(k) v / φ(q)·Σ φ(k), φ(x) = exp(ω·x - |x|²/2) / √m
    Cost: features·d
    """
    return Heads(Attention(Kernel(Favor(head_width(d_model, heads), features))), d_model, heads)


def wang_linformer(d_model: int, heads: int, longest: int, count: int = 16) -> Heads:
    """Wang, Li, Khabsa, Fang & Ma 2020, Linformer: Self-Attention with Linear Complexity.

    Formula: softmax(q·E K / √d) F V, E and F learned mixtures of keys and values
    Cost: count·d
    """
    return Heads(Attention(ScaledDot()), d_model, heads, on_memory=Linformer(longest, count))


def liu(d_model: int, heads: int, stride: int = 3) -> Heads:
    """Liu et al. 2018, Generating Wikipedia by Summarizing Long Sequences: memory-compressed attention (mean here).

    Formula: softmax(q·k' / √d), k' and v' the means of `stride` neighbours
    Cost: n·d / stride
    """
    return Heads(Attention(ScaledDot()), d_model, heads, on_memory=StridedPool(stride))


def kitaev(d_model: int, heads: int, buckets: int = 4, rounds: int = 2) -> Heads:
    """Kitaev, Kaiser & Levskaya 2020, Reformer: shared queries and keys, hashed into buckets.

    Formula: softmax(q·q'/|q'| / √d) over keys of the same bucket; oneself only where alone
    Cost: n·d / buckets, per round
    """
    width = head_width(d_model, heads)
    score = Mapped(query=Scale(width**-0.5), key=Unit())
    mechanism = Attention(score, scope=Hashing(width, buckets, rounds), bias=SelfLast())
    shared = Heads(mechanism, d_model, heads)
    shared.key = shared.query
    return shared


def roy(d_model: int, heads: int, buckets: int = 4) -> Heads:
    """Roy, Saffar, Vaswani & Grangier 2021, Efficient Content-Based Sparse Attention with Routing Transformers.

    Formula: softmax(q·k / √d) over keys of the same cluster
    Cost: √n·d for √n clusters
    """
    return Heads(Attention(ScaledDot(), scope=Routing(head_width(d_model, heads), buckets)), d_model, heads)


def gupta(d_model: int, heads: int, count: int = 4) -> Heads:
    """Gupta, Dar, Goodman, Ciprut & Berant 2021, Memory-efficient Transformers via Top-k Attention.

    Formula: softmax over the `count` best keys
    Cost: n·d to score, count·d to read
    """
    return Heads(Attention(ScaledDot(), TopK(count)), d_model, heads)
