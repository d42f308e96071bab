"""Recurrent encoder-decoders: Sutskever's, Bahdanau's and Luong's are choices of parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attend.mechanism import Mechanism
from regard.attend.select import Competition
from regard.models.blocks import embedding, output
from regard.models.dropout import Dropout
from regard.models.mechanisms import mechanism
from regard.models.recurrence.cells import CELLS, Cell
from regard.models.recurrence.encoder import Backwards, BothWays, Encoder, Forwards, Reader
from regard.models.recurrence.first import First, FromLast, FromMean, Handed, Learned
from regard.models.recurrence.readout import Maxout, Plain, Readout, Tanh
from regard.models.recurrence.sight import Place, Sight
from regard.models.recurrence.wiring import After, Before, Wiring
from regard.models.seq2seq import Ids, Lengths, Seq2Seq, State
from regard.models.settings import RecurrentModel


@dataclass(frozen=True)
class Unrolled:
    """All steps: the states that predict, and the log-probability of each step's choice (0.0 = certain)."""

    states: Float[Tensor, "b t m"]
    log_prob: Float[Tensor, "b t"] | float


class Recurrent(Seq2Seq):
    """An encoder, a decoder's first state and wiring, and the map to words; each a part to be replaced."""

    def __init__(
        self,
        encoder: Encoder,
        embedding: nn.Embedding,
        first: First,
        wiring: Wiring,
        output: nn.Linear,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.encoder, self.embedding, self.first, self.wiring = encoder, embedding, first, wiring
        self.output, self.dropout = output, Dropout(dropout)

    def states(self, source: Ids, lengths: Lengths, before: Int[Tensor, "b t"]) -> Float[Tensor, "b t m"]:
        return self.unrolled(source, lengths, before).states

    def unrolled(self, source: Ids, lengths: Lengths, before: Int[Tensor, "b t"]) -> Unrolled:
        """All steps, and how likely their choices of where to look were: what REINFORCE asks for."""
        words = self.dropout(self.embedding(before))
        read, place = self.wiring(words, self.start(source, lengths))
        drawn = [part.sum(1) for part in place.log_prob if isinstance(part, Tensor)]  # heads choose independently
        return Unrolled(self.dropout(read), torch.cat(drawn, -1) if drawn else 0.0)

    def start(self, source: Ids, lengths: Lengths) -> Place:
        read = self.encoder(source, lengths)
        cells = self.first(read)
        fed = cells[0].new_zeros(len(source), self.wiring.readout.width if self.wiring.feeding else 0)
        owners = torch.arange(len(source), device=source.device)
        return Place(self.wiring.sight.memory(read), owners, cells, fed)

    def step(self, state: State, words: Int[Tensor, " b"]) -> tuple[Float[Tensor, "b v"], Place]:
        word = self.dropout(self.embedding(words))
        kept = [None if mask is None else mask[:, 0] for mask in self.wiring.masks(word.unsqueeze(1))]
        read, place = self.wiring.step(word, cast(Place, state), kept)
        return self.output(self.dropout(read)), place

    def sights(self) -> list[Mechanism]:
        return [] if self.wiring.sight.mechanism is None else [self.wiring.sight.mechanism]


def build_recurrent(settings: RecurrentModel, source_vocabulary: int, target_vocabulary: int) -> Recurrent:
    """The model a recipe describes."""
    encoder, table = _encoder(settings, source_vocabulary), None
    if settings.tied == "all":
        if source_vocabulary != target_vocabulary:
            raise ValueError(
                f"tied = 'all' wants one vocabulary, and these have {source_vocabulary} and {target_vocabulary} "
                "pieces; set data.joint = true, or tied = 'output'"
            )
        table = encoder.embedding
    table = table or embedding(target_vocabulary, settings.embedding)
    wiring = _wiring(settings, encoder.width)
    if settings.tied != "none" and wiring.readout.width != settings.embedding:
        raise ValueError(
            f"tied = '{settings.tied}' makes the embedding the output's weights, but a plain read-out is "
            f"{wiring.readout.width} wide and an embedding {settings.embedding}; "
            "set readout = 'tanh', or tied = 'none'"
        )
    words = output(None if settings.tied == "none" else table, target_vocabulary, wiring.readout.width)
    first = _first(settings, encoder, [cell.size for cell in cast("Sequence[Cell]", wiring.cells)])
    return Recurrent(encoder, table, first, wiring, words, settings.dropout)


def _encoder(settings: RecurrentModel, vocabulary: int) -> Encoder:
    if settings.reverse and settings.bidirectional:
        raise ValueError("reverse changes nothing where the source is read both ways; set bidirectional = false too")
    layers: list[Reader] = []
    for _ in range(settings.layers):
        d_input = layers[-1].width if layers else settings.embedding
        cells = [CELLS[settings.cell](d_input, settings.width) for _ in range(1 + settings.bidirectional)]
        if settings.bidirectional:
            layers.append(BothWays(Forwards(cells[0]), Backwards(cells[1])))
        else:
            layers.append(Backwards(cells[0]) if settings.reverse else Forwards(cells[0]))
    return Encoder(embedding(vocabulary, settings.embedding), layers, settings.dropout)


def _wiring(settings: RecurrentModel, d_memory: int) -> Wiring:
    sight = _sight(settings, d_memory)
    before = settings.wiring == "before"
    seen = settings.width + sight.width
    readout = _readout(settings, seen + settings.embedding if before else seen)
    fed = readout.width if settings.input_feeding else 0
    cells: list[Cell] = []
    for layer in range(settings.layers):
        d_input = settings.width if layer else settings.embedding + fed + (sight.width if before else 0)
        cells.append(CELLS[settings.cell](d_input, settings.width))
    wiring = Before if before else After
    return wiring(cells, sight, readout, settings.input_feeding, settings.dropout)


def _sight(settings: RecurrentModel, d_memory: int) -> Sight:
    if settings.attention == "none":
        return Sight(None, 0)
    width = settings.width
    look = mechanism(
        settings.attention,
        settings.select,
        d_memory,
        d_query=width,
        d_key=d_memory,
        d_hidden=width,
        d_model=width,
        heads=next(heads for heads in (4, 2, 1) if width % heads == 0),
        groups=1,
        reach=settings.reach,
        longest=settings.longest,
    )
    if any(isinstance(module, Competition) for module in look.modules()):
        raise ValueError(
            f"the queries of '{settings.attention}' compete, and here they come one by one; try bahdanau or vaswani"
        )
    return Sight(look, _context_width(look, settings, d_memory))


def _context_width(look: Mechanism, settings: RecurrentModel, d_memory: int) -> int:
    """How wide a context is, found by looking once; widths that do not fit are told here, before any training."""
    training = look.training
    try:
        with torch.no_grad():
            memory = look.eval().memory(torch.zeros(1, 2, d_memory))
            return int(look(torch.zeros(1, 1, settings.width), memory).shape[-1])
    except ValueError as error:
        raise ValueError(
            f"attention = '{settings.attention}' does not fit this model, of which a decoder state is "
            f"{settings.width} and an encoder state {d_memory} wide: {error}"
        ) from None
    finally:
        look.train(training)


def _readout(settings: RecurrentModel, d_in: int) -> Readout:
    width = settings.width if settings.tied == "none" else settings.embedding
    if settings.readout == "plain":
        return Plain(d_in)
    return Maxout(d_in, width) if settings.readout == "maxout" else Tanh(d_in, width)


def _first(settings: RecurrentModel, encoder: Encoder, sizes: Sequence[int]) -> First:
    match settings.first_state:
        case "mean":
            return FromMean(encoder.width, sizes)
        case "last":
            return Handed() if encoder.sizes == tuple(sizes) else FromLast(encoder.sizes, sizes)
        case "learned":
            return Learned(sizes)
        case "zeros":
            return Learned(sizes).requires_grad_(False)
