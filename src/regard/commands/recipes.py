"""`regard recipes list`, `show` and `copy`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table
from rich.text import Text

import regard.recipe as recipes  # not `from regard`: that looks among the names of the heart, and imports torch

NAME = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")]


def catalogue() -> None:
    """The recipes in the package."""
    families: dict[str, list[tuple[str, str]]] = {}
    for name in recipes.shipped():
        recipe = recipes.load(name)
        families.setdefault(recipe.family, []).append((name, recipe.about))
    table = Table("recipe", "what it is for", box=None, pad_edge=False, header_style="bold")
    for family, rows in families.items():
        table.add_section()
        table.add_row(f"[dim]{family}[/dim]")
        for name, about in rows:
            table.add_row(f"  {name}", Text(about))
    console = Console()
    console.print(table)
    console.print("\n`regard train NAME --run FOLDER` trains one; `regard recipes show NAME` tells every value.")


def show(name: NAME) -> None:
    """Every value of a recipe, as TOML.

    Args:
        name: A recipe of `regard recipes list`, or a TOML file.
    """
    sys.stdout.write(recipes.dump(recipes.load(name)))


def copy(name: NAME, to: Path | None = None) -> None:
    """A recipe as a file of your own, to change.

    Args:
        name: A recipe of `regard recipes list`.
        to: The file to write; without it, NAME.toml in this folder.
    """
    text = recipes.file_of(name).read_text(encoding="utf-8")
    file = to or Path(f"{name}.toml")
    if file.exists():
        raise ValueError(f"{file} is there already; name another file with --to")
    file.write_text(text, encoding="utf-8")
    Console().print(f"{file} is yours to change; `regard train {file}` trains it.", markup=False, soft_wrap=True)
