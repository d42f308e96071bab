"""Small things to train: a corpus of a made-up language, and tasks that are no translation."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from regard.tasks.task import Loss, Task
from regard.train.drive import Run
from regard.train.fit import Update
from regard.train.precision import Precision
from regard.train.progress import Progress
from regard.train.settings import Train

WORDS = {
    "one": "eins", "two": "zwei", "three": "drei", "four": "vier", "five": "fünf", "six": "sechs", "seven": "sieben",
    "red": "rot", "blue": "blau", "green": "grün", "dog": "Hund", "cat": "Katze", "house": "Haus", "tree": "Baum",
    "sees": "sieht", "has": "hat", "and": "und", "big": "groß", "old": "alt", "young": "jung",
}  # fmt: skip


def sentences(count: int, seed: int = 1, longest: int = 9) -> list[tuple[str, str]]:
    """Pairs that can be learned: word by word."""
    rng = random.Random(seed)
    chosen = [rng.choices(list(WORDS), k=rng.randint(2, longest)) for _ in range(count)]
    return [(" ".join(words), " ".join(WORDS[word] for word in words)) for words in chosen]


def write_pairs(folder: Path, pairs: Sequence[tuple[str, str]], name: str = "train") -> dict[str, Path]:
    """Two files, line by line."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {"source": folder / f"{name}.en", "target": folder / f"{name}.de"}
    for side, file in enumerate(files.values()):
        file.write_text("".join(pair[side] + "\n" for pair in pairs), encoding="utf-8")
    return files


def data_args(files: dict[str, Path], prefix: str = "") -> list[str]:
    """These files as options."""
    return [word for side, file in files.items() for word in (f"--data.{prefix}{side}", str(file))]


COMMON = [
    "--data.pieces", "350", "--data.hold-out", "4", "--train.threads", "1", "--train.batch-tokens", "100",
    "--train.warmup", "5", "--train.rate", "0.01", "--search.beam", "2", "--search.longest-ratio", "1",
    "--search.longest-extra", "2",
]  # fmt: skip
MODELS = {
    "transformer": [
        "transformer-mini", "--model.width", "16", "--model.heads", "2", "--model.feedforward", "16",
        "--model.encoder-layers", "1", "--model.decoder-layers", "1", "--model.dropout", "0.2",
    ],
    "rnn": ["rnnsearch", "--model.width", "12", "--model.embedding", "12", "--model.dropout", "0.2"],
}  # fmt: skip
WIDE = {
    "wide": [
        "transformer-mini", "--model.width", "256", "--model.heads", "4", "--model.feedforward", "512",
        "--model.encoder-layers", "1", "--model.decoder-layers", "1", "--model.dropout", "0.2",
        "--train.precision", "float32",
    ],
}  # fmt: skip
"""Whose products may be made by another library (see `regard.attend.maps`)."""


def command(model: str, run: Path, files: dict[str, Path], *more: object) -> list[str]:
    """`regard train` of a toy."""
    return ["train", *(MODELS | WIDE)[model], "--run", str(run), *data_args(files), *COMMON, *map(str, more)]


def outcome(run: Path) -> dict[str, bytes]:
    """What must be the same bytes however often a run was interrupted: its last save, its model, its log."""
    last = sorted((run / "saves").glob("[0-9]*"))[-1]
    files = [last / "weights.safetensors", last / "optimiser.safetensors", run / "log.jsonl", run / "scores.json"]
    files += [run / "manifest.json", *run.glob("model-*"), *run.glob("samples/*")]
    return {str(file.relative_to(run)): file.read_bytes() for file in files if file.exists()}


class Heard:
    """A screen that remembers."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.updates: list[Update] = []

    def say(self, line: str) -> None:
        self.lines.append(line)

    def update(self, progress: Progress, update: Update) -> None:
        self.updates.append(update)

    def phase(self, name: str) -> None:
        pass

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


class Line(Task):
    """A plane through points: no text, no words, and a measure of which less is better."""

    def __init__(self, points: int = 24, batch: int = 4) -> None:
        self.points, self.size = points, batch
        self.x: Tensor
        self.y: Tensor

    def prepare(self, folder: Path) -> None:
        draw = torch.Generator().manual_seed(5)
        self.x = torch.randn(self.points, 3, generator=draw)
        self.y = self.x @ torch.tensor([1.0, -2.0, 0.5]) + 0.3

    def build(self) -> nn.Module:
        return nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.1), nn.Linear(4, 1))

    def batches(self, epoch: int) -> Sequence[list[int]]:
        order = torch.randperm(self.points, generator=torch.Generator().manual_seed(epoch)).tolist()
        return [order[first : first + self.size] for first in range(0, self.points, self.size)]

    def load(self, which: list[int]) -> tuple[Tensor, Tensor]:
        return self.x[which], self.y[which]

    def units(self, which: list[int]) -> int:
        return len(which)

    def loss(self, model: nn.Module, batch: Any, player: str) -> Loss:
        x, y = batch
        total = (model(x).squeeze(-1) - y).square().sum()
        return Loss(total, {"loss": float(total.detach())})

    def split(self, which: list[int], parts: int = 2) -> Sequence[list[int]]:
        parts = min(parts, len(which))
        cuts = [len(which) * part // parts for part in range(parts + 1)]
        return [which[first:after] for first, after in pairwise(cuts)]

    def where(self, which: list[int]) -> str:
        return f"points {', '.join(map(str, sorted(which)))}"

    def measure(self, model: nn.Module) -> dict[str, float]:
        return {"loss": float((model(self.x).squeeze(-1) - self.y).square().mean())}


class Duel(Line):
    """Two players with an optimiser each: a maker of numbers, and a judge who tells them from real ones."""

    players = ("judge", "maker")
    best_by = "far"

    def build(self) -> nn.Module:
        return nn.ModuleDict({"maker": nn.Linear(2, 3), "judge": nn.Linear(3, 1)})

    def parameters(self, model: nn.Module, player: str) -> list[nn.Parameter]:
        assert isinstance(model, nn.ModuleDict)
        return list(model[player].parameters())

    def loss(self, model: nn.Module, batch: Any, player: str) -> Loss:
        assert isinstance(model, nn.ModuleDict)
        real, _ = batch
        made = model["maker"](torch.randn(len(real), 2))
        doubt = nn.functional.softplus
        if player == "maker":
            total = doubt(-model["judge"](made)).sum()
        else:
            total = (doubt(model["judge"](made.detach())) + doubt(-model["judge"](real))).sum()
        return Loss(total, {player: float(total.detach())})

    def measure(self, model: nn.Module) -> dict[str, float]:
        assert isinstance(model, nn.ModuleDict)
        made = model["maker"](torch.randn(50, 2))  # drawn: the same however the run came here
        return {"far": float((made.mean(0) - self.x.mean(0)).norm())}

    def samples(self, model: nn.Module) -> str:
        assert isinstance(model, nn.ModuleDict)
        return f"{model['maker'](torch.randn(1, 2)).tolist()}\n"


def session(task: Task, folder: Path, about: dict[str, Any] | None = None, **settings: Any) -> Run:
    """A run of any task, not yet resumed."""
    folder.mkdir(exist_ok=True)
    task.prepare(folder)
    chosen = {"steps": 20, "save_every": 5, "warmup": 2, "rate": 0.01, **settings}
    return Run(task, Train(**chosen), folder, Precision("float32", "asked for"), Heard(), [], about or {})


def weights(file: Path) -> dict[str, Tensor]:
    """The tensors of a file."""
    return load_file(file)
