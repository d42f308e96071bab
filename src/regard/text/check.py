"""Look at parallel text before training: what it is like, and what is wrong with it, with line numbers.

One pass, in windows; besides one window only counts are kept, and 8 bytes a pair to find what is there twice. Of very
much text each line is looked at in one window of ten, and the report says so.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from regard.text.characters import ODDITIES, oddities
from regard.text.language import SCRIPT_OF, language, script
from regard.text.pieces import nothing
from regard.text.shift import WINDOW, Alignment

Pair = tuple[int, str, str]

_FIRST = 5  # line numbers shown for a finding
_REMEMBERED = 20_000_000  # pairs compared with each other; 160 MB
_ALL = 1_000_000  # pairs looked at closely; beyond, one window in ten
_OUTLIER = 4.0  # times the usual ratio of lengths
_SMOOTH = 10  # characters added to both, as short lines vary more


@dataclass(frozen=True)
class Finding:
    """Something worth knowing: what, how often, where first; `warning` where it should be looked into."""

    what: str
    count: int
    lines: tuple[int, ...]
    meaning: str
    warning: bool = False

    def __str__(self) -> str:
        some = ", ".join(f"{line}" for line in self.lines) + (", …" if self.count > len(self.lines) else "")
        return f"{self.what}: {self.count:,} ({f'line {some}; ' if self.lines else ''}{self.meaning})"


@dataclass(frozen=True)
class Side:
    """How long the lines of one side are, and what they are written in."""

    words: dict[str, float]
    characters: dict[str, float]
    script: str | None
    language: str | None


@dataclass(frozen=True)
class Report:
    """What parallel text is like. `lines` is for people, `as_dict` for programs."""

    pairs: int
    source: Side
    target: Side
    findings: tuple[Finding, ...]

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """What should be looked into before training."""
        return tuple(finding for finding in self.findings if finding.warning)

    @property
    def lines(self) -> list[str]:
        """The report for people: figures first, then warnings, then what is merely worth knowing."""
        said = [f"{self.pairs:,} pairs"]
        for name, side in (("source", self.source), ("target", self.target)):
            written = ", ".join(filter(None, (side.script, side.language and f"looks like '{side.language}'")))
            for unit, figures in (("words", side.words), ("characters", side.characters)):
                spread = ", ".join(f"{label} {value:g}" for label, value in figures.items())
                said.append(f"{name} {unit}: {spread}" + (f" ({written})" if unit == "words" and written else ""))
        ranked = sorted(self.findings, key=lambda finding: not finding.warning)
        return said + [f"{'WARNING ' if finding.warning else ''}{finding}" for finding in ranked]

    def as_dict(self) -> dict[str, Any]:
        """The report for programs; plain types only."""
        return asdict(self)

    @classmethod
    def from_dict(cls, told: dict[str, Any]) -> Report:
        """The report again, from what a program was told."""
        findings = (Finding(**{**finding, "lines": tuple(finding["lines"])}) for finding in told["findings"])
        return cls(told["pairs"], Side(**told["source"]), Side(**told["target"]), tuple(findings))


@dataclass
class _Tally:
    """How often something was seen, and where first."""

    count: int = 0
    lines: list[int] = field(default_factory=list)

    def add(self, line: int) -> None:
        self.count += 1
        if len(self.lines) < _FIRST:
            self.lines.append(line)

    def finding(self, what: str, meaning: str, warning: bool = False) -> Iterator[Finding]:
        if self.count:
            yield Finding(what, self.count, tuple(self.lines), meaning, warning)


def report(
    pairs: Iterable[Pair],
    source_language: str | None = None,
    target_language: str | None = None,
    tick: Callable[[], None] = nothing,
) -> Report:
    """Read pairs once and say what they are like; languages, where given, are compared with what is found."""
    left, right = _Side("source", source_language), _Side("target", target_language)
    together, alignment = _Together(), Alignment()
    rest, looked = iter(pairs), 0
    while window := list(islice(rest, WINDOW)):
        tick()
        if _closely(together.pairs):
            looked += len(window)
            for line, source, target in window:
                left.add(line, source)
                right.add(line, target)
        together.add(window)
        alignment.add(window)
    alignment.close()
    findings = [*_alignment(alignment), *together.findings()]
    findings += [*left.findings(right.language), *right.findings(left.language)]
    if looked < together.pairs:
        meaning = f"lengths, characters, scripts and languages are those of them: beyond {_ALL:,} one in ten"
        findings.append(Finding("pairs looked at closely", looked, (), meaning))
    return Report(together.pairs, left.side(), right.side(), tuple(findings))


def _closely(before: int) -> bool:
    """Whether the window after so many pairs has each line looked at, which takes most of the time."""
    return before < _ALL or before // WINDOW % 10 == 0


class _Side:
    """What is counted of one side."""

    def __init__(self, name: str, declared: str | None) -> None:
        self.name = name
        self.declared = declared.lower().replace("_", "-").split("-")[0] if declared else None
        self.words, self.characters = Counter[int](), Counter[int]()
        self.odd: dict[str, _Tally] = {}
        self.scripts: dict[str, _Tally] = {}
        self.languages: dict[str, _Tally] = {}

    def add(self, line: int, text: str) -> None:
        self.words[len(text.split())] += 1
        self.characters[len(text)] += 1
        for odd in oddities(text):
            self.odd.setdefault(odd.name, _Tally()).add(line)
        if found := script(text):
            self.scripts.setdefault(found, _Tally()).add(line)
        if found := language(text):
            self.languages.setdefault(found, _Tally()).add(line)

    @property
    def script(self) -> str | None:
        return max(self.scripts, key=lambda name: self.scripts[name].count, default=None)

    @property
    def language(self) -> str | None:
        """The likeliest language, where enough lines tell and most agree."""
        total = sum(tally.count for tally in self.languages.values())
        best = max(self.languages, key=lambda name: self.languages[name].count, default=None)
        return best if best and total >= 10 and self.languages[best].count > 0.6 * total else None

    def side(self) -> Side:
        return Side(_spread(self.words), _spread(self.characters), self.script, self.language)

    def findings(self, other: str | None) -> Iterator[Finding]:
        """Odd characters, and lines that seem to be in another language; `other` is that of the other side."""
        for odd in ODDITIES:
            if odd.name in self.odd:
                yield from self.odd[odd.name].finding(f"{self.name} with {odd.name}", odd.meaning, odd.warning)
        others = {name: tally for name, tally in self.scripts.items() if name != self.script}
        if others:
            lines = sorted(line for tally in others.values() for line in tally.lines)[:_FIRST]
            names = ", ".join(f"{name} {others[name].count:,}" for name in sorted(others))
            count = sum(tally.count for tally in others.values())
            yield Finding(f"{self.name} in another script", count, tuple(lines), f"{names}; most are {self.script}")
        known = sum(tally.count for tally in self.languages.values())
        for name, tally in self.languages.items():
            some = tally.count > 0.01 * known
            if name == other != self.language:
                yield from tally.finding(f"{self.name} that looks like '{name}'", "the other side's language", some)
            elif self.language not in (None, name) and some:
                yield from tally.finding(f"{self.name} that looks like '{name}'", f"most look like '{self.language}'")
        yield from self._undeclared()

    def _undeclared(self) -> Iterator[Finding]:
        """Where what was declared is not what is found."""
        said, seen, expected = self.declared, self.language, SCRIPT_OF.get(self.declared or "")
        if said and expected and self.script and expected != self.script:
            tally = self.scripts[self.script]
            yield from tally.finding(
                f"{self.name} in {self.script} script", f"'{said}' is written in {expected}", True
            )
        elif said in SCRIPT_OF and seen and seen != said:
            yield from self.languages[seen].finding(
                f"{self.name} that looks like '{seen}'", f"'{said}' was said", True
            )


class _Together:
    """What is counted of pairs."""

    def __init__(self) -> None:
        self.pairs = 0
        self.empty, self.same, self.uneven, self.twice = _Tally(), _Tally(), _Tally(), _Tally()
        self.hashes = array("q")

    def add(self, window: list[Pair]) -> None:
        self.pairs += len(window)
        sizes = np.array([(len(source), len(target)) for _, source, target in window], float) + _SMOOTH
        ratio = np.log(sizes[:, 0] / sizes[:, 1])
        odd = np.abs(ratio - np.median(ratio)) > np.log(_OUTLIER)
        for (line, source, target), outlier in zip(window, odd, strict=True):
            if not source.strip() or not target.strip():
                self.empty.add(line)
            elif source.strip() == target.strip():
                self.same.add(line)
            elif outlier:
                self.uneven.add(line)
        if len(self.hashes) < _REMEMBERED:
            self.hashes.extend(hash((source, target)) for _, source, target in window if source or target)

    def findings(self) -> Iterator[Finding]:
        if self.pairs < 1000:
            yield Finding("few pairs", self.pairs, (), "a translator needs thousands, better millions")
        yield from self.empty.finding("pairs with an empty side", "left out of training")
        many = self.same.count > 0.1 * self.pairs
        yield from self.same.finding("pairs with equal sides", "kept: the model learns to copy them", many)
        meaning = f"one side is {_OUTLIER:g} times longer than usual; is it the translation?"
        yield from self.uneven.finding("pairs of uneven length", meaning, self.uneven.count > 0.01 * self.pairs)
        hashes = np.frombuffer(self.hashes, np.int64) if self.hashes else np.empty(0, np.int64)
        hashes.sort()  # in place: a copy would be as large again
        again = int(np.count_nonzero(hashes[1:] == hashes[:-1]))
        if again:
            among = f", of the first {len(hashes):,}" if self.pairs > _REMEMBERED else ""
            many = again > 0.2 * min(self.pairs, _REMEMBERED)
            yield Finding("pairs that were there before", again, (), f"kept{among}", many)


def _alignment(seen: Alignment) -> Iterator[Finding]:
    """Whether line belongs to line."""
    if seen.shift:
        first, last = seen.shift.first, seen.shift.last
        yield Finding("lines that seem shifted", last - first + 1, (first,), seen.shift.meaning, warning=True)
    elif seen.related is False:
        meaning = "neither lengths nor words of the sides go together; do line 1 and line 1 belong together?"
        yield Finding("lines that seem unrelated", seen.pairs, (), meaning, warning=True)


def _spread(counts: Counter[int]) -> dict[str, float]:
    """Mean and percentiles of what was counted; an exact answer, as lengths are few."""
    if not counts:
        return {}
    values = np.array(sorted(counts))
    times = np.array([counts[int(value)] for value in values])
    up_to = np.cumsum(times)
    found = {"mean": round(float((values * times).sum() / up_to[-1]), 1)}
    for label, share in (("median", 0.5), ("90 %", 0.9), ("99 %", 0.99), ("longest", 1.0)):
        found[label] = float(values[np.searchsorted(up_to, share * up_to[-1])])
    return found
