"""What a server is told: which models, and how much anyone may ask of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Limits:
    """All are on unless they are set otherwise: what breaks one is refused before a model is touched."""

    body: int = 2**20
    """Bytes of a request."""
    characters: int = 10_000
    """Of one text."""
    texts: int = 128
    """In one request."""
    beam: int = 16
    """Hypotheses kept at each step, and alternatives."""
    depth: int = 32
    """Levels of a JSON value."""
    seconds: float = 30.0
    """From a request's arrival to its answer; then 504."""
    body_seconds: float = 10.0
    """For the client to send its request; then 408."""
    queued_texts: int = 512
    """That wait; beyond, 503 with Retry-After."""
    queued_characters: int = 2**20
    """That wait."""
    seen_texts: int = 4
    """In one request for attention, which is large ..."""
    seen_characters: int = 500
    """... of so many characters each."""
    view_characters: int = 2_000
    """In a request for a view."""
    terms: int = 64
    """Of a glossary ..."""
    term_characters: int = 64
    """... of so many characters on each side."""
    connections: int = 900
    """Open at once; beyond, 503."""


@dataclass(frozen=True)
class Batching:
    """How texts of several requests are put together."""

    texts: int = 64
    """Decoded together, at most."""
    characters: int = 4_000
    """Decoded together, unless one text alone has more. A piece is about four."""
    wait: float = 0.004
    """Seconds a free worker waits for as many texts as came together last time; never when nobody else is about."""
    long: int = 1_000
    """Characters from which a text is long: one worker, if there are several, is kept free of long ones."""


@dataclass(frozen=True)
class Pair:
    """A model that is served, from one language to another."""

    id: str
    source: str
    target: str
    name: str
    run: Path


@dataclass(frozen=True)
class Processes:
    """The processes that decode."""

    workers: int = 1
    threads: int = 1
    """Of each."""
    trust_code: bool = False
    views: str = "regard.show.views:VIEWS"
    """Where the views of the page are, as module:name."""
