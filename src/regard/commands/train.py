"""`regard train`: from a recipe and a folder to a model that works."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.checkout import version
from regard.commands.screen import Quiet, TrainingScreen
from regard.files import no_way_out
from regard.recipe import dump, of_run
from regard.systems.system import Here, Recipe
from regard.tasks.parallel_text import Older, is_ready
from regard.text.read import digest
from regard.train.folder import MANIFEST, NotARun, model_of, one_process, read_manifest, relist, write
from regard.train.precision import Precision, choose
from regard.train.ranks import ALONE, RankLost, Ranks
from regard.train.signals import AGAIN, Stop, Stopped

if TYPE_CHECKING:
    from regard.tasks.task import Task
    from regard.train.drive import Run

FREE = {
    "train.steps",
    "train.minutes",
    "train.patience",
    "train.keep",
    "train.device",
    "train.threads",
    "train.shard",
    "train.wait",
}  # may change between sessions
MADE = (
    "saves/*",
    "saves/.*",
    "samples/*.txt",
    "tensorboard/*",
    "model-*.safetensors",
    "manifest.json",
    "*.jsonl",
    "scores.json",
    "finetune.json",
    "loss.png",
    "data/train*",
    "data/*.jsonl",
    "pieces/*.model",
    "pieces/*.txt",
    "data/ready.json",
)  # what a run makes, in the order in which it may go


def train(recipe: Recipe, run: Path, fresh: bool = False, older: Older | None = None) -> int:
    """Train until it is done, or a signal comes; the exit code says which. An older run gives the first weights."""
    named = Ranks.named()
    with Stop() as stop, (TrainingScreen if named.first else Quiet)(recipe.train, recipe.unit) as screen:
        try:
            with stop.interruptible():
                precision = choose(recipe.train.precision, recipe.width, recipe.train.device, recipe.wide)
            with named.joined(stop, recipe.train.wait, precision.device) as ranks, _held(run, ranks):
                if fresh and ranks.first and not ranks.again:
                    _clear(run)
                with stop.interruptible():
                    _agreed(recipe, run, precision, ranks)
                    if ranks.first:
                        _same_recipe(recipe, run, screen)
                    here = Here(_threads(recipe, ranks), precision.device, screen.say, older)
                    task = prepared(recipe, run, here, ranks)
                done = _trained(recipe, task, run, precision, here, screen, stop, ranks)
        except Stopped as stopped:
            screen.say(f"stopped by {stopped}; nothing is lost: run the same command to go on")
            return AGAIN
        except RankLost as lost:
            told = f"rank {named.rank}: {lost}; what was saved is whole: run the same command to go on"
            print(f"regard: {told}", file=sys.stderr)
            return AGAIN
        except (ValueError, OSError) as error:
            if named.first:
                raise
            raise ValueError(f"rank {named.rank}: {error}") from error
    return 0 if done else AGAIN


@contextmanager
def _held(run: Path, ranks: Ranks) -> Iterator[None]:
    """The first rank holds the folder for all."""
    if not ranks.first:
        yield
        return
    _is_run_or_new(run)
    with one_process(run):
        yield


def _agreed(recipe: Recipe, run: Path, precision: Precision, ranks: Ranks) -> None:
    """All ranks must have been started with the same settings, and train alike."""
    if ranks.size == 1:
        return
    mine = {"settings": hashlib.sha256(dump(recipe, run).encode()).hexdigest(), "precision": precision.name}
    for rank, other in enumerate(said := ranks.gather(mine)):
        for what, value in other.items():
            if value != said[0][what]:
                raise ValueError(f"rank {rank} has other {what} than rank 0; start all with the same arguments")


def _threads(recipe: Recipe, ranks: Ranks) -> int:
    return recipe.train.threads or max(1, (os.cpu_count() or 1) // ranks.beside)


def prepared(recipe: Recipe, run: Path, here: Here, ranks: Ranks = ALONE) -> Task:
    """The task, its data made ready by the first rank; torch is imported here and told how many threads to use."""
    import torch

    torch.set_num_threads(here.threads)
    task = recipe.make(here)
    if not ranks.first:
        ranks.tell()  # what is there when this comes is only opened
    task.prepare(run)
    if ranks.first:
        ranks.tell()
    return task


def _trained(
    recipe: Recipe, task: Task, run: Path, precision: Precision, here: Here,
    screen: TrainingScreen, stop: Stop, ranks: Ranks,
) -> bool:  # fmt: skip
    import torch

    from regard.train.drive import Run
    from regard.train.saves import load_weights

    files = ["recipe.toml", *task.files()]
    about = {"torch": torch.__version__, "threads": here.threads, "precision": precision.name, "regard": version()}
    about |= {"ranks": ranks.size, "device": precision.device}
    session = Run(task, recipe.train, run, precision, screen, files, about, ranks=ranks)
    if session.resume():
        at = session.progress
        screen.say(f"resumed at step {at.step}, batch {at.index} of epoch {at.epoch}")
    else:
        _announce(recipe, session, screen)
        if here.older is not None:
            load_weights(session.model, model_of(here.older.folder))
    if not session.train(stop):
        return False
    if ranks.first:
        with stop.interruptible():
            _finish(session, run, screen)
    ranks.tell()  # the others do as the first, which hears of their signals: it is done for all, or for none
    return True


def _announce(recipe: Recipe, session: Run, screen: TrainingScreen) -> None:
    count = sum(parameter.numel() for parameter in session.model.parameters())
    precision = session.precision
    screen.say(
        f"{session.task.about()}, {count:,} weights, {precision.name} "
        f"({precision.why}), {session.ranks.told}{session.about['threads']} threads, seed {recipe.train.seed}"
    )


def _finish(session: Run, run: Path, screen: TrainingScreen) -> None:
    """Measure the best model once on what nothing was chosen by, and write the card."""
    from regard.commands.card import card
    from regard.show.curve import curve

    manifest = read_manifest(run)
    final = session.final(model_of(run))
    scores: dict[str, Any] = {"step": manifest["step"], "valid": manifest["measured"], **final}
    write(run / "scores.json", json.dumps(scores, indent=1))
    write(run / "README.md", card(run))
    curve(run)
    for split, measured in final.items():
        screen.say(f"{split}: " + "  ".join(f"{name} {value:.4g}" for name, value in measured.items()))
    screen.say(f"the model is in {run}: its best was step {manifest['step']}")


def _same_recipe(recipe: Recipe, run: Path, screen: TrainingScreen) -> None:
    """A run goes on with what it began with; what may change is said, what may not is refused."""
    path = run / "recipe.toml"
    if path.exists() and (is_ready(run) or any(run.glob("saves/[0-9]*"))):  # else nothing was made with it
        changed = differences(of_run(run, trust_code=True), recipe)  # it is compared, not built
        same_text = _same_text(run, changed)
        bound = {
            name: values
            for name, values in changed.items()
            if name not in FREE | same_text and not name.startswith("search.")
        }
        if bound:
            told = ", ".join(f"{name} was {old} and is now {new}" for name, (old, new) in bound.items())
            raise ValueError(
                f"{run} was begun with another recipe: {told}; use another --run, or --fresh to start anew"
            )
        for name, (old, new) in changed.items():
            screen.say(f"{name} was {old} and is now {new}{' (the same text)' if name in same_text else ''}")
        if changed:
            write(path, dump(recipe, run))
    elif (run / MANIFEST).is_file():
        raise ValueError(
            f"{run} has a model, but no save to go on from: it was imported, or its saves were taken away; "
            f"`regard finetune {run}` trains it further, --fresh starts anew without it"
        )
    else:
        write(path, dump(recipe, run))
    relist(run, path.name)


def _same_text(run: Path, changed: dict[str, tuple[Any, Any]]) -> set[str]:
    """Settings whose file lies elsewhere than it did, and is the same: run folders, and text, are moved about."""
    paths = {name.removeprefix("data."): new for name, (_, new) in changed.items() if isinstance(new, Path)}
    ready = run / "data" / "ready.json"
    if not paths or not ready.is_file():
        return set()
    known = json.loads(ready.read_text(encoding="utf-8")).get("files", {})
    return {f"data.{name}" for name, path in paths.items() if name in known and digest(path) == known[name]}


def differences(old: Any, new: Any) -> dict[str, tuple[Any, Any]]:
    """Settings that differ, by their dotted names."""
    found = {}
    for name, section in new.sections().items():
        before = old.sections().get(name)
        for key, value in section:
            was = getattr(before, key, None)
            if was != value:
                found[f"{name}.{key}"] = (was, value)
    return found


def _is_run_or_new(run: Path) -> None:
    """Refuse a folder that is something else: files of a run have common names, and links lead elsewhere."""
    no_way_out(run)
    if run.is_dir() and not (run / "recipe.toml").is_file():
        if any(not path.name.startswith(".") for path in run.iterdir()):
            raise NotARun(f"{run} has files in it, but no recipe.toml, so it is not a run; give another --run")
    elif run.exists() and not run.is_dir():
        raise NotARun(f"{run} is a file; give a folder with --run")


def _clear(run: Path) -> None:
    """Start anew: what earlier runs made goes, anything else in the folder stays."""
    for pattern in MADE:
        for path in list(run.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
