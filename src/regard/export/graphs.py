"""A model as two functions of tensors alone, which ONNX can write down: read a source; say one more word.

They compute what the model does (an export is checked against it), but in one way for every length: no shape is
turned into a number of Python's, and nothing depends on what a tensor holds.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attend.mechanism import Mechanism
from regard.export.looks import Prepared, exportable, prepare, read
from regard.export.reading import Readings, starts
from regard.models.blocks import LearnedPlaces, NoPlaces, Words
from regard.models.recurrence.encoder import Encoded
from regard.models.recurrence.sight import Place
from regard.models.recurrent import Recurrent
from regard.models.seq2seq import Seq2Seq
from regard.models.transformer import DecoderLayer, EncoderLayer, Transformer


class Functions(ABC):
    """Both functions of a model, with the names of what goes in and out.

    `read(source, lengths)` gives what is kept of the source and the first state; `say(words, lengths, *kept, *state)`
    gives the scores of the next word and the state then, under the same names with `.next` behind them.
    """

    read: nn.Module
    say: nn.Module
    kept: tuple[str, ...]
    state: tuple[str, ...]
    axes: dict[str, dict[int, str]]
    """Which axes of each may have any length."""

    @abstractmethod
    def first(self, rows: int) -> tuple[Tensor, ...]:
        """The state before the first word, where reading does not give it."""


def functions(model: Seq2Seq, places: int) -> Functions:
    """Of this model, if it can be written so; a sentence if not."""
    if isinstance(model, Transformer):
        return TransformerFunctions(model, places)
    assert isinstance(model, Recurrent)
    return RecurrentFunctions(model)


class TransformerFunctions(Functions):
    """The source is kept as each decoder layer's keys and values; the state is those of the words said."""

    def __init__(self, model: Transformer, places: int) -> None:
        encoder = [cast(EncoderLayer, layer) for layer in model.encoder]
        decoder = [cast(DecoderLayer, layer) for layer in model.decoder]
        for layer in encoder:
            exportable(layer.attention, "encoder_attention")
        for one in decoder:
            exportable(one.own, "decoder_attention")
            exportable(one.cross, "cross_attention")
        self.read, self.say = ReadTransformer(model, places), SayTransformer(model, places)
        pairs = [(n, part) for n in range(len(decoder)) for part in ("keys", "values")]
        self.kept = tuple(f"source.{n}.{part}" for n, part in pairs)
        self.state = tuple(f"said.{n}.{part}" for n, part in pairs)
        self.axes = {name: {0: "rows", 2: "source"} for name in self.kept}
        self.axes |= {name: {0: "rows", 2: "said"} for name in self.state}
        self._shapes = [
            _shape(one.own, model.target.table.embedding_dim, k) for one in decoder for k in (False, True)
        ]

    def first(self, rows: int) -> tuple[Tensor, ...]:
        return tuple(torch.zeros(rows, heads, 0, width) for heads, width in self._shapes)


class ReadTransformer(nn.Module):
    """The encoder, and what the decoder's layers look at."""

    def __init__(self, model: Transformer, places: int) -> None:
        super().__init__()
        self.model = model
        self.places = _places(model.source, places)

    def forward(self, source: Tensor, lengths: Tensor) -> tuple[Tensor, ...]:
        """Keys and values of each layer."""
        visible = _visible(source, lengths)
        x = _rows(self.model.source, self.places, source, 0)
        for layer in self.model.encoder:
            x = _encoded(cast(EncoderLayer, layer), x, visible)
        x = self.model.encoder_norm(x)
        memories = [prepare(sight, x, None) for sight in self.model.sights()]
        return tuple(part for memory in memories for part in (memory.keys, memory.values))


class SayTransformer(nn.Module):
    """One step of the decoder; how many words were said is told by their keys."""

    def __init__(self, model: Transformer, places: int) -> None:
        super().__init__()
        self.model = model
        self.places = _places(model.target, places)

    def forward(self, words: Tensor, lengths: Tensor, *kept: Tensor) -> tuple[Tensor, ...]:
        """Scores, and keys and values with one more."""
        layers = len(self.model.decoder)
        source, said = kept[: 2 * layers], kept[2 * layers :]
        at: Any = said[0].shape[2]
        visible = torch.arange(source[0].shape[2], device=words.device) < lengths.unsqueeze(1)
        x, after = _rows(self.model.target, self.places, words.unsqueeze(1), at), list[Tensor]()
        for n, layer in enumerate(self.model.decoder):
            one = cast(DecoderLayer, layer)
            there = Prepared(source[2 * n], source[2 * n + 1], visible)
            x = self._layer(one, x, there, said[2 * n], said[2 * n + 1], at, after)
        return _scores(self.model.output, self.model.decoder_norm(x)[:, 0]), *after

    def _layer(
        self, layer: DecoderLayer, x: Tensor, source: Prepared, keys: Tensor, values: Tensor, at: Any,
        after: list[Tensor],
    ) -> Tensor:  # fmt: skip
        def look_back(y: Tensor) -> Tensor:
            newer = prepare(layer.own, y, None, at)
            after.extend((torch.cat((keys, newer.keys), 2), torch.cat((values, newer.values), 2)))
            return read(layer.own, y, Prepared(after[-2], after[-1], None), at)

        x = layer.around_own(x, look_back)
        x = layer.around_cross(x, lambda y: read(layer.cross, y, source, at))
        return layer.around_feedforward(x, layer.feedforward)  # type: ignore[no-any-return]


