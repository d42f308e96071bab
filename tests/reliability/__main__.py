"""The promises of docs/reliability.md at full size: `python -m tests.reliability --to docs/results`.

`--only T1 T3` runs these and keeps what is known of the others; `--quick` is a look whether it works at all. Nothing
is written unless it is told where.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.reliability import corruption, faults, full, kills, stops, trouble
from tests.reliability.report import Row, commit, row, write

Check = Callable[[Path, bool, int], list[Row]]
CHECKS: dict[str, Check] = {
    "T1": kills.once,
    "T2": kills.thrice,
    "T3": faults.check,
    "T4": corruption.check,
    "T5": stops.check,
    "T8": trouble.no_numbers,
    "T9": trouble.same_seed,
    "T12": full.check,
    "T16": trouble.one_process,
}
MORE = ("ranks", "big", "text", "files", "lines", "decode", "audit")
"""Modules whose `check()` needs nothing and says itself which promises it is about; they have no quick form."""


def checks() -> dict[str, Check]:
    """All there are, by name."""
    found = dict(CHECKS)
    for name in MORE:
        if importlib.util.find_spec(f"tests.reliability.{name}") is not None:
            found[name] = lambda _work, _quick, _seed, name=name: importlib.import_module(
                f"tests.reliability.{name}"
            ).check()
    return found


def carried_out(name: str, check: Check, work: Path, quick: bool, seed: int) -> list[Row]:
    """One check; that it could not be carried out is a result too, and the others go on."""
    began = time.monotonic()
    try:
        return check(work, quick, seed)
    except Exception as error:
        problem = f"{type(error).__name__}: {error}".replace(str(work), "WORK")
        return [row(name, "the check itself", "is carried out", [problem], began)]


def main() -> int:
    """Run them one after the other; the results are written after each, so that nothing is lost."""
    known = checks()
    asked = argparse.ArgumentParser(prog="python -m tests.reliability", description=__doc__)
    asked.add_argument("--to", type=Path, help="folder for reliability.json and reliability.md")
    asked.add_argument("--only", nargs="+", choices=list(known), metavar="ID", help=", ".join(known))
    asked.add_argument("--quick", action="store_true", help="few cases of each")
    asked.add_argument("--seed", type=int, default=1)
    given = asked.parse_args()
    if given.only is None:
        given.only = list(CHECKS if given.quick else known)
    of = f"python -m tests.reliability --seed {given.seed}{' --quick' if given.quick else ''}"
    bad, began = 0, time.monotonic()
    for number, name in enumerate(given.only, 1):
        print(
            f"{name}: {number} of {len(given.only)}, {time.monotonic() - began:.0f} s so far",
            file=sys.stderr,
            flush=True,
        )
        with tempfile.TemporaryDirectory(prefix="regard-") as work:
            rows = carried_out(name, known[name], Path(work) / name, given.quick, given.seed)
        about = {"command": f"{of} --only {name}", "commit": commit(), "seed": given.seed}
        rows = [{**one, **about} for one in rows]
        for one in rows:
            print(
                f"{one['id']}: {one['what']}: {one['reached']} {'passed' if one['passed'] else 'FAILED'}", flush=True
            )
            print("".join(f"  {problem}\n" for problem in one.get("wrong", [])), end="", flush=True)
        bad += sum(not one["passed"] for one in rows)
        if given.to is not None:
            write(given.to, rows)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
