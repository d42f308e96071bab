"""Models for the search that were taught nothing, and say what they are told to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from regard.models.seq2seq import Seq2Seq
from regard.search.settings import Search
from regard.text.ids import END, PAD


@dataclass(frozen=True)
class Said:
    """The source of each row, and all that was said."""

    source: list[tuple[int, ...]]
    words: list[tuple[int, ...]]

    def pick(self, rows: Tensor) -> Said:
        return Said([self.source[row] for row in rows.tolist()], [self.words[row] for row in rows.tolist()])


class Whim(Seq2Seq):
    """Fancies a next word by chance, but the same after the same words: one mistaken row, and all is different."""

    def __init__(self, vocabulary: int, sharpness: float, ending: float) -> None:
        super().__init__()
        self.output, self.vocabulary = nn.Linear(1, 1), vocabulary
        self.sharpness, self.ending = sharpness, ending

    def fancy(self, source: tuple[int, ...], words: tuple[int, ...]) -> Tensor:
        generator = torch.Generator().manual_seed(hash((source, words)) % 2**40)
        scores = self.sharpness * torch.randn(self.vocabulary, generator=generator)
        scores[END] += self.ending
        return scores

    def states(self, source: Tensor, lengths: Tensor, before: Tensor) -> Tensor:
        raise NotImplementedError

    def forward(self, source: Tensor, lengths: Tensor, before: Tensor) -> Tensor:
        return torch.stack(
            [
                torch.stack([self.fancy(read, tuple(said[: size + 1])) for size in range(len(said))])
                for read, said in zip(self.start(source, lengths).source, before.tolist(), strict=True)
            ]
        )

    def start(self, source: Tensor, lengths: Tensor) -> Said:
        rows = zip(source.tolist(), lengths.tolist(), strict=True)
        return Said([tuple(row[:length]) for row, length in rows], [()] * len(source))

    def step(self, state: Any, words: Tensor) -> tuple[Tensor, Said]:
        said = [(*before, word) for before, word in zip(state.words, words.tolist(), strict=True)]
        scores = [self.fancy(read, words) for read, words in zip(state.source, said, strict=True)]
        return torch.stack(scores), Said(state.source, said)

    def sights(self) -> list[Any]:
        return []


@dataclass(frozen=True)
class Nowhere:
    """A state without contents."""

    rows: int

    def pick(self, rows: Tensor) -> Nowhere:
        return Nowhere(len(rows))


class Fixed(Seq2Seq):
    """Says the same of the next word whatever came before."""

    def __init__(self, probabilities: dict[int, float], vocabulary: int = 8) -> None:
        super().__init__()
        self.output = nn.Linear(1, 1)
        self.scores = torch.full((vocabulary,), -torch.inf)
        for word, value in probabilities.items():
            self.scores[word] = torch.tensor(value).log()

    def states(self, source: Tensor, lengths: Tensor, before: Tensor) -> Tensor:
        raise NotImplementedError

    def start(self, source: Tensor, lengths: Tensor) -> Nowhere:
        return Nowhere(len(source))

    def step(self, state: Any, words: Tensor) -> tuple[Tensor, Nowhere]:
        assert len(words) == state.rows
        return self.scores.expand(len(words), -1), state

    def sights(self) -> list[Any]:
        return []


ONE = (torch.tensor([[4]]), torch.tensor([1]))


def sources(count: int, vocabulary: int = 6, longest: int = 7) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(count)
    lengths = torch.randint(1, longest + 1, (count,), generator=generator)
    words = torch.randint(4, vocabulary, (count, int(lengths.max())), generator=generator)
    return words.masked_fill(torch.arange(words.shape[1]) >= lengths[:, None], PAD), lengths


def limited(limit: int, **more: Any) -> Search:
    """At most `limit` words, END among them, for any source."""
    return Search(longest_ratio=1e-9, longest_extra=limit, **more)
