"""T5: told to stop, in whatever phase: saved and gone within a step + 10 s, exit code 75, and the run goes on as if
nothing had been. A second signal stops at once."""

from __future__ import annotations

import itertools
import os
import random
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from regard.train.signals import AGAIN, ASKED
from tests.reliability.report import Row, each, row, zygotes
from tests.train.toys import command, outcome, sentences, write_pairs
from tests.train.zygote import AND, PHASES, Zygote

LENGTH = ("--train.steps", 6, "--train.save-every", 3)
SIGNALS = [number.name for number in ASKED]
SOON = 10.0  # seconds; a step of a toy is nothing beside it
AT_ONCE = 2.0


@dataclass(frozen=True)
class Whole:
    """A run that nobody disturbed. Others belong beside it: a recipe names its text as seen from the run."""

    folder: Path
    files: dict[str, Path]
    found: dict[str, bytes]
    seconds: float

    def command(self, run: Path) -> list[str]:
        return command("transformer", run, self.files, *LENGTH)


def undisturbed(zygote: Zygote, folder: Path) -> Whole:
    """What a run comes to, and how long it takes."""
    files = write_pairs(folder / "text", sentences(40))
    began = time.monotonic()
    (folder / "whole").mkdir()
    run, out = folder / "whole" / "run", folder / "whole" / "out"
    assert zygote.run(command("transformer", run, files, *LENGTH), out) == 0, out.read_text(encoding="utf-8")
    return Whole(folder, files, outcome(run), time.monotonic() - began)


def stopped(zygote: Zygote, whole: Whole, name: str, phase: str, number: str, within: float = SOON) -> str | None:
    """A signal in a phase, or two; then the same command again. What is not as promised."""
    folder = whole.folder / name
    folder.mkdir()
    run, out = folder / "run", folder / "out"
    code = zygote.run(whole.command(run), out, signal=number, at=phase)
    took = time.monotonic() - float(Path(f"{out}.sent").read_text(encoding="ascii"))
    return after_it(zygote, run, out, whole, code, took, within, told=phase in PHASES)


def stopped_by_the_clock(zygote: Zygote, whole: Whole, name: str, when: float, number: str) -> str | None:
    """A signal from outside at any moment; where the run had ended before, it comes sooner in another."""
    folder = whole.folder / name
    folder.mkdir()
    run, out = folder / "run", folder / "out"
    process = zygote.start(whole.command(run), out)
    time.sleep(0.1 + when * whole.seconds)
    sent = time.monotonic()
    with suppress(ProcessLookupError):
        os.kill(process, getattr(signal, number))
    code = zygote.end()
    if code == 0 and when > 0.01:
        return stopped_by_the_clock(zygote, whole, f"{name}-sooner", when / 2, number)
    return after_it(zygote, run, out, whole, code, time.monotonic() - sent, SOON, told=True)


def after_it(
    zygote: Zygote, run: Path, out: Path, whole: Whole, code: int, took: float, within: float, told: bool
) -> str | None:
    """Whether it stopped as promised, and goes on as if nothing had been."""
    said = out.read_text(encoding="utf-8")
    if code != AGAIN or "Traceback" in said:
        return f"exit code {code}: {said[-500:]}"
    if told and "run the same command to go on" not in said:
        return f"it did not say what to do: {said[-500:]}"
    if took > within:
        return f"it took {took:.1f} s"
    if zygote.run(whole.command(run), out) != 0:
        return f"it did not go on: {out.read_text(encoding='utf-8')[-500:]}"
    found = outcome(run)
    different = sorted(name for name in whole.found.keys() | found.keys() if whole.found.get(name) != found.get(name))
    return f"{', '.join(different)} differ" if different else None


def check(work: Path, quick: bool, seed: int) -> list[Row]:
    """T5: 100 signals over all phases, and 18 times a second one."""
    began, rng = time.monotonic(), random.Random(seed)
    rounds, clock, twice = (1, 3, 1) if quick else (4, 16, 2)
    kinds = list(itertools.product(PHASES, SIGNALS))[:: 3 if quick else 1] * rounds
    cases: list[tuple[float | str, str]] = [*kinds, *((rng.random(), rng.choice(SIGNALS)) for _ in range(clock))]
    with zygotes(2) as lender:
        with lender.lent() as one:
            whole = undisturbed(one, work)

        def run(number: int) -> str | None:
            when, what = cases[number]
            with lender.lent() as zygote:
                if isinstance(when, str):
                    problem = stopped(zygote, whole, str(number), when, what)
                else:
                    problem = stopped_by_the_clock(zygote, whole, str(number), when, what)
            return f"{what}, {when}: {problem}" if problem else None

        wrong = each("T5", range(len(cases)), run, workers=2)
        first = row(
            "T5", "SIGTERM, SIGINT, SIGUSR1 in every phase and at random moments",
            "100/100 saved and gone in a step + 10 s, exit code 75, same end", wrong, began,
        )  # fmt: skip
        began, second = time.monotonic(), list(itertools.product(AND, SIGNALS)) * twice

        def again(number: int) -> str | None:
            with lender.lent() as zygote:
                return stopped(zygote, whole, f"twice{number}", *second[number], within=AT_ONCE)

        wrong = each("T5, twice", range(len(second)), again, workers=2)
    return [first, row("T5", "a second signal stops at once; the run still goes on", "all, within 2 s", wrong, began)]
