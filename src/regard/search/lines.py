"""All live hypotheses of a batch: what each has said, and the model's state after it."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.models.seq2seq import Ids, Lengths, Seq2Seq, State
from regard.search.settings import Search
from regard.search.steady import padded
from regard.text.ids import PAD, START, UNKNOWN

BLOCK = 64  # words whose largest is found at once


class Lines:
    """Rows of hypotheses, as many for each sentence, with their words and the log-probability of each word.

    Behind the sentences asked for, others may stand that only fill the batch (see `steady`).
    """

    def __init__(self, model: Seq2Seq, source: Ids, lengths: Lengths, least: int) -> None:
        self.model, self.least = model, least
        source, lengths = padded(model, source, lengths, least)
        self.state: State = model.start(source, lengths)
        sentences = max(len(source), least)
        if sentences > len(source):
            rows = torch.arange(sentences, device=source.device)
            self.state = self.state.pick(rows.masked_fill(rows >= len(source), 0))
        self.width = 1
        self.words: Int[Tensor, "r t"] = source.new_full((sentences, 1), START)
        self.said: Float[Tensor, "r t"] = torch.zeros(sentences, 0, device=source.device)

    def __len__(self) -> int:
        return len(self.words) // self.width

    def next(self) -> Float[Tensor, "r v"]:
        """Log-probabilities of every next word."""
        logits, self.state = self.model.step(self.state, self.words[:, -1])
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
        self, kept: Sequence[int], origin: Int[Tensor, "s w"], word: Int[Tensor, "s w"], said: Float[Tensor, "s w"]
    ) -> None:
        """Each kept sentence's hypotheses come from these of its old ones, by these words."""
        places = torch.tensor(kept, device=word.device)
        rows = (places.unsqueeze(1) * self.width + origin[places]).flatten()
        same = len(rows) == len(self.words) and torch.equal(rows, torch.arange(len(rows), device=rows.device))
        if not same:
            self.state, self.words, self.said = self.state.pick(rows), self.words[rows], self.said[rows]
        self.words = torch.cat((self.words, word[places].view(-1, 1)), 1)
        self.said = torch.cat((self.said, said[places].view(-1, 1)), 1)
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


def limits(model: Seq2Seq, lengths: Lengths, settings: Search) -> list[int]:
    """The most words each sentence may say, END among them."""
    most = (lengths * settings.longest_ratio).long() + settings.longest_extra
    return [int(limit) for limit in (most if model.longest is None else most.clamp_max(model.longest)).tolist()]


def sayable(log_probs: Float[Tensor, "r v"]) -> None:
    """Padding, START and the unknown are never said."""
    for word in (PAD, START, UNKNOWN):
        log_probs[:, word] = -torch.inf


def is_a_number(scores: Float[Tensor, "*r"]) -> None:
    """A model whose scores are no numbers cannot be searched."""
    if bool(scores.isnan().any()):
        raise ValueError(
            "the model's scores are not numbers (NaN): its weights are damaged, or training went astray; "
            "translate with an earlier save, or train again with a lower train.rate"
        )
