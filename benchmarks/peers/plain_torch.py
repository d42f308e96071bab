"""What torch itself offers: `nn.Transformer`, and a plain loop with `nn.GRU` and `nn.GRUCell`.

`nn.Transformer` drops attention weights and inner feed-forward units too; here, as for all, only embeddings and what
sub-layers add are dropped, which also lets it use its fast attention.
"""

from __future__ import annotations

import math

import torch
from sizes import PAD, SMOOTHING, RecurrentSize, Size, TransformerSize
from torch import Tensor, nn
from torch.nn import functional as F
from worker import Batch, Peer, serve, with_adamw

LONGEST = 256


class Translator(nn.Module):
    """nn.Transformer with tied words and sinusoids."""

    def __init__(self, size: TransformerSize) -> None:
        super().__init__()
        self.words = nn.Embedding(size.vocabulary, size.width, PAD)
        nn.init.normal_(self.words.weight, std=size.width**-0.5)
        self.dropout = nn.Dropout(size.dropout)
        self.transformer = nn.Transformer(
            size.width, size.heads, size.layers, size.layers, size.feedforward, size.dropout,
            batch_first=True, norm_first=True,
        )  # fmt: skip
        for part in self.transformer.modules():
            if isinstance(part, nn.MultiheadAttention):
                part.dropout = 0.0
            elif isinstance(part, (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)):
                part.dropout = nn.Identity()
        angles = torch.arange(LONGEST)[:, None] / 10_000 ** (torch.arange(0, size.width, 2) / size.width)
        self.register_buffer("places", torch.stack([angles.sin(), angles.cos()], 2).flatten(1))

    def embed(self, ids: Tensor) -> Tensor:
        scale = math.sqrt(self.words.embedding_dim)
        return self.dropout(self.words(ids) * scale + self.places[: ids.shape[1]])

    def forward(self, source: Tensor, padding: Tensor, before: Tensor, future: Tensor) -> Tensor:
        states = self.transformer(
            self.embed(source),
            self.embed(before),
            tgt_mask=future,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
            tgt_is_causal=True,
        )
        return F.linear(states, self.words.weight)


class Searcher(nn.Module):
    """Bahdanau's model as one writes it by hand: all that needs no state is computed outside the loop."""

    def __init__(self, size: RecurrentSize) -> None:
        super().__init__()
        seen = 2 * size.reader
        self.source = nn.Embedding(size.vocabulary, size.embedding, PAD)
        self.target = nn.Embedding(size.vocabulary, size.embedding, PAD)
        self.dropout = nn.Dropout(size.dropout)
        self.reader = nn.GRU(size.embedding, size.reader, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(seen, size.writer)
        self.writer = nn.GRUCell(size.embedding + seen, size.writer)
        self.keys = nn.Linear(seen, size.writer, bias=False)
        self.query = nn.Linear(size.writer, size.writer, bias=False)
        self.energy = nn.Linear(size.writer, 1, bias=False)
        self.readout = nn.Linear(size.writer + seen, size.writer)
        self.output = nn.Linear(size.writer, size.vocabulary, bias=False)

    def forward(self, source: Tensor, padding: Tensor, before: Tensor, future: Tensor) -> Tensor:
        read, last = self.reader(self.dropout(self.source(source)))
        state = torch.tanh(self.bridge(torch.cat([last[0], last[1]], 1)))
        keys, states, contexts = self.keys(read), [], []
        for word in self.dropout(self.target(before)).unbind(1):
            energies = self.energy(torch.tanh(keys + self.query(state)[:, None])).squeeze(2)
            weights = energies.masked_fill(padding, -math.inf).softmax(1)
            context = torch.bmm(weights[:, None].to(read.dtype), read).squeeze(1)
            state = self.writer(torch.cat([word, context.to(word.dtype)], 1), state.to(word.dtype))
            states.append(state)
            contexts.append(context)
        both = torch.cat([torch.stack(states, 1), torch.stack(contexts, 1)], 2)
        return self.output(self.dropout(torch.tanh(self.readout(both))))


Ready = tuple[Batch, Tensor, Tensor]


def build(size: Size) -> Peer[Ready]:
    model = Searcher(size) if isinstance(size, RecurrentSize) else Translator(size)

    def loss(ready: Ready) -> Tensor:
        batch, padding, future = ready
        found = model(batch.source, padding, batch.before, future).flatten(0, 1)
        return F.cross_entropy(found, batch.after.flatten(), ignore_index=PAD, label_smoothing=SMOOTHING)

    return with_adamw(model, _prepare, loss)


def _prepare(batch: Batch) -> Ready:
    future = torch.ones(batch.before.shape[1], batch.before.shape[1], dtype=torch.bool).triu(1)
    return batch, batch.source == PAD, future


if __name__ == "__main__":
    serve(build)