class RecurrentFunctions(Functions):
    """The source is kept as keys and values, if it is looked at; the state is that of the cells, and what is fed."""

    def __init__(self, model: Recurrent) -> None:
        look = model.wiring.sight.mechanism
        if look is not None:
            exportable(look, "attention")
        self.read, self.say = ReadRecurrent(model), SayRecurrent(model)
        self.kept = () if look is None else ("source.keys", "source.values")
        cells = [f"cell.{n}" for n in range(len(model.wiring.cells))]
        self.state = (*cells, *(("fed",) if model.wiring.feeding else ()))
        self.axes = {name: {0: "rows", 2: "source"} for name in self.kept}
        self.axes |= {name: {0: "rows"} for name in self.state}

    def first(self, rows: int) -> tuple[Tensor, ...]:
        return ()


class ReadRecurrent(nn.Module):
    """The encoder, what is looked at, and the decoder's first state."""

    def __init__(self, model: Recurrent) -> None:
        super().__init__()
        self.model, self.readings = model, Readings(model.encoder)

    def forward(self, source: Tensor, lengths: Tensor) -> tuple[Tensor, ...]:
        """Keys and values, then a state for each cell, then what is fed."""
        states, last = self.readings(self.model.encoder.embedding(source), lengths)
        wiring = self.model.wiring
        cells = starts(self.model.first, Encoded(states, last, lengths))
        fed = (cells[0].new_zeros(source.shape[0], wiring.readout.width),) if wiring.feeding else ()
        look = wiring.sight.mechanism
        if look is None:
            return *cells, *fed
        memory = prepare(look, states, None)
        return memory.keys, memory.values, *cells, *fed


class SayRecurrent(nn.Module):
    """One step of the decoder."""

    def __init__(self, model: Recurrent) -> None:
        super().__init__()
        self.model = copy.deepcopy(model)
        self.model.wiring.sight = PlainSight(self.model.wiring.sight.mechanism)  # type: ignore[assignment]
        self.looks = model.wiring.sight.mechanism is not None

    def forward(self, words: Tensor, lengths: Tensor, *kept: Tensor) -> tuple[Tensor, ...]:
        """Scores, and the state then."""
        wiring, memory = self.model.wiring, None
        if self.looks:
            visible = torch.arange(kept[0].shape[2], device=words.device) < lengths.unsqueeze(1)
            memory, kept = Prepared(kept[0], kept[1], visible), kept[2:]
        count = len(wiring.cells)
        fed = kept[count] if wiring.feeding else kept[0][:, :0]
        place = Place(memory, lengths, kept[:count], fed)  # type: ignore[arg-type]
        answer, after = wiring.step(self.model.embedding(words), place, [None] * count)
        return _scores(self.model.output, answer), *after.cells, *((after.fed,) if wiring.feeding else ())


class PlainSight(nn.Module):
    """A decoder's view of the source, read plainly."""

    def __init__(self, mechanism: Mechanism | None) -> None:
        super().__init__()
        self.mechanism = mechanism

    def forward(self, query: Tensor, place: Place) -> tuple[Tensor, Place]:
        """What these queries see."""
        if self.mechanism is None:
            return query[..., :0], place
        return read(self.mechanism, query, cast(Prepared, place.memory), 0), place


def _encoded(layer: EncoderLayer, x: Tensor, visible: Tensor) -> Tensor:
    x = layer.around_attention(x, lambda y: read(layer.attention, y, prepare(layer.attention, y, visible), 0))
    return layer.around_feedforward(x, layer.feedforward)  # type: ignore[no-any-return]


def _scores(output: nn.Linear, x: Tensor) -> Tensor:
    """With a bias, of zeros if there is none: then the graph has the weights as they are, and a tied table once."""
    bias = torch.zeros(output.out_features, device=x.device) if output.bias is None else output.bias
    return F.linear(x, output.weight, bias)


def _visible(source: Tensor, lengths: Tensor) -> Tensor:
    return torch.arange(source.shape[1], device=source.device) < lengths.unsqueeze(1)


def _rows(words: Words, places: Tensor | None, ids: Tensor, at: Any) -> Tensor:
    rows: Tensor = words.table(ids) * words.scale
    return rows if places is None else rows + places[at : at + ids.shape[1]]


def _places(words: Words, count: int) -> Tensor | None:
    """A table of so many places; a learned one as it is."""
    if isinstance(words.places, NoPlaces):
        return None
    count = len(words.places.table) if isinstance(words.places, LearnedPlaces) else count
    with torch.no_grad():
        return cast(Tensor, words.places(count, 0)).clone()


def _shape(own: Mechanism, width: int, values: bool) -> tuple[int, int]:
    """Heads and width of the keys, or the values, of one more word."""
    with torch.no_grad():
        found = prepare(own, torch.zeros(1, 1, width), None)
    part = found.values if values else found.keys
    return part.shape[1], part.shape[3]
