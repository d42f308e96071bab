"""What the checks share: rows, progress with the time left, processes to kill, and the tables in docs/results."""

from __future__ import annotations

import json
import os
import platform
import queue
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from tests.train.zygote import Zygote

Row = dict[str, Any]
Case = TypeVar("Case")
ROOT = Path(__file__).parents[2]


def row(name: str, what: str, goal: str, wrong: Sequence[str | None], began: float, **more: object) -> Row:
    """The outcome of a check of so many cases, each wrong in some way or not (None)."""
    bad = [problem for problem in wrong if problem]
    reached, passed = f"{len(wrong) - len(bad)}/{len(wrong)}", bool(wrong) and not bad
    seconds = round(time.monotonic() - began, 1)
    told = {"id": name, "what": what, "goal": goal, "reached": reached, "passed": passed, "seconds": seconds}
    return {**told, **more, "wrong": bad[:5]}


def each(name: str, cases: Sequence[Case], run: Callable[[Case], str | None], workers: int = 1) -> list[str | None]:
    """Run all cases, some side by side; what was wrong with each. The time left is shown."""
    began, shown = time.monotonic(), 0.0
    wrong: list[str | None] = [None] * len(cases)
    with ThreadPoolExecutor(workers) as pool:
        waiting = {pool.submit(_told, run, case): number for number, case in enumerate(cases)}
        for done, future in enumerate(as_completed(waiting), 1):
            wrong[waiting[future]] = future.result()
            passed = time.monotonic() - began
            if sys.stderr.isatty() or passed - shown > 15 or done == len(cases):
                shown, left = passed, passed / done * (len(cases) - done)
                bad = sum(1 for problem in wrong if problem)
                end = "\r" if sys.stderr.isatty() and done < len(cases) else "\n"
                print(
                    f"{name}  {done}/{len(cases)}  {bad} wrong  {left:3.0f} s left ",
                    end=end,
                    file=sys.stderr,
                    flush=True,
                )
    return wrong


def _told(run: Callable[[Case], str | None], case: Case) -> str | None:
    """A check that fails in a way nobody thought of has failed; the others go on."""
    try:
        return run(case)
    except Exception as error:
        return f"{case}: {type(error).__name__}: {error}"


class Zygotes:
    """Some of them, lent to whoever has a process to run."""

    def __init__(self, all_of_them: Sequence[Zygote]) -> None:
        self._free: queue.Queue[Zygote] = queue.Queue()
        for one in all_of_them:
            self._free.put(one)

    @contextmanager
    def lent(self) -> Iterator[Zygote]:
        one = self._free.get()
        try:
            yield one
        finally:
            self._free.put(one)


@contextmanager
def zygotes(count: int) -> Iterator[Zygotes]:
    """So many, for as long as they are needed."""
    with ExitStack() as stack:
        yield Zygotes([stack.enter_context(Zygote()) for _ in range(count)])


def circumstances() -> dict[str, Any]:
    """What the figures were measured with."""
    import torch

    known = Path("/proc/cpuinfo")
    lines = known.read_text(encoding="utf-8").splitlines() if known.is_file() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "cores": os.cpu_count(), "processor": (names or [platform.machine()])[0], "torch": torch.__version__,
        "python": platform.python_version(), "system": platform.system(),
    }  # fmt: skip


def commit() -> str:
    """Of which state of the repository; + if code is other than what was committed (results of before may be)."""
    name = _git("rev-parse", "--short", "HEAD")
    return name + "+" if name and _git("status", "--porcelain", "--", ".", ":!docs/results") else name or "?"


def _git(*asked: str) -> str:
    try:
        return subprocess.run(["git", *asked], capture_output=True, text=True, cwd=ROOT).stdout.strip()
    except OSError:
        return ""


def write(to: Path, rows: Sequence[Row]) -> None:
    """Into reliability.json and reliability.md; rows that were there stay, unless there are newer ones."""
    to.mkdir(parents=True, exist_ok=True)
    file = to / "reliability.json"
    before: list[Row] = json.loads(file.read_text(encoding="utf-8"))["checks"] if file.is_file() else []
    found = {(str(one["id"]), str(one["what"])): one for one in [*before, *rows]}
    new = {str(one["id"]) for one in rows}
    kept = [one for key, one in found.items() if key[0] not in new or one in rows]
    kept.sort(key=_place)
    file.write_text(
        json.dumps({**circumstances(), "checks": kept}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    (to / "reliability.md").write_text(table(kept), encoding="utf-8")


def table(rows: Sequence[Row]) -> str:
    """For people."""
    about = circumstances()
    lines = [
        "# Reliability, measured", "",
        f"`make reliability`; {about['cores']} cores, {about['processor']}, torch {about['torch']}. "
        "Each promise is explained in [reliability.md](../reliability.md).", "",
        "| id | promise | goal | reached | passed | seconds | commit |", "|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for one in rows:
        told = (
            one["id"],
            one["what"],
            one["goal"],
            one["reached"],
            "yes" if one["passed"] else "**no**",
            round(float(one["seconds"]), 1),
            one.get("commit", "?"),
        )
        lines.append("| " + " | ".join(str(cell).replace("|", "\\|") for cell in told) + " |")
    return "\n".join(lines) + "\n"


def _place(one: Row) -> tuple[int, int, str, str]:
    """Training before decoding, files and serving; what has no letter of its own comes last."""
    name = str(one["id"])
    return "TDFS".find(name[0]) % 5, int("".join(c for c in name if c.isdigit()) or 0), name, str(one["what"])
