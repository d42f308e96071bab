"""Saves: all that going on needs, complete or not there; the mean of several; the best model."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.optim import Optimizer

from regard.files import shown
from regard.train import optimise
from regard.train.folder import (
    MANIFEST,
    STATE,
    clear_away,
    damage,
    lasting,
    manifest,
    read_manifest,
    whole_file,
    whole_folder,
    write,
)
from regard.train.header import Told, header
from regard.train.progress import Progress
from regard.train.room import told_if_full
from regard.train.split import split_like, whole
from regard.train.tensors import NAMES, size_of, write_tensors

WEIGHTS, OPTIMISER = "weights.safetensors", "optimiser.safetensors"
ASIDE = 2**16  # bytes that a save takes beside its tensors: headers, state, manifest, the rest of a disk's blocks


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
        weights, remembered = weights_of(model), optimise.as_tensors(optimisers)
        needed = size_of(weights) + size_of(remembered) + ASIDE
        with told_if_full(self.folder.parent, f"the save of step {progress.step}", needed):
            lasting(self.folder)
            with whole_folder(path) as beside:
                write_tensors(beside / WEIGHTS, weights)
                write_tensors(beside / OPTIMISER, remembered)
                write(beside / STATE, json.dumps({"progress": progress.as_json(), **about}, indent=1, sort_keys=True))
        self._thin_out(progress.step)
        return path

    def give(self, model: nn.Module, optimisers: Mapping[str, Optimizer] | None = None) -> None:
        """Another rank's part in what the first does with all weights: where they are split, each gives its own."""
        weights_of(model)
        optimise.as_tensors(optimisers or {})

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
        """What was being written, or removed, when a process died: saves, the model and its manifest."""
        run = self.folder.parent
        clear_away(self.folder)
        clear_away(run)
        for old in self.folder.glob("*~"):
            if damage(self.folder / old.name.rstrip("~")) is None:
                shutil.rmtree(old)
        if damage(run) is None:
            forget_models(run, but=str(read_manifest(run).get("model")))

    def needs(self, model: nn.Module, optimisers: Mapping[str, Optimizer]) -> int:
        """Bytes that the saves and the models of a run will take beyond those that are there."""
        weights = size_of(weights_of(model))
        rules = [group for rule in optimisers.values() for group in rule.param_groups]
        moments = 2 * sum(p.numel() * p.element_size() for group in rules for p in group["params"])
        whole = (self.keep + 1) * (weights + moments)  # one is written before another goes
        means = max(0, self.average - self.keep) * weights
        files = [*self.folder.glob("[0-9]*/*"), *self.folder.parent.glob("model-*.safetensors")]
        aside = (self.keep + 1 + self.average) * ASIDE
        return int(whole + means + 2 * weights + aside - sum(file.stat().st_size for file in files))

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
        """Keep some saves whole, the weights of those still to be averaged, and nothing else.

        One of a later step was passed over, as damaged or in trouble: it does not take the place of a good one.
        """
        for path in [path for path in self._all() if step_of(path) <= step][: -self.keep]:
            at = step_of(path)
            averaged = at > 0 and at % self.every == 0 and at > step - self.every * self.average
            if averaged:
                (path / OPTIMISER).unlink(missing_ok=True)
                continue
            for file in sorted(path.iterdir(), key=lambda f: f.name != MANIFEST):
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
            weights[name] = whole(value.detach()).cpu().contiguous()
    return weights


def load_weights(model: nn.Module, source: Path | Mapping[str, Tensor]) -> None:
    """Put weights into a model; names, shapes and kinds of numbers must be its own."""
    if isinstance(source, Path):
        fit(model, header(source))  # before anything is read
        given: Mapping[str, Tensor] = load_file(source)
    else:
        fit(model, {name: Told(NAMES[value.dtype], tuple(value.shape)) for name, value in source.items()})
        given = source
    with torch.no_grad():
        for name, value in model.state_dict(keep_vars=True).items():
            if name in given:
                value.copy_(split_like(value, given[name]))


def fit(model: nn.Module, told: Mapping[str, Told]) -> None:
    """ValueError unless these are a model's weights, each once; it may be one without memory (the meta device)."""
    own: dict[int, tuple[str, Told]] = {}
    for name, value in model.state_dict(keep_vars=True).items():
        own.setdefault(id(value), (name, Told(NAMES[value.dtype], tuple(value.shape))))
    here = dict(own.values())
    if told.keys() != here.keys():
        strange = ", ".join(shown(name) for name in sorted(told.keys() ^ here.keys())[:3])
        raise ValueError(f"these weights are of another model: {strange} differ; check the recipe beside them")
    for name, one in told.items():
        if one.shape != here[name].shape:
            raise ValueError(f"weight {name} has shape {one.shape}, the recipe's model has {here[name].shape}")
        if one.dtype != here[name].dtype:
            raise ValueError(f"weight {name} has numbers of kind {one.dtype}, the recipe's model {here[name].dtype}")


def write_model(run: Path, weights: Mapping[str, Tensor], step: int, files: list[str], **about: object) -> None:
    """The best model so far: a file named by its step, then the manifest that points to it, then the old one goes."""
    name = f"model-{step:08d}.safetensors"
    with told_if_full(run, f"the model of step {step}", size_of(weights) + ASIDE):
        with whole_file(run / name) as beside:
            write_tensors(beside, weights)
        write(run / MANIFEST, manifest(run, iter([*files, name]), model=name, step=step, **about))
    forget_models(run, but=name)


def forget_models(run: Path, but: str) -> None:
    """Remove those that the manifest does not name: older ones, and such as it was not yet told of."""
    for old in run.glob("model-*.safetensors"):
        if old.name != but:
            old.unlink()
