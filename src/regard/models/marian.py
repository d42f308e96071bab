"""Marian's Transformer, of the parts that ours is made of: what differs is passed in. `regard import` fills it.

Norms stand after each residual, projections have biases, sines stand before cosines, and every word has a bias.
Junczys-Dowmunt et al. 2018, Marian: Fast Neural Machine Translation in C++.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attend.bias import turns
from regard.attend.heads import Heads
from regard.attend.mechanism import Attention
from regard.attend.score import ScaledDot
from regard.models.blocks import FeedForward, PostNorm, Sinusoids, Words, embedding, linear
from regard.models.settings import MarianModel
from regard.models.transformer import DecoderLayer, EncoderLayer, Transformer

BENDS: dict[str, Callable[[Tensor], Tensor]] = {"swish": F.silu, "relu": F.relu, "gelu": F.gelu}


def build_marian(settings: MarianModel, source_words: int, target_words: int) -> Transformer:
    """The model that these settings describe, for vocabularies of this size."""
    source, target, out = _tables(settings, source_words, target_words)
    width, bend, scale = settings.width, BENDS[settings.activation], None if settings.scale == "root" else 1.0

    def look(heads: int) -> Heads:
        return Heads(Attention(ScaledDot()), width, heads, linear=linear)

    def residual() -> nn.Module:
        return PostNorm(width, settings.dropout)

    def encoder_layer() -> EncoderLayer:
        feedforward = FeedForward(width, settings.encoder_feedforward, bend)
        return EncoderLayer(look(settings.encoder_heads), feedforward, residual)

    def decoder_layer() -> DecoderLayer:
        own, cross = look(settings.decoder_heads), look(settings.decoder_heads)
        return DecoderLayer(own, cross, FeedForward(width, settings.decoder_feedforward, bend), residual)

    return Transformer(
        Words(source, Sinusoids(width, sines_first), settings.dropout, scale),
        Words(target, Sinusoids(width, sines_first), settings.dropout, scale),
        [encoder_layer() for _ in range(settings.encoder_layers)],
        [decoder_layer() for _ in range(settings.decoder_layers)],
        out,
        nn.Identity,
    )


def sines_first(positions: Int[Tensor, " n"], d_model: int) -> Float[Tensor, "n d"]:
    """The waves of `sinusoid`, all sines before all cosines."""
    angles = turns(positions, d_model)
    return torch.cat((angles.sin(), angles.cos()), -1)[:, :d_model]


def _tables(
    settings: MarianModel, source_words: int, target_words: int
) -> tuple[nn.Embedding, nn.Embedding, nn.Linear]:
    """Source and target embeddings and the output with its biases, sharing what is tied."""
    if settings.tied == "all" and source_words != target_words:
        raise ValueError(
            f"model.tied = 'all' wants one vocabulary, and here are {source_words} source and {target_words} target "
            "pieces; import the model again"
        )
    source = embedding(source_words, settings.width)
    target = source if settings.tied == "all" else embedding(target_words, settings.width)
    out = linear(settings.width, target_words)
    if settings.tied != "none":
        out.weight = target.weight
    return source, target, out
