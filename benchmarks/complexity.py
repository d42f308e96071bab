"""Table 1 of Vaswani et al. 2017, measured: multiply-adds, chains of operations, path lengths and time.

Four layers that turn n vectors of width d into as many. Self-attention has no projections here, as in the table,
whose n²·d is the two products of queries, keys and values alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from measure import Row, Section, milliseconds, race, slope
from regard.attend import Attention, Memory, ScaledDot, window
from regard.attend import fast as readings

KERNEL = 3
REACH = 8  # of the restricted scope, to either side
WIDTHS, LENGTHS = (32, 64, 128, 256), (128, 256, 512, 1024, 2048, 4096)
TIMED = (512, 1024, 2048, 4096, 8192)


class Attending(nn.Module):
    """Every position looks at the positions its scope lets it see."""

    def __init__(self, attention: Attention) -> None:
        super().__init__()
        self.attention = attention

    def forward(self, x: Tensor) -> Tensor:
        return self.attention(x, self.attention.memory(x))


class Recurring(nn.Module):
    """h = tanh(W x + U h): both products step by step, written out so that each is counted."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inward = nn.Parameter(torch.randn(width, width) * width**-0.5)
        self.onward = nn.Parameter(torch.randn(width, width) * width**-0.5)

    def states(self, x: Tensor) -> list[Tensor]:
        """The hidden state after each step."""
        states = [torch.zeros_like(x[:, 0])]
        for step in x.unbind(1):
            states.append((step @ self.inward + states[-1] @ self.onward).tanh())
        return states[1:]

    def forward(self, x: Tensor) -> Tensor:
        return torch.stack(self.states(x), 1)


