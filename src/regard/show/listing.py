"""The catalogue on a terminal."""

from __future__ import annotations

from rich import box
from rich.table import Table
from rich.text import Text

from regard.attend import papers
from regard.show.anatomy import Entry, describe


def all_of_them() -> Table:
    """Every mechanism: name, paper, parts."""
    table = Table("mechanism", "paper", "parts", box=box.SIMPLE_HEAD)
    for entry in map(describe, papers.CATALOGUE):
        table.add_row(Text(entry.name, "bold"), Text(entry.short), Text(_joined(entry)))
    return table


def one(name: str) -> Table:
    """One mechanism, with all that is known of it."""
    entry = describe(name)
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for label, told in (
        ("mechanism", entry.name),
        ("paper", entry.citation),
        ("formula", entry.formula),
        ("parts", _joined(entry)),
        ("build", f"regard.papers.{entry.call}"),
        ("cost", f"{entry.cost}  (per query, over n keys of width d)"),
    ):
        table.add_row(Text(label, "dim"), Text(told, "bold" if label == "mechanism" else ""))
    return table


def _joined(entry: Entry) -> str:
    return " + ".join(entry.parts)
