"""T8: gradients that are no numbers. T9: the same seed is the same run. T16: one process a folder."""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import time
from pathlib import Path
from typing import Any

from safetensors.torch import load_file

from regard.train.drive import SKIPS
from tests.reliability.kills import THREADS
from tests.reliability.report import Row, each, row, zygotes
from tests.train.toys import MODELS, command, outcome, sentences, write_pairs
from tests.train.zygote import Zygote

SHORT = ("--train.steps", 30, "--train.save-every", 10)


def poisoned(zygote: Zygote, folder: Path, files: dict[str, Path], model: str, rng: random.Random) -> str | None:
    """Some steps have no finite gradient, in half of the cases more than ten in a row."""
    folder.mkdir(parents=True)
    first, long = rng.randint(1, 12), rng.choice([rng.randint(1, 6), rng.randint(SKIPS, 15)])
    steps = sorted({*range(first, first + long), *rng.sample(range(1, 31), 3)})
    order = {"steps": steps, "value": rng.choice([float("nan"), float("inf")]), "gradient": rng.random() < 0.5}
    run, out = folder / "run", folder / "out"
    if zygote.run(command(model, run, files, *SHORT), out, poison=order) != 0:
        return f"{model}, {order}: {out.read_text(encoding='utf-8')[-500:]}"
    log = [json.loads(line) for line in (run / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    problem = not_as_told(run, log, steps)
    return f"{model}, {order}: {problem}" if problem else None


def not_as_told(run: Path, log: list[dict[str, Any]], steps: list[int]) -> str | None:
    """Each skipped step is logged with its lines, ten in a row go back at half the rate, all weights are finite."""
    skipped = [line["step"] for line in log if "skipped" in line]
    if skipped != steps:
        return f"skipped {skipped}"
    if not all("line" in line["skipped"] for line in log if "skipped" in line):
        return "no lines are named"
    backs = [line["rate_factor"] for line in log if "rolled_back" in line]
    in_a_row = [len(list(group)) for _, group in itertools.groupby(enumerate(steps), lambda pair: pair[1] - pair[0])]
    if backs != [0.5 ** (number + 1) for number in range(sum(length // SKIPS for length in in_a_row))]:
        return f"rates after going back: {backs}"
    files = [*run.glob("model-*"), *run.glob("saves/*/*.safetensors")]
    bad = [file.name for file in files if not all(value.isfinite().all() for value in load_file(file).values())]
    return f"not finite: {bad}" if bad or not files else None


def no_numbers(work: Path, quick: bool, seed: int) -> list[Row]:
    """T8: 20 runs."""
    began, files = time.monotonic(), write_pairs(work / "text", sentences(60))
    with zygotes(2) as lender:

        def run(number: int) -> str | None:
            with lender.lent() as zygote:
                model, rng = list(MODELS)[number % 2], random.Random(f"{seed} {number}")
                return poisoned(zygote, work / str(number), files, model, rng)

        wrong = each("T8", range(4 if quick else 20), run, workers=2)
    what = (
        "NaN or infinity in losses and gradients: skipped, counted, lines logged; ten in a row: back, half the rate"
    )
    return [row("T8", what, "20/20 all weights finite", wrong, began)]


def same_seed(work: Path, quick: bool, seed: int) -> list[Row]:
    """T9: three runs of each kind; then one that goes on with other threads."""
    began, files = time.monotonic(), write_pairs(work / "text", sentences(200))
    with Zygote() as zygote:

        def run(kind: tuple[str, int]) -> str | None:
            model, threads = kind
            found = []
            for number in range(3):
                at = work / f"{model}{threads}-{number}"
                if zygote.run(command(model, at, files, *SHORT, *THREADS[threads]), at.with_suffix(".out")) != 0:
                    return f"{kind}: {at.with_suffix('.out').read_text(encoding='utf-8')[-500:]}"
                found.append(outcome(at))
            return None if found[0] == found[1] == found[2] else f"{kind}: they differ"

        wrong = each("T9", list(itertools.product(MODELS, [1] if quick else THREADS)), run)
        out, at = work / "other.out", work / "transformer1-0"
        more = (*SHORT, "--train.steps", 32, "--train.threads", 2)
        code = zygote.run(command("transformer", at, files, *more), out)
        said = out.read_text(encoding="utf-8")
        announced = code == 0 and "threads was 1 and is 2: from here on results may differ" in said
    return [
        row("T9", "same seed, machine and threads: three runs, same bytes", "3/3 of each kind", wrong, began),
        row("T9", "other threads are announced", "1/1", [None if announced else said[-500:]], began),
    ]


def taken_over(first: Zygote, second: Zygote, folder: Path, files: dict[str, Path], wait: float) -> str | None:
    """One process trains; another is refused and told of it; the first is killed, and the other takes over."""
    folder.mkdir(parents=True)
    run, out = folder / "run", folder / "out"
    long, short = (("--train.steps", steps, "--train.save-every", 5) for steps in (1_000_000, 5))
    holder = first.start(command("transformer", run, files, *long), folder / "first.out")
    try:
        while not ((run / ".lock").exists() and (run / ".lock").read_text(encoding="ascii") == str(holder)):
            time.sleep(0.01)
        time.sleep(wait)  # it may be learning pieces, or training
        refused = second.run(command("transformer", run, files, *short), out)
        said = out.read_text(encoding="utf-8")
    finally:
        os.kill(holder, signal.SIGKILL)
        first.end()
    if refused != 2 or f"in use by process {holder};" not in said:
        return f"not refused: {refused}, {said[-500:]}"
    if second.run(command("transformer", run, files, *short), out) != 0:
        return f"not taken over: {out.read_text(encoding='utf-8')[-500:]}"
    return None


def one_process(work: Path, quick: bool, seed: int) -> list[Row]:
    """T16: 20 times, killed in whatever phase."""
    began, files = time.monotonic(), write_pairs(work / "text", sentences(40))
    rng = random.Random(seed)
    with Zygote() as first, Zygote() as second:

        def run(number: int) -> str | None:
            return taken_over(first, second, work / str(number), files, 2 * rng.random())

        wrong = each("T16", range(3 if quick else 20), run)
    what = "two processes, one folder: the second is refused and told of the first; a dead one's hold is taken over"
    return [row("T16", what, "20/20", wrong, began)]
