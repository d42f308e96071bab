"""Marian's weights under our names. The header of the file is held against the settings before any of it is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

from regard.files import BadFile, shown
from regard.models.build import build_model
from regard.models.marian import sines_first
from regard.models.settings import MarianModel
from regard.text.ids import START
from regard.train.header import Told, header
from regard.train.saves import load_weights
from regard.train.saves import weights_of as own_weights

BIAS = "final_logits_bias"
READ, SAID, OUT = "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight"
SHARED = "model.shared.weight"
PLACES = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")
FLOATS = ("F32", "F16", "BF16")
NEVER = 40.0
"""How far below padding's the bias of START is: it was no word there, and e⁻⁴⁰ changes no sum in float32."""

ATTENTION = {"q_proj": "query", "k_proj": "key", "v_proj": "value", "out_proj": "out"}
ENCODER = {
    **{f"self_attn.{theirs}": f"attention.{ours}" for theirs, ours in ATTENTION.items()},
    "self_attn_layer_norm": "around_attention.norm",
    "fc1": "feedforward.up",
    "fc2": "feedforward.down",
    "final_layer_norm": "around_feedforward.norm",
}
DECODER = {
    **{f"self_attn.{theirs}": f"own.{ours}" for theirs, ours in ATTENTION.items()},
    **{f"encoder_attn.{theirs}": f"cross.{ours}" for theirs, ours in ATTENTION.items()},
    "self_attn_layer_norm": "around_own.norm",
    "encoder_attn_layer_norm": "around_cross.norm",
    "fc1": "feedforward.up",
    "fc2": "feedforward.down",
    "final_layer_norm": "around_feedforward.norm",
}


def weights_of(file: Path, settings: MarianModel, read: Sequence[int], said: Sequence[int]) -> dict[str, Tensor]:
    """All weights by our names; `read` and `said` are their rows in our order, of which one is there twice."""
    told = header(file)
    layers = settings.encoder_layers + settings.decoder_layers
    if layers > len(told):
        raise BadFile(f"{shown(file)} has {len(told)} tensors, and the config {layers} layers: get the model again")
    with torch.device("meta"):
        empty = build_model(settings, len(read), len(said))
    shapes = {name: tuple(value.shape) for name, value in empty.state_dict().items()}
    _expected(file, told, settings, shapes, (len(read) - 1, len(said) - 1))
    found = {name: value.float() for name, value in load_file(file).items()}
    wrong = next((name for name, value in found.items() if not bool(value.isfinite().all())), None)
    if wrong is not None:
        raise BadFile(
            f"{shown(file)}: {shown(wrong)} has numbers that are none (NaN, or infinite); get the model again"
        )
    _same_places(file, found, settings)
    weights = {ours: found[theirs] for theirs, ours in names(settings).items()}
    tables = _tables(file, found, settings)
    weights |= {name: _picked(tables[name], rows) for name, rows in _table_rows(settings, read, said).items()}
    bias = found[BIAS].flatten() if BIAS in found else torch.zeros(len(said) - 1)
    weights["output.bias"] = bias[list(said)].clone()
    weights["output.bias"][START] -= NEVER
    kept = build_model(settings, len(read), len(said))
    load_weights(kept, weights)
    return own_weights(kept)


def names(settings: MarianModel) -> dict[str, str]:
    """Their name of each weight of a layer, and ours."""
    return dict(_names("encoder", settings.encoder_layers, ENCODER)) | dict(
        _names("decoder", settings.decoder_layers, DECODER)
    )


def _names(side: str, layers: int, parts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for layer in range(layers):
        for theirs, ours in parts.items():
            for kind in ("weight", "bias"):
                yield f"model.{side}.layers.{layer}.{theirs}.{kind}", f"{side}.{layer}.{ours}.{kind}"


def _table_rows(settings: MarianModel, read: Sequence[int], said: Sequence[int]) -> dict[str, Sequence[int]]:
    """Our tables, a tied one once, and which rows of theirs they have."""
    tables: dict[str, Sequence[int]] = {"source.table.weight": read}
    if settings.tied != "all":
        tables["target.table.weight"] = said
    if settings.tied == "none":
        tables["output.weight"] = said
    return tables


def _same(settings: MarianModel) -> list[tuple[str, tuple[str, ...]]]:
    """Our tables, and by which names theirs may be there: what is tied is kept once or several times."""
    if settings.tied == "all":
        return [("source.table.weight", (SHARED, READ, SAID, OUT))]
    if settings.tied == "output":
        return [("source.table.weight", (READ,)), ("target.table.weight", (SAID, OUT))]
    return [
        ("source.table.weight", (READ, SHARED)),
        ("target.table.weight", (SAID, SHARED)),
        ("output.weight", (OUT,)),
    ]


def _tables(file: Path, found: Mapping[str, Tensor], settings: MarianModel) -> dict[str, Tensor]:
    tables = {}
    for ours, theirs in _same(settings):
        there = [found[name] for name in theirs if name in found]
        if settings.tied != "none" and not all(torch.equal(there[0], other) for other in there[1:]):
            raise BadFile(f"{shown(file)}: the config says that {' and '.join(theirs)} are one, and they differ")
        tables[ours] = there[0]
    return tables


def _picked(table: Tensor, rows: Sequence[int]) -> Tensor:
    return table[list(rows)].contiguous()


def _expected(
    file: Path,
    told: Mapping[str, Told],
    settings: MarianModel,
    shapes: Mapping[str, tuple[int, ...]],
    words: tuple[int, int],
) -> None:
    """Every weight there, of the shape that the settings ask for, and none besides."""
    wanted = {theirs: shapes[ours] for theirs, ours in names(settings).items()}
    read, said = ((count, settings.width) for count in words)
    may = {BIAS: (1, words[1]), READ: read, SAID: said, OUT: said, SHARED: read}
    may |= dict.fromkeys(PLACES, (settings.longest, settings.width))
    missing = [name for name in wanted if name not in told]
    missing += [theirs[0] for _, theirs in _same(settings) if not any(name in told for name in theirs)]
    strange = [name for name in told if name not in wanted and name not in may]
    if missing or strange:
        what = f"lacks {missing[0]}" if missing else f"has {shown(strange[0])}, of which this model knows nothing"
        raise BadFile(f"{shown(file)} {what}; it is not of this config.json: get the model again")
    for name, one in told.items():
        shape = wanted.get(name) or may[name]
        if one.shape != shape or one.dtype not in FLOATS:
            raise BadFile(
                f"{shown(file)}: {name} is {one.dtype} {one.shape}, and by the config {shape}; get the model again"
            )


def _same_places(file: Path, found: Mapping[str, Tensor], settings: MarianModel) -> None:
    """Sinusoids may be kept in the file; others than ours would be another model."""
    for name in PLACES:
        if name in found:
            ours = sines_first(torch.arange(settings.longest), settings.width).float()
            if not torch.allclose(found[name], ours, atol=1e-4):
                raise BadFile(f"{shown(file)}: {name} are not sinusoids; such a model cannot be imported")
