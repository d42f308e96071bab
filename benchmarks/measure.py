"""Fair timing, peak memory and tables: what every benchmark here is measured with."""

from __future__ import annotations

import gc
import json
import math
import os
import platform
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.checkout import commit

Call = Callable[[], object]
Row = dict[str, Any]
Pass = tuple[Callable[[], Tensor], Sequence[Tensor]]  # what to compute, and where its gradient goes

LEAST = 0.04  # seconds in one sample; shorter calls are repeated
MORE = 3  # times as many rounds where calls are short: a few percent must show above the machine's noise


@dataclass
class Patience:
    """How long to wait, in all, for other work on the machine to pause; Linux alone tells how busy it is."""

    seconds: float = 0.0
    waited: float = 0.0

    def wait(self) -> None:
        """Returns when the processors are idle, or patience is at its end."""
        while self.waited < self.seconds and _busy(0.04) > 0.25:
            self.waited += 0.04


patience = Patience()


@dataclass(frozen=True)
class Section:
    """One comparison: what was done, in words, and its table."""

    title: str
    says: str
    rows: list[Row]

    def text(self) -> str:
        return f"## {self.title}\n\n{self.says}\n\n{table(self.rows)}\n"


def race(contestants: Mapping[str, Call], rounds: int) -> dict[str, list[float]]:
    """Seconds per call. Each round times everyone in turn, each time starting with another one, so that whatever
    else the machine does falls on all alike. Of several forms of one rival, told apart after its name's first word,
    those that are far slower at first are timed no further."""
    once = {name: _once(call) for name, call in contestants.items()}
    seconds = {name: [first] for name, first in once.items() if first > 1.4 * _best_form(once, name)}
    names = [name for name in contestants if name not in seconds]
    rounds *= MORE if max(once[name] for name in names) < LEAST / 2 else 1
    seconds |= {name: [] for name in names}
    gc.collect()
    gc.disable()
    try:
        for turn in range(rounds):
            patience.wait()
            first = turn % len(names)
            for name in names[first:] + names[:first]:
                seconds[name].append(_sample(contestants[name], _repeats(once[name])))
    finally:
        gc.enable()
    return seconds


def race_passes(passes: Mapping[str, Pass], rounds: int, grad: bool) -> dict[str, list[float]]:
    """Forward alone, with no graph recorded, or forward and backward."""
    with torch.set_grad_enabled(grad):
        return race({name: backward_too(one) if grad else one[0] for name, one in passes.items()}, rounds)


def pass_name(grad: bool) -> str:
    return "forward + backward" if grad else "forward"


def tensors(*shape: int, count: int = 3, grad: bool = False) -> list[Tensor]:
    """So many random tensors of one shape."""
    return [torch.randn(*shape, requires_grad=grad) for _ in range(count)]


def judged(found: Row, goal: float) -> Row:
    """A ratio with its goal, and whether its median reaches it."""
    return found | {"goal": f"≤ {goal:.4g}", "reached": found["ratio"] <= goal}


def not_slower(found: Row) -> Row:
    """Whether we are never slower: `even` where the rounds cannot tell us apart, at 95 %."""
    even = found["ratio"] > 1 >= found["at least"]
    return found | {"goal": "≤ 1", "reached": "even" if even else found["ratio"] <= 1}


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> Row:
    """The ratio round by round: its median, the least, the most, and what the median is at least, at 97.5 %."""
    each = sorted(a / b for a, b in zip(ours, theirs, strict=True))
    sure = each[_rank(len(each))]
    return {"ratio": statistics.median(each), "low": each[0], "high": each[-1], "at least": sure}


def _rank(count: int) -> int:
    """Of so many sorted samples, the one that is below the median with 97.5 %: by counting, whatever their spread."""
    below, rank = 0.5**count, 0
    while below + math.comb(count, rank + 1) * 0.5**count <= 0.025:
        rank += 1
        below += math.comb(count, rank) * 0.5**count
    return rank


def milliseconds(seconds: Sequence[float]) -> float:
    return 1000 * statistics.median(seconds)


