"""T1 and T2: a run that was killed, at whatever moment and however often, is byte for byte the one that was not.

Some moments are file operations, so that saves, logs and models are hit while they are written; some are the first
step, a validation, a save; the others are moments of the clock.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.reliability.report import Row, each, row, zygotes
from tests.train.toys import MODELS, WIDE, command, outcome, sentences, write_pairs
from tests.train.zygote import Zygote

LENGTH = ("--train.steps", 40, "--train.save-every", 10, "--train.average", 3)
THREADS = {1: (), 2: ("--train.threads", 2, "--train.batch-tokens", 600)}  # enough work to be shared out
PHASES = ("warm-up", "step", "validation", "save")


@dataclass(frozen=True)
class Whole:
    """A run that nobody killed: its command, what it came to, its file operations and its seconds."""

    model: str
    more: tuple[object, ...]
    files: dict[str, Path]
    found: dict[str, bytes]
    operations: int
    seconds: float

    def command(self, run: Path) -> list[str]:
        return command(self.model, run, self.files, *LENGTH, *self.more)

    def difference(self, run: Path) -> list[str]:
        """The files in which another run differs."""
        found = outcome(run)
        return sorted(name for name in self.found.keys() | found.keys() if self.found.get(name) != found.get(name))


@dataclass(frozen=True)
class Death:
    """When a run is killed: `operation` number, `phase` name, or a share of its time by the `clock`."""

    how: str
    when: float | str


def pairs(folder: Path) -> dict[str, Path]:
    """Text to learn from."""
    return write_pairs(folder / "text", sentences(300))


def undisturbed(zygote: Zygote, folder: Path, files: dict[str, Path], model: str, threads: int = 1) -> Whole:
    """A run that comes to its end, and how many file operations it has on the way."""
    folder.mkdir(parents=True)
    run, began = folder / "run", time.monotonic()
    args = command(model, run, files, *LENGTH, *THREADS[threads])
    assert zygote.run(args, folder / "out", count=str(folder / "count")) == 0, (folder / "out").read_text("utf-8")
    count = int((folder / "count").read_text(encoding="ascii"))
    return Whole(model, THREADS[threads], files, outcome(run), count, time.monotonic() - began)


def for_real(folder: Path, whole: Whole) -> str | None:
    """The command itself, in a process that was not forked, comes to the same."""
    words = [sys.executable, "-m", "regard", *whole.command(folder / "run")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return done.stderr[-500:]
    different = whole.difference(folder / "run")
    return f"{whole.model}: {', '.join(different)} differ in a process of its own" if different else None


def deaths(rng: random.Random, whole: Whole, count: int) -> list[Death]:
    """Of each kind some."""
    kinds = itertools.cycle(["operation", "phase", "clock", "operation"])
    phases = itertools.cycle(PHASES)
    draw = {
        "operation": lambda: float(rng.randint(1, whole.operations)),
        "phase": lambda: next(phases),
        "clock": rng.random,
    }
    return [Death(kind, draw[kind]()) for kind, _ in zip(kinds, range(count), strict=False)]


def killed(zygote: Zygote, args: list[str], out: Path, death: Death, seconds: float) -> None:
    """Start and kill; where it had come to its end before, it is done again and killed sooner."""
    if death.how == "operation":
        assert zygote.run(args, out, die_at=int(death.when)) == -signal.SIGKILL
        return
    if death.how == "phase":
        assert zygote.run(args, out, signal="SIGKILL", at=death.when) == -signal.SIGKILL
        return
    process = zygote.start([*args, "--fresh"], out)
    time.sleep(float(death.when) * seconds)
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
    if zygote.end() != -signal.SIGKILL:
        killed(zygote, args, out, Death("clock", float(death.when) / 2), seconds)


def one_kill(zygote: Zygote, folder: Path, whole: Whole, death: Death) -> str | None:
    """Kill a run, and start it again."""
    run, out = folder / "run", folder / "out"
    folder.mkdir(parents=True)
    killed(zygote, whole.command(run), out, death, whole.seconds)
    problem = ended(zygote, run, out, whole)
    return f"{death}: {problem}" if problem else None


def ended(zygote: Zygote, run: Path, out: Path, whole: Whole) -> str | None:
    """Let a run come to its end; in what it then differs from the one that nobody killed."""
    if zygote.run(whole.command(run), out) != 0:
        return f"{whole.model}: {out.read_text(encoding='utf-8')[-500:]}"
    different = whole.difference(run)
    return f"{whole.model}: {', '.join(different)} differ" if different else None


def once(work: Path, quick: bool, seed: int) -> list[Row]:
    """T1: 60 kills."""
    began, count = time.monotonic(), 4 if quick else 60
    kinds = [("transformer", 1), ("rnn", 2)] if quick else list(itertools.product(MODELS | WIDE, THREADS))
    with zygotes(2) as lender:
        files = pairs(work)
        with lender.lent() as one:
            wholes = [undisturbed(one, work / f"{model}{threads}", files, model, threads) for model, threads in kinds]
        shares = [count // len(kinds) + (number < count % len(kinds)) for number in range(len(kinds))]
        cases = [
            (whole, death, work / f"{number}-{which}")
            for number, (whole, share) in enumerate(zip(wholes, shares, strict=True))
            for which, death in enumerate(deaths(random.Random(f"{seed} {number}"), whole, share))
        ]

        def run(case: tuple[Whole, Death, Path]) -> str | None:
            with lender.lent() as zygote:
                return one_kill(zygote, case[2], case[0], case[1])

        wrong = each("T1", cases, run, workers=2)
        other = None if quick else [for_real(work / f"real{number}", whole) for number, whole in enumerate(wholes)]
    what = "kill -9 at random moments, Transformer, wide Transformer and RNN with dropout, 1 and 2 threads"
    rows = [row("T1", what, "60/60 weights, optimiser state, log: same bytes", wrong, began)]
    if other is not None:
        rows.append(row("T1", "forked processes come to the same as the command itself", "6/6", other, began))
    return rows


def thrice(work: Path, quick: bool, seed: int) -> list[Row]:
    """T2: three kills in one run, a resume of a resume of a resume."""
    began, count = time.monotonic(), 2 if quick else 10
    with zygotes(2) as lender:
        files = pairs(work)
        with lender.lent() as one:
            wholes = [undisturbed(one, work / model, files, model) for model in MODELS]

        def run(number: int) -> str | None:
            rng, whole = random.Random(f"{seed} {number}"), wholes[number % len(wholes)]
            with lender.lent() as zygote:
                return three_kills(zygote, work / str(number), whole, rng)

        wrong = each("T2", range(count), run, workers=2)
    return [row("T2", "three kills in one run", "10/10 same bytes", wrong, began)]


def three_kills(zygote: Zygote, folder: Path, whole: Whole, rng: random.Random) -> str | None:
    """Each some way further; a session that had less to do than that ends by itself."""
    run, out = folder / "run", folder / "out"
    folder.mkdir(parents=True)
    for _ in range(3):
        code = zygote.run(whole.command(run), out, die_at=rng.randint(5, whole.operations // 2))
        if code not in (-signal.SIGKILL, 0):
            return f"{whole.model}: {out.read_text(encoding='utf-8')[-500:]}"
    return ended(zygote, run, out, whole)
