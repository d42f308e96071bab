"""`regard study`: claims put to the test, and what they came to."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Sequence

from regard.studies import STUDIES


def study(arguments: Sequence[str]) -> int:
    """Run a study with its own options; without a name, list them. Needs no torch for that."""
    if not arguments or arguments[0] in ("-h", "--help"):
        return _listed()
    name, *rest = arguments
    if name not in STUDIES:
        near = difflib.get_close_matches(name, STUDIES, 1, 0.4)
        meant = f"perhaps you meant {near[0]}" if near else "`regard study` lists those there are"
        raise ValueError(f"there is no study '{name}'; {meant}")
    importlib.import_module(f"regard.studies.{name}").main(rest)
    return 0


def _listed() -> int:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table("study", "what it puts to the test", box=None, pad_edge=False, header_style="bold")
    for name, about in STUDIES.items():
        table.add_row(name, Text(about))
    console = Console()
    console.print(table)
    console.print(
        "\n`regard study NAME` runs one and writes table, numbers and figure; `--help` behind it has its options."
    )
    return 0
