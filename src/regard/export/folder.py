"""An exported model as a folder: its engine's files, its pieces, a program that runs it, and how it was checked."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard import __version__
from regard.export import beside as programs
from regard.export import ctranslate, onnx_graphs
from regard.export.check import Bar, Engine, Outcome, compared
from regard.export.sentences import Sentences
from regard.export.whole import appearing
from regard.text.ids import END, PAD, START, UNKNOWN
from regard.text.numbered import NumberedPieces
from regard.train.folder import digest, model_of, write
from regard.translate.opened import Opened

Say = Callable[[str], None]
TOLD = "export.json"


@dataclass(frozen=True)
class Wanted:
    """How an export is checked; a bar that is not given is that of its kind of numbers."""

    texts: Sentences | None
    same: float | None = None
    bleu: float | None = None
    threads: int = 1

    def bar(self, usual: Bar) -> Bar:
        """What must be reached."""
        return Bar(usual.same if self.same is None else self.same, usual.bleu if self.bleu is None else self.bleu)


def to_ctranslate2(run: Path, found: Opened, folder: Path, quantization: str, wanted: Wanted, say: Say) -> None:
    """Model.bin and what belongs to it."""
    model = ctranslate.expressible(found.model)
    with appearing(folder) as new:
        ctranslate.save(model, found.source, found.target, new, quantization, _most(found))
        engine = ctranslate.CTranslate2(new, found.source, found.target, wanted.threads)
        outcome = _checked(engine, found, wanted, ctranslate.bar(quantization), say)
        told = _told(run, found, engine, outcome) | {"to": "ctranslate2", "quantization": quantization}
        _complete(new, found, "with_ctranslate2.py", told, outcome)


def to_onnx(run: Path, found: Opened, folder: Path, wanted: Wanted, say: Say) -> None:
    """Both graphs and what belongs to them."""
    with appearing(folder) as new:
        names = onnx_graphs.save(found.model, new, _most(found))
        for side, pieces in (("source", found.source), ("target", found.target)):
            write(new / f"{side}_vocabulary.json", json.dumps(pieces.words(range(len(pieces))), ensure_ascii=False))
        source = found.source
        numbered = source if isinstance(source, NumberedPieces) else None
        config = {
            **{key: value for key, value in _translate(found).items() if key not in ("source_first", "never")},
            "source_first": None if numbered is None else numbered.first,
            "source_ends": numbered is not None and numbered.ends,
            "places": _most(found),
            "pad": PAD, "unknown": UNKNOWN, "start": START, "end": END, **names,
        }  # fmt: skip
        write(new / "config.json", json.dumps(config, indent=1))
        _pieces(new, found)
        with onnx_graphs.running():
            engine = onnx_graphs.Onnx(new, wanted.threads)
            apart = _scores(engine, found, wanted, say)
            outcome = _checked(engine, found, wanted, onnx_graphs.BAR, say)
        told = _told(run, found, engine, outcome) | {"to": "onnx", "scores apart": apart}
        _complete(new, found, "with_onnx.py", told, outcome)


def _scores(engine: onnx_graphs.Onnx, found: Opened, wanted: Wanted, say: Say) -> float | None:
    """How far the graph's scores are from the model's; without sentences, of some made up."""
    texts = [] if wanted.texts is None else wanted.texts.sources
    rows = [row for row in found.source.encode(texts[: 4 * onnx_graphs.CHECKED]) if 0 < len(row) <= _longest(found)]
    rows = rows or [list(range(END + 1, END + 1 + n)) for n in (3, 1, 5) if END + n < len(found.source)]
    most = [min(_most(found), 20 + len(row)) for row in rows]
    apart = onnx_graphs.distance(engine, found.model, rows, most)
    onnx_graphs.close(apart)
    say(f"scores are at most {apart:.1e} apart, as a share of the largest ({onnx_graphs.CLOSE:g} asked)")
    return apart


def _checked(engine: Engine, found: Opened, wanted: Wanted, usual: Bar, say: Say) -> Outcome | None:
    if wanted.texts is None:
        say("not checked against the model, as asked")
        return None
    recipe = found.recipe
    outcome = compared(
        engine, found.model, found.source, found.target, wanted.texts, recipe.search, _longest(found),
        recipe.data.scored,
    )  # fmt: skip
    for line in outcome.lines():
        say(line)
    outcome.judge(wanted.bar(usual))
    return outcome


def _longest(found: Opened) -> int:
    """Pieces of a source, at most."""
    return min(found.recipe.data.longest, found.recipe.model.longest)


def _most(found: Opened) -> int:
    """Words of a translation, at most."""
    search = found.recipe.search
    most = max(_longest(found), int(search.longest_ratio * _longest(found)) + search.longest_extra)
    return most if found.model.longest is None else min(most, found.model.longest)


def _translate(found: Opened) -> dict[str, Any]:
    """What a program beside the model must know."""
    source, search = found.source, found.recipe.search
    numbered = source if isinstance(source, NumberedPieces) else None
    first = [] if numbered is None or numbered.first is None else source.words([numbered.first])
    return {
        "longest": _longest(found) - len(first) - (numbered is not None and numbered.ends),
        "ratio": search.longest_ratio,
        "extra": search.longest_extra,
        "strips": isinstance(found.target, NumberedPieces),
        "source_first": first,
        "never": found.target.words([PAD, START]),
    }


def _told(run: Path, found: Opened, engine: Engine, outcome: Outcome | None) -> dict[str, Any]:
    return {
        "regard": __version__,
        "engine": engine.name,
        "model": {"run": run.resolve().name, "sha256": digest(model_of(run))},
        "translate": _translate(found),
        "check": None if outcome is None else outcome.as_json(),
    }


def _pieces(folder: Path, found: Opened) -> None:
    for side, pieces in (("source", found.source), ("target", found.target)):
        write(folder / f"{side}.spm", pieces.sentencepiece if isinstance(pieces, NumberedPieces) else pieces.model)


def _complete(folder: Path, found: Opened, program: str, told: dict[str, Any], outcome: Outcome | None) -> None:
    """What every export has beside the engine's files."""
    _pieces(folder, found)
    shutil.copyfile(Path(str(programs.__file__)).with_name(program), folder / "translate.py")
    write(folder / TOLD, json.dumps(told, indent=1, ensure_ascii=False))
    write(folder / "README.md", _readme(found, told, outcome))


