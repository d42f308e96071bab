"""What a translator answers: the text, how sure it was, what each word looked at, and what to be wary of."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from html import escape
from itertools import accumulate

from jaxtyping import Float
from torch import Tensor

from regard.heatmap import heatmap
from regard.translate.align import Link, Span, by_word, chosen, word_spans, words_at


@dataclass(frozen=True)
class Part:
    """A stretch of the source that was translated at one go, or kept as it is. Parts cover every character."""

    start: int
    """Where it begins in the source ..."""
    end: int
    """... and where the next one begins."""
    text: str
    """What stands for it in the translation; spaces at its ends are the source's own."""
    source_tokens: tuple[str, ...] = ()
    """Its pieces; none where it was kept as it is."""
    source_spans: tuple[Span, ...] = ()
    """The characters of the source that each piece covers."""
    tokens: tuple[str, ...] = ()
    """Pieces that the model said, with `</s>` where it came to an end."""
    spans: tuple[Span, ...] = ()
    """The characters of `text` that each piece covers."""
    scores: tuple[float, ...] = ()
    """Log-probability of each piece that was said."""
    complete: bool = True
    """False where a limit of length ended it."""
    attention: Float[Tensor, "l h t s"] | None = None
    """Weights of every layer and head that looks at the source, if asked for."""


@dataclass(frozen=True)
class Result:
    """A translation. Text that was too long has several parts, and pieces and their scores follow in order."""

    source: str
    """What was translated."""
    text: str
    """The translation."""
    parts: tuple[Part, ...] = ()
    suspect: tuple[str, ...] = ()
    """What to be wary of, such as "repetition"; docs/translating.md lists them all."""
    alignment: tuple[Link, ...] | None = None
    """(source word, target word) for every word that looked at one, counted from 0; None if not asked for."""
    nbest: tuple[Result, ...] = ()
    """As many different translations as were asked for and found, best first; the first is this one."""

    @property
    def score(self) -> float:
        """Mean log-probability of a piece, the end included: 0 is certain. nan where nothing was translated."""
        return sum(self.scores) / len(self.scores) if self.scores else float("nan")

    @property
    def scores(self) -> tuple[float, ...]:
        """Log-probability of each piece."""
        return tuple(score for part in self.parts for score in part.scores)

    @property
    def complete(self) -> bool:
        """False where a limit of length ended the translation, or that of a part."""
        return all(part.complete for part in self.parts)

    @property
    def source_tokens(self) -> tuple[str, ...]:
        """Pieces of the source."""
        return tuple(token for part in self.parts for token in part.source_tokens)

    @property
    def tokens(self) -> tuple[str, ...]:
        """Pieces of the translation, with `</s>` where the model came to an end."""
        return tuple(token for part in self.parts for token in part.tokens)

    @property
    def source_words(self) -> list[str]:
        """Words of the source, as `str.split` finds them."""
        return self.source.split()

    @property
    def words(self) -> list[str]:
        """Words of the translation."""
        return self.text.split()

    @cached_property
    def source_word_of(self) -> list[int]:
        """Which source word each source piece belongs to; -1 for none."""
        return words_at((span for part in self.parts for span in part.source_spans), word_spans(self.source))

    @cached_property
    def word_of(self) -> list[int]:
        """Which word of the translation each of its pieces belongs to; -1 for none, as for the end."""
        spans = ((start + at, end + at) for part, at in self.placed() for start, end in part.spans)
        return words_at(spans, word_spans(self.text))

    @property
    def attention(self) -> Float[Tensor, "l h t s"] | None:
        """Weights of every layer and head: a row for each of `tokens`, a column for each of `source_tokens`.

        Parts see nothing of each other. None if not asked for, or if the model has nothing that looks at the source.
        """
        seen = [part.attention for part in self.parts if part.attention is not None]
        if len(seen) < 2:
            return seen[0] if seen else None
        layers, heads = seen[0].shape[:2]
        table = seen[0].new_zeros(layers, heads, sum(x.shape[2] for x in seen), sum(x.shape[3] for x in seen))
        row = column = 0
        for weights in seen:
            rows, columns = weights.shape[2:]
            table[:, :, row : row + rows, column : column + columns] = weights
            row, column = row + rows, column + columns
        return table

    def placed(self) -> Iterator[tuple[Part, int]]:
        """Each part, and where in the translation it begins."""
        starts = accumulate((len(part.text) for part in self.parts), initial=0)
        return zip(self.parts, starts, strict=False)

    def _repr_html_(self) -> str:
        """For a notebook: the text, how sure, and who looked at what, by words."""
        told = [] if math.isnan(self.score) else [f"mean log p of a piece {self.score:.3f}"]
        facts = escape(" · ".join([*told, *self.suspect]))
        head = f"<p dir='auto'>{escape(self.source)}<br/>→ <b>{escape(self.text)}</b><br/><small>{facts}</small></p>"
        return f"<div>{head}{self._drawn()}</div>"

    def _drawn(self) -> str:
        seen = self.attention
        if seen is None or seen.shape[-1] != len(self.source_tokens) or not self.words:
            return ""
        table = by_word(chosen(seen.numpy()), self.source_word_of, self.word_of).tolist()
        wide = [row + [0.0] * (len(self.source_words) - len(row)) for row in table]
        wide += [[0.0] * len(self.source_words) for _ in range(len(self.words) - len(wide))]
        return heatmap(wide, self.words, self.source_words, "who looked at what")
