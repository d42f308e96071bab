"""Looks taken by recurrent networks: translation, captions, pointers, tapes."""

from __future__ import annotations

from torch import nn

from regard.attend.addressing import Turing
from regard.attend.coverage import Coverage
from regard.attend.mechanism import Attention
from regard.attend.scope import causal, itself, window
from regard.attend.score import Additive, Concat, Cosine, Dot, General, LinearConcat, Location
from regard.attend.select import Hard, LocalP, Sparsemax, StraightThrough


def bahdanau(d_query: int, d_key: int, d_hidden: int) -> Attention:
    """Bahdanau, Cho & Bengio 2015, Neural Machine Translation by Jointly Learning to Align and Translate.

    Formula: softmax(v·tanh(W q + U k)); the query is the decoder's previous state
    Cost: n·d
    """
    return Attention(Additive(d_query, d_key, d_hidden))


def luong_dot() -> Attention:
    """Luong, Pham & Manning 2015, Effective Approaches to Attention-based Neural Machine Translation, "dot".

    Formula: softmax(q·k); the query is the decoder's current state
    Cost: n·d
    """
    return Attention(Dot())


def luong_general(d_query: int, d_key: int) -> Attention:
    """Luong, Pham & Manning 2015, "general".

    Formula: softmax(q·W k)
    Cost: n·d, and d² once per key
    """
    return Attention(General(d_query, d_key))


def luong_concat(d_query: int, d_key: int, d_hidden: int) -> Attention:
    """Luong, Pham & Manning 2015, "concat".

    Formula: softmax(v·tanh(W [q; k]))
    Cost: n·d
    """
    return Attention(Concat(d_query, d_key, d_hidden))


def luong_location(d_query: int, longest: int) -> Attention:
    """Luong, Pham & Manning 2015, "location".

    Formula: softmax(W q), a row of W per source place
    Cost: n·d, at most `longest` keys
    """
    return Attention(Location(d_query, longest))


def luong_local_m(d_query: int, d_key: int, reach: int = 10) -> Attention:
    """Luong, Pham & Manning 2015, "local-m".

    Formula: softmax(q·W k) over |k - q| ≤ reach: the target's place is the source's
    Cost: reach·d
    """
    return Attention(General(d_query, d_key), scope=window(reach))


def luong_local_p(d_query: int, d_key: int, reach: int = 10) -> Attention:
    """Luong, Pham & Manning 2015, "local-p".

    Formula: softmax(q·W k)·exp(-(k - p)² / 2σ²) near p = S·sigmoid(v·tanh(W_p q)), σ = reach/2
    Cost: n·d
    """
    return Attention(General(d_query, d_key), LocalP(d_query, reach))


def linear_concat(d_query: int, d_key: int) -> Attention:
    """Degenerate: "concatenating attention" W [q; k] as some lectures print it; the weights ignore the query.

    Formula: softmax(w·[q; k]) = softmax(w_k·k)
    Cost: n
    """
    return Attention(LinearConcat(d_query, d_key))


def graves(d_query: int, d_key: int) -> Attention:
    """Graves, Wayne & Danihelka 2014, Neural Turing Machines.

    Formula: sharpen(shift(g·softmax(β cos(k(q), M)) + (1 - g)·w before))
    Cost: n·d
    """
    score = Cosine(1.0, query=nn.Linear(d_query, d_key))
    score.log_strength.requires_grad_(False)  # the selection reads β off the query
    return Attention(score, Turing(d_query))


def content(heads: int = 1) -> Attention:
    """Graves, Wayne & Danihelka 2014, content addressing alone, with a learned strength.

    Formula: softmax(β cos(q, k))
    Cost: n·d
    """
    return Attention(Cosine(heads=heads))


def vinyals(d_query: int, d_key: int, d_hidden: int) -> Attention:
    """Vinyals, Fortunato & Jaitly 2015, Pointer Networks; `look(...).weights` is the answer.

    Formula: softmax(v·tanh(W₁ e + W₂ d))
    Cost: n·d
    """
    return Attention(Additive(d_query, d_key, d_hidden))


def see(d_query: int, d_key: int, d_hidden: int) -> Attention:
    """See, Liu & Manning 2017, Get To The Point: Summarization with Pointer-Generator Networks, with coverage.

    Formula: softmax(v·tanh(W s + U h + w c + b)), c the sum of the weights a key was given so far
    Cost: n·d
    """
    return Attention(Coverage(d_query, d_key, d_hidden))


def xu_soft(d_query: int, d_key: int, d_hidden: int) -> Attention:
    """Xu et al. 2015, Show, Attend and Tell, "soft": decoder-to-image cross-attention.

    Formula: softmax(v·tanh(W h + U a))
    Cost: n·d
    """
    return Attention(Additive(d_query, d_key, d_hidden))


def xu_hard(d_query: int, d_key: int, d_hidden: int) -> Attention:
    """Xu et al. 2015, Show, Attend and Tell, "hard".

    Formula: one place drawn from softmax(v·tanh(W h + U a)); trained by REINFORCE on log_prob
    Cost: n·d to score, one place read
    """
    return Attention(Additive(d_query, d_key, d_hidden), Hard())


def jang(d_query: int, d_key: int, d_hidden: int, temperature: float = 1.0) -> Attention:
    """Jang, Gu & Poole 2017, Categorical Reparameterization with Gumbel-Softmax, straight-through.

    Formula: one place, argmax(score + noise), with the gradient of its softmax
    Cost: n·d
    """
    return Attention(Additive(d_query, d_key, d_hidden), StraightThrough(temperature))


def martins(d_query: int, d_key: int) -> Attention:
    """Martins & Astudillo 2016, From Softmax to Sparsemax.

    Formula: the point of the simplex nearest to q·W k
    Cost: n·d + n log n
    """
    return Attention(General(d_query, d_key), Sparsemax())


def cheng(d_query: int, d_key: int, d_hidden: int) -> Attention:
    """Cheng, Dong & Lapata 2016, Long Short-Term Memory-Networks for Machine Reading: intra-attention.

    Formula: softmax(v·tanh(W_h h + W_x x + W_c c)) over k < q; the query is [x; c], this word and the last summary
    Cost: n·d
    """
    return Attention(Additive(d_query, d_key, d_hidden), scope=causal & ~itself)
