"""Translations drawn by chance: the same for a sentence and a seed, whatever else is in the batch."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.models.seq2seq import Lengths, Source
from regard.search.guards import guards, prefixed
from regard.search.lines import Lines, is_a_number, limits
from regard.search.rank import Hypothesis, penalty, ranked
from regard.search.settings import Search
from regard.search.wishes import NOTHING, Wish
from regard.text.ids import END


class Draws:
    """As many lines a sentence as are wanted, each drawing its own words."""

    def __init__(
        self, lines: Lines, source: Source, lengths: Lengths, settings: Search, wishes: Sequence[Wish]
    ) -> None:
        self.lines, self.settings, self.rules = lines, settings, guards(settings)
        rows = zip(source.tolist(), lengths.tolist(), strict=True)
        most = limits(lines.model, lengths, settings)
        self.chances = [
            [chances(settings.seed, row[:length], draw, limit) for draw in range(settings.nbest)]
            for (row, length), limit in zip(rows, most, strict=True)
        ]
        self.wishes = [*wishes, *[NOTHING] * (len(lines) - len(wishes))]
        self.places = [*range(len(wishes)), *[-1] * (len(lines) - len(wishes))]  # -1 only fills the batch
        self.limits = most
        self.found: list[list[Hypothesis | None]] = [[None] * settings.nbest for _ in wishes]

    def run(self) -> list[list[Hypothesis]]:
        length = 0
        while any(None in self.found[place] for place in self.places if place >= 0):
            length += 1
            self._extend(self.lines.next(), length)
            self._let_go()
        return [ranked([one for one in row if one is not None]) for row in self.found]

    def _let_go(self) -> None:
        """What nobody waits for any more only fills the batch."""
        for n, place in enumerate(self.places):
            if place >= 0 and None in self.found[place] and self.wishes[place].given_up:
                self.places[n], self.found[place] = -1, []

    def _extend(self, log_probs: Float[Tensor, "r v"], length: int) -> None:
        raw = log_probs.clone()
        is_a_number(raw[:, :1].cpu().numpy())
        words = torch.from_numpy(self.lines.words).to(raw.device)
        prefixed(log_probs, words, [self.wishes[place] for place in self.places], self.rules)
        draws = self.settings.nbest
        if self.lines.width < draws:  # the first words: all lines of a sentence come from one row
            raw, log_probs = (x.repeat_interleave(draws, 0) for x in (raw, log_probs))
        drawn = draw(log_probs, self._chance(length), self.settings)
        said = raw.gather(1, drawn.unsqueeze(1)).view(-1, draws).cpu().numpy()
        word = drawn.view(-1, draws).cpu().numpy()
        origin = np.broadcast_to(np.arange(draws) % self.lines.width, word.shape)
        self._finish(origin, word, said, length)
        going = [n for n, place in enumerate(self.places) if place >= 0 and None in self.found[place]]
        kept = self.lines.enough(going, draws)
        if going:
            self.lines.go_on(kept, origin, word, said)
        self.places = [self.places[n] for n in kept]

    def _chance(self, length: int) -> Float[Tensor, " r"]:
        """A number for each line; lines that are done, or only fill the batch, draw what they like."""
        numbers = np.full((len(self.places), self.settings.nbest), 0.5)
        for n, place in enumerate(self.places):
            if place >= 0 and length <= self.limits[place]:
                numbers[n] = [line[length - 1] for line in self.chances[place]]
        return torch.from_numpy(numbers).flatten().to(self.lines.device)

    def _finish(self, origin: np.ndarray, word: np.ndarray, said: np.ndarray, length: int) -> None:
        for n, place in enumerate(self.places):
            if place < 0:
                continue
            for line, drawn in enumerate(word[n].tolist()):
                if self.found[place][line] is None and (drawn == END or length >= self.limits[place]):
                    row = n * self.lines.width + int(origin[n, line])
                    words = (*self.lines.words[row, 1:].tolist(), *([] if drawn == END else [drawn]))
                    each = (*self.lines.said[row].tolist(), float(said[n, line]))
                    value = float(np.sum(np.asarray(each, dtype=np.float32)))
                    score = float(value / penalty(length, self.settings.length_penalty))
                    self.found[place][line] = Hypothesis(words, value, score, drawn == END, each)


def draw(log_probs: Float[Tensor, "r v"], chance: Float[Tensor, " r"], settings: Search) -> Int[Tensor, " r"]:
    """A word for each row, by a number in [0, 1): the first whose share, added to those before, exceeds it."""
    scores = log_probs.double() / settings.temperature
    order = None
    if settings.top_k or settings.top_p < 1:
        scores, order = scores.sort(dim=1, descending=True, stable=True)
        scores[:, settings.top_k or scores.shape[1] :] = -torch.inf
    shares = scores.softmax(1)
    if settings.top_p < 1:
        shares = shares.masked_fill(shares.cumsum(1) - shares >= settings.top_p, 0.0)
    reached = shares.cumsum(1)
    index = torch.searchsorted(reached, (chance * reached[:, -1]).unsqueeze(1), right=True)
    last = (shares > 0).int().cumsum(1).argmax(1, keepdim=True)  # of a word without a share nothing is drawn
    index = torch.minimum(index, last)
    return (index if order is None else order.gather(1, index)).squeeze(1)


def chances(seed: int, source: Sequence[int], line: int, count: int) -> np.ndarray:
    """Numbers in [0, 1), made from the seed, the sentence and which draw of it this is."""
    told = hashlib.blake2b(np.array([seed, line, *source], dtype="<i8").tobytes(), digest_size=16).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(told, "little"))).random(count)