NEEDS = {"ctranslate2": "ctranslate2 sentencepiece", "onnx": "numpy onnxruntime sentencepiece"}
FILES = {
    "ctranslate2": "`model.bin`, `config.json` and the vocabularies are a CTranslate2 model; give it the pieces that "
    "`source.spm` makes of a text, and join what it says with `target.spm`.",
    "onnx": "`encoder.onnx` reads a source once; `step.onnx` says one more word, from the state that the last step "
    "gave. `config.json` has the names. `source.spm`, `target.spm` and the vocabularies make numbers of text, and "
    "text of numbers.",
}


def _readme(found: Opened, told: dict[str, Any], outcome: Outcome | None) -> str:
    to = told["to"]
    checked = ["Not checked."] if outcome is None else [f"{line[0].upper()}{line[1:]}." for line in outcome.lines()]
    lines = [
        f"# {told['model']['run']} for {told['engine']}",
        "",
        found.recipe.about,
        "",
        "```",
        f"pip install {NEEDS[to]}",
        "python translate.py < text > translation",
        "```",
        "",
        FILES[to],
        "",
        "## Checked against the model it was made of",
        "",
        *checked,
        "",
        f"Made by regard {told['regard']}"
        + (f", numbers as {told['quantization']}." if to == "ctranslate2" else "."),
        "",
    ]
    return "\n".join(lines)
