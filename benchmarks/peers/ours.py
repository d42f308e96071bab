"""This toolkit as it trains: `Fit.update` with all its bookkeeping, on the model that a recipe builds.

The recurrent model is put together from parts, as a recipe gives the reader the writer's width and peers cannot.
"""

from __future__ import annotations

import torch
from sizes import SMOOTHING, RecurrentSize, Size, TransformerSize
from torch import Tensor
from worker import Batch, Peer, serve

from regard.models.blocks import embedding, output
from regard.models.build import build_model
from regard.models.mechanisms import mechanism
from regard.models.recurrence.cells import CELLS
from regard.models.recurrence.encoder import Backwards, BothWays, Encoder, Forwards
from regard.models.recurrence.first import FromLast
from regard.models.recurrence.readout import Tanh
from regard.models.recurrence.sight import Sight
from regard.models.recurrence.wiring import Before
from regard.models.recurrent import Recurrent
from regard.models.seq2seq import Seq2Seq
from regard.models.settings import TransformerModel
from regard.search.settings import Search
from regard.tasks.parallel_text import TextSource
from regard.tasks.sequences import Batch as Pairs
from regard.tasks.settings import TextData
from regard.tasks.translation import Translation
from regard.train.fit import Fit
from regard.train.optimise import optimiser
from regard.train.precision import WIDE, Precision, choose
from regard.train.progress import Progress
from regard.train.settings import Train


class Given(Translation):
    """Translation whose batches are handed over, not planned."""

    def load(self, which: Pairs) -> Pairs:
        return which

    def units(self, which: Pairs) -> int:
        return int((which.after != 0).sum())


def build(size: Size) -> Peer[Pairs]:
    torch.manual_seed(1)
    settings = Train(rate=1e-4, schedule="constant", warmup=0, clip=0, smoothing=SMOOTHING, optimiser="adamw")
    model = _recurrent(size) if isinstance(size, RecurrentSize) else _transformer(size)
    text = TextSource(TextData(), settings.seed, 1, lambda line: None)
    task = Given(text, TransformerModel(), Search(), 4096, settings.smoothing)
    rules = {"model": optimiser(list(model.parameters()), settings)}
    fits = {
        name: Fit(task, model, rules, settings, Progress(), Precision(name, "told").context)
        for name in ("float32", "bfloat16")
    }

    def step(pairs: Pairs, precision: str) -> Tensor:
        update = fits[precision].update([pairs])
        assert update.skipped is None, update.skipped
        return torch.tensor(update.figures["smoothed"] / update.units)

    recurrent = isinstance(size, RecurrentSize)
    width, wide = (size.writer, WIDE) if recurrent else (size.width, TransformerModel.wide)
    return Peer(model.train(), _prepare, step, choose(settings.precision, width, wide=wide).name)


def _prepare(batch: Batch) -> Pairs:
    return Pairs(batch.source, batch.lengths, batch.before, batch.after)


def _transformer(size: TransformerSize) -> Seq2Seq:
    settings = TransformerModel(
        encoder_layers=size.layers,
        decoder_layers=size.layers,
        width=size.width,
        heads=size.heads,
        feedforward=size.feedforward,
        dropout=size.dropout,
    )
    return build_model(settings, size.vocabulary, size.vocabulary)


def _recurrent(size: RecurrentSize) -> Seq2Seq:
    """Bahdanau's, as `build_recurrent` would put it together."""
    gru, seen = CELLS["gru"], 2 * size.reader
    both = BothWays(Forwards(gru(size.embedding, size.reader)), Backwards(gru(size.embedding, size.reader)))
    encoder = Encoder(embedding(size.vocabulary, size.embedding), [both], size.dropout)
    look = mechanism("bahdanau", None, seen, d_query=size.writer, d_key=seen, d_hidden=size.writer)
    readout = Tanh(size.writer + seen + size.embedding, size.writer)
    cell = gru(size.embedding + seen, size.writer)
    return Recurrent(
        encoder,
        embedding(size.vocabulary, size.embedding),
        FromLast(encoder.sizes, [cell.size]),
        Before([cell], Sight(look, seen), readout, dropout=size.dropout),
        output(None, size.vocabulary, size.writer),
        size.dropout,
    )


if __name__ == "__main__":
    serve(build, "regard")
