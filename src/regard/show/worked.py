"""The worked example of every lecture, computed by the package: *Thinking Machines*, and a small one in numbers.

Nothing is typed in but the two scores that the lectures print, 112 and 96. Vectors are made to have them, and
all that follows (÷ 8, softmax, × values, sum) comes out of `Attention.look`.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text
from torch import Tensor

from regard.attend.mechanism import Attention
from regard.attend.score import Dot, ScaledDot

WORDS = ("Thinking", "Machines")
SCORES = (112.0, 96.0)
D_MODEL, D_KEY = 512, 64
SHOWN = 3  # numbers of a vector that fit a column


@dataclass(frozen=True)
class Worked:
    """Each step of one look, for both words; the query is the first word's."""

    embeddings: Float[Tensor, "n m"]
    queries: Float[Tensor, "n d"]
    keys: Float[Tensor, "n d"]
    values: Float[Tensor, "n d"]
    scores: Float[Tensor, " n"]
    scaled: Float[Tensor, " n"]
    weights: Float[Tensor, " n"]
    weighted: Float[Tensor, "n d"]
    total: Float[Tensor, " d"]
    unscaled_weights: Float[Tensor, " n"]
    matrix: Float[Tensor, "n d"]  # the same for all words at once; its first row is `total`


@dataclass(frozen=True)
class Numbers:
    """A look small enough to check by hand."""

    queries: Float[Tensor, "n d"]
    keys: Float[Tensor, "n d"]
    values: Float[Tensor, "n d"]
    weights: Float[Tensor, "n n"]
    context: Float[Tensor, "n d"]


def thinking_machines() -> Worked:
    """Two words, 512 numbers each; queries, keys and values of 64."""
    x, to_query, to_key, to_value = _parameters()
    queries, keys, values = x @ to_query, x @ to_key, x @ to_value
    scaled_dot, dot = Attention(ScaledDot()), Attention(Dot())
    memory = scaled_dot.memory(keys[None], values[None])
    look = scaled_dot.look(queries[None, :1], memory)
    weights = look.weights[0, 0, 0]
    return Worked(
        x,
        queries,
        keys,
        values,
        scores=dot.score(queries[None, None, :1], memory.keys)[0, 0, 0],
        scaled=scaled_dot.score(queries[None, None, :1], memory.keys)[0, 0, 0],
        weights=weights,
        weighted=weights.unsqueeze(-1) * values,
        total=look.context[0, 0],
        unscaled_weights=dot.look(queries[None, :1], memory).weights[0, 0, 0],
        matrix=scaled_dot.look(queries[None], memory).context[0],
    )


def numbers() -> Numbers:
    """Three queries and three keys of width 2."""
    queries = torch.tensor([[0.3367, 0.1288], [0.2345, 0.2303], [-1.1229, -0.1863]])
    keys = torch.tensor([[2.2082, -0.6380], [0.4617, 0.2674], [0.5349, 0.8094]])
    values = torch.tensor([[1.1103, -1.6898], [-0.9890, 0.9580], [1.3221, 0.8172]])
    mechanism = Attention(ScaledDot())
    look = mechanism.look(queries[None], mechanism.memory(keys[None], values[None]))
    return Numbers(queries, keys, values, look.weights[0, 0], look.context[0])


def show(console: Console) -> None:
    """Both examples, on a terminal."""
    worked = thinking_machines()
    console.print(step_table(worked))
    first, bare = worked.weights[0], worked.unscaled_weights[0]
    console.print(
        f"Without ÷ {D_KEY**0.5:.0f} the first weight would be {bare:.8f} instead of {first:.2f}, with hardly any "
        f"gradient left.\nBoth words at once, as matrices, give the same z to {_gap(worked):.0e}.\n",
        highlight=False,
    )
    console.print(number_table(numbers()))


def step_table(worked: Worked) -> Table:
    """Top to bottom, as the lectures draw it."""
    table = _table(f"What does “{WORDS[0]}” look at?", "input", *WORDS)
    root = D_KEY**0.5
    table.add_row(f"embedding ({D_MODEL})", *map(_vector, worked.embeddings))
    table.add_row(f"query q ({D_KEY})", _vector(worked.queries[0]), Text("(asks in its own turn)", "dim"))
    table.add_row(f"key k ({D_KEY})", *map(_vector, worked.keys))
    table.add_row(f"value v ({D_KEY})", *map(_vector, worked.values), end_section=True)
    table.add_row("score q·k", *(f"{score:.0f}" for score in worked.scores.tolist()))
    table.add_row(f"÷ {root:.0f} = √{D_KEY}", *(f"{score:.0f}" for score in worked.scaled.tolist()))
    table.add_row("softmax", *map(_bar, worked.weights.tolist()))
    table.add_row("× value", *map(_vector, worked.weighted), end_section=True)
    table.add_row("sum z", _vector(worked.total), "")
    return table


def number_table(small: Numbers) -> Table:
    """Every number of a look over three keys."""
    columns = {"Q": small.queries, "K": small.keys, "V": small.values, "weights": small.weights, "Z": small.context}
    table = _table("Three queries, all numbers: Z = softmax(Q Kᵀ / √2) V", *columns)
    for row in range(len(small.queries)):
        table.add_row(*(_row(matrix[row]) for matrix in columns.values()))
    return table


def _parameters() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Embeddings and three projections; W_K is the nearest to a random one that gives the printed scores."""
    random = torch.Generator().manual_seed(2017)
    x = torch.randn(len(WORDS), D_MODEL, generator=random, dtype=torch.float64)
    weights = torch.randn(3, D_MODEL, D_KEY, generator=random, dtype=torch.float64) * D_MODEL**-0.5
    to_query, to_key, to_value = weights
    query = x[0] @ to_query
    missing = torch.tensor(SCORES, dtype=torch.float64) - (x @ to_key) @ query
    change = torch.outer(missing, query / query.square().sum())  # the least change of the keys, along the query
    return x, to_query, to_key + torch.linalg.pinv(x) @ change, to_value


def _gap(worked: Worked) -> float:
    return max(float((worked.matrix[0] - worked.total).abs().max()), 1e-16)


def _table(title: str, *columns: str) -> Table:
    return Table(*columns, title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)


def _vector(vector: Tensor) -> str:
    return " ".join(f"{number:5.2f}" for number in vector[:SHOWN].tolist()) + " …"


def _bar(weight: float) -> Text:
    return Text.assemble(f"{weight:.2f} ", ("█" * max(1, round(weight * 16)), "blue"))


def _row(vector: Tensor) -> str:
    return " ".join(f"{number:5.2f}" for number in vector.tolist())


if __name__ == "__main__":
    show(Console())
