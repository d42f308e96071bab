"""The Turing machine itself (Turing 1936): a table of rules, a tape of symbols, one head, exact.

Its history has the shape of a neural one's trail, so that both are drawn on the same view of a tape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

BLANK = "_"
HALT = "halt"

Rules = Mapping[tuple[str, str], tuple[str, int, str]]
"""(state, symbol under the head) -> (symbol to write, step of -1, 0 or 1, next state)."""


@dataclass(frozen=True)
class Moment:
    """The machine before a step: its state, where its head stands, and all of the tape that was ever used."""

    state: str
    head: int
    tape: tuple[str, ...]


class NeverHalts(ValueError):
    """A machine that was still at work after as many steps as it was given."""


def run(
    rules: Rules, tape: str | Sequence[str], state: str = "start", head: int = 0, most: int = 10_000
) -> list[Moment]:
    """Every moment until it halts; the first cell of the tape keeps its place at the front of what is shown."""
    cells, offset = dict(enumerate(tape)), head
    moments: list[tuple[str, int, dict[int, str]]] = [(state, offset, dict(cells))]
    while state != HALT:
        if len(moments) > most:
            raise NeverHalts(f"the machine did not halt within {most} steps; give it more, or other rules")
        symbol = cells.get(offset, BLANK)
        if (state, symbol) not in rules:
            raise ValueError(f"there is no rule for state '{state}' at symbol '{symbol}'; add one to the table")
        cells[offset], step, state = rules[state, symbol]
        offset += step
        moments.append((state, offset, dict(cells)))
    low = min(min(cells), *(at for _, at, _ in moments))
    high = max(max(cells), *(at for _, at, _ in moments))
    return [
        Moment(name, at - low, tuple(there.get(place, BLANK) for place in range(low, high + 1)))
        for name, at, there in moments
    ]


def said(moments: Sequence[Moment]) -> str:
    """What stands on the tape at the end."""
    return "".join(moments[-1].tape).strip(BLANK)


INCREMENT: Rules = {
    ("start", "0"): ("0", 1, "start"),
    ("start", "1"): ("1", 1, "start"),
    ("start", BLANK): (BLANK, -1, "carry"),
    ("carry", "1"): ("0", -1, "carry"),
    ("carry", "0"): ("1", 0, HALT),
    ("carry", BLANK): ("1", 0, HALT),
}
"""One more, in binary: to the last digit, then back while there is something to carry."""

COPY: Rules = {
    ("start", "0"): ("x", 1, "take 0"),
    ("start", "1"): ("y", 1, "take 1"),
    ("start", "#"): ("#", -1, "mend"),
    **{(f"take {bit}", other): (other, 1, f"take {bit}") for bit in "01" for other in "01#"},
    **{(f"take {bit}", BLANK): (bit, -1, "back") for bit in "01"},
    **{("back", other): (other, -1, "back") for other in "01#"},
    ("back", "x"): ("x", 1, "start"),
    ("back", "y"): ("y", 1, "start"),
    ("mend", "x"): ("0", -1, "mend"),
    ("mend", "y"): ("1", -1, "mend"),
    ("mend", BLANK): (BLANK, 1, HALT),
}
"""Say what stands before `#` once more behind it: mark a digit, carry it over, come back, and mend the marks."""
