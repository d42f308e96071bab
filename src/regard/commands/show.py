"""`regard show`: what a model looks at, as a page of its own, or as a figure for a paper."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from regard.train.folder import read_manifest

if TYPE_CHECKING:
    from regard.show.ask import Ask
    from regard.translate.translator import Translator

RUN = Annotated[
    Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="RUN", help="The folder of a trained translator.")
]
TEXT = Annotated[
    str | None,
    tyro.conf.Positional,
    tyro.conf.arg(metavar="TEXT", help="What to translate, in quotes; without it, standard input."),
]


@dataclass(frozen=True)
class To:
    """Where it goes."""

    out: Path | None = None
    """The page; page.html if neither this nor a figure is asked for."""
    png: Path | None = None
    """A file for the alignment matrix as a picture (needs regard[show])."""
    svg: Path | None = None
    """The same as a drawing."""
    pieces: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Figures of pieces instead of words."""
    examples: Path | None = None
    """A folder for pages of worked examples; needs no run."""

    @property
    def figures(self) -> list[Path]:
        """The figures that are wanted."""
        return [path for path in (self.png, self.svg) if path is not None]


@dataclass(frozen=True)
class Looking:
    """What is translated how, and looked at where."""

    compare: Path | None = None
    """Another run, to be seen beside this one."""
    beam: int | None = None
    """Hypotheses kept at each step; without it, as the run's recipe has it."""
    nbest: int | None = None
    """Alternatives; more than the beam make it wider."""
    layer: int | None = None
    """The layer that the alignment is read from: 0 is the first, -1 the last."""
    heads: tuple[int, ...] | None = None
    """The heads of it; without, all."""
    threads: int = 0
    """Processor threads; 0 = all cores."""
    trust_code: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Allow a run that names a mechanism in a file of its own, which is then run."""


def show(
    run: RUN = None,
    text: TEXT = None,
    to: Annotated[To, tyro.conf.arg(name="")] = To(),  # noqa: B008 (frozen)
    looking: Annotated[Looking, tyro.conf.arg(name="")] = Looking(),  # noqa: B008
) -> int:
    """What a model looks at when it translates, as one file that needs no network, or as a figure.

    Of a system that is no translator, a picture of what it does: regard show runs/news --png news.png, and a page of
    its looks: --out news.html

    Example: regard show runs/dates "Sunday, November 15, 2026" --out page.html
    """
    if to.examples is not None:
        return _examples(to.examples)
    if run is None:
        raise ValueError('there is nothing to show; give a run and a text: regard show runs/mine "A dog runs."')
    runs = [run] if looking.compare is None else [run, looking.compare]
    for one in runs:
        read_manifest(one)  # what is no run is told before torch is waited for
    if not _says_texts(run):
        return _other_system(run, text, to, looking)
    said = _text(text)
    import torch

    torch.set_num_threads(looking.threads or len(os.sched_getaffinity(0)))
    from regard.show.ask import asked
    from regard.translate.translator import Translator

    ask = asked({"text": said, "beam": looking.beam, "nbest": looking.nbest})
    translators = [Translator.load(one, looking.layer, looking.heads, looking.trust_code) for one in runs]
    if to.figures:
        _figures(translators[0], ask, to)
    if to.out is not None or not to.figures:
        _page(translators, runs, ask, to.out or Path("page.html"))
    return 0


def _says_texts(run: Path) -> bool:
    """Whether it says a text for a text, as translators do; what it says can then be looked into word by word."""
    from regard.recipe import of_run
    from regard.systems.text import TextRecipe

    return isinstance(of_run(run, trust_code=True), TextRecipe)  # it is read, not built


def _other_system(run: Path, text: str | None, to: To, looking: Looking) -> int:
    """What is no translator has its own picture, and a page of its looks, on what it never saw."""
    if text is not None or looking.compare is not None:
        raise ValueError(
            f"{run} is no translator: it has a page (--out F) and a picture (--png F), but takes no text"
        )
    import torch

    from regard.evaluate.system import System
    from regard.show.looks import shown
    from regard.show.page import page
    from regard.show.system import picture

    torch.set_num_threads(looking.threads or len(os.sched_getaffinity(0)))
    system = System.load(run, looking.trust_code)
    for path in to.figures or ([] if to.out else [Path("picture.png")]):
        picture(system.task, system.model, path)
        print(f"{path} shows what it does.")
    if to.out is not None:
        found = shown(system.task, system.model, run.resolve().name, system.recipe.about)
        to.out.parent.mkdir(parents=True, exist_ok=True)
        to.out.write_text(page(found), encoding="utf-8")
        print(f"{to.out} shows what it looked at; open it in a browser.")
    return 0


def _text(text: str | None) -> str:
    if text is None and not sys.stdin.isatty():
        text = sys.stdin.read()
    if text is None or not text.strip():
        raise ValueError("there is no text to translate; give some in quotes behind the run")
    return text.strip("\n")


def _page(translators: Sequence[Translator], runs: Sequence[Path], ask: Ask, out: Path) -> None:
    from regard.show.page import Shown, answers, page

    names = [run.resolve().name for run in runs]
    ids = names if len(set(names)) == len(names) else [f"{name} {at + 1}" for at, name in enumerate(names)]
    models = [_model(run, name) for run, name in zip(runs, ids, strict=True)]
    views = {name: answers(translator, ask) for name, translator in zip(ids, translators, strict=True)}
    first = "compare" if len(runs) > 1 else "translate"
    html = page(Shown(models, views, ask.text, text=ask.text, first=first)).encode("utf-8")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(html)
    for name in ids:
        said = views[name]["translation"]["candidates"][0]["text"]
        print(said if len(ids) == 1 else f"{name}: {said}")
    print(f"{out} ({len(html) / 1000:.0f} kB) shows how; open it in a browser.")


def _model(run: Path, name: str) -> dict[str, Any]:
    from regard.recipe import of_run
    from regard.systems.text import TextRecipe
    from regard.tasks.texts import languages

    recipe = of_run(run, trust_code=True)  # it is only read: the model was built already
    assert isinstance(recipe, TextRecipe)
    source, target = languages(recipe.data)
    return {"id": name, "name": name, "source": source, "target": target}


def _figures(translator: Translator, ask: Ask, to: To) -> None:
    import torch

    from regard.show import draw
    from regard.show.asking import Subject
    from regard.translate.align import by_word, chosen

    result = Subject(translator, ask).found
    if result.attention is None:
        raise ValueError("this model does not look at the source, so there is no alignment to draw")
    table = chosen(result.attention.numpy(), translator.layer, translator.heads)
    rows: Sequence[str] = [piece.replace("\u2581", "·") for piece in result.tokens]
    columns: Sequence[str] = [piece.replace("\u2581", "·") for piece in result.source_tokens]
    if not to.pieces:
        table = by_word(table, result.source_word_of, result.word_of)
        rows, columns = result.words[: len(table)], result.source_words[: table.shape[1]]
    figure = draw.weights(torch.from_numpy(table), rows, columns)
    for path in to.figures:
        print(f"{draw.save(figure, path, dpi=200)} shows who looked at what.")


def _examples(folder: Path) -> int:
    from regard.show.pages import write

    for path, about in write(folder):
        print(f"{path}: {about}", flush=True)
    return 0
