"""`regard info`: a run folder, read without torch."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table

from regard.train.folder import MANIFEST, NotARun, read_manifest


def info(run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]) -> None:
    """What is in a run folder: its recipe, how far it is, and how good.

    Args:
        run: The folder that was given to `regard train --run`.
    """
    table = Table(box=None, pad_edge=False, show_header=False)
    for what, told in facts(run).items():
        table.add_row(what, told)
    Console().print(table)


def facts(run: Path) -> dict[str, str]:
    """What there is to say of a run, in the order to say it."""
    import regard.recipe as recipes

    if not (run / "recipe.toml").is_file():
        read_manifest(run)  # says what is wrong with the folder
        raise NotARun(f"{run} has no recipe.toml; copy the run as a whole")
    recipe = recipes.load(run / "recipe.toml")
    model = recipe.sections()["model"]
    chosen = {key: value for key, value in model if key == "kind" or value != type(model).model_fields[key].default}
    found = {
        "recipe": recipe.about,
        "task": recipe.task,
        "model": ", ".join(f"{key} {value}" for key, value in chosen.items()),
        "data": _data(run),
        "seed": str(recipe.train.seed),
        "trained": _trained(run, recipe.train.steps),
    }
    return {**found, **_best(run)}


def _data(run: Path) -> str:
    ready = _json(run / "data" / "ready.json")
    return f"{ready['pairs']:,} pairs of {ready['where']}" if "pairs" in ready else "not made ready yet"


def _trained(run: Path, steps: int) -> str:
    log = run / "log.jsonl"
    lines = log.read_text(encoding="utf-8").split("\n")[:-1] if log.is_file() else []  # the last is being written
    last = json.loads(lines[-1]) if lines else {}
    done = (run / "scores.json").is_file()
    state = "finished" if done else "not finished: the same `regard train` command goes on"
    return f"step {last.get('step', 0):,} of {steps:,}, epoch {last.get('epoch', 0)}; {state}"


def _best(run: Path) -> dict[str, str]:
    """The best model and its scores, if there is one yet."""
    if not (run / MANIFEST).is_file():
        return {"best": "no model yet"}
    manifest = read_manifest(run)
    scores = {f"scores on {split} text": _figures(of) for split, of in _scores(run, manifest).items() if of}
    file = run / str(manifest["model"])
    weights = {"parameters": f"{parameters(file):,}"} if file.is_file() else {}
    return {"best": f"step {manifest['step']:,}, in {manifest['model']}", **scores, **weights}


def _scores(run: Path, manifest: dict[str, Any]) -> dict[str, dict[str, float]]:
    told = _json(run / "scores.json")
    return {"validation": manifest["measured"], **{key: told[key] for key in told if key not in ("step", "valid")}}


def parameters(file: Path) -> int:
    """How many weights a file of safetensors holds, from its header alone; one that is tied is there once."""
    with file.open("rb") as content:
        length = int.from_bytes(content.read(8), "little")
        header = json.loads(content.read(length))
    return sum(math.prod(told["shape"]) for name, told in header.items() if name != "__metadata__")


def _figures(figures: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in figures.items())


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise NotARun(f"{path}: not readable as JSON ({error}); restore it from a copy or train anew") from None
    return found if isinstance(found, dict) else {}
