"""`regard info`: a run folder, read without torch. Whoever made it, it is told in plain words or refused."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table
from rich.text import Text

from regard.files import json_object, plain_text, shown
from regard.train.folder import MANIFEST, NotARun, made_with, own, read_manifest, saves_in
from regard.train.header import header
from regard.train.listed import figures

LINE = 2**16  # bytes of the longest line of a log that is read


def info(run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]) -> None:
    """What is in a run folder: its recipe, how far it is, and how good.

    Args:
        run: The folder that was given to `regard train --run`.
    """
    table = Table(box=None, pad_edge=False, show_header=False)
    for what, told in facts(run).items():
        table.add_row(Text(shown(what)), Text(shown(told, 2000)))
    Console().print(table)


def facts(run: Path) -> dict[str, str]:
    """What there is to say of a run, in the order to say it."""
    import regard.recipe as recipes

    if not (run / "recipe.toml").is_file():
        read_manifest(run)  # says what is wrong with the folder
        raise NotARun(f"{run} has no recipe.toml; copy the run as a whole")
    recipe = recipes.of_run(run, trust_code=True)  # it is told, not built
    model = recipe.sections()["model"]
    chosen = {key: value for key, value in model if key == "kind" or value != type(model).model_fields[key].default}
    found = {
        "recipe": recipe.about,
        "task": recipe.task,
        "model": ", ".join(f"{key} {value}" for key, value in chosen.items()),
        "data": _data(run) or recipe.learned_from({}),
        "seed": str(recipe.train.seed),
        "trained": _trained(run, recipe.train.steps),
    }
    made = made_with(run)
    if made:
        found["with"] = ", ".join(f"{name} {told}" for name, told in made.items())
    origin = imported(run)
    if origin is not None:
        found |= {"data": "not known", "seed": "not known", "trained": f"elsewhere: {origin}"}
    return {**found, **_best(run)}


def imported(run: Path) -> str | None:
    """Where the model of a run came from, if another toolkit trained it."""
    if not (run / MANIFEST).is_file():
        return None
    match read_manifest(run).get("imported"):
        case {"from": str(name)}:
            return f"imported from {name}"
    return None


def _data(run: Path) -> str:
    ready = _json(run, "data/ready.json")
    return f"{_count(ready, 'pairs'):,} pairs of {ready.get('where')}" if "pairs" in ready else ""


def _trained(run: Path, steps: int) -> str:
    last = how_far(run)
    done = (run / "scores.json").is_file()
    state = "finished" if done else "not finished: the same `regard train` command goes on"
    return f"step {_count(last, 'step'):,} of {steps:,}, epoch {_count(last, 'epoch')}; {state}"


def how_far(run: Path) -> dict[str, Any]:
    """The last whole line of the log, with the step of the newest save where that is later."""
    lines = _end(run, "log.jsonl").split("\n")[:-1]  # what follows is being written
    last = _object(run / "log.jsonl", lines[-1]) if lines else {}
    return {**last, "step": max([_count(last, "step"), *(int(save.name) for save in saves_in(run))])}


def _best(run: Path) -> dict[str, str]:
    """The best model and its scores, if there is one yet."""
    if not (run / MANIFEST).is_file():
        return {"best": "no model yet"}
    manifest = read_manifest(run)
    model = str(manifest.get("model", ""))
    scores = {f"scores on {split}": _figures(of) for split, of in _scores(run, manifest).items() if of}
    weights = {"parameters": f"{parameters(run / model):,}"} if (run / model).is_file() else {}
    return {"best": f"step {manifest.get('step', 0):,}, in {model}", **scores, **weights}


def _scores(run: Path, manifest: dict[str, Any]) -> dict[str, dict[str, float]]:
    told = _json(run, "scores.json")
    splits = {key: told[key] for key in told if key not in ("step", "valid")}
    try:
        return {"validation": manifest.get("measured", {}), **{key: figures(of) for key, of in splits.items()}}
    except ValueError as error:
        raise NotARun(f"{run / 'scores.json'}: {error}; restore it from a copy or train anew") from None


def parameters(file: Path) -> int:
    """How many weights a file of safetensors holds, from its header alone; one that is tied is there once."""
    return sum(math.prod(told.shape) for told in header(file).values())


def _figures(named: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in named.items())


def _json(run: Path, name: str) -> dict[str, Any]:
    """A small file of a run; nothing where there is none."""
    path = run / name
    if not os.path.lexists(path):
        return {}
    return _object(path, plain_text(own(run, path)))


def _object(path: Path, text: str) -> dict[str, Any]:
    try:
        return json_object(text)
    except ValueError as error:
        why = shown(str(error))
        raise NotARun(f"{path}: not readable as JSON ({why}); restore it from a copy or train anew") from None


def _end(run: Path, name: str) -> str:
    """The end of a file, which may be long; nothing where there is none."""
    path = run / name
    if not path.is_file():
        return ""
    with own(run, path).open("rb") as file:
        file.seek(max(0, path.stat().st_size - LINE))
        return file.read(LINE).decode("utf-8", "replace")


def _count(told: dict[str, Any], name: str) -> int:
    """A number from a file, 0 where it is none."""
    value = told.get(name, 0)
    return value if type(value) is int and abs(value) < 10**18 else 0
