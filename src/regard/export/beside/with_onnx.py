"""Translates with the ONNX model in this folder, a line at a time: `python translate.py < text > translation`.

Needs numpy, onnxruntime and sentencepiece. `Model.greedy` is all there is to it: the encoder is run once, the step
once for each word, and what a step gives for the state is what the next one is given. Says the likeliest word each
time; for a beam, or text longer than the model was trained on, use regard itself.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import sentencepiece

PAD, UNKNOWN, START, END = 0, 1, 2, 3
TOGETHER = 32  # sentences


class Model:
    """Both graphs, with the vocabularies."""

    def __init__(self, folder: Path, threads: int = 1) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = threads, 4  # what is wrong is raised as well
        cpu = ["CPUExecutionProvider"]
        self.config: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        self.encoder = onnxruntime.InferenceSession(folder / "encoder.onnx", options, cpu)
        self.step = onnxruntime.InferenceSession(folder / "step.onnx", options, cpu)
        self.source, self.target = (sentencepiece.SentencePieceProcessor() for _ in range(2))
        self.source.load(str(folder / "source.spm"))
        self.target.load(str(folder / "target.spm"))
        read, self.said = (
            json.loads((folder / f"{side}_vocabulary.json").read_text(encoding="utf-8"))
            for side in ("source", "target")
        )
        # what a user types is text: neither a special word nor the sign of a language is found in it
        codes = {word for word in read if word.startswith(">>") and word.endswith("<<")}
        self.numbers = {word: n for n, word in enumerate(read) if n > END and word not in codes}

    def ids(self, line: str) -> list[int]:
        """The pieces of a line as numbers."""
        found = [self.numbers.get(piece, UNKNOWN) for piece in self.source.encode(line.strip(), out_type=str)]
        before, behind = self.config["source_first"], [END] if self.config["source_ends"] else []
        return [*([] if before is None else [before]), *found, *behind] if found else []

    def begin(self, rows: Sequence[Sequence[int]]) -> tuple[dict[str, Any], dict[str, Any]]:
        """What is kept of these sources, and the state before the first word."""
        source = np.full((len(rows), max(map(len, rows))), PAD, np.int64)
        for n, row in enumerate(rows):
            source[n, : len(row)] = row
        lengths = np.array([len(row) for row in rows], np.int64)
        names = [output.name for output in self.encoder.get_outputs()]
        found = dict(zip(names, self.encoder.run(None, {"source": source, "lengths": lengths}), strict=True))
        kept = {"lengths": lengths, **{name: found.pop(name) for name in self.config["kept"]}}
        empty = self.config["first"].items()
        return kept, {
            **found,
            **{name: np.zeros((len(rows), heads, 0, width), np.float32) for name, (heads, width) in empty},
        }

    def next(self, words: Any, kept: dict[str, Any], state: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """The scores of every next word after these, and the state then."""
        asked = {part.name for part in self.step.get_inputs()}
        given = {name: value for name, value in {"words": words, **kept, **state}.items() if name in asked}
        scores, *after = self.step.run(None, given)
        return scores, dict(zip(state, after, strict=True))

    def greedy(self, rows: Sequence[Sequence[int]], most: Sequence[int]) -> list[list[int]]:
        """The likeliest word each time, until the end or so many words."""
        said: list[list[int]] = [[] for _ in rows]
        words, live = np.full(len(rows), START, np.int64), np.ones(len(rows), bool)
        kept, state = self.begin(rows)
        while live.any():
            scores, state = self.next(words, kept, state)
            scores[:, [PAD, UNKNOWN, START]] = -np.inf
            words = scores.argmax(1)
            for n in np.flatnonzero(live).tolist():
                live[n] = words[n] != END and len(said[n]) + 1 < most[n]
                said[n] += [] if words[n] == END else [int(words[n])]
        return said

    def translate(self, lines: Sequence[str]) -> list[str]:
        """The translation of each line; an empty one stays empty."""
        rows, found = [self.ids(line) for line in lines], [""] * len(lines)
        order = sorted((n for n, row in enumerate(rows) if row), key=lambda n: len(rows[n]))
        for first in range(0, len(order), TOGETHER):
            some = order[first : first + TOGETHER]
            most = [int(self.config["ratio"] * len(rows[n])) + self.config["extra"] for n in some]
            if max(len(rows[n]) for n in some) > self.config["longest"] or max(most) > self.config["places"]:
                raise ValueError(f"a line has more than {self.config['longest']} pieces; split it at its sentences")
            for n, words in zip(some, self.greedy([rows[n] for n in some], most), strict=True):
                text = str(self.target.decode([self.said[word] for word in words])) if words else ""
                found[n] = text.replace("\u2581", " ").strip() if self.config["strips"] else text
        return found


def main() -> None:
    """Standard input to standard output."""
    model = Model(Path(__file__).parent)
    lines = sys.stdin.buffer.read().decode("utf-8", "replace").split("\n")
    sys.stdout.buffer.write("\n".join(model.translate(lines)).encode())


if __name__ == "__main__":
    main()
