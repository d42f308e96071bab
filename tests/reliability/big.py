"""T15: a corpus larger than memory should be. Ten million pairs are written, read, numbered, and loaded twice.

The measuring is done by a process of its own, `python -m tests.reliability.big FOLDER`, so that nothing else counts.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from regard.tasks.translation import Translation

ROOT = Path(__file__).parents[2]
PAIRS = 10_000_000
MOST = 1500.0  # MB
WORKER = 100.0  # MB that each of four workers may add
FLAT = 0.05
_WORDS = 20_000
_AT_ONCE = 100_000


def check(pairs: int = PAIRS) -> list[dict[str, Any]]:
    """Three rows: memory over two epochs, what workers add, and that it is numbered once."""
    with tempfile.TemporaryDirectory(prefix="regard-big-") as name:
        folder = Path(name)
        write_text(folder, pairs)
        environment = {**os.environ, "REGARD_CACHE": str(folder / "cache"), "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
        command = [sys.executable, "-m", "tests.reliability.big", str(folder)]
        subprocess.run(command, env=environment, cwd=ROOT, check=True, stdout=sys.stderr)
        return rows(pairs, json.loads((folder / "found.json").read_text(encoding="utf-8")))


def rows(pairs: int, found: dict[str, Any]) -> list[dict[str, Any]]:
    """What was found beside what was promised."""
    low, high = min(found["resident"]), max(found["resident"])
    spread = (high - low) / (high + low)
    workers, seconds = found["workers"], found["seconds"]
    flat = spread <= FLAT and found["peak"] < MOST and found["loaded"] == 2 * found["kept"]
    told = f"{pairs:,} pairs"
    return [
        {
            "id": "T15",
            "what": f"{told}: resident memory while two epochs are loaded",
            "goal": f"flat (± {FLAT:.0%}), under {MOST:,.0f} MB",
            "reached": f"{low:.0f} to {high:.0f} MB (± {spread:.1%}), {found['peak']:.0f} MB at most; "
            f"the process that learns pieces {found['others']:.0f} MB",
            "passed": flat,
            "seconds": seconds["epochs"],
        },
        {
            "id": "T15",
            "what": f"{told}: memory of their own that 4 workers add",
            "goal": f"under {WORKER:.0f} MB each",
            "reached": f"at most {max(workers):.0f} MB",
            "passed": len(workers) == 4 and max(workers) < WORKER,
            "seconds": seconds["workers"],
        },
        {
            "id": "T15",
            "what": f"{told}: made once, then taken by another run, with the same bytes",
            "goal": "nothing made again",
            "reached": f"{seconds['made']:.0f} s, then {seconds['taken']:.0f} s",
            "passed": found["taken"],
            "seconds": round(seconds["made"] + seconds["taken"], 1),
        },
    ]


def write_text(folder: Path, pairs: int, seed: int = 1) -> None:
    """Short sentences in two made-up languages, from a seed, and a few to validate on."""
    draw, rng = random.Random(seed), np.random.default_rng(seed)
    words = [[_word(draw, vowels) for _ in range(_WORDS)] for vowels in ("aeiou", "äeiöü")]
    for name, count in (("train", pairs), ("valid", 100)):
        paths = [folder / f"{name}.{side}" for side in ("en", "de")]
        with paths[0].open("w", encoding="utf-8") as left, paths[1].open("w", encoding="utf-8") as right:
            for start in range(0, count, _AT_ONCE):
                ends = np.cumsum(rng.integers(3, 12, min(_AT_ONCE, count - start))).tolist()
                chosen = (_WORDS * rng.random(ends[-1]) ** 3).astype(int).tolist()
                for file, known in ((left, words[0]), (right, words[1])):
                    said = [known[i] for i in chosen]
                    file.writelines(f"{' '.join(said[a:b])}\n" for a, b in zip([0, *ends[:-1]], ends, strict=True))


def _word(draw: random.Random, vowels: str) -> str:
    return "".join(draw.choice("bdfgklmnprst") + draw.choice(vowels) for _ in range(draw.randint(1, 4)))


def resident() -> float:
    """Megabytes of this process."""
    return _status("VmRSS")


def _status(name: str) -> float:
    told = Path("/proc/self/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) / 1000 for line in told.splitlines() if line.startswith(f"{name}:"))


def task(folder: Path, run: str) -> Translation:
    """The text made ready in a run."""
    from regard.models.settings import TransformerModel
    from regard.search.settings import Search
    from regard.tasks.parallel_text import TextSource
    from regard.tasks.settings import TextData
    from regard.tasks.translation import Translation

    files = {"source": "train.en", "target": "train.de", "valid_source": "valid.en", "valid_target": "valid.de"}
    data = TextData(**{name: folder / file for name, file in files.items()}, pieces=2000)
    threads = os.cpu_count() or 1
    found = Translation(
        TextSource(data, 1, threads, partial(print, flush=True)), TransformerModel(), Search(), 4096, 0.1
    )
    found.prepare(folder / run)
    return found


def loaded(made: Translation, samples: list[float]) -> int:
    """Load every batch of two epochs; how many pairs that were."""
    count = 0
    for epoch in range(2):
        batches = made.batches(epoch)
        for number, which in enumerate(batches):
            count += len(made.load(which).lengths)
            if number % 200 == 0:
                samples.append(resident())
        print(f"epoch {epoch}: {len(batches):,} batches, {samples[-1]:.0f} MB", flush=True)
    return count


def worked(made: Translation, batches: int = 2000) -> list[float]:
    """What four workers of torch's own loader hold for themselves after loading some batches."""
    from torch.utils.data import DataLoader, Dataset

    plan = made.batches(2)

    class Batches(Dataset[Any]):
        def __len__(self) -> int:
            return min(batches, len(plan))

        def __getitem__(self, place: int) -> Any:
            batch = made.load(plan[place])
            return batch.source.numpy(), batch.before.numpy()

    loader = iter(DataLoader(Batches(), batch_size=None, num_workers=4, collate_fn=lambda arrays: len(arrays[0])))
    for _ in range(min(batches, len(plan)) - 8):
        next(loader)
    return [own(worker.pid) for worker in loader._workers]  # type: ignore[attr-defined]


def own(process: int) -> float:
    """Megabytes that only this process holds."""
    told = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="utf-8")
    return sum(int(line.split()[1]) / 1000 for line in told.splitlines() if line.startswith("Private_"))


def measure(folder: Path) -> None:
    """Everything, in one process, written to a file."""
    seconds: dict[str, float] = {}
    began = time.monotonic()

    def note(name: str) -> None:
        nonlocal began
        seconds[name], began = round(time.monotonic() - began, 1), time.monotonic()
        print(f"{name}: {seconds[name]} s, {resident():.0f} MB", flush=True)

    made = task(folder, "one")
    note("made")
    samples: list[float] = []
    count = loaded(made, samples)
    peak, others = _status("VmHWM"), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
    note("epochs")
    workers = worked(made)
    note("workers")
    again = task(folder, "two")
    note("taken")
    same = made.text.train.manifest == again.text.train.manifest
    linked = os.path.samefile(folder / "one/data/train/source.ids", folder / "two/data/train/source.ids")
    told = {"resident": samples, "peak": peak, "loaded": count, "kept": len(made.text.train), "workers": workers}
    told["others"] = others
    (folder / "found.json").write_text(json.dumps({**told, "taken": same and linked, "seconds": seconds}))


if __name__ == "__main__":
    measure(Path(sys.argv[1]))
