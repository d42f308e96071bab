"""The `[search]` section of a recipe."""

from __future__ import annotations

from pydantic import Field, ValidationInfo, field_validator

from regard.settings import Section


class Search(Section):
    """How a translation is found."""

    beam: int = Field(5, ge=1, le=1000)
    """Hypotheses kept at each step; 1 is greedy."""
    length_penalty: float = 0.6
    """log p is divided by ((5 + length) / 6) to this power (Wu et al. 2016); 0 prefers short ones."""
    diversity: float = Field(0.0, ge=0)
    """What a hypothesis loses for each better one of the same parent (Li, Monroe & Jurafsky 2016); 0 is plain."""
    no_repeat: int = Field(0, ge=0)
    """No run of this many pieces is said twice; 0 allows any."""
    sample: bool = False
    """Draw words by chance instead of keeping the best; a sentence's draw depends on it and the seed alone."""
    nbest: int = Field(1, ge=1)
    """Translations wanted of each sentence: different ones, no more than the beam is wide; or as many draws."""
    temperature: float = Field(1.0, gt=0)
    """Scores are divided by this before a draw: below 1 is surer, above 1 bolder."""
    top_k: int = Field(0, ge=0)
    """Draw among this many likeliest pieces; 0 is all."""
    top_p: float = Field(1.0, gt=0, le=1)
    """Draw among the likeliest pieces that together have this probability."""
    seed: int = Field(1, ge=0)
    """Of the draws."""
    longest_ratio: float = Field(3.0, gt=0, le=100)
    """At most this many times the source's pieces ..."""
    longest_extra: int = Field(20, ge=1, le=10_000)
    """... and this many more."""
    batch_tokens: int = Field(4096, ge=1, le=2**24)
    """Source pieces, padding included, searched together."""

    @field_validator("nbest")
    @classmethod
    def _as_many_as_there_are(cls, nbest: int, others: ValidationInfo) -> int:
        beam = others.data.get("beam", nbest)
        if not others.data.get("sample") and nbest > beam:
            raise ValueError(f"a beam of {beam} has no {nbest} translations to give; set search.beam to {nbest}")
        return nbest
