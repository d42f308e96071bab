"""The layer and heads that word links are read from: chosen once for a model, and kept in its run's manifest.

There it travels with the folder, under the same seal as the digests of the files. A better model of the same run
has a manifest of its own, without the choice: it was made for the weights it was measured on. Needs no torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.files import no_way_out, quoted
from regard.train.folder import FORMAT, MANIFEST, NotARun, one_process, read_manifest, sealed, write

NAME = "alignment"
MOST = 4096  # layers or heads; no model has so many


@dataclass(frozen=True)
class Heads:
    """A layer, counted from 0 or from -1 backwards, and some of its heads; None is as without a choice."""

    layer: int | None = None
    heads: tuple[int, ...] | None = None

    def __str__(self) -> str:
        if self.layer is None:
            return "the last layer but one, all heads"
        which = "all heads" if self.heads is None else f"head{'s' * (len(self.heads) > 1)} {_listed(self.heads)}"
        return f"layer {self.layer}, {which}"


def stored(run: Path) -> Heads | None:
    """What was chosen for this run's model, if anything was; whoever made the folder, it is checked."""
    match read_manifest(run).get(NAME):
        case None:
            return None
        case {"layer": int(layer), "heads": list(heads)} if all(map(_number, (layer, *heads))) and heads:
            return Heads(layer, tuple(heads))
        case other:
            raise NotARun(f"{run / MANIFEST} has {quoted(other)} as its choice of heads; choose them anew")


def store(run: Path, choice: Heads, **how: Any) -> None:
    """Let the run's manifest have this choice, and how it was made. Nobody else may be writing there."""
    no_way_out(run)
    with one_process(run):
        content = read_manifest(run)
        kept = {"layer": choice.layer, "heads": list(choice.heads or ()), **how}
        write(run / MANIFEST, sealed({**content, "format": FORMAT, NAME: kept}))


def _number(value: object) -> bool:
    return type(value) is int and 0 <= value < MOST


def _listed(numbers: tuple[int, ...]) -> str:
    *some, last = map(str, numbers)
    return f"{', '.join(some)} and {last}" if some else last