def slope(sizes: Sequence[int], amounts: Sequence[float]) -> float:
    """The exponent e of the best fit amount = c · size^e, by least squares on logarithms."""
    x, y = [math.log(size) for size in sizes], [math.log(amount) for amount in amounts]
    return statistics.linear_regression(x, y).slope


def backward_too(one: Pass) -> Call:
    """The forward and the backward pass. The gradient of the output is made here, once: to a layer it is an input,
    and what the backward pass finds is returned, not accumulated."""
    call, inputs = one
    arriving = torch.ones_like(call())
    return lambda: torch.autograd.grad(call(), inputs, arriving, allow_unused=True)


def peak(script: str, name: str) -> float:
    """The peak memory in MiB that `script --peak name` reports from a fresh process."""
    command = [sys.executable, script, "--peak", name]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def growth(call: Call) -> float:
    """MiB by which this process's peak grows over what it holds now, during one call.

    Linux hands `ru_maxrss` down from parent to child through exec, so a large parent would hide the growth of a
    small child; its own high-water mark in /proc, reset first, does not have that flaw.
    """
    status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    gc.collect()
    if not (status.exists() and reset.exists()):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        call()
        unit = 1 << 20 if platform.system() == "Darwin" else 1 << 10
        return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / unit
    reset.write_text("5")
    before = _kib(status, "VmRSS")
    call()
    return (_kib(status, "VmHWM") - before) / 1024


def circumstances(seed: int, rounds: int) -> Row:
    """All that a number depends on besides the code."""
    return {
        "command": " ".join(["python", *sys.argv]),
        "commit": commit(),
        "seed": seed,
        "rounds": rounds,
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "processor": _processor(),
        "load before": round(os.getloadavg()[0], 2),
    }


def table(rows: Sequence[Row]) -> str:
    """Rows as Markdown; every key of the first is a column, and low and high go into the ratio's cell."""
    columns = [key for key in rows[0] if key not in ("low", "high", "at least")]
    lines = [f"| {' | '.join(columns)} |", f"|{'|'.join('---' for _ in columns)}|"]
    lines += [f"| {' | '.join(_cell(row, column) for column in columns)} |" for row in rows]
    return "\n".join(lines)


def write(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _cell(row: Row, column: str) -> str:
    value = row.get(column, "")
    if column == "ratio":
        return f"{value:.3f} ({row['low']:.3f}-{row['high']:.3f})"
    if isinstance(value, bool):
        return "yes" if value else "**no**"
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
    return "" if value is None else str(value)


def _once(call: Call) -> float:
    """The seconds of one call, after one to warm up."""
    call()
    return _sample(call, 1)


def _repeats(once: float) -> int:
    """How often to repeat a call for one sample."""
    return max(1 if once > 0.1 else 2, math.ceil(LEAST / once))


def _best_form(seconds: Mapping[str, float], name: str) -> float:
    return min(took for other, took in seconds.items() if other.split()[0] == name.split()[0])


def _sample(call: Call, repeats: int) -> float:
    """The fastest of the repeats: what else runs on the machine can only add to the time."""
    fastest = math.inf
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        fastest = min(fastest, time.perf_counter() - start)
    return fastest


def _busy(seconds: float) -> float:
    """The share of all processors' time that is not idle, while this process sleeps."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return 0.0
    before = [int(ticks) for ticks in stat.read_text().split("\n")[0].split()[1:]]
    time.sleep(seconds)
    after = [int(ticks) for ticks in stat.read_text().split("\n")[0].split()[1:]]
    spent = [b - a for a, b in zip(before, after, strict=True)]
    return 1 - (spent[3] + spent[4]) / max(1, sum(spent))


def _kib(status: Path, field: str) -> int:
    found = re.search(rf"{field}:\s+(\d+) kB", status.read_text())
    assert found is not None
    return int(found[1])


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*:\s*(.+)", cpuinfo.read_text()) if cpuinfo.exists() else None
    return found[1].strip() if found else platform.processor() or platform.machine()
