"""All live hypotheses of a batch: what each has said, and the model's state after it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.models.seq2seq import Lengths, Searchable, Source, State
from regard.search.settings import Search
from regard.search.steady import Steady, padded
from regard.text.ids import PAD, START, UNKNOWN

BLOCK = 64  # words whose largest is found at once


class Lines:
    """Rows of hypotheses, as many for each sentence, with their words and the log-probability of each word.

    Behind the sentences asked for, others may stand that only fill the batch (see `steady`).
    """

    def __init__(self, model: Searchable, source: Source, lengths: Lengths, steady: Steady) -> None:
        self.model, self.stepper, self.least = model, steady.stepper, steady.rows
        source, lengths = padded(model, source, lengths, self.least)
        self.state: State = self.stepper.start(source, lengths)
        sentences = max(len(source), self.least)
        if sentences > len(source):
            rows = torch.arange(sentences, device=source.device)
            self.state = self.state.pick(rows.masked_fill(rows >= len(source), 0))
        self.width, self.device = 1, source.device
        self.words: Int[np.ndarray, "r t"] = np.full((sentences, 1), START)
        self.said: Float[np.ndarray, "r t"] = np.zeros((sentences, 0), np.float32)

    def __len__(self) -> int:
        return len(self.words) // self.width

    def next(self) -> Float[Tensor, "r v"]:
        """Log-probabilities of every next word."""
        last = torch.from_numpy(self.words[:, -1]).to(self.device)
        logits, self.state = self.stepper.step(self.state, last)
        logits = logits if logits.dtype == torch.float32 and logits._base is None else logits.float().clone()
        return torch.log_softmax(logits, 1, out=logits)  # a table this large costs more to make room for than to fill

    def enough(self, going: Sequence[int], width: int) -> list[int]:
        """These sentences, and as many others as a step needs; all, where too few would leave to be worth a copy."""
        if 4 * len(going) > 3 * len(self):
            return list(range(len(self)))
        missing = -(-self.least // width) - len(going)
        others = sorted(set(range(len(self))) - set(going))
        return sorted([*going, *others[: max(0, missing)]])

    def go_on(
        self,
        kept: Sequence[int],
        origin: Int[np.ndarray, "s w"],
        word: Int[np.ndarray, "s w"],
        said: Float[np.ndarray, "s w"],
    ) -> None:
        """Each kept sentence's hypotheses come from these of its old ones, by these words."""
        if len(kept) < len(self):
            origin, word, said = origin[kept], word[kept], said[kept]
        rows = (np.asarray(kept)[:, np.newaxis] * self.width + origin).ravel()
        if not (len(rows) == len(self.words) and (rows == np.arange(len(rows))).all()):
            self.state = self.state.pick(torch.from_numpy(rows).to(self.device))
            self.words, self.said = self.words[rows], self.said[rows]
        self.words = np.concatenate((self.words, word.reshape(-1, 1)), 1)
        self.said = np.concatenate((self.said, said.reshape(-1, 1)), 1)
        self.width = word.shape[1]


def best(log_probs: Float[Tensor, "r v"], count: int) -> tuple[Float[Tensor, "r k"], Int[Tensor, "r k"]]:
    """The best few of each row, and which they are: first the blocks that hold them, by their largest."""
    blocks = log_probs.shape[1] // BLOCK
    if blocks < 4 * count:
        values, words = log_probs.topk(count, 1)
        return values, words
    table = log_probs[:, : blocks * BLOCK].unflatten(1, (blocks, BLOCK))
    where = table.amax(2).topk(count, 1).indices.unsqueeze(2)
    near = table.gather(1, where.expand(-1, -1, BLOCK)).flatten(1)
    words = (where * BLOCK + torch.arange(BLOCK, device=where.device)).flatten(1)
    rest = torch.arange(blocks * BLOCK, log_probs.shape[1], device=where.device)
    values, index = torch.cat((near, log_probs[:, blocks * BLOCK :]), 1).topk(count, 1)
    return values, torch.cat((words, rest.expand(len(words), -1)), 1).gather(1, index)


def limits(model: Searchable, lengths: Lengths, settings: Search) -> list[int]:
    """The most words each sentence may say, END among them."""
    most = (lengths * settings.longest_ratio).long() + settings.longest_extra
    return [int(limit) for limit in (most if model.longest is None else most.clamp_max(model.longest)).tolist()]


def sayable(log_probs: Float[Tensor, "r v"]) -> None:
    """Padding, START and the unknown, the first three words there are, are never said."""
    log_probs[:, : max(PAD, START, UNKNOWN) + 1] = -torch.inf


def is_a_number(scores: Float[np.ndarray, "*r"]) -> None:
    """A model whose scores are no numbers cannot be searched."""
    if np.isnan(scores).any():
        raise ValueError(
            "the model's scores are not numbers (NaN): its weights are damaged, or training went astray; "
            "translate with an earlier save, or train again with a lower train.rate"
        )
