"""What a mechanism is made of, read off the live object; what it is for, read off its paper's docstring."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from regard.attend import papers
from regard.attend.heads import Heads, Pooling
from regard.attend.mechanism import Attention
from regard.attend.scope import Scope

Built = Attention | Heads | Pooling

# Sizes that some paper asks for and has no default for: enough to build any of them.
SIZES = {"d_query": 16, "d_key": 16, "d_hidden": 16, "d_model": 16, "heads": 4, "groups": 2, "longest": 16}


@dataclass(frozen=True)
class Entry:
    """One mechanism of the catalogue, in words."""

    name: str
    citation: str
    formula: str
    cost: str
    parts: tuple[str, ...]
    call: str

    @property
    def short(self) -> str:
        """Who and when: the citation up to its year, with the first of three authors or more."""
        year = re.search(r" \d{4}\b", self.citation)
        if year is None:
            return self.citation.split(":")[0]
        authors = self.citation[: year.start()]
        return (f"{authors.split(',')[0]} et al." if "," in authors else authors) + year[0]


def describe(name: str) -> Entry:
    """The entry of that name; an unknown one is an error with the nearest names."""
    mechanism = papers.build(name, **SIZES)
    paper = papers.CATALOGUE[name]
    doc = (inspect.getdoc(paper) or "").splitlines()
    told = fields(doc[1:])
    return Entry(
        name, doc[0], told.get("Formula", ""), told.get("Cost", ""), parts(mechanism), f"{name}{signature(paper)}"
    )


def fields(lines: list[str]) -> dict[str, str]:
    """`Formula: ...` and `Cost: ...`, each with the lines that go on from it."""
    told: dict[str, str] = {}
    current = ""
    for line in lines:
        head = re.match(r"([A-Z][a-z]+): (.*)", line)
        if head:
            current, told[head[1]] = head[1], head[2]
        elif not line.strip():
            current = ""
        elif current:
            told[current] += " " + line.strip()
    return told


def signature(thing: Callable[..., object]) -> str:
    """What to call it with: names and defaults, no types."""
    asked = [
        p for p in inspect.signature(thing).parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    return "(" + ", ".join(map(_argument, asked)) + ")"


def parts(mechanism: Built) -> tuple[str, ...]:
    """Score, selection and scope, always; then the bias, the heads and what changes the memory, where there are."""
    attention = heart(mechanism)
    found = [_named(attention.score), _named(attention.select), _scope(attention)]
    if attention.bias is not None:
        found.append(_named(attention.bias))
    inside = mechanism.mechanism if isinstance(mechanism, Pooling) else mechanism
    if isinstance(inside, Heads):
        found += [_named(part) for part in (inside.rotary, inside.on_memory) if part is not None]
        found.append(_heads(inside))
    if isinstance(mechanism, Pooling):
        found.append("Pooling")
    return tuple(found)


def heart(mechanism: Built) -> Attention:
    """The attention inside heads and learned questions."""
    inside = mechanism.mechanism if isinstance(mechanism, Pooling) else mechanism
    inside = inside.attention if isinstance(inside, Heads) else inside
    assert isinstance(inside, Attention)
    return inside


def first_line(thing: object) -> str:
    """What its docstring says first, which is all an overview needs."""
    return (inspect.getdoc(thing) or "").split("\n")[0]


def _named(part: nn.Module) -> str:
    """The part's class, and in brackets those of our parts that it was given: `Kernel(EluPlusOne)`."""
    asked_for = inspect.signature(type(part)).parameters
    given = [
        _named(child)
        for name, child in part.named_children()
        if name in asked_for and type(child).__module__.startswith("regard.")
    ]
    return type(part).__name__ + (f"({', '.join(given)})" if given else "")


def _scope(attention: Attention) -> str:
    return attention.scope.name if isinstance(attention.scope, Scope) else _named(attention.scope)


def _heads(heads: Heads) -> str:
    shared = [name for name in ("key", "value") if getattr(heads, name) is heads.query]
    if shared:
        return f"Heads({' = '.join([*shared, 'query'])})"
    return "Heads" if heads.groups == heads.heads else f"Heads(groups={heads.groups})"


def _argument(parameter: inspect.Parameter) -> str:
    if parameter.default is parameter.empty:
        return parameter.name
    default = parameter.default
    return f"{parameter.name}={default.name if isinstance(default, Scope) else default}"
