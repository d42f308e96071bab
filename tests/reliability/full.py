"""T12: the disk runs full. A small disk is mounted where that is allowed; elsewhere writes are refused as if it were.

Mounting needs a name space of its own, so the check runs in a process of its own: `unshare -rm python -m ...full`.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from regard.train.saves import Saves
from tests.reliability.report import ROOT, Row, each, row
from tests.train.toys import command, outcome, sentences, write_pairs
from tests.train.trouble import fill
from tests.train.zygote import Zygote

LENGTH = ("--train.steps", 24, "--train.save-every", 8, "--train.average", 2)
LOG_EVERY = 2
MEGABYTES = 16


@dataclass(frozen=True)
class Place:
    """Where runs are, with what they learn from; and whether it is a small disk that can really be filled."""

    folder: Path
    small: bool
    files: dict[str, Path]
    found: dict[str, bytes]
    """What a run comes to that has room."""
    save: int
    """Bytes of a save."""

    def command(self, run: Path, *more: object) -> list[str]:
        return command("transformer", run, self.files, *LENGTH, *more)

    def full(self, run: Path, leave: int, begin: int, end: int | None = None) -> dict[str, object]:
        """An order to fill the disk."""
        ballast = str(self.folder / "ballast") if self.small else None
        return {
            "ballast": ballast,
            "run": str(run),
            "leave": leave,
            "begin": begin,
            "end": end,
            "log_every": LOG_EVERY,
        }

    def empty(self) -> None:
        """Room again."""
        (self.folder / "ballast").unlink(missing_ok=True)


def place(zygote: Zygote, folder: Path, small: bool, text: Path) -> Place:
    """One run with room, to compare with."""
    files = write_pairs(text, sentences(60))
    run = folder / "whole"
    order = {"ballast": None, "run": str(run), "leave": 0, "begin": -1, "end": None, "log_every": LOG_EVERY}
    assert zygote.run(command("transformer", run, files, *LENGTH), text / "out", full=order) == 0
    last = max((run / "saves").glob("[0-9]*"))
    found = Place(folder, small, files, outcome(run), sum(f.stat().st_size for f in last.glob("*.safetensors")))
    shutil.rmtree(run)
    return found


def in_a_save(zygote: Zygote, where: Place, rng: random.Random, out: Path) -> str | None:
    """Full at some step: one sentence ends it, what was saved is whole, and with room it goes on to the same end."""
    run = where.folder / "run"
    order = where.full(run, leave=rng.randrange(where.save), begin=rng.randint(1, 23))
    code = zygote.run(where.command(run), out, full=order)
    where.empty()
    said = out.read_text(encoding="utf-8")
    told = re.search(
        r"is full .*needs ([\d,]+) bytes and [\d,]+ are free; what was saved before is whole: free", said
    )
    if code != 2 or told is None or "Traceback" in said:
        return f"{order}: exit code {code}: {said[-500:]}"
    newest, wrong = Saves(run / "saves", every=8, average=2, keep=2).newest()
    if newest is None or wrong:
        return f"{order}: {newest}, {wrong}"
    again = zygote.run(where.command(run), out, full=where.full(run, 0, -1))
    if again != 0 or outcome(run) != where.found:
        return f"{order}: then {again}: {out.read_text(encoding='utf-8')[-500:]}"
    return None


def in_the_log(zygote: Zygote, where: Place, rng: random.Random, out: Path) -> str | None:
    """Full for some steps between saves: said once, training goes on, and the log has no hole."""
    run = where.folder / "run"
    end = rng.randint(
        3, 7
    )  # the log begins after it is full: what it has already may have room left in its last block
    code = zygote.run(where.command(run), out, full=where.full(run, 0, 1, end))
    where.empty()
    said = out.read_text(encoding="utf-8")
    if code != 0 or said.count("log.jsonl cannot be written (No space left on device); training goes on") != 1:
        return f"until step {end}: exit code {code}: {said[-500:]}"
    return None if outcome(run) == where.found else f"until step {end}: another end"


def before_the_first_step(zygote: Zygote, where: Place, rng: random.Random, out: Path) -> str | None:
    """A disk too small for the saves to come is found out before any training."""
    run = where.folder / "run"
    if not where.small:
        return None if zygote.run(where.command(run), out, free=1000) == 2 else "not refused"
    fill(where.folder / "ballast", 3 * where.save)
    code = zygote.run(where.command(run), out)
    where.empty()
    said = out.read_text(encoding="utf-8")
    told = re.search(
        r"has room for [\d,]+ bytes, and the saves and the model of this run need [\d,]+ more; free", said
    )
    if code != 2 or told is None or any(run.glob("saves/*")):
        return f"exit code {code}: {said[-500:]}"
    return None


def cases(folder: Path, small: bool, text: Path, quick: bool, seed: int) -> list[Row]:
    """All of them, on this disk."""
    by = "a tmpfs" if small else "refused writes"
    kinds = [in_a_save] * (2 if quick else 14) + [in_the_log] * (1 if quick else 6)
    with Zygote() as zygote:
        where = place(zygote, folder, small, text)

        def run(number: int) -> str | None:
            kind = before_the_first_step if number < 0 else kinds[number]
            try:
                return kind(zygote, where, random.Random(f"{seed} {number}"), text / f"{number}.out")
            finally:
                where.empty()
                shutil.rmtree(folder / "run", ignore_errors=True)

        began = time.monotonic()
        wrong = each("T12", range(len(kinds)), run)
        what = (
            "the disk runs full in saves, models and logs: what was saved is whole, only a full log is gone on with"
        )
        rows = [row("T12", what, "20/20 same end when there is room again", wrong, began, by=by)]
        began = time.monotonic()
        early = [run(-1)]
    return [*rows, row("T12", "too little room is found out before the first step", "1/1", early, began, by=by)]


def check(work: Path, quick: bool, seed: int) -> list[Row]:
    """T12, on a disk of its own if that may be had."""
    work.mkdir(parents=True)
    words = [sys.executable, "-m", "tests.reliability.full", str(work), str(seed), *(["quick"] if quick else [])]
    small = subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode == 0
    done = subprocess.run(
        [*(["unshare", "-rm"] if small else []), *words], cwd=ROOT, stdout=subprocess.PIPE, check=True
    )
    rows: list[Row] = json.loads(done.stdout)
    return rows


def main(work: Path, seed: int, quick: bool) -> None:
    """In a name space of its own, if there is one: mount, check, tell."""
    disk = work / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={MEGABYTES}m", "tmpfs", str(disk)]
    small = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    print(json.dumps(cases(disk, small, work / "text", quick, seed)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), "quick" in sys.argv[3:])
