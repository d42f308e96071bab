"""The command line: `regard demo`, `regard mechanisms`.

torch takes seconds to import, so each command imports what it needs when it runs: `--help` answers at once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from regard import __version__

DESCRIPTION = (
    "Train, run and see every attention model, from Bahdanau to the Perceiver. "
    "Anywhere: --version says which regard this is, --debug shows where an error came from."
)


def demo(to: Path = Path("demo")) -> None:
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; an error that a person can mend is one line, and exit code 2."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    given = [argument for argument in given if argument != "--debug"]
    if given == ["--version"]:
        print(f"regard {__version__}")
        return 0
    commands: dict[str, Callable[..., None]] = {"demo": demo, "mechanisms": mechanisms}
    given = given or ["--help"]
    try:
        tyro.extras.subcommand_cli_from_dict(commands, prog="regard", description=DESCRIPTION, args=given)
    except (ValueError, OSError) as error:
        if debug:
            raise
        print(f"regard: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def _say(console: Console, line: str) -> None:
    """A line as it is: brackets in a path are no markup, and a path is not broken in two."""
    console.print(line, markup=False, highlight=False, soft_wrap=True)
