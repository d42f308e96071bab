"""What an evaluation ends with: a short table, the signatures to quote with it, and the files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from regard.evaluate.compare import Comparison, Test
from regard.evaluate.heads import Chosen
from regard.evaluate.record import record
from regard.evaluate.run import Evaluation
from regard.evaluate.score import Score
from regard.files import shown
from regard.show.report import report
from regard.train.folder import write


@dataclass(frozen=True)
class Done:
    """All that there is to tell: the evaluations of each run, and what is said of all."""

    runs: Sequence[Sequence[Evaluation]]
    """One run's texts, or several runs on one text."""
    warnings: Sequence[str]
    chosen: Chosen | None = None
    compared: Mapping[str, Comparison] | None = None
    test: Test = "bootstrap"

    def tell(self) -> None:
        """One run: a column for each of its texts. Several: a row for each, and how sure the difference is."""
        console = Console(highlight=False)
        console.print(_one(self.runs[0]) if self.compared is None else _several(self.runs, self.compared))
        if self.chosen is not None:
            _heads(console, self.chosen)
        scored: Mapping[str, Score | Comparison] = self.compared or self.runs[0][0].scores
        for one in scored.values():
            console.print(Text(f"{one.name}|{one.signature}", style="dim"), soft_wrap=True)

    def write(self, page: Path, figures: Path | None, translations: Path | None) -> None:
        """The page, and what else was asked for: each file is there as a whole or not at all."""
        if figures is not None:
            found = record(self.runs, self.warnings, self.compared, self.test, self.chosen)
            write(figures, json.dumps(found, indent=1, ensure_ascii=False) + "\n")
        if translations is not None:
            write(translations, "".join(f"{text}\n" for text in self.runs[0][0].said))
        write(page, report(self.runs, self.warnings, self.compared, self.chosen))


def _one(texts: Sequence[Evaluation]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(Text(shown(texts[0].run)))
    for one in texts:
        table.add_column(Text(f"{shown(one.text.name, 60)} ({len(one.text):,} lines)"), justify="right")
    for key, score in texts[0].scores.items():
        lower = " (lower is better)" if key == "ter" else ""
        table.add_row(Text(score.name + lower), *(Text(_with_interval(one.scores[key])) for one in texts))
    table.add_row("exact", *(f"{100 * one.exact:.1f} %" for one in texts))
    if any(one.links for one in texts):
        table.add_row("AER (lower is better)", *(f"{one.links.score.aer:.3f}" if one.links else "" for one in texts))
    table.add_row("pieces a second", *(f"{one.speed.pieces_a_second:,.0f}" for one in texts))
    table.add_row("one line, median", *(f"{1000 * one.speed.latency:.0f} ms" for one in texts))
    return table


def _several(runs: Sequence[Sequence[Evaluation]], compared: Mapping[str, Comparison]) -> Table:
    found = list(compared.values())
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    for one in found:
        table.add_column(one.name, justify="right")
        table.add_column("p", justify="right", style="dim")
    for name in ("exact", "pieces/s"):
        table.add_column(name, justify="right")
    for number, (only,) in enumerate(runs):
        cells = [Text(shown(only.run))]
        for one in found:
            row = one.rows[number]
            cells += [Text(f"{row.score:.2f}"), Text("" if row.p is None else f"{row.p:.4f}")]
        cells += [Text(f"{100 * only.exact:.1f} %"), Text(f"{only.speed.pieces_a_second:,.0f}")]
        table.add_row(*cells)
    return table


def _with_interval(score: Score) -> str:
    return f"{score.score:.2f}" + ("" if score.half is None else f" ± {score.half:.2f}")


def _heads(console: Console, chosen: Chosen) -> None:
    what = "AER" if chosen.by == "gold" else "agreement"
    unseen = "" if chosen.unseen is None else f", {chosen.unseen:.3f} on lines it was not chosen on"
    told = f"links are now read from {chosen.heads}: {what} {chosen.score:.3f} by {chosen.by}{unseen}"
    console.print(Text(told), soft_wrap=True)
