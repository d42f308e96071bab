"""Saves: all that going on needs, complete or not there; the mean of several; the best model."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.optim import Optimizer

from regard.train import optimise
from regard.train.folder import damage, durable, manifest, whole_folder, write
from regard.train.progress import Progress

WEIGHTS, OPTIMISER, STATE = "weights.safetensors", "optimiser.safetensors", "state.json"


@dataclass(frozen=True)
class Saves:
    """The saves of one run: one in `every` steps counts for the mean, of `average` of them; `keep` are kept whole."""

    folder: Path
    every: int
    average: int
    keep: int

    def save(self, model: nn.Module, optimisers: Mapping[str, Optimizer], progress: Progress, about: Any) -> Path:
        """Write all of it; then thin out what is older."""
        path = self.folder / f"{progress.step:08d}"
        self.folder.mkdir(parents=True, exist_ok=True)
        with whole_folder(path) as beside:
            save_file(weights_of(model), beside / WEIGHTS)
            save_file(optimise.as_tensors(optimisers), beside / OPTIMISER)
            write(beside / STATE, json.dumps({"progress": progress.as_json(), **about}, indent=1, sort_keys=True))
        self._thin_out(progress.step)
        return path

    def newest(self) -> tuple[Path | None, list[str]]:
        """The newest complete save, and what is wrong with newer ones that were passed over."""
        wrong: list[str] = []
        for path in reversed(self._all()):
            problem = damage(path)
            if problem is None:
                return path, wrong
            wrong.append(problem)
        return None, wrong

    def before_trouble(self) -> Path | None:
        """The newest complete save of a step that was not skipped, or else the newest complete one."""
        whole = [path for path in reversed(self._all()) if damage(path) is None]
        good = [path for path in whole if _state(path)["progress"]["skipped_in_a_row"] == 0]
        return next(iter([*good, *whole]), None)

    def clear_away(self) -> None:
        """What a save that was cut short has left."""
        for path in self.folder.glob(".*"):
            shutil.rmtree(path, ignore_errors=True)

    def load(self, path: Path, model: nn.Module, optimisers: Mapping[str, Optimizer]) -> dict[str, Any]:
        """Put weights and optimisers back; the rest of the save is returned."""
        load_weights(model, path / WEIGHTS)
        optimise.restore(optimisers, load_file(path / OPTIMISER))
        return _state(path)

    def mean(self, model: nn.Module, step: int) -> dict[str, Tensor]:
        """The mean of the weights now and at the last saves; a damaged one is left out."""
        now = weights_of(model)
        last = (step - 1) // self.every * self.every
        steps = [last - self.every * back for back in range(self.average - 1)]
        files = [self.folder / f"{at:08d}" for at in steps if at > 0]
        older = [load_file(path / WEIGHTS) for path in files if damage(path, only=WEIGHTS) is None]
        if not older:
            return now
        return {
            name: torch.stack([value.double(), *(weights[name].double() for weights in older)])
            .mean(0)
            .to(value.dtype)
            for name, value in now.items()
        }

    def _all(self) -> list[Path]:
        """Oldest first; one that was about to be replaced stands before its replacement."""
        found = (path for path in self.folder.glob("[0-9]*") if path.is_dir())
        return sorted(found, key=lambda path: (step_of(path), not path.name.endswith("~")))

    def _thin_out(self, step: int) -> None:
        """Keep some saves whole, the weights of those still to be averaged, and nothing else."""
        for path in self._all()[: -self.keep]:
            at = step_of(path)
            averaged = at > 0 and at % self.every == 0 and at > step - self.every * self.average
            if averaged:
                (path / OPTIMISER).unlink(missing_ok=True)
                continue
            for file in sorted(path.iterdir(), key=lambda f: f.name != "manifest.json"):
                file.unlink()
            path.rmdir()


def step_of(path: Path) -> int:
    """The step at which a save was made."""
    return int(path.name.rstrip("~"))


def _state(path: Path) -> dict[str, Any]:
    state: dict[str, Any] = json.loads((path / STATE).read_text(encoding="utf-8"))
    return state


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """Every weight under its name, a shared one once."""
    seen: dict[int, str] = {}
    weights = {}
    for name, value in model.state_dict(keep_vars=True).items():
        if seen.setdefault(id(value), name) == name:
            weights[name] = value.detach().cpu().contiguous()
    return weights


def load_weights(model: nn.Module, source: Path | Mapping[str, Tensor]) -> None:
    """Put weights into a model; names and shapes must be its own."""
    given = load_file(source) if isinstance(source, Path) else source
    own = weights_of(model)
    if given.keys() != own.keys():
        strange = sorted(given.keys() ^ own.keys())[:3]
        raise ValueError(
            f"these weights are of another model: {', '.join(strange)} differ; check the recipe beside them"
        )
    with torch.no_grad():
        for name, value in model.state_dict(keep_vars=True).items():
            if name in given:
                if value.shape != given[name].shape:
                    there, here = tuple(given[name].shape), tuple(value.shape)
                    raise ValueError(f"weight {name} has shape {there}, the recipe's model has {here}")
                value.copy_(given[name])


def write_model(run: Path, weights: Mapping[str, Tensor], step: int, files: list[str], **about: object) -> None:
    """The best model so far: a file named by its step, then the manifest that points to it, then the old one goes."""
    name = f"model-{step:08d}.safetensors"
    beside = run / f".{name}"
    save_file(dict(weights), beside)
    with beside.open("rb") as file:
        os.fsync(file.fileno())
    beside.replace(run / name)
    durable(run)
    write(run / "manifest.json", manifest(run, iter([*files, name]), model=name, step=step, **about))
    for old in run.glob("model-*.safetensors"):
        if old.name != name:
            old.unlink()
