"""`regard data check`, `list` and `fetch`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table

import regard.recipe as recipes  # not `from regard`: that looks among the names of the heart, and imports torch
from regard.commands.options import RECIPE, recipe_in

CHECK = """What is in parallel text, and what is wrong with it, before any training.

Examples:
  regard data check --data.source text.en --data.target text.de
  regard data check multi30k-en-de"""


def check(args: Sequence[str]) -> int:
    """What is in parallel text, and what is wrong with it, before any training."""
    recipe = recipes.load(recipe_in(args) or "transformer-tiny")
    others = [name for name in recipe.sections() if name != "data"]
    more = [("recipe", RECIPE, field(default=None))]
    asked, _ = recipes.asked(recipe, args, more, others, prog="regard data check", description=CHECK)
    data: Any = recipes.located(asked.complete()).sections()["data"]
    from regard.tasks.texts import languages, texts_of
    from regard.text.check import report

    console = Console()
    for line in report(texts_of(data, recipe.train.seed).train, *languages(data)).lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    return 0


def catalogue() -> None:
    """Data sets that can be fetched, and which are there."""
    from regard.text import datasets

    table = Table("name", "what it is", "size", "licence", "where", box=None, pad_edge=False, header_style="bold")
    for name, item in datasets.CATALOGUE.items():
        table.add_row(name, item.about, item.size, item.licence, str(datasets.there(name) or "not here"))
    console = Console()
    console.print(table)
    console.print("\n`regard data fetch NAME` fetches one; nothing is ever downloaded unasked.")


def fetch(
    name: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")], languages: tuple[str, ...] = ()
) -> None:
    """Fetch a data set; nothing is ever downloaded unasked.

    Args:
        name: One of `regard data list`.
        languages: Which languages, where there are many; without it, those the recipes use.
    """
    from regard.text import datasets

    console = Console()
    for line in datasets.fetch(name, languages):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
