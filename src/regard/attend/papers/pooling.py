"""Learned questions put to a memory: a sentence, a set or an image becomes a few vectors."""

from __future__ import annotations

from torch import nn

from regard.attend.heads import Heads, Pooling
from regard.attend.mechanism import Attention
from regard.attend.papers.transformer import vaswani
from regard.attend.score import Mapped, ScaledDot
from regard.attend.select import Competition


def yang(d_key: int, d_hidden: int) -> Pooling:
    """Yang et al. 2016, Hierarchical Attention Networks for Document Classification: word or sentence pooling.

    Formula: softmax(u·tanh(W k + b)), u learned
    Cost: n·d
    """
    view = nn.Sequential(nn.Linear(d_key, d_hidden), nn.Tanh())
    return Pooling(Attention(Mapped(key=view)), d_hidden)


def conneau(d_key: int, d_hidden: int, views: int = 4) -> Pooling:
    """Conneau et al. 2017, Supervised Learning of Universal Sentence Representations: inner attention.

    Formula: softmax(u_i·tanh(W k + b)) for several learned u_i
    Cost: views·n·d
    """
    view = nn.Sequential(nn.Linear(d_key, d_hidden), nn.Tanh())
    return Pooling(Attention(Mapped(key=view)), d_hidden, views)


def lee(d_model: int, heads: int, seeds: int = 4) -> Pooling:
    """Lee et al. 2019, Set Transformer: pooling by multi-head attention.

    Formula: MultiHead(seeds, X, X), seeds learned
    Cost: seeds·n·d
    """
    return Pooling(vaswani(d_model, heads), d_model, seeds)


def jaegle(d_model: int, heads: int, latents: int = 4, d_memory: int | None = None) -> Pooling:
    """Jaegle et al. 2021, Perceiver: learned latents read a long input.

    Formula: MultiHead(latents, X, X)
    Cost: latents·n·d
    """
    return Pooling(Heads(Attention(ScaledDot()), d_model, heads, d_memory=d_memory), d_model, latents)


def locatello(d_model: int, heads: int = 1) -> Heads:
    """Locatello et al. 2020, Object-Centric Learning with Slot Attention: one round of competition.

    Formula: softmax over queries of q·k / √d, then each query's weighted mean
    Cost: n·d
    """
    return Heads(Attention(ScaledDot(), Competition()), d_model, heads)
