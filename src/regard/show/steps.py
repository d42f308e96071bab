"""Attention in numbers: the step table of one head, the decoding as a film, and how places are told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attend.score import DotScore
from regard.models.blocks import LearnedPlaces, NoPlaces, Sinusoids, Words
from regard.models.recurrent import Recurrent
from regard.models.transformer import Transformer
from regard.show.ask import NothingThere
from regard.show.asking import Subject
from regard.show.sighting import Sighting
from regard.show.trace import floats
from regard.text.ids import END

SHOWN = 32  # numbers of a wide vector that are drawn
BEST = 5
MOST_PLACES = 64


def steps(about: Subject) -> dict[str, Any]:
    """One layer and head in numbers: from what goes in to what comes out."""
    sighting = about.watched.of(about.ask.place, about.ask.layer)
    return of_head(sighting, about.ask.head, *about.labels(sighting))


def of_head(sighting: Sighting, head: int, queries: Sequence[str], keys: Sequence[str]) -> dict[str, Any]:
    """Every step of one head's looks: what goes in, q, k, v, score, scaled score, weights, and the sum.

    Numbers are those of the pass itself, in float32. What a mechanism of one's own does not show is None.
    """
    if not 0 <= head < len(sighting.weights):
        raise NothingThere(f"there is no head {head}; this layer has {len(sighting.weights)}, counted from 0")
    attention, noted = sighting.attention, sighting.noted
    found: dict[str, Any] = {
        "place": sighting.place, "layer": sighting.layer, "head": head, "name": sighting.name,
        "queries": list(queries), "keys": list(keys),
        "score": type(attention.score).__name__, "select": type(attention.select).__name__,
        "weights": floats(sighting.weights[head]),
        "allowed": None if sighting.allowed is None else floats(sighting.allowed[head].float()),
        **dict.fromkeys(("asking", "asked", "q", "k", "v", "raw", "scale", "scores", "biased", "sum")),
    }  # fmt: skip
    if noted.scores:
        found["scores"] = floats(torch.cat(noted.scores, 1)[head])
    if noted.memory is None or not noted.queries:
        return found  # it was looked at by `look`, which no hook sees
    query, memory = torch.cat(noted.queries, 1)[None], noted.memory.spread(sighting.weights.shape[0])
    found |= {"q": floats(query[0, head]), "k": floats(memory.keys[0, head]), "v": floats(memory.values[0, head])}
    found["sum"] = floats(sighting.contexts[head])
    found |= {name: floats(torch.cat(rows)[:, :SHOWN]) for name, rows in _inputs(sighting) if rows}
    with torch.no_grad():
        if isinstance(attention.score, DotScore):
            found["raw"] = floats((attention.score.ask(query) @ memory.keys.transpose(-2, -1))[0, head])
            found["scale"] = attention.score.scale(memory.keys.shape[-1])
        if attention.bias is not None and noted.scores:
            added = attention.bias(query, memory, noted.at)[0]
            with_it = torch.cat(noted.scores, 1) + added
            found["biased"] = floats(with_it[head].clamp(-1e30, 1e30))
    return found


def _inputs(sighting: Sighting) -> tuple[tuple[str, list[Tensor]], ...]:
    return (("asking", sighting.noted.asking), ("asked", sighting.noted.asked))


def film(about: Subject) -> dict[str, Any]:
    """Step 1 ... n: what was given, what was looked at, the likeliest pieces and their scores, what was said."""
    translator, seen = about.translator, about.watched
    speaker = translator.speaker
    likely = seen.logits.topk(min(BEST, seen.logits.shape[1]), 1)
    shares = seen.logits.log_softmax(1)
    said = [*about.words, END][: len(about.part.tokens)]
    frames = []
    for step, word in enumerate(said):
        best = likely.indices[step].tolist()
        row = seen.logits[step]
        frames.append({
            "given": about.before[step], "said": about.part.tokens[step], "id": word,
            "log_prob": float(shares[step, word]), "logit": float(row[word]), "rank": int((row > row[word]).sum()),
            "best": [
                {"piece": piece, "id": number, "logit": float(row[number]), "p": float(shares[step, number].exp())}
                for piece, number in zip(speaker.target.words(best), best, strict=True)
            ],
        })  # fmt: skip
    layers = {place: sum(one.place == place for one in seen.sightings) for place in ("encoder", "decoder", "cross")}
    found = {
        "source_tokens": list(about.part.source_tokens), "frames": frames, "vocabulary": seen.logits.shape[1],
        "layers": layers, "kind": type(translator.model).__name__.lower(), "stages": None,
    }  # fmt: skip
    across = [one for one in seen.sightings if one.place == "cross"]
    if across and across[-1].weights.shape[2] == len(about.part.source_tokens):
        found["weights"] = floats(torch.stack([one.weights.mean(0) for one in across]).mean(0))
    if isinstance(translator.model, Recurrent) and across:
        found["stages"] = _stages(translator.model, about, across[0])
    return found


def _stages(model: Recurrent, about: Subject, across: Sighting) -> dict[str, Any]:
    """The five stages of each step: encoding, alignment, weighting, context, decoding. Bahdanau et al. 2015."""
    device = next(model.parameters()).device
    with torch.no_grad():
        read = model.encoder(
            torch.tensor([list(about.ids)], device=device), torch.tensor([len(about.ids)], device=device)
        )
    noted = across.noted
    found: dict[str, Any] = {
        "wiring": type(model.wiring).__name__.lower(),
        "score": type(across.attention.score).__name__,
        "encoding": floats(read.states[0][:, :SHOWN]),
        "weighting": floats(across.weights.mean(0)),
        "context": floats(_joined(across.contexts)[:, :SHOWN]),
        "alignment": None,
        "state": None,
    }
    if noted.scores:
        found["alignment"] = floats(torch.cat(noted.scores, 1).mean(0))
    asking = noted.asking or [rows.transpose(0, 1).flatten(1) for rows in noted.queries]
    if asking:
        found["state"] = floats(torch.cat(asking)[:, :SHOWN])
    return found


def _joined(contexts: Float[Tensor, "h q v"]) -> Float[Tensor, "q hv"]:
    return contexts.transpose(0, 1).flatten(1)


def positions(about: Subject) -> dict[str, Any]:
    """The table of places, and the words of the source with their place added; None where places are not added."""
    model = about.translator.model
    if not isinstance(model, Transformer) or isinstance(model.source.places, NoPlaces):
        return {"kind": "none", "table": None}
    words: Words = model.source
    places: nn.Module = words.places
    most = len(places.table) if isinstance(places, LearnedPlaces) else MOST_PLACES
    with torch.no_grad():
        table = places(min(most, max(MOST_PLACES // 2, len(about.ids))), 0)
        ids = torch.tensor([list(about.ids)], device=words.table.weight.device)
        rows = words(ids)[0]
    alone = rows - places(len(about.ids), 0)
    return {
        "kind": "sinusoid" if isinstance(places, Sinusoids) else "learned",
        "width": table.shape[1],
        "table": floats(table),
        "tokens": list(about.part.source_tokens),
        "embedding": floats(alone[:, :SHOWN]),
        "place": floats(places(len(about.ids), 0)[:, :SHOWN]),
        "sum": floats(rows[:, :SHOWN]),
    }