class Convolving(nn.Module):
    """A kernel over a position and those before it, `dilation` apart."""

    def __init__(self, width: int, dilation: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv1d(width, width, KERNEL, dilation=dilation, bias=False)
        self.before = dilation * (KERNEL - 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(nn.functional.pad(x.transpose(1, 2), (self.before, 0))).transpose(1, 2)


def attending(width: int) -> Attending:
    return Attending(Attention(ScaledDot()))


def restricted(width: int) -> Attending:
    return Attending(Attention(ScaledDot(), scope=window(REACH)))


LAYERS: dict[str, Callable[[int], nn.Module]] = {
    "self-attention": attending,
    "recurrent": Recurring,
    "convolution": Convolving,
    "restricted": restricted,
}
ORDER = {"self-attention": "n²·d", "recurrent": "n·d²", "convolution": "k·n·d²", "restricted": "r·n·d"}
EXPONENTS = {"self-attention": (2, 1), "recurrent": (1, 2), "convolution": (1, 2), "restricted": (1, 1)}


def counted(kind: str, length: int, width: int) -> float:
    """Multiply-adds of one layer on one sentence, by torch's own counter; pairs in scope for the restricted one."""
    x = torch.randn(1, length, width)
    if kind == "restricted":
        places = torch.arange(length)
        pairs = window(REACH).table(1, 1, places, places).sum().item()
        return 2.0 * pairs * width
    layer = LAYERS[kind](width)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        if isinstance(layer, Attending):
            layer.attention.look(x, layer.attention.memory(x))
        else:
            layer(x)
    return counter.get_total_flops() / 2


def pairs_read(length: int, reach: int) -> int:
    """Query-key pairs that reading in blocks really scores, in scope or not."""
    attention, x = Attention(ScaledDot(), scope=window(reach)), torch.randn(1, 1, length, 1)
    pairs = 0

    def reading(attention: Attention, query: Tensor, memory: Memory, at: int, past: object) -> Tensor:
        nonlocal pairs
        pairs += query.shape[2] * len(memory)
        return query

    readings.blocked(reading, attention, x, attention.memory(x), 0)
    return pairs


def chain(kind: str, length: int) -> int:
    """The longest chain of operations that wait for one another, in the graph torch records of one layer."""
    x = torch.randn(1, length, 16, requires_grad=True)
    deepest: dict[object, int] = {}
    root = LAYERS[kind](16)(x).grad_fn
    waiting = [root]
    while waiting:
        node = waiting[-1]
        before = [inner for inner, _ in node.next_functions if inner is not None]
        missing = [inner for inner in before if inner not in deepest]
        if missing:
            waiting += missing
        else:
            deepest[waiting.pop()] = 1 + max((deepest[inner] for inner in before), default=0)
    return deepest[root]


def path(layers: Callable[[int], nn.Module], length: int) -> int:
    """How many layers until a gradient flows from the last output back to the first input."""
    torch.manual_seed(0)
    x = torch.randn(1, length, 8, dtype=torch.float64, requires_grad=True)
    out, depth = x, 0
    while depth < 2 * length:
        out, depth = layers(depth).double()(out), depth + 1
        (gradient,) = torch.autograd.grad(out[:, -1].sum(), x, retain_graph=True)
        if gradient[:, 0].any():
            return depth
    raise RuntimeError("the last output never comes to depend on the first input")


def steps_on_path(length: int) -> int:
    """Cells between the first input and the last state: the states that a gradient passes on its way."""
    torch.manual_seed(0)
    states = Recurring(8).double().states(torch.randn(1, length, 8, dtype=torch.float64))
    passed = torch.autograd.grad(states[-1].sum(), states)
    return sum(bool(gradient.any()) for gradient in passed)


def sections(rounds: int, quick: bool) -> list[Section]:
    """The table, column by column; the last section is what `draw` draws."""
    read = pairs_read(4096, REACH) / counted("restricted", 4096, 1) * 2
    return [
        Section(
            "Complexity: multiply-adds",
            "Counted by torch's FlopCounterMode at half its value, a multiply-add being one. Self-attention: its two "
            "products, in the plain reading. Recurrent: W x and U h of every step. Convolution: k = "
            f"{KERNEL}, padded, so that every output counts. Restricted: two products per pair in scope, r = "
            f"{REACH} to either side; reading in blocks scores {read:.1f} times as many pairs, a constant factor "
            "(n = 4096). Lengths 128-4096 at d = 64; widths 32-256 at n = 256.",
            operations(),
        ),
        Section(
            "Complexity: sequential operations",
            "The longest chain of operations that wait for one another, in the graph torch records of one layer.",
            chains(),
        ),
        Section(
            "Complexity: maximum path length",
            "Layers stacked until a gradient flows from the last output to the first input; for recurrence, "
            "the cells that gradient passes. `exact` is what the order stands for here: a kernel of k reaches "
            "k-1 back, a window of r reaches r. Without dilation a convolution takes n/k layers, not log_k n.",
            paths(),
        ),
        Section(
            "Complexity: time",
            "4 sentences, d = 64, forward; the exponent is fitted on the largest four lengths.",
            times(rounds, quick),
        ),
    ]


def operations() -> list[Row]:
    """Exponents of the counted multiply-adds, beside theory."""
    rows: list[Row] = []
    for kind, (in_n, in_d) in EXPONENTS.items():
        by_n = slope(LENGTHS, [counted(kind, n, 64) for n in LENGTHS])
        by_d = slope(WIDTHS, [counted(kind, 256, d) for d in WIDTHS])
        reached = abs(by_n - in_n) <= 0.02 and abs(by_d - in_d) <= 0.02
        rows.append({
            "layer": kind, "theory": f"O({ORDER[kind]})", "at n=1024, d=64": f"{counted(kind, 1024, 64):,.0f}",
            "exponent of n, theory": in_n, "measured": f"{by_n:.3f}",
            "exponent of d, theory": in_d, "measured ": f"{by_d:.3f}",
            "goal": "within 0.02", "reached": reached,
        })  # fmt: skip
    return rows


def chains() -> list[Row]:
    """How the longest chain of dependent operations grows with n."""
    rows: list[Row] = []
    for kind in LAYERS:
        lengths = (64, 128, 256) if kind == "recurrent" else (1024, 2048, 4096)  # long enough to be read in blocks
        found = [chain(kind, n) for n in lengths]
        grows, theory = slope(lengths, [float(x) for x in found]), 1 if kind == "recurrent" else 0
        rows.append({
            "layer": kind, "theory": f"O({'n' if theory else 1})",
            "longest chain": ", ".join(f"{x} at n={n}" for n, x in zip(lengths, found, strict=True)),
            "exponent of n": f"{grows:.3f}", "goal": f"{theory} ± 0.02", "reached": abs(grows - theory) <= 0.02,
        })  # fmt: skip
    return rows


def paths(lengths: tuple[int, ...] = (64, 128)) -> list[Row]:
    """Measured path lengths, beside the table's order and the number its constants give."""
    width = 8
    kinds: dict[str, tuple[str, Callable[[int], int], Callable[[int], int]]] = {
        "self-attention": ("1", lambda n: 1, lambda n: path(lambda i: attending(width), n)),
        "recurrent": ("n", lambda n: n, steps_on_path),
        f"convolution, k={KERNEL}": (
            "n/k", lambda n: -(-(n - 1) // (KERNEL - 1)), lambda n: path(lambda i: Convolving(width), n)
        ),
        f"convolution, k={KERNEL}, dilation k^i": (
            "log_k n", lambda n: math.ceil(math.log(n, KERNEL)),
            lambda n: path(lambda i: Convolving(width, KERNEL**i), n),
        ),
        f"restricted, r={REACH} to either side": (
            "n/r", lambda n: -(-(n - 1) // REACH), lambda n: path(lambda i: restricted(width), n)
        ),
    }  # fmt: skip
    rows: list[Row] = []
    for kind, (order, exact, measure) in kinds.items():
        row: Row = {"layer": kind, "theory": f"O({order})"}
        for n in lengths:
            row |= {f"exact at n={n}": exact(n), f"measured at n={n}": measure(n)}
        row["reached"] = all(row[f"exact at n={n}"] == row[f"measured at n={n}"] for n in lengths)
        rows.append(row)
    return rows


def times(rounds: int, quick: bool, width: int = 64, batch: int = 4) -> list[Row]:
    """Milliseconds per layer by length, and the exponent on the largest four."""
    lengths = TIMED[:3] if quick else TIMED
    found: dict[str, list[float]] = {kind: [] for kind in LAYERS}
    for n in lengths:
        x = torch.randn(batch, n, width)
        layers = {kind: make(width) for kind, make in LAYERS.items()}
        with torch.no_grad():
            seconds = race({kind: lambda layer=layer, x=x: layer(x) for kind, layer in layers.items()}, rounds)
        for kind in LAYERS:
            found[kind].append(milliseconds(seconds[kind]))
    rows: list[Row] = []
    for kind in LAYERS:
        low, high = (1.7, 2.1) if kind == "self-attention" else (0.8, 1.2)
        grows = slope(lengths[-4:], found[kind][-4:])
        row: Row = {"layer": kind} | {f"n={n} ms": ms for n, ms in zip(lengths, found[kind], strict=True)}
        rows.append(row | {"exponent": f"{grows:.2f}", "goal": f"{low}-{high}", "reached": low <= grows <= high})
    return rows


def draw(rows: list[Row], to: Path) -> None:
    """The last table, both axes logarithmic, so that an exponent is a slope."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7.5, 4.8), layout="constrained")
    for row, marker in zip(rows, "os^D", strict=True):
        ms = {n: row[f"n={n} ms"] for n in TIMED if f"n={n} ms" in row}
        label = f"{row['layer']}, O({ORDER[row['layer']]}): slope {row['exponent']}"
        axes.plot(list(ms), list(ms.values()), marker=marker, label=label)
    axes.set(xscale="log", yscale="log", xlabel="length n", ylabel="milliseconds per layer (4 sentences, d = 64)")
    axes.set_xticks(list(ms), [str(n) for n in ms])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    axes.set_title("Time of one layer; the slope is the exponent of n on the largest four lengths", fontsize=10)
    figure.savefig(to, dpi=150)
    plt.close(figure)
