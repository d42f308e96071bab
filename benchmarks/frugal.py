"""Readings that save time or memory on long inputs: windows in blocks, running sums, additive scores in chunks."""

from __future__ import annotations

import argparse
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from measure import (
    Pass,
    Row,
    Section,
    backward_too,
    growth,
    judged,
    milliseconds,
    pass_name,
    peak,
    race_passes,
    ratio,
    slope,
    tensors,
)
from regard.attend import (
    Additive,
    Attention,
    EluPlusOne,
    Favor,
    Features,
    Kernel,
    Memory,
    Recurrence,
    ScaledDot,
    causal,
    everything,
    fast,
    window,
)

SIZES = (256, 512, 1024, 2048, 4096, 8192)
TIMED_AT = 4096  # where goals on time and memory are set
Form = Callable[[Attention, Tensor, Memory], Tensor]

GROWTH = (
    "Milliseconds by length, the lengths taking turns with one another only: beside a quadratic rival short ones are "
    "slowed more than long ones. The exponent is that of the largest four."
)
FEATURES: dict[str, Callable[[], Features]] = {"elu + 1": EluPlusOne, "FAVOR+ 64": lambda: Favor(64, 64)}
LONGEST = {"dense": 4096, "look": 2048}  # beyond these a round takes seconds
FORMS: dict[str, Form] = {
    "forward": lambda attention, q, memory: attention(q, memory),
    "dense": lambda attention, q, memory: fast.sdpa(attention, q, memory, 0),
    "look": lambda attention, q, memory: attention.look(q, memory).context,
}


def sections(rounds: int, quick: bool) -> list[Section]:
    """All of this file's comparisons."""
    sizes = SIZES[:3] if quick else SIZES
    return [
        *windows(sizes[1:], rounds),
        *running_sums(sizes, rounds),
        recurrent(sizes, rounds),
        additive(rounds),
    ]


def growing(passes: dict[int, Pass], rounds: int, grad: bool = False) -> list[float]:
    """Milliseconds at each length."""
    seconds = race_passes({f"n={n}": one for n, one in passes.items()}, rounds, grad)
    return [milliseconds(seconds[f"n={n}"]) for n in passes]


# A window, read in blocks.


def windowed(form: str, n: int, grad: bool) -> Pass:
    """A window of 128 to either side over 8 heads of 64."""
    q, k, v = tensors(1, 8, n, 64, grad=grad)
    attention = Attention(ScaledDot(), scope=window(128))
    memory = attention.memory(k, v)
    return lambda: FORMS[form](attention, q, memory), (q, k, v)


def windows(sizes: tuple[int, ...], rounds: int) -> list[Section]:
    rows: list[Row] = []
    slopes: list[Row] = []
    for grad in (False, True):
        for n in sizes[:-1]:
            forms = [form for form in FORMS if n <= LONGEST.get(form, n)]
            seconds = race_passes({form: windowed(form, n, grad) for form in forms}, rounds, grad)
            for form in forms[1:]:
                rows.append(_window_row(n, grad, form, seconds))
        taken = growing({n: windowed("forward", n, grad) for n in sizes}, rounds, grad)
        slopes.append(_slope_row({"pass": pass_name(grad)}, sizes, taken))
    return [
        Section(
            "Blocked window: time",
            "`Attention(ScaledDot(), scope=window(128))`, one sentence, 8 heads of 64, against the dense reading of "
            "the same scope: SDPA with the scope's table as its mask, and the plain `look`.",
            rows,
        ),
        Section("Blocked window: growth", GROWTH, slopes),
        Section(
            f"Blocked window: peak memory at n={TIMED_AT}",
            "Growth of a fresh process's high-water mark in one call, in MiB. The gradient of the output is made "
            "beforehand; the gradients of queries, keys and values are part of the growth.",
            peaks("window", ("dense", "look"), {"dense": 0.25}),
        ),
    ]


def _window_row(n: int, grad: bool, form: str, seconds: dict[str, list[float]]) -> Row:
    row: Row = {"n": n, "pass": pass_name(grad), "against": form}
    row |= {"blocked ms": milliseconds(seconds["forward"]), "theirs ms": milliseconds(seconds[form])}
    found = ratio(seconds["forward"], seconds[form])
    if n == TIMED_AT and form == "dense":
        return row | judged(found, 0.5)
    return row | found | {"goal": "", "reached": None}


def _slope_row(what: Row, sizes: tuple[int, ...], taken: list[float], theory: float = 1.0, give: float = 0.15) -> Row:
    """The exponent of time in length on the largest four sizes, judged."""
    grows = slope(sizes[-4:], taken[-4:])
    row = what | {f"n={n}": ms for n, ms in zip(sizes, taken, strict=True)}
    return row | {
        "exponent": f"{grows:.2f}",
        "goal": f"{theory:g} ± {give}",
        "reached": abs(grows - theory) <= give,
    }


# Linear attention.


def running_sums(sizes: tuple[int, ...], rounds: int) -> list[Section]:
    rows: list[Row] = []
    slopes: list[Row] = []
    for limited in (False, True):
        scope = "causal" if limited else "all"
        passes = {n: _sums_and_dense(n, limited) for n in sizes}
        for n in sizes:
            seconds = race_passes(passes[n], rounds, False)
            rows += [_sums_row(n, limited, name, seconds) for name in FEATURES]
        for name in FEATURES:
            taken = growing({n: passes[n][name] for n in sizes}, rounds)
            slopes.append(_slope_row({"features": name, "scope": scope}, sizes, taken))
    return [
        Section(
            "Linear attention: time",
            "`Attention(Kernel(features))`, one sentence, 8 heads of 64, the memory's features made beforehand, "
            "against dense SDPA of the same length and scope. Goal: faster from n = 2048 on. "
            f"Faster at: {_crossings(rows)}.",
            rows,
        ),
        Section("Linear attention: growth", GROWTH, slopes),
    ]


