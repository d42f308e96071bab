"""Translates with the CTranslate2 model in this folder, a line at a time: `python translate.py < text > translation`.

Needs ctranslate2 and sentencepiece. Text longer than the model was trained on is not split here: use regard itself.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ctranslate2
import sentencepiece


class Model:
    """The model with its pieces."""

    def __init__(self, folder: Path, threads: int = 0) -> None:
        self.told: dict[str, Any] = json.loads((folder / "export.json").read_text(encoding="utf-8"))["translate"]
        self.translator = ctranslate2.Translator(str(folder), intra_threads=threads)
        self.source, self.target = (sentencepiece.SentencePieceProcessor() for _ in range(2))
        self.source.load(str(folder / "source.spm"))
        self.target.load(str(folder / "target.spm"))

    def translate(self, lines: Sequence[str], beam: int = 5, length_penalty: float = 1.0) -> list[str]:
        """The translation of each line; an empty one stays empty."""
        pieces = [self.source.encode(line.strip(), out_type=str) for line in lines]
        full = [n for n, row in enumerate(pieces) if row]
        if any(len(pieces[n]) > self.told["longest"] for n in full):
            raise ValueError(f"a line has more than {self.told['longest']} pieces; split it at its sentences")
        given = [[*self.told["source_first"], *pieces[n]] for n in full]
        most = max((int(self.told["ratio"] * len(row)) + self.told["extra"] for row in given), default=1)
        answers = self.translator.translate_batch(
            given, beam_size=beam, length_penalty=length_penalty, min_decoding_length=0, max_decoding_length=most,
            max_input_length=0, disable_unk=True, suppress_sequences=[[word] for word in self.told["never"]],
            max_batch_size=4096, batch_type="tokens",
        )  # fmt: skip
        found = [""] * len(lines)
        for n, answer in zip(full, answers, strict=True):
            text = str(self.target.decode(answer.hypotheses[0])) if answer.hypotheses[0] else ""
            found[n] = text.replace("\u2581", " ").strip() if self.told["strips"] else text
        return found


def main() -> None:
    """Standard input to standard output."""
    model = Model(Path(__file__).parent)
    lines = sys.stdin.buffer.read().decode("utf-8", "replace").split("\n")
    sys.stdout.buffer.write("\n".join(model.translate(lines)).encode())


if __name__ == "__main__":
    main()
