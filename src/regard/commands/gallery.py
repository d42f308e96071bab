"""`regard gallery` and `regard mechanisms`: the catalogue of the heart, drawn and told."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console


def gallery(to: Path = Path("gallery")) -> None:
    """The worked example of every lecture, then a picture of each mechanism.

    Args:
        to: The folder for the pictures.
    """
    console = Console()
    with console.status("importing torch"):
        from rich.progress import track

        from regard.show import catalogue, worked

    def progress(names: list[str]) -> Iterable[str]:
        return track(names, "Every mechanism learns to find words", console=console, transient=True)

    worked.show(console)
    sheet, *singles = catalogue.pictures(to, progress)
    _say(console, f"{sheet} shows all {len(singles)} mechanisms, {singles[0].parent} has a picture of each.")
    _say(console, "Next: `regard mechanisms` lists them, `regard mechanisms bahdanau` explains one.")


def mechanisms(name: Annotated[str | None, tyro.conf.Positional] = None) -> None:
    """The catalogue: every mechanism with its paper and its parts.

    Args:
        name: One of them, to see its formula, its parts and its cost.
    """
    console = Console()
    with console.status("importing torch"):
        from regard.show import listing
    console.print(listing.all_of_them() if name is None else listing.one(name))


def _say(console: Console, line: str) -> None:
    """A line as it is: brackets in a path are no markup, and a path is not broken in two."""
    console.print(line, markup=False, highlight=False, soft_wrap=True)
