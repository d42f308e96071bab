"""A Transformer in CTranslate2's form: each part of ours under the name that it has there."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from regard.attend.heads import Heads
from regard.attend.mechanism import Attention, Mechanism
from regard.attend.scope import Scope, causal, everything
from regard.attend.score import ScaledDot
from regard.attend.select import Softmax
from regard.export.check import Bar, Ids
from regard.models.blocks import FeedForward, GatedFeedForward, LearnedPlaces, PreNorm, Words
from regard.models.seq2seq import Seq2Seq
from regard.models.transformer import DecoderLayer, EncoderLayer, Transformer
from regard.text.ids import END, PAD, START, UNKNOWN
from regard.text.numbered import NumberedPieces
from regard.text.pieces import Pieces
from regard.translate.align import default_layer

PLACES = 1024
"""Sinusoids have no limit, but a table has; at least so many rows are written."""
BARS = {
    "float32": Bar(0.995, 0.1),
    "float16": Bar(0.98, 0.1),
    "bfloat16": Bar(0.90, 0.3),
    "int16": Bar(0.90, 0.3),
    "int8": Bar(0.80, 0.5),
}
"""What is asked of each kind of number; what is computed in less precision says other words here and there."""


def bar(quantization: str) -> Bar:
    """What is asked of these numbers."""
    return BARS[quantization.split("_")[0]]


def expressible(model: Seq2Seq) -> Transformer:
    """The model, if CTranslate2 has all of its parts; a sentence if not."""
    if not isinstance(model, Transformer):
        raise ValueError("CTranslate2 has no recurrent models; use --to onnx, or train a Transformer")
    encoder, decoder = _layers(model)
    places: list[tuple[str, Mechanism, tuple[Scope, ...]]]
    places = [("encoder_attention", layer.attention, (everything,)) for layer in encoder]
    places += [("decoder_attention", layer.own, (everything, causal)) for layer in decoder]
    places += [("cross_attention", layer.cross, (everything,)) for layer in decoder]
    for name, look, scopes in places:
        if not _is_vaswani(look, scopes):
            raise ValueError(
                f"CTranslate2 cannot express this model's {name}: it has scaled dot products with softmax in heads, "
                f"and no other scores, scopes or positions; use --to onnx, or train with model.{name} = 'vaswani'"
            )
    return model


def save(model: Transformer, source: Pieces, target: Pieces, folder: Path, quantization: str, places: int) -> None:
    """Write model.bin, config.json and the vocabularies; `places` are those that a text may have at most."""
    from ctranslate2.specs import TransformerSpec
    from ctranslate2.specs.transformer_spec import TransformerDecoderSpec, TransformerEncoderSpec

    encoder, decoder = _layers(model)
    pre = isinstance(encoder[0].around_attention, PreNorm)
    common = {"pre_norm": pre, "ffn_glu": isinstance(encoder[0].feedforward, GatedFeedForward)}
    layer = default_layer(len(decoder))
    spec = TransformerSpec(
        TransformerEncoderSpec(
            len(encoder), _heads(encoder[0].attention).heads, activation=_activation(encoder[0].feedforward), **common
        ),
        TransformerDecoderSpec(
            len(decoder), (heads := _heads(decoder[0].own).heads), activation=_activation(decoder[0].feedforward),
            alignment_layer=layer, alignment_heads=heads, **common,
        ),
    )  # fmt: skip
    _words(spec.encoder, spec.encoder.embeddings[0], model.source, places)
    _words(spec.decoder, spec.decoder.embeddings, model.target, places)
    for written, one in zip(spec.encoder.layer, encoder, strict=True):
        _attention(written.self_attention, _heads(one.attention), one.around_attention, own=True)
        _feedforward(written.ffn, one.feedforward, one.around_feedforward)
    for written, other in zip(spec.decoder.layer, decoder, strict=True):
        _attention(written.self_attention, _heads(other.own), other.around_own, own=True)
        _attention(written.attention, _heads(other.cross), other.around_cross, own=False)
        _feedforward(written.ffn, other.feedforward, other.around_feedforward)
    if pre:
        _norm(spec.encoder.layer_norm, model.encoder_norm)
        _norm(spec.decoder.layer_norm, model.decoder_norm)
    _linear(spec.decoder.projection, [model.output])
    spec.register_source_vocabulary(words := source.words(range(len(source))))
    spec.register_target_vocabulary(said := target.words(range(len(target))))
    told = spec.config
    told.unk_token, told.bos_token, told.eos_token = said[UNKNOWN], said[START], said[END]
    told.decoder_start_token, told.layer_norm_epsilon = said[START], _norm_of(encoder[0].around_attention).eps
    if isinstance(source, NumberedPieces) and source.ends:
        told.add_source_eos = True
    assert words[UNKNOWN] == said[UNKNOWN]
    spec.validate()
    spec.optimize(quantization=quantization)
    spec.save(str(folder))


class CTranslate2:
    """The model as CTranslate2 runs it."""

    def __init__(self, folder: Path, source: Pieces, target: Pieces, threads: int = 1) -> None:
        import ctranslate2

        ctranslate2.set_log_level(logging.ERROR)  # that a CPU computes float16 as float32 is in our documents
        self.name = f"CTranslate2 {ctranslate2.__version__}"
        self.translator = ctranslate2.Translator(str(folder), device="cpu", inter_threads=1, intra_threads=threads)
        self.source, self.target = source, target
        self.ends = isinstance(source, NumberedPieces) and source.ends
        self.numbers = {word: n for n, word in enumerate(target.words(range(len(target))))}

    def greedy(self, rows: Sequence[Ids], most: Sequence[int]) -> list[list[int]]:
        """The likeliest word each time."""
        never = self.target.words([PAD, START])
        given = [self.source.words(row[:-1] if self.ends else row) for row in rows]  # the end it adds by itself
        found = self.translator.translate_batch(
            given, beam_size=1, min_decoding_length=0, max_decoding_length=max(most, default=1),
            max_input_length=0, disable_unk=True, suppress_sequences=[[word] for word in never], max_batch_size=4096,
            batch_type="tokens",
        )  # fmt: skip
        words = ([self.numbers[word] for word in result.hypotheses[0]] for result in found)
        return [row[:limit] for row, limit in zip(words, most, strict=True)]


def _layers(model: Transformer) -> tuple[list[EncoderLayer], list[DecoderLayer]]:
    return [cast(EncoderLayer, layer) for layer in model.encoder], [cast(DecoderLayer, x) for x in model.decoder]


def _is_vaswani(look: Mechanism, scopes: tuple[Scope, ...]) -> bool:
    return (
        type(look) is Heads
        and type(look.attention) is Attention
        and look.rotary is None
        and look.on_memory is None
        and look.groups == look.heads
        and look.query is not look.key
        and type(look.attention.score) is ScaledDot
        and type(look.attention.select) is Softmax
        and look.attention.bias is None
        and look.attention.scope in scopes
    )


def _heads(look: Mechanism) -> Heads:
    assert isinstance(look, Heads)
    return look


def _activation(feedforward: nn.Module) -> Any:
    from ctranslate2.specs import common_spec

    if isinstance(feedforward, GatedFeedForward):
        return common_spec.Activation.SWISH
    kinds = {
        F.relu: common_spec.Activation.RELU,
        F.gelu: common_spec.Activation.GELU,
        F.silu: common_spec.Activation.SWISH,
    }
    return kinds[cast(FeedForward, feedforward).bend]


def _words(side: Any, table: Any, words: Words, places: int) -> None:
    table.weight = _numbers(words.table.weight)
    side.scale_embeddings = bool(words.scale != 1.0)  # else by the root of the width, as ours are
    count = len(words.places.table) if isinstance(words.places, LearnedPlaces) else max(PLACES, places)
    with torch.no_grad():
        rows = torch.zeros(count, words.table.embedding_dim) + words.places(count, 0)
    side.position_encodings.encodings = _numbers(rows)


def _attention(to: Any, heads: Heads, residual: nn.Module, own: bool) -> None:
    """CTranslate2 has the maps of queries, keys and values as one, or those of keys and values."""
    _norm(to.layer_norm, _norm_of(residual))
    maps = [[heads.query, heads.key, heads.value]] if own else [[heads.query], [heads.key, heads.value]]
    for written, some in zip(to.linear, [*maps, [heads.out]], strict=True):
        _linear(written, some)


def _feedforward(to: Any, feedforward: nn.Module, residual: nn.Module) -> None:
    _norm(to.layer_norm, _norm_of(residual))
    assert isinstance(feedforward, FeedForward | GatedFeedForward)
    _linear(to.linear_0, [feedforward.up])
    _linear(to.linear_1, [feedforward.down])
    if isinstance(feedforward, GatedFeedForward):
        half = len(feedforward.up.weight) // 2
        for written, part in ((to.linear_0, slice(half)), (to.linear_0_noact, slice(half, None))):
            written.weight = _numbers(feedforward.up.weight[part])
            written.bias = _numbers(feedforward.up.bias[part])


def _linear(to: Any, maps: Sequence[nn.Linear]) -> None:
    to.weight = np.concatenate([_numbers(one.weight) for one in maps])
    if any(one.bias is not None for one in maps):
        none = [np.zeros(one.out_features, np.float32) if one.bias is None else _numbers(one.bias) for one in maps]
        to.bias = np.concatenate(none)


def _norm(to: Any, norm: nn.Module) -> None:
    assert isinstance(norm, nn.LayerNorm)
    to.gamma, to.beta = _numbers(norm.weight), _numbers(norm.bias)


def _norm_of(residual: nn.Module) -> nn.LayerNorm:
    return cast(nn.LayerNorm, residual.norm)


def _numbers(weight: torch.Tensor) -> Any:
    """A copy: whoever quantises changes numbers where they are."""
    return weight.detach().float().cpu().numpy().copy()
