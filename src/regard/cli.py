"""The command line: `regard train`, `regard demo`, `regard recipes list`, ...

torch takes seconds to import, and settings a quarter of one, so each command is imported when it runs: `--help`
answers at once.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import tyro

from regard import __version__
from regard.files import shown
from regard.train.signals import nothing_begun

DESCRIPTION = (
    "Train, run and see every attention model, from Bahdanau to the Perceiver. "
    "Anywhere: --version says which regard this is, --debug shows where an error came from."
)


SPINS = "1000"
"""How often a thread looks whether those it waits for are done before it sleeps."""


@dataclass(frozen=True)
class Command:
    """A function in `regard.commands`, as module:name; its signature says which options it has."""

    about: str
    where: str

    def run(self, name: str, args: Sequence[str]) -> int:
        """Read the options and call it; what it answers is the exit code, nothing means 0."""
        return int(tyro.cli(_imported(self.where), prog=name, args=list(args)) or 0)


@dataclass(frozen=True)
class OwnOptions:
    """A command whose options depend on the recipe among them: it reads them itself. Some can be run again."""

    about: str
    where: str
    around: Callable[[], AbstractContextManager[None]] = nullcontext

    def run(self, name: str, args: Sequence[str]) -> int:
        """Call it with the words as they are."""
        with self.around():
            return int(_imported(self.where)(args))


@dataclass(frozen=True)
class Group:
    """Commands that share a first word."""

    about: str
    commands: Mapping[str, Command | OwnOptions | Group]

    def run(self, name: str, args: Sequence[str]) -> int:
        """Hand what follows a command's name to it; help, and a name that is not there, are tyro's to answer."""
        if args and args[0] in self.commands:
            return self.commands[args[0]].run(f"{name} {args[0]}", args[1:])
        told = {word: _nothing_but(command.about) for word, command in self.commands.items()}
        tyro.extras.subcommand_cli_from_dict(told, prog=name, description=self.about, args=list(args) or ["--help"])
        return 0


COMMANDS = Group(
    DESCRIPTION,
    {
        "train": OwnOptions(
            "Train a model from a recipe, from your own text, or both.", "options:train", nothing_begun
        ),
        "finetune": OwnOptions("Train a finished model further on other text.", "options:finetune", nothing_begun),
        "translate": Command("Translate lines from standard input to standard output.", "translate:translate"),
        "evaluate": Command("How good a model is: BLEU, chrF, TER, by length, against others.", "evaluate:evaluate"),
        "show": Command("What a model looks at, as a page of its own or as a figure.", "show:show"),
        "study": OwnOptions("Claims put to the test: tables, numbers and figures.", "study:study"),
        "serve": Command("Answer requests, and the live page, on this machine.", "serve:serve"),
        "export": Command("A model in the form of another engine.", "export:export"),
        "import": Command("A model of another toolkit as a run folder.", "export:import_"),
        "info": Command("What is in a run folder: its recipe, how far it is, and how good.", "runs:info"),
        "runs": Command("The runs below a folder: state, step, score, last complete save.", "overview:runs"),
        "recipes": Group(
            "Ready-made settings: list, show or copy them.",
            {
                "list": Command("The recipes in the package.", "recipes:catalogue"),
                "show": Command("Every value of a recipe, as TOML.", "recipes:show"),
                "copy": Command("A recipe as a file of your own, to change.", "recipes:copy"),
            },
        ),
        "data": Group(
            "Text to learn from: check it, see what there is, fetch some.",
            {
                "check": OwnOptions("What is in parallel text, and what is wrong with it.", "data:check"),
                "list": Command("Data sets that can be fetched, and which are there.", "data:catalogue"),
                "fetch": Command("Fetch a data set; nothing is ever downloaded unasked.", "data:fetch"),
            },
        ),
        "demo": Command("A translator of dates, trained on the spot, and what it looks at.", "demo:demo"),
        "gallery": Command("The worked example, then a picture of each mechanism.", "gallery:gallery"),
        "mechanisms": Command("Every mechanism with its paper and its parts.", "gallery:mechanisms"),
    },
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; an error that a person can mend is one line, and exit code 2."""
    _share_the_cores()
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    given = [argument for argument in given if argument != "--debug"]
    if given == ["--version"]:
        print(f"regard {__version__}")
        return 0
    try:
        return COMMANDS.run("regard", given)
    except BrokenPipeError:
        return _left_alone()
    except (ValueError, OSError) as error:
        if debug:
            raise
        print(f"regard: {shown(str(error), 4000)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _share_the_cores() -> None:
    """Threads that wait for one another sleep after a moment, unless the environment says how they wait.

    Where other programs run too, they would spin away the time that those they wait for need: training on two threads
    was forty times slower. GNU's OpenMP hears it when torch is imported.
    """
    if not {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys():
        os.environ["GOMP_SPINCOUNT"] = SPINS


def _left_alone() -> int:
    """Whoever read the output has read enough, as `| head` does: no error, and nothing more to say."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is still to be flushed has no reader
    return 128 + 13  # as a shell tells the signal that ends other programs then


def _imported(where: str) -> Callable[..., Any]:
    module, _, name = where.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(f"regard.commands.{module}"), name)
    return found


def _nothing_but(about: str) -> Callable[[], None]:
    """A function that has only a description, for the list of commands."""

    def described() -> None: ...

    described.__doc__ = about
    return described