def _sums_and_dense(n: int, limited: bool) -> dict[str, Pass]:
    q, k, v = tensors(1, 8, n, 64)
    passes: dict[str, Pass] = {"dense": (lambda: F.scaled_dot_product_attention(q, k, v, is_causal=limited), ())}
    for name, features in FEATURES.items():
        attention = Attention(Kernel(features()), scope=causal if limited else everything)
        memory = attention.memory(k, v)
        passes[name] = (lambda attention=attention, memory=memory: attention(q, memory), ())
    return passes


def _sums_row(n: int, limited: bool, name: str, seconds: dict[str, list[float]]) -> Row:
    row: Row = {"features": name, "scope": "causal" if limited else "all", "n": n}
    row |= {"ours ms": milliseconds(seconds[name]), "dense ms": milliseconds(seconds["dense"])}
    found = ratio(seconds[name], seconds["dense"])
    return row | (judged(found, 1.0) if n >= 2048 else found | {"goal": "", "reached": None})


def _crossings(rows: list[Row]) -> str:
    """The least length from which on each reading is faster than dense."""
    told = []
    for kind in dict.fromkeys((row["features"], row["scope"]) for row in rows):
        mine = [row for row in rows if (row["features"], row["scope"]) == kind]
        slower = [row["n"] for row in mine if row["ratio"] > 1]
        since = [row["n"] for row in mine if row["n"] > max(slower, default=0)]
        told.append(f"{kind[0]} ({kind[1]}) {f'n ≥ {since[0]}' if since else 'no length measured'}")
    return "; ".join(told)


def recurrent(sizes: tuple[int, ...], rounds: int) -> Section:
    """Step by step, as when decoding: what a step costs must not depend on how many came before."""
    state = Recurrence.empty(*tensors(1, 8, 1, 64, count=2))

    def run(steps: list[tuple[Tensor, ...]]) -> None:
        now = state
        for query, key, value in steps:
            now = now.then(key.exp(), value)
            now.read(query.exp())

    runs: dict[int, Pass] = {}
    for n in sizes:
        steps = list(zip(*(x.unbind(2) for x in tensors(1, 8, n, 1, 64)), strict=True))
        runs[n] = (lambda steps=steps: run(steps), ())
    taken = [1000 * ms / n for n, ms in zip(sizes, growing(runs, rounds), strict=True)]
    return Section(
        "Linear attention: one step at a time",
        "Microseconds per step of `Recurrence.then` and `read` in a run of n steps, one sentence, 8 heads of 64.",
        [_slope_row({"form": "recurrent"}, sizes, taken, 0.0, 0.1)],
    )


# Additive scores, in chunks.


def chunks(form: str, n: int, grad: bool) -> Pass:
    """Bahdanau's score, two sentences, one head."""
    q, k, v = tensors(2, 1, n, 64, grad=grad)
    attention = Attention(Additive(64, 64, 64))
    memory = attention.memory(k, v)
    own = (parameter for name, parameter in attention.named_parameters() if "key" not in name)
    return lambda: FORMS[form](attention, q, memory), (q, memory.keys, v, *own)


def additive(rounds: int) -> Section:
    rows: list[Row] = []
    memory = peaks("additive", ("look",), {})
    for grad, peaked in zip((False, True), memory, strict=True):
        seconds = race_passes({form: chunks(form, 512, grad) for form in ("forward", "look")}, rounds, grad)
        row: Row = {"pass": pass_name(grad), "chunked ms": milliseconds(seconds["forward"])}
        row |= {"look ms": milliseconds(seconds["look"])} | ratio(seconds["forward"], seconds["look"])
        rows.append(row | {key: peaked[key] for key in ("ours MiB", "theirs MiB", "of theirs")})
    return Section(
        "Additive scores in chunks",
        "`Attention(Additive(64, 64, 64))` on two sentences of 512, the module against its `look`: time as a ratio, "
        "and peak memory as in the window's table. No goal was set for these.",
        rows,
    )


# Peak memory, each contestant in a process of its own.

BUILD: dict[str, Callable[[str, int, bool], Pass]] = {"window": windowed, "additive": chunks}
LONG = {"window": TIMED_AT, "additive": 512}


def peaks(kind: str, rivals: tuple[str, ...], goals: dict[str, float]) -> list[Row]:
    rows: list[Row] = []
    for grad in (False, True):
        found = {form: peak(__file__, f"{kind}-{form}-{int(grad)}") for form in ("forward", *rivals)}
        for rival in rivals:
            share = found["forward"] / found[rival]
            row: Row = {"pass": pass_name(grad), "against": rival, "ours MiB": found["forward"]}
            row |= {"theirs MiB": found[rival], "of theirs": f"{share:.3f}"}
            goal = goals.get(rival)
            rows.append(row | {"goal": f"≤ {goal}" if goal else "", "reached": share <= goal if goal else None})
    return rows


def _run_peak(name: str) -> float:
    """Build, warm up on something tiny, and measure one call."""
    kind, form, grad = name.split("-")
    with torch.set_grad_enabled(grad == "1"):
        calls = []
        for n in (16, LONG[kind]):
            one = BUILD[kind](form, n, grad == "1")
            calls.append(backward_too(one) if grad == "1" else one[0])
        calls[0]()
        return growth(calls[1])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peak", required=True, help="the contestant, such as window-dense-1")
    torch.set_num_threads(2)
    print(_run_peak(parser.parse_args().peak))
