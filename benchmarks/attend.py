"""How fast and how frugal attention is, against bare torch, against peers, and against theory.

`python benchmarks/attend.py --to docs/results` writes attend.json, attend.md and attend.png. Every comparison is
made in one run, its contestants taking turns; a ratio is ours over theirs, taken round by round.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from x_transformers import Attention as XAttention

import complexity
import frugal
from measure import (
    Pass,
    Row,
    Section,
    circumstances,
    judged,
    milliseconds,
    not_slower,
    pass_name,
    patience,
    race_passes,
    ratio,
    tensors,
    write,
)
from regard.attend import Attention, ScaledDot, causal, everything, lengths, papers

SEED, THREADS = 0, 2


# 1. Composed attention against the bare kernel.


def against_sdpa(rounds: int, quick: bool) -> list[Section]:
    rows: list[Row] = []
    for n in (128, 256) if quick else (128, 256, 512, 1024):
        for case in ("plain", "causal", "padding"):
            for grad in (False, True):
                rows += _one_against_sdpa(n, case, grad, rounds)
    section = Section(
        "Composed attention against bare SDPA",
        "`Attention(ScaledDot())` against `F.scaled_dot_product_attention`, 4 sentences, 8 heads of 64. "
        "`prepared`: the memory is made beforehand; `from keys`: `attention.memory(...)` is timed as well. "
        "The bare kernel is given a ready-made boolean mask for padding; `from keys` works it out from lengths and "
        "looks for NaN in the padding, once per memory.",
        rows,
    )
    return [section]


def _one_against_sdpa(n: int, case: str, grad: bool, rounds: int) -> list[Row]:
    q, k, v = tensors(4, 8, n, 64, grad=grad)
    counts = torch.tensor([n, 3 * n // 4, n // 2, n // 4])
    padding = lengths(counts) if case == "padding" else everything
    mask = (torch.arange(n) < counts[:, None])[:, None, None] if case == "padding" else None
    attention = Attention(ScaledDot(), scope=causal if case == "causal" else everything)
    memory = attention.memory(k, v, padding)
    calls: dict[str, Pass] = {
        "bare": (lambda: F.scaled_dot_product_attention(q, k, v, mask, is_causal=case == "causal"), (q, k, v)),
        "prepared": (lambda: attention(q, memory), (q, memory.keys, memory.values)),
        "from keys": (lambda: attention(q, attention.memory(k, v, padding)), (q, k, v)),
    }
    seconds = race_passes(calls, rounds, grad)
    what: Row = {"n": n, "case": case, "pass": pass_name(grad), "bare ms": milliseconds(seconds["bare"])}
    made = ratio(seconds["from keys"], seconds["bare"]) | {"goal": "", "reached": None}
    return [
        what | {"ours": "prepared"} | judged(ratio(seconds["prepared"], seconds["bare"]), 1.05),
        what | {"ours": "from keys"} | made,
    ]


# 2. A multi-head layer against torch's and x-transformers'.


def against_peers(rounds: int, quick: bool) -> list[Section]:
    rows: list[Row] = []
    for n in (64, 128) if quick else (64, 128, 256, 512, 1024):
        for limited in (False, True):
            rows += _layer(n, limited, False, rounds)
            rows += _layer(n, limited, True, rounds)
        rows += _weights(n, False, rounds) + _weights(n, True, rounds)
    section = Section(
        "Multi-head layer against peers",
        "`papers.vaswani(512, 8)` on 8 sentences, `heads.within(x)`. `itself` is ours timed a second time "
        "in the same rounds: how far its ratio is from 1 is what the machine's noise alone does. The rival is the "
        "fastest form of each peer: `nn.MultiheadAttention` without biases, with them, and with its inference fast "
        "path, which needs them; `x_transformers.Attention` with and without flash. A form that is far slower at "
        "first is not timed further. Neither ours nor x-transformers' projections have biases. Training is forward "
        "and backward to the input and all parameters, without dropout.",
        rows,
    )
    return [section]


def _peers(n: int, limited: bool, grad: bool) -> dict[str, Pass]:
    """The contestants by name, on one batch; of a peer with two forms the first word is the peer."""
    x = torch.randn(8, n, 512, requires_grad=grad)
    heads = papers.vaswani(512, 8, causal if limited else everything).train(grad)
    passes: dict[str, Pass] = {
        name: (lambda: heads.within(x), (x, *heads.parameters())) for name in ("ours", "itself")
    }
    mask = nn.Transformer.generate_square_subsequent_mask(n) if limited else None
    for name, bias, short in (
        ("torch", False, False),
        ("torch biased", True, False),
        ("torch fast path", True, True),
    ):
        if not (short and grad):  # the short path is for inference
            passes[name] = _torchs(x, bias, short, need_weights=False, attn_mask=mask, is_causal=limited)
    for name, flash in (("x flash", True), ("x einsum", False)):
        peer = XAttention(dim=512, heads=8, dim_head=64, causal=limited, flash=flash).train(grad)
        passes[name] = (lambda peer=peer: peer(x), (x, *peer.parameters()))
    return passes


def _torchs(x: Tensor, bias: bool, short: bool, **options: object) -> Pass:
    """torch's own layer, with or without biases, and with or without its short path for inference."""
    layer = nn.MultiheadAttention(512, 8, bias=bias, batch_first=True).train(x.requires_grad)

    def call() -> Tensor:
        torch.backends.mha.set_fastpath_enabled(short)
        return layer(x, x, x, **options)[0]

    return call, (x, *layer.parameters())


