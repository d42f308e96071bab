"""F1-F7 in full: every folder that lies, a minute of fuzzing for each reader, every format, the floors."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.files.cage import Cage
from tests.files.hostile import cases
from tests.files.test_hostile import trouble

ROOT = Path(__file__).parents[2]
SECONDS = 60
READERS = ("reader", "recipe", "manifest", "pieces", "weights", "body", "tags")
Row = dict[str, Any]


def check() -> list[Row]:
    """One row for each requirement."""
    return [
        tested("F1", "no pickle", "0 classes looked up", "tests/train/test_kills.py::test_nothing_is_pickled"),
        _timed(_hostile),
        tested("F3", "archives", "none is unpacked; a bomb is refused", "tests/files/test_trust.py", "-k", "archive"),
        *(_timed(lambda name=name: _fuzzed(name)) for name in READERS),
        tested("F6", "every format loads", "100 %", "tests/files/test_formats.py"),
        tested("F7", "floors of what reads files", "stated", "tests/files/test_trust.py", "-k", "floors"),
    ]


def _timed(row: Callable[[], Row]) -> Row:
    started = time.monotonic()
    return {**row(), "seconds": round(time.monotonic() - started, 1)}


def _hostile() -> Row:
    """F2: each folder is refused with its sentence, with nothing run or written, in bounded memory."""
    every = cases()
    wrong = []
    with Cage() as cage, tempfile.TemporaryDirectory() as place:
        for number, case in enumerate(every):
            folder = Path(place, str(number))
            folder.mkdir()
            wrong += [found for found in [trouble(cage, case, folder)] if found]
    reached = f"{len(every) - len(wrong)}/{len(every)}" + (f"; first: {wrong[0]}" if wrong else "")
    return {"id": "F2", "what": "malicious model folders refused", "goal": "80/80", "reached": reached,
            "passed": not wrong and len(every) >= 80}  # fmt: skip


def _fuzzed(name: str) -> Row:
    """F4 and F5: a minute of changed files."""
    command = [sys.executable, "-m", "fuzz", name, "--seconds", str(SECONDS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    said = (done.stdout + done.stderr).strip().splitlines()
    runs = [line.split()[-1] for line in said if line.startswith("stat::number_of_executed_units")]
    reached = f"{runs[0]} files, guided" if runs else (said[-1] if said else "nothing")
    return {"id": "F4" if name == "recipe" else "F5", "what": f"fuzzing: {name}", "reached": reached,
            "goal": f"{SECONDS} s: 0 undocumented errors", "passed": done.returncode == 0}  # fmt: skip


def tested(ident: str, what: str, goal: str, *which: str) -> Row:
    """What pytest says of these tests, in its last line."""

    def row() -> Row:
        command = [sys.executable, "-m", "pytest", "-n", "0", "-o", "addopts=", *which]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.stderr[-200:]
        return {"id": ident, "what": what, "goal": goal, "reached": last.strip("= "), "passed": done.returncode == 0}

    return _timed(row)
