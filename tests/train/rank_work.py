"""What ranks do in tests of them; each function runs in every rank at once, or in one process alone."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import nn

from regard.models.settings import ModelSettings, RecurrentModel, TransformerModel
from regard.search.settings import Search
from regard.tasks.parallel_text import TextSource
from regard.tasks.sequences import Batch
from regard.tasks.settings import TextData
from regard.tasks.task import Loss
from regard.tasks.translation import Translation
from regard.train.drive import Run
from regard.train.fit import Fit, Update
from regard.train.optimise import as_tensors, optimiser
from regard.train.precision import Precision
from regard.train.progress import Progress
from regard.train.ranks import Ranks
from regard.train.saves import weights_of
from regard.train.settings import Train
from regard.train.signals import Stop
from regard.train.split import own
from regard.train.spread import spread
from tests.train.toys import Heard, sentences, weights, write_pairs

LIMIT = 60.0


def task_of(model: str, text: Path, dropout: float) -> Translation:
    """A toy translator over text that is ready."""
    small: dict[str, ModelSettings] = {
        "transformer": TransformerModel(
            encoder_layers=1, decoder_layers=1, width=16, heads=2, feedforward=16, dropout=dropout
        ),
        "rnn": RecurrentModel(width=12, embedding=12, dropout=dropout),
    }
    data = TextData(source=text / "train.en", target=text / "train.de", pieces=350, hold_out=4, longest=1000)
    task = Translation(TextSource(data, say=lambda _: None), small[model], Search(), 100, 0.1)
    task.prepare(text / "run")
    return task


def updates(
    model: str, text: str, to: str, shards: list[str], steps: int, dropout: float = 0.0, **settings: Any
) -> None:
    """Some updates, the same for each way to share the model: weights, losses, sizes, and who read what."""
    with Stop() as stop, Ranks.named().joined(stop, LIMIT) as ranks:
        for shard in shards:
            task = Reading(task_of(model, Path(text), dropout))
            chosen = Train(**{"warmup": 0, "schedule": "constant", "epsilon": 1e-5, **settings, "shard": shard})
            torch.manual_seed(3)
            made = task.build()
            shared = spread(ranks, chosen.shard, "cpu")
            shared.ready(made, task.blocks(made))
            optimisers = {"model": optimiser(list(made.parameters()), chosen)}
            fit = Fit(task, made, optimisers, chosen, Progress(), spread=shared)
            done = [update for update, _ in zip(fit.updates(), range(steps), strict=False)]
            told = {
                "losses": [update.figures["loss"] / update.units for update in done],
                "norms": [update.norm for update in done],
                "bytes": sum(own(v).nbytes for s in optimisers["model"].state.values() for v in s.values() if v.ndim),
                "progress": fit.progress.as_json(),
                "read": task.read,
            }
            Path(f"{to}.{shard}.{ranks.rank}.json").write_text(json.dumps(told), encoding="ascii")
            weights, remembered = weights_of(made), as_tensors(optimisers)
            if ranks.first:
                save_file({**weights, **remembered}, f"{to}.{shard}.safetensors")


def session(
    model: str, text: str, run: str, number: float = 0, trouble: dict[str, Any] | None = None, dropout: float = 0.0,
    wait: float = LIMIT, **settings: Any,
) -> None:  # fmt: skip
    """A run, begun or gone on with; who read what at which step is written down. Trouble comes to one rank."""
    folder = Path(run)
    folder.mkdir(exist_ok=True)
    task = Reading(task_of(model, Path(text), dropout))
    chosen = Train(**{"warmup": 2, "rate": 0.01, "save_every": 4, "epsilon": 1e-5, **settings})
    screen = Told(trouble)
    with Stop() as stop, Ranks.named().joined(stop, wait) as ranks:
        made = Run(task, chosen, folder, Precision("float32", "asked for"), screen, [], {}, ranks=ranks)
        made.resume()
        task.step, task.number = lambda: made.progress.step, number
        task.thinks = 0.0 if trouble is None else trouble.get("validation", 0.0)
        task.note = folder / f"read.{ranks.size}.{ranks.rank}.jsonl"
        if trouble is not None and ranks.rank == trouble["rank"]:
            task.trouble = {**trouble, "step": task.step}
        try:
            done = made.train(stop)
            ended = {"done": done, "step": made.progress.step}
            (folder / f"ended.{ranks.rank}.json").write_text(json.dumps(ended), encoding="ascii")
        finally:
            (folder / f"said.{ranks.rank}.txt").write_text(screen.text, encoding="utf-8")


def _fail(_: dict[str, Any]) -> None:
    raise ValueError("this rank has had enough")


def _tell_at(given: dict[str, Any]) -> None:
    while given["step"]() < given["until"]:
        time.sleep(0.01)
    time.sleep(0.3)
    os.kill(os.getpid(), signal.SIGTERM)


TROUBLES: dict[str, Callable[[dict[str, Any]], None]] = {
    "killed": lambda _: os.kill(os.getpid(), signal.SIGKILL),
    "told": lambda _: None,
    "told while it waits": lambda given: threading.Thread(target=_tell_at, args=[given], daemon=True).start(),
    "error": _fail,
    "asleep": lambda given: time.sleep(given["seconds"]),
}


class Told(Heard):
    """A signal may come at the very end of a step, when the others are about to go on."""

    def __init__(self, trouble: dict[str, Any] | None) -> None:
        super().__init__()
        here = trouble is not None and trouble["what"] == "told" and Ranks.named().rank == trouble["rank"]
        self.at = trouble["at"] if trouble is not None and here else None

    def update(self, progress: Progress, update: Update) -> None:
        super().update(progress, update)
        if progress.step == self.at:
            os.kill(os.getpid(), signal.SIGTERM)


class Reading(Translation):
    """Remembers which pairs it was asked for."""

    trouble: dict[str, Any] | None = None
    note: Path | None = None
    number: float = 0
    thinks = 0.0
    """Seconds that a validation takes."""

    def __init__(self, like: Translation) -> None:
        self.__dict__.update(like.__dict__)
        self.read: list[list[int]] = []
        self.step: Callable[[], int] = lambda: 0

    def load(self, which: np.ndarray) -> Any:
        if self.trouble is not None and self.step() >= self.trouble["at"]:
            given, self.trouble = self.trouble, None
            TROUBLES[given["what"]](given)
        self.read.append(which.tolist())
        if self.note is not None:
            with self.note.open("a", encoding="ascii") as file:
                file.write(json.dumps([self.number, self.step(), which.tolist()]) + "\n")
        return super().load(which)

    def measure(self, model: nn.Module) -> dict[str, float]:
        time.sleep(self.thinks)
        return {"bleu": 0.0}

    def samples(self, model: nn.Module) -> str:
        return ""


def uneven_memory(text: str, to: str) -> None:
    """One update whose rows do not fit the memory of rank 1, and one whose gradient is not finite there."""
    told = []
    with Stop() as stop, Ranks.named().joined(stop, LIMIT) as ranks:
        task = Small(task_of("transformer", Path(text), 0.0))
        chosen = Train(warmup=0, schedule="constant", rate=0.01, epsilon=1e-5)
        for most, poisoned in ((3, False), (99, True)):
            task.most = most if ranks.rank == 1 else 99
            task.poisoned = poisoned and ranks.rank == 1
            torch.manual_seed(3)
            model = task.build()
            shared = spread(ranks, "no", "cpu")
            fit = Fit(
                task, model, {"model": optimiser(list(model.parameters()), chosen)}, chosen, Progress(), spread=shared
            )
            update = fit.update([np.arange(12)])
            told.append(
                {"split": update.split, "skipped": update.skipped, "norm": update.norm, "units": update.units}
            )
    Path(f"{to}.{ranks.rank}.json").write_text(json.dumps(told), encoding="utf-8")


class Small(Translation):
    """Has memory for so many rows; or gives a gradient that is no number."""

    most, poisoned = 99, False

    def __init__(self, like: Translation) -> None:
        self.__dict__.update(like.__dict__)

    def loss(self, model: nn.Module, batch: Batch, player: str) -> Loss:
        if len(batch.source) > self.most:
            raise MemoryError
        found = super().loss(model, batch, player)
        return Loss(found.total * float("nan"), found.figures) if self.poisoned else found


def told(path: Path, shard: str, rank: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(f"{path}.{shard}.{rank}.json").read_text(encoding="ascii"))
    return found


def apart(one: Path, other: Path) -> float:
    """The largest difference of any weight, or of what the optimiser remembers of it."""
    mine, theirs = weights(one), weights(other)
    assert mine.keys() == theirs.keys()
    return max(float((mine[name] - theirs[name]).abs().max()) for name in mine)


def read_in_the_end(run: Path) -> dict[int, list[int]]:
    """Which pairs were read at each step; what was read before a kill and again after it counts once."""
    by_step: dict[int, dict[str, list[int]]] = {}
    for file in run.glob("read.*.jsonl"):
        for line in file.read_text(encoding="ascii").splitlines():
            session, step, which = json.loads(line)
            by_step.setdefault(step, {}).setdefault(session, []).extend(which)
    return {step: sorted(found[max(found)]) for step, found in sorted(by_step.items())}


def uneven_text(folder: Path, count: int = 24) -> None:
    """Text of very uneven lengths: 2 to 9 words, and then some of 60; a batch may have a single row."""
    pairs = sentences(count)
    long = [" ".join(pair[side] for pair in pairs[:10]) for side in (0, 1)]
    pairs[7] = pairs[20] = (long[0], long[1])
    write_pairs(folder, pairs)
    task_of("rnn", folder, 0.0)
