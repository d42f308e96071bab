"""Pairs of sequences as tensors, and the loss of saying the second after reading the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn import functional as F

from regard.models.seq2seq import Seq2Seq
from regard.tasks.cross_entropy import cross_entropy
from regard.tasks.task import Loss
from regard.text.batch import padded
from regard.text.ids import END, START


@dataclass(frozen=True)
class Batch:
    """Pairs as tensors: what is read, what was said before each word, and the word."""

    source: Int[Tensor, "b s"]
    lengths: Int[Tensor, " b"]
    before: Int[Tensor, "b t"]
    after: Int[Tensor, "b t"]


def batch_of(sources: Sequence[np.ndarray], targets: Sequence[np.ndarray], device: str = "cpu") -> Batch:
    """Padding is 0 on both sides; START goes before what is said, END after it."""
    said = padded(targets)
    before = np.pad(said, ((0, 0), (1, 0)), constant_values=START)
    after = np.pad(said, ((0, 0), (0, 1)))
    after[np.arange(len(targets)), [len(row) for row in targets]] = END
    lengths = torch.tensor([len(row) for row in sources])
    tensors = (torch.from_numpy(padded(sources)), lengths, torch.from_numpy(before), torch.from_numpy(after))
    return Batch(*(tensor.to(device) for tensor in tensors))


def sequence_loss(model: Seq2Seq, batch: Batch, smoothing: float, agreement: float = 0.0) -> Loss:
    """Summed over real words: the smoothed loss with its gradient, and the plain negative log-likelihood to log.

    With `agreement` each pair is read twice, other numbers dropped each time, and both guesses shall agree (R-Drop,
    Liang et al. 2021); losses are the mean of both readings.
    """
    if agreement:
        batch = _twice(batch)
    states = model.states(batch.source, batch.lengths, batch.before)
    words = batch.after.flatten()
    real = words.nonzero().squeeze(1)  # padding is 0
    if agreement:
        real = real.view(2, -1).t().flatten()  # both readings of a word side by side
    rows = states.flatten(0, 1)
    if agreement or len(real) < len(words):
        rows, words = rows.index_select(0, real), words[real]
    weight = model.output.weight
    if model.output.bias is not None:  # one more number for each word, by which a state's 1 is multiplied
        rows, weight = F.pad(rows, (0, 1), value=1.0), torch.cat((weight, model.output.bias.unsqueeze(1)), 1)
    smoothed, likelihood = cross_entropy(rows, weight, words, smoothing, agreement)
    if agreement:
        smoothed, likelihood = smoothed / 2, likelihood / 2
    return Loss(smoothed, {"loss": float(likelihood), "smoothed": float(smoothed.detach())})


def _twice(batch: Batch) -> Batch:
    """All pairs, and all of them again."""
    return Batch(*(torch.cat((part, part)) for part in (batch.source, batch.lengths, batch.before, batch.after)))
