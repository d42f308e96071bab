"""The models that every peer builds, and how many floating-point operations one update of each needs at least."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

PAD, START, END = 0, 2, 3
SMOOTHING = 0.1


@dataclass(frozen=True)
class TransformerSize:
    """So many layers in the encoder and again in the decoder; source, target and output words in one table."""

    layers: int
    width: int
    feedforward: int
    heads: int
    dropout: float
    vocabulary: int

    def products(self, source: int, target: int) -> float:
        """Multiplications of one pair, forward: weights, then scores and contexts of the three attentions."""
        attention, feedforward = 4 * self.width**2, 2 * self.width * self.feedforward
        reading = source * (attention + feedforward) + target * (attention + feedforward)
        looking = (
            (target + source) * attention / 2
        )  # queries and outputs of the target, keys and values of the source
        seeing = 2 * self.width * (source * source + target * (target + 1) / 2 + target * source)
        return self.layers * (reading + looking + seeing) + target * self.width * self.vocabulary


@dataclass(frozen=True)
class RecurrentSize:
    """Bahdanau's: one bidirectional layer of gated units reads, one writes; no table is shared."""

    embedding: int
    reader: int  # units of each direction
    writer: int
    dropout: float
    vocabulary: int

    def products(self, source: int, target: int) -> float:
        """Multiplications of one pair, forward: gates, additive attention, and words from the width of the writer."""
        seen = 2 * self.reader
        reading = source * (2 * 3 * self.reader * (self.embedding + self.reader) + seen * self.writer)
        gates = 3 * self.writer * (self.embedding + seen + self.writer)
        looking = self.writer**2 + source * (self.writer + seen)
        return reading + target * (
            gates + looking + (self.writer + seen) * self.writer + self.writer * self.vocabulary
        )


Size = TransformerSize | RecurrentSize

MODELS: dict[str, Size] = {
    "tiny": TransformerSize(4, 128, 256, 4, dropout=0.3, vocabulary=10_000),
    "base": TransformerSize(6, 512, 2048, 8, dropout=0.1, vocabulary=10_000),
    "base-37k": TransformerSize(6, 512, 2048, 8, dropout=0.1, vocabulary=37_000),
    "rnn": RecurrentSize(embedding=256, reader=256, writer=512, dropout=0.3, vocabulary=10_000),
}


def operations(size: Size, lengths: Sequence[tuple[int, int]]) -> float:
    """Of one update on pairs with these real lengths, END counted: two for each multiplication, and twice as many
    again backward. Norms, softmax, dropout, the optimiser and whatever padding adds are not counted."""
    return 6 * sum(size.products(source, target) for source, target in lengths)
