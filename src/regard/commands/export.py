"""`regard export` and `regard import`: to other engines, and from another toolkit."""

from __future__ import annotations

import importlib.util
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from regard.train.folder import read_manifest

if TYPE_CHECKING:
    from regard.export.sentences import Sentences
    from regard.translate.opened import Opened

Quantization = Literal[
    "float32", "float16", "bfloat16", "int16", "int8", "int8_float32", "int8_float16", "int8_bfloat16"
]
NEEDS = {"ctranslate2": (("ctranslate2",), "fast"), "onnx": (("onnx", "onnxruntime"), "onnx")}


@dataclass(frozen=True)
class Checking:
    """Sentences by which model and export are compared, and how far they may differ."""

    source: Path | None = None
    """A sentence a line; without it, the run's test text, or its validation text."""
    reference: Path | None = None
    """Their translations, line by line, for BLEU."""
    sentences: int = 1000
    """How many of them, at most."""
    same: float | None = None
    """The share that must be word for word the same: 0.995 for float32, less for numbers of less precision."""
    bleu: float | None = None
    """How far the BLEU scores may be apart: 0.1 for float32."""
    unchecked: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Do not compare."""


def export(
    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")],
    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DIR")],
    to: Literal["ctranslate2", "onnx"],
    quantization: Quantization = "float32",
    checking: Annotated[Checking, tyro.conf.arg(name="")] = Checking(),  # noqa: B008 (frozen)
    fresh: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
    threads: int = 0,
    trust_code: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
) -> None:
    """A model in the form of another engine, compared with the model before it is kept.

    Example: regard export runs/mine --to ctranslate2 mine-ct2

    Args:
        run: The folder of a trained translator.
        folder: The folder to make.
        to: CTranslate2 (Transformers, fast on CPUs), or ONNX (an encoder and a step, for any program).
        quantization: Kind of numbers in a CTranslate2 model; int8 is a quarter as large.
        fresh: Replace an earlier export in that folder.
        threads: Processor threads; 0 = all cores.
        trust_code: Allow a run that names a mechanism in a file of its own, which is then run.
    """
    from regard.export.whole import free

    read_manifest(run)  # what is no run is told before torch is waited for
    free(folder, "export.json" if fresh else None)
    _installed(to)
    if to == "onnx" and quantization != "float32":
        raise ValueError("--quantization is for --to ctranslate2; ONNX graphs have float32 numbers: leave it out")
    if checking.reference is not None and checking.source is None:
        raise ValueError("there is --reference without --source; give both")
    threads = threads or len(os.sched_getaffinity(0))
    import torch

    torch.set_num_threads(threads)
    from regard.export.folder import Wanted, to_ctranslate2, to_onnx
    from regard.search.steady import ask_for_strict
    from regard.translate.opened import opened

    ask_for_strict()
    found = opened(run, trust_code)
    wanted = Wanted(_texts(run, found, checking), checking.same, checking.bleu, threads)
    if to == "ctranslate2":
        to_ctranslate2(run, found, folder, quantization, wanted, say)
    else:
        to_onnx(run, found, folder, wanted, say)
    say(f"the model is in {folder}; try: python {folder / 'translate.py'} < text")


def import_(
    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="HF_DIR")],
    run: Path,
    language: str | None = None,
) -> None:
    """A Marian model of Hugging Face's form as a run folder, which `regard translate` and all others then know.

    Example: regard import opus-mt-en-de --run runs/opus-en-de

    Args:
        folder: The local folder of the model: config.json, model.safetensors, source.spm, target.spm, vocab.json.
        run: The run folder to make.
        language: What to say, for a model that knows several languages: a code such as fra.
    """
    from regard.export.marian import import_marian

    import_marian(folder, run, language, say)
    say(f"the model is in {run}; try: echo 'Hello world' | regard translate {run}")


def say(line: str) -> None:
    """One line for people."""
    print(line, file=sys.stderr, flush=True)


def _texts(run: Path, found: Opened, checking: Checking) -> Sentences | None:
    from regard.export.sentences import from_files, of_run

    if checking.unchecked:
        return None
    texts = from_files(checking.source, checking.reference) if checking.source else of_run(run, found.recipe)
    if texts is None:
        raise ValueError(
            f"{run} has no test or validation text to compare with; give some lines with --source F (and --reference "
            "F for BLEU), or leave it unchecked with --unchecked"
        )
    return texts.first(checking.sentences)


def _installed(to: str) -> None:
    modules, extra = NEEDS[to]
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        raise ValueError(f"--to {to} needs {' and '.join(missing)}; install it with pip install 'regard[{extra}]'")
