"""Whether one system is better than another, or only luckier with these lines: sacreBLEU's paired tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sacrebleu.significance import PairedTest

from regard.evaluate.score import metrics

Test = Literal["bootstrap", "randomisation"]
_KINDS = {"bootstrap": "bs", "randomisation": "ar"}
TRIALS = {"bootstrap": 1000, "randomisation": 10_000}
MOST_TRIED = {"bootstrap": 10_000_000, "randomisation": 200_000_000}
"""Lines drawn in all: what sacreBLEU holds at once."""


@dataclass(frozen=True)
class Paired:
    """A system's figure beside the first one's. Without p it is the first."""

    system: str
    score: float
    difference: float = 0.0
    p: float | None = None
    """How often a difference this large comes about where there is none; below 0.05 is called significant."""
    mean: float | None = None
    half: float | None = None


@dataclass(frozen=True)
class Comparison:
    """All systems by one metric."""

    name: str
    signature: str
    rows: tuple[Paired, ...]


def trials_for(test: Test, lines: int) -> int:
    """sacreBLEU's own count, or as many as fit the memory where there are very many lines."""
    return max(10, min(TRIALS[test], MOST_TRIED[test] // max(1, lines)))


def compare(
    said: Mapping[str, Sequence[str]],
    references: Sequence[Sequence[str]],
    tokenise: str = "13a",
    test: Test = "bootstrap",
    trials: int | None = None,
) -> dict[str, Comparison]:
    """Every system against the first, by BLEU, chrF2++ and TER, on the same lines."""
    systems: list[tuple[str, Sequence[str]]] = [(name, list(lines)) for name, lines in said.items()]
    count = trials_for(test, len(systems[0][1])) if trials is None else trials
    found = {}
    for key, metric in metrics(tokenise).items():
        asked = PairedTest(systems, {key: metric}, [list(some) for some in references], _KINDS[test], count)
        signatures, results = asked()
        name = next(iter(signatures))
        found[key] = Comparison(name, str(signatures[name]), tuple(_rows(systems, results[name])))
    return found


def _rows(systems: Sequence[tuple[str, Sequence[str]]], results: Sequence[Any]) -> Iterator[Paired]:
    """sacreBLEU gives a system that says just the same as the first the smallest p there is; it should be 1."""
    first = systems[0][1]
    for number, ((name, lines), one) in enumerate(zip(systems, results, strict=True)):
        score, difference = float(one.score), float(one.score - results[0].score)
        p = None if number == 0 else 1.0 if lines == first else float(one.p_value)
        yield Paired(name, score, difference, p, _number(one.mean), _number(one.ci))


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
