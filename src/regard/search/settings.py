"""The `[search]` section of a recipe."""

from __future__ import annotations

from pydantic import Field

from regard.settings import Section


class Search(Section):
    """How a translation is found."""

    beam: int = Field(5, ge=1)
    """Hypotheses kept at each step; 1 is greedy."""
    length_penalty: float = 0.6
    """log p is divided by ((5 + length) / 6) to this power (Wu et al. 2016); 0 prefers short ones."""
    longest_ratio: float = Field(3.0, gt=0)
    """At most this many times the source's pieces ..."""
    longest_extra: int = Field(20, ge=1)
    """... and this many more."""
    batch_tokens: int = Field(4096, ge=1)
    """Source pieces, padding included, searched together."""
