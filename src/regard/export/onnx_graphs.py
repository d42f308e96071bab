"""A model as two ONNX graphs, encoder.onnx and step.onnx, and the engine that runs them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from regard.export.check import Bar, Differs, Ids
from regard.export.graphs import Functions, functions
from regard.files import shown
from regard.models.seq2seq import Seq2Seq
from regard.text.ids import END, START

OPSET = 17  # since which layer normalisation is one operator
BAR = Bar(0.995, 0.1)
CLOSE = 1e-5
"""How far scores may be apart, as a share of the largest."""
CHECKED = 16  # sentences whose scores are compared
STEPS = 24
TOGETHER = 32


def save(model: Seq2Seq, folder: Path, places: int) -> dict[str, Any]:
    """Write both graphs; answers what whoever runs them must know of their names."""
    made = functions(model.eval(), places)
    source = torch.randint(END + 1, max(END + 2, _words(model)), (3, 7), generator=torch.Generator().manual_seed(1))
    lengths = torch.tensor([7, 4, 5])
    both = {name: {0: "rows"} for name in ("lengths", "words", "scores")} | made.axes
    both |= {"source": {0: "rows", 1: "source"}}
    first = made.first(3)
    from_encoder = made.kept if first else (*made.kept, *made.state)
    with torch.no_grad():
        read = made.read(source, lengths)
        given = (torch.full((3,), START), lengths, *read, *first)
        if first:  # a state with words in it, as an axis of nothing may be taken for a constant
            for _ in range(2):
                given = (given[0], lengths, *read, *made.say(*given)[1:])
        _write(made.read, (source, lengths), folder / "encoder.onnx", ["source", "lengths"], from_encoder, both)
        after = [f"{name}.next" for name in made.state]
        both |= {f"{name}.next": made.axes[name] for name in made.state}
        asked = ["words", "lengths", *made.kept, *made.state]
        _write(made.say, given, folder / "step.onnx", asked, ["scores", *after], both)
    return {"kept": list(made.kept), "state": list(made.state), "first": _first(made)}


class Onnx:
    """The model as onnxruntime runs it, by the program that is put beside it."""

    def __init__(self, folder: Path, threads: int = 1) -> None:
        import onnxruntime

        from regard.export.beside.with_onnx import Model

        self.name = f"onnxruntime {onnxruntime.__version__}"
        self.model = Model(folder, threads)

    def greedy(self, rows: Sequence[Ids], most: Sequence[int]) -> list[list[int]]:
        """The likeliest word each time."""
        order = sorted(range(len(rows)), key=lambda n: len(rows[n]))
        found: list[list[int]] = [[] for _ in rows]
        for first in range(0, len(order), TOGETHER):
            some = order[first : first + TOGETHER]
            answers = self.model.greedy([rows[n] for n in some], [most[n] for n in some])
            for n, answer in zip(some, answers, strict=True):
                found[n] = answer
        return found

    def scores(self, rows: Sequence[Ids], before: np.ndarray) -> np.ndarray:
        """The scores of every next word, after each of these words."""
        kept, state = self.model.begin(rows)
        found = []
        for words in before.T:
            scores, state = self.model.next(words.copy(), kept, state)
            found.append(scores)
        return np.stack(found, 1)


def distance(engine: Onnx, model: Seq2Seq, rows: Sequence[Ids], most: Sequence[int]) -> float:
    """How far the scores of graph and model are apart at most, as a share of the largest score.

    One sentence alone, then several of other lengths together, along what the graph says: neither a length nor a
    number of rows may have become a constant.
    """
    worst = 0.0
    for some in ([n] if n == 0 else range(min(len(rows), CHECKED)) for n in range(2)):
        given = [rows[n] for n in some]
        said = engine.greedy(given, [min(STEPS, most[n]) for n in some])
        width = max(map(len, said)) + 1
        before = np.full((len(given), width), END, np.int64)
        before[:, 0] = START
        for n, words in enumerate(said):
            before[n, 1 : len(words) + 1] = words
        lengths = torch.tensor([len(row) for row in given])
        source = torch.zeros(len(given), int(lengths.max()), dtype=torch.long)
        for n, row in enumerate(given):
            source[n, : len(row)] = torch.tensor(row)
        with torch.no_grad():
            ours = model(source, lengths, torch.from_numpy(before)).numpy()
        apart = np.abs(ours - engine.scores(given, before)).max() / max(1.0, np.abs(ours).max())
        worst = float(np.maximum(worst, apart))  # NaN stays one
    return worst


@contextmanager
def running() -> Iterator[None]:
    """What goes wrong in a graph is a difference like any other."""
    try:
        yield
    except Exception as error:
        if not type(error).__module__.startswith("onnxruntime"):
            raise
        why = shown(str(error).split("\n")[0], 300)
        raise Differs(
            f"the ONNX graphs do not compute what the model does, so the export was not kept: {why}; please tell "
            "which model this is, or use another attention"
        ) from None


def close(apart: float) -> None:
    """Raise if scores are further apart than rounding explains."""
    if not apart <= CLOSE:
        raise Differs(
            f"the ONNX graphs do not compute what the model does, so the export was not kept: scores are {apart:.2g} "
            f"apart, at most {CLOSE:g} was asked; please tell which model this is, or use another attention"
        )


def _write(
    function: nn.Module, given: tuple[torch.Tensor, ...], path: Path, names: Sequence[str], answers: Sequence[str],
    axes: dict[str, dict[int, str]],
) -> None:  # fmt: skip
    """By tracing: what the tracer warns of (shapes turned into numbers) is what the check is for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            torch.onnx.export(
                function.eval(), given, str(path), input_names=list(names), output_names=list(answers),
                dynamic_axes={name: axes[name] for name in (*names, *answers)}, opset_version=OPSET, dynamo=False,
            )  # fmt: skip
        except (RuntimeError, torch.onnx.errors.OnnxExporterError) as error:
            why = shown(str(error).strip().split("\n")[0], 200)
            raise ValueError(
                f"torch cannot write a part of this model as ONNX ({why}); train with another attention, such as "
                "vaswani"
            ) from None


def _first(made: Functions) -> dict[str, list[int]]:
    """Heads and width of states that begin empty."""
    return {name: [value.shape[1], value.shape[3]] for name, value in zip(made.state, made.first(1), strict=False)}


def _words(model: Seq2Seq) -> int:
    return next(part.num_embeddings for part in model.modules() if isinstance(part, nn.Embedding))