def _layer(n: int, limited: bool, grad: bool, rounds: int) -> list[Row]:
    what: Row = {"n": n, "scope": "causal" if limited else "all", "pass": pass_name(grad)}
    return _standings(what, race_passes(_peers(n, limited, grad), rounds, grad))


def _weights(n: int, grad: bool, rounds: int) -> list[Row]:
    """Every weight of every head asked for, which no fused kernel gives."""
    x = torch.randn(8, n, 512, requires_grad=grad)
    heads = papers.vaswani(512, 8).train(grad)
    ours: Pass = (lambda: heads.look_within(x).context, (x, *heads.parameters()))
    passes = {"ours": ours, "itself": ours, "torch": _torchs(x, False, False, average_attn_weights=False)}
    if not grad:
        passes["torch fast path"] = _torchs(x, True, True, average_attn_weights=False)
    seconds = race_passes(passes, rounds, grad)
    return _standings({"n": n, "scope": "all", "pass": f"{pass_name(grad)}, with weights"}, seconds)


def _standings(what: Row, seconds: dict[str, list[float]]) -> list[Row]:
    """Ours against the faster form of each peer; the slower forms are listed with their time."""
    rows: list[Row] = []
    for peer in ("itself", "torch", "x"):
        forms = {name: milliseconds(took) for name, took in seconds.items() if name.split()[0] == peer}
        if not forms:
            continue
        rival = min((name for name in forms if len(seconds[name]) > 1), key=forms.__getitem__)  # one: out at once
        rest = ", ".join(f"{name} {ms:.3g}" for name, ms in forms.items() if name != rival)
        row = what | {"rival": rival, "ours ms": milliseconds(seconds["ours"]), "rival ms": forms[rival]}
        row |= {"its slower forms, ms": rest}
        found = ratio(seconds["ours"], seconds[rival])
        rows.append(row | (found | {"goal": "noise", "reached": None} if peer == "itself" else not_slower(found)))
    return rows


# All of it.


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=Path("docs/results"), help="the folder for the results")
    parser.add_argument("--rounds", type=int, default=7, help="how often each contestant is timed, at least 5")
    parser.add_argument("--patience", type=float, default=5, help="minutes to wait, in all, for a quiet machine")
    parser.add_argument("--quick", action="store_true", help="small sizes only, to see that it runs")
    options = parser.parse_args()
    if options.rounds < 5:
        parser.error(f"--rounds {options.rounds}: a median of fewer than 5 says little")
    patience.seconds = 60 * options.patience
    torch.manual_seed(SEED)
    torch.set_num_threads(THREADS)
    options.to.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    about = circumstances(SEED, options.rounds)
    sections: list[Section] = []
    for part in (against_sdpa, against_peers, frugal.sections, complexity.sections):
        made = part(options.rounds, options.quick)
        sections += made
        print(f"{time.perf_counter() - start:.0f} s: {', '.join(section.title for section in made)}", flush=True)
        about["minutes"] = round((time.perf_counter() - start) / 60, 1)
        about["of these, waiting for a quiet machine"] = round(patience.waited / 60, 1)
        _report(options.to, about, sections)  # after every part: a run cut short leaves what it has
    complexity.draw(sections[-1].rows, options.to / "attend.png")


def _report(to: Path, about: Row, sections: list[Section]) -> None:
    write(to / "attend.json", about | {section.title: section.rows for section in sections})
    judged_rows = [row for section in sections for row in section.rows if row.get("reached") is not None]
    reached, even = (sum(row["reached"] == what for row in judged_rows) for what in (True, "even"))
    heads = [
        "# Attention, measured",
        "Made by the command below; not edited by hand. A ratio is ours over theirs, the median over rounds, with "
        "the least and the most in brackets; a goal is reached if the median reaches it. Where the goal is not to be "
        "slower, *even* says that the rounds cannot tell the two apart: 1 is within the 95 % interval of the median.",
        "\n".join(f"- {name}: {value}" for name, value in about.items()),
        f"Goals reached: {reached} of {len(judged_rows)}; even: {even}.",
        "![time against length](attend.png)",
    ]
    text = "\n\n".join(heads + [section.text() for section in sections])
    (to / "attend.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
