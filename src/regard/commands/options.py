"""The command lines of `train` and `finetune`: their options are settings of a recipe, so that is found first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any, get_args

import tyro
from rich.console import Console

import regard.recipe as recipes  # not `from regard`: that looks among the names of the heart, and imports torch
from regard.files import quoted, shown
from regard.systems import SYSTEMS, recipe_of
from regard.systems.system import Recipe
from regard.toml import kinds
from regard.train.ranks import Ranks

RECIPE = Annotated[
    str | None,
    tyro.conf.Positional,
    tyro.conf.arg(
        metavar="RECIPE",
        help="A name of `regard recipes list`, or a TOML file; without it, sizes are chosen from the corpus.",
    ),
]
RUN = Annotated[Path, tyro.conf.arg(help="The folder of the run: made if it is not there, resumed if it is.")]
FRESH = Annotated[
    bool,
    tyro.conf.FlagCreatePairsOff,
    tyro.conf.arg(help="Start anew: what an earlier run left in that folder goes."),
]
OLD = Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN", help="The run to start from.")]
SHARE = Annotated[
    float, tyro.conf.arg(help="Share of the old text among the new, so that what was learned is not forgotten.")
]
TRUST = Annotated[
    bool,
    tyro.conf.FlagCreatePairsOff,
    tyro.conf.arg(help="Run the code of mechanisms that the old run takes from a file (file.py:function)."),
]

TRAIN = """Train a model from a recipe, from your own text, or both. The same command again goes on where it stopped.

Examples:
  regard train dates --run runs/dates
  regard train --run runs/mine --data.source text.en --data.target text.de
  regard train rnnsearch --run runs/rnn --data.pairs text.tsv --train.minutes 60"""

FINETUNE = """Train a finished model further on other text, with its own pieces and some of its old text.

Example:
  regard finetune runs/mine --run runs/legal --data.source legal.en --data.target legal.de"""


def train(args: Sequence[str]) -> int:
    """Train a model from a recipe, from your own text, or both."""
    name = recipe_in(args)
    recipe = recipes.load(name or "transformer-tiny")
    more = [("recipe", RECIPE, field(default=name)), ("run", RUN, field()), ("fresh", FRESH, field(default=False))]
    told = {"prog": "regard train", "description": TRAIN}
    asked, given = recipes.asked(recipe, args, more, **told)
    if name is None:
        chosen = _chosen_for(asked)
        _say(f"No recipe was named: {chosen} suits the size of this text (`regard recipes show {chosen}`).")
        asked, given = recipes.asked(recipes.load(chosen), args, more, **told)
    found = recipes.located(_named_here(asked, args).complete())
    from regard.commands import train as training

    return training.train(found, given.run, given.fresh)


def finetune(args: Sequence[str]) -> int:
    """Train a finished model further on other text."""
    name = recipe_in(args)
    recipe = _starting_from(Path(name), "--trust-code" in args) if name else recipes.load("transformer-tiny")
    more = [
        ("old", OLD, field()),
        ("run", RUN, field()),
        ("fresh", FRESH, field(default=False)),
        ("share", SHARE, field(default=0.2)),
        ("trust_code", TRUST, field(default=False)),
    ]
    asked, given = recipes.asked(recipe, args, more, without=("model",), prog="regard finetune", description=FINETUNE)
    found = recipes.located(asked.complete())
    from regard.commands import finetune as tuning

    return tuning.finetune(found, given.old, given.run, given.fresh, given.share)


def _named_here(recipe: Recipe, args: Sequence[str]) -> Recipe:
    """The recipe, if each file whose code it would run was named on the command line, and not by a file alone."""
    typed = {arg.split("=")[0].replace("_", "-") for arg in args}
    for name, value in recipes.code_of(recipe).items():
        option = f"--{name.replace('_', '-')}"
        if option not in typed:
            raise ValueError(
                f"the recipe's {name} = {quoted(value)} would run the code in that file; "
                f"if you know what it does, say so here: {option} {shown(value)}"
            )
    return recipe


def _starting_from(run: Path, trust_code: bool) -> Recipe:
    """The recipe of a run, for a shorter training with a smaller rate, and without its data."""
    from regard.train.folder import read_manifest

    read_manifest(run)
    recipe = recipes.without_data(recipes.of_run(run, trust_code))
    shorter = {"steps": 1000, "warmup": 100, "rate": recipe.train.rate / 5, "save_every": 100}
    return recipe.with_sections({"train": recipe.train.model_copy(update=shorter)})


def _chosen_for(recipe: Recipe) -> str:
    """The name of the recipe whose sizes suit the text that was given."""
    from regard.text.read import PairSource

    data: Any = recipes.located(recipe.complete()).sections()["data"]
    if data.generated is not None:
        return str(data.generated)
    return recipes.chosen_for(PairSource(data.source, data.target, data.pairs).count())


def _say(line: str) -> None:
    if not Ranks.named().first:
        return
    Console(stderr=True).print(line, markup=False, highlight=False, soft_wrap=True)


def recipe_in(args: Sequence[str]) -> str | None:
    """The first word that is no option and no option's value."""
    takes = _values_taken()
    at = 0
    while at < len(args):
        if not args[at].startswith("-"):
            return args[at]
        name = args[at].replace("_", "-")
        at += 1 + (0 if "=" in name else takes.get(name, 1))
    return None


def _values_taken() -> dict[str, int]:
    """How many words follow each option; one where it is not said here."""
    takes = dict.fromkeys(("-h", "--help", "--fresh", "--no-fresh", "--trust-code"), 0)
    for task in SYSTEMS:
        for section, info in recipe_of(task).model_fields.items():
            for kind in kinds(info.annotation):
                for key, setting in kind.model_fields.items():
                    name = key.replace("_", "-")
                    if setting.annotation is bool:
                        takes |= {f"--{section}.{name}": 0, f"--{section}.no-{name}": 0}
                    elif str(setting.annotation).startswith("tuple"):
                        takes[f"--{section}.{name}"] = len(get_args(setting.annotation))
    return takes
