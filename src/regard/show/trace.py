"""The one form in which weights travel to a page: who looks at what, with labels, as bytes.

A table of 40 by 40 weights is 2 kB as bytes in base64 and 30 kB as numbers in JSON. A byte has room for 254 shades
and for *may not see* (255), which a weight of 0 is not.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.attend.mechanism import Look

Kind = Literal["text", "image", "points", "tape", "series", "prose", "ponder"]
"""What the keys are: words, places of a picture, points of a plane, cells of a tape, moments of a series, words of a
text that another tells again, steps of thought."""

HIDDEN = 255
SHADES = 254


@dataclass(frozen=True)
class Trace:
    """One head's looks: a row for each query, a column for each key."""

    name: str
    """Of the mechanism, as `watch` gives it."""
    weights: Float[Tensor, "q k"]
    queries: Sequence[str]
    keys: Sequence[str]
    layer: int = 0
    head: int = 0
    step: int | None = None
    """Of a decoder, where the trace holds one step only."""
    kind: Kind = "text"
    allowed: Bool[Tensor, "q k"] | None = None
    """What may be seen; None where everything may."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """A `title` and a `note`, and what a kind needs beside labels.

    image: `grid` [rows, columns] of the keys, and `image`, rows of greys from 0 to 1.
    points: `places` [[x, y], ...] of the keys; `sides`, what is joined as it was `said` and as is `right`,
    [[from, to, step], ...] each; whether those are `arrows`.
    tape: rows of bits step by step `above` it and what it holds place by place `beside` it ({name, rows} each), or
    `signs`, what stands on it at each step.
    series: `values` of the keys.
    prose: `p_gen` of the queries, and `right`, texts as they should be.
    ponder: `steps` of each query, and the places of those that are `asked`."""

    def __post_init__(self) -> None:
        told = (len(self.queries), len(self.keys))
        if tuple(self.weights.shape) != told:
            raise ValueError(
                f"the trace '{self.name}' has weights of shape {tuple(self.weights.shape)} and {told[0]} query and "
                f"{told[1]} key labels; give a label for each row and for each column"
            )


def packed(traces: Iterable[Trace]) -> dict[str, Any]:
    """Traces as JSON: labels once, weights as bytes; `weight = byte * scale / 254`, and 255 is out of scope."""
    labels: dict[tuple[str, ...], int] = {}
    found = []
    for trace in traces:
        table, scale = shades(trace.weights, trace.allowed)
        rows, columns = (labels.setdefault(tuple(some), len(labels)) for some in (trace.queries, trace.keys))
        one = {
            "name": trace.name, "layer": trace.layer, "head": trace.head, "step": trace.step, "kind": trace.kind,
            "queries": rows, "keys": columns, "scale": scale, "weights": b64encode(table).decode(),
        }  # fmt: skip
        found.append({**one, "about": dict(trace.about)} if trace.about else one)
    return {"labels": [list(some) for some in labels], "traces": found}


def shades(weights: Float[Tensor, "q k"], allowed: Bool[Tensor, "q k"] | None = None) -> tuple[bytes, float]:
    """A byte for each weight, row by row, and the weight that 254 stands for."""
    table = weights.detach().float().cpu().nan_to_num(0.0)
    scale = max(float(table.max()) if table.numel() else 0.0, 1e-6)
    found = (table.clamp_min(0) * (SHADES / scale)).round().to(torch.uint8)
    if allowed is not None:
        found = found.masked_fill(~allowed.cpu(), HIDDEN)
    return found.numpy().tobytes(), scale


def floats(table: Tensor) -> dict[str, Any]:
    """Numbers as they are, in float32: `{"shape": [...], "f32": base64}`, little-endian."""
    exact = table.detach().float().cpu().contiguous()
    return {"shape": list(exact.shape), "f32": b64encode(exact.numpy().astype("<f4").tobytes()).decode()}


def of_look(
    look: Look, name: str = "attention", queries: Sequence[str] = (), keys: Sequence[str] = ()
) -> list[Trace]:
    """A trace for each head of the first row of a look."""
    weights = look.weights[0]
    heads, rows, columns = weights.shape
    allowed = None if look.allowed is None else look.allowed[0].expand(heads, rows, columns)
    queries, keys = fitted(queries, rows), fitted(keys, columns)
    return [
        Trace(name, weights[head], queries, keys, head=head, allowed=None if allowed is None else allowed[head])
        for head in range(heads)
    ]


def fitted(labels: Sequence[str], count: int) -> tuple[str, ...]:
    """A label for each: learned tokens before the words are m1, m2, ...; mixtures of words are numbered."""
    if count < len(labels) or not labels:
        return tuple(str(place + 1) for place in range(count))
    return (*(f"m{place + 1}" for place in range(count - len(labels))), *labels)
