"""What copying and coverage are worth: unknown words, trigrams said twice, and ROUGE on a real set.

`python -m regard.studies.copying --to docs/results RUN ...`; the runs are those of the recipes news, news-plain,
digest, digest-uncovered and scitldr, each made by `regard train NAME --run NAME` and known by its folder's name.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from regard.evaluate.system import System
from regard.show.system import picture
from regard.studies.trial import machine, reached, table, write
from regard.tasks.copying import CopyingTask
from regard.tasks.rouge import rouge
from regard.text.articles import Article

Figures = dict[str, dict[str, float]]
MEASURES = ("rouge1", "rouge2", "rougeL", "exact", "copied", "repeated", "p_gen", "p_gen, unknown")
PAPERS = (
    ("See et al. 2017, pointer-generator, CNN/Daily Mail", "36.44", "15.66", "33.42"),
    ("the same with coverage", "39.53", "17.28", "36.38"),
    ("the first three sentences, CNN/Daily Mail", "40.34", "17.70", "36.57"),
    ("a re-implementation (atulkum/pointer_summarizer)", "39.07", "16.97", "35.87"),
    ("Cachola et al. 2020, BART pre-trained, SciTLDR's test set", "about 43", "", ""),
)
"""Summaries of three sentences for 287 000 news texts; ours are one sentence for 2 000 abstracts."""


def first_words(some: Sequence[Article]) -> dict[str, float]:
    """ROUGE of what costs nothing: as many words from the beginning of a text as summaries have on the whole."""
    count = round(float(np.mean([len(summary) for article in some for summary in article.summaries])))
    found = [rouge(article.text[:count], article.summaries) for article in some]
    return {name: 100 * float(np.mean([one[name] for one in found])) for name in found[0]}


def of_run(run: Path, to: Path) -> tuple[str, Figures]:
    """The figures of a run on what nothing was chosen by, and its picture."""
    system, name = System.load(run), run.resolve().name
    assert isinstance(system.task, CopyingTask)
    picture(system.task, system.model, to / f"copying-{name}.png")
    scores: Figures = json.loads((run / "scores.json").read_text(encoding="utf-8"))
    found = {split: figures for split, figures in scores.items() if split not in ("step", "valid")}
    if system.recipe.sections()["data"].model_dump()["articles"] is not None:
        found["its first words"] = first_words(system.task.origin.tests()["test"])
    return name, found


def page(found: Mapping[str, Figures]) -> str:
    """Every figure, and what was to be reached."""
    rows = [
        [f"`{name}`", split, *(f"{figures[measure]:.4g}" if measure in figures else "" for measure in MEASURES)]
        for name, splits in found.items()
        for split, figures in splits.items()
    ]
    about = (
        "`copied`: the share of unknown words of the right summary that are said, in their order; `repeated`: of all "
        "trigrams, those said before in the same summary; `p_gen`: its mean where the right word is known, and where "
        "it can only be copied; `its first words`: as many words of the text as summaries have.\n"
    )
    parts = ["# Copying and coverage\n", about, table(["run", "on", *MEASURES], rows)]
    parts += ["## Reached\n", *goals(found), ""]
    parts += ["## ROUGE in papers\n", table(["", "ROUGE-1", "ROUGE-2", "ROUGE-L"], PAPERS)]
    parts += [f"## `{name}`\n\n![{name}](copying-{name}.png)\n" for name in found]
    return "\n".join(parts)


def goals(found: Mapping[str, Figures]) -> list[str]:
    """A line for each goal that these runs are about, in all their tests together where nothing else is said."""
    lines = []
    if "news" in found:
        lines.append(reached("unknown words copied, the least of all sizes, %", 100 * _least(found["news"]), 95))
    if "news-plain" in found:
        most = max(figures["copied"] for figures in found["news-plain"].values())
        lines.append(reached("the same by plain attention, the most, %", 100 * most, 0, at_least=False))
    if "digest" in found and "digest-uncovered" in found:
        for size, figures in found["digest"].items():
            without, covered = found["digest-uncovered"][size]["repeated"], figures["repeated"]
            told = (
                f"repeated trigrams at {size}, {100 * without:.3g} % without coverage, {100 * covered:.3g} % with it"
            )
            if without > 0:
                lines.append(
                    f"- {told}: none left" if covered == 0 else reached(f"{told}, times", without / covered, 5)
                )
    return lines


def _least(figures: Figures) -> float:
    return min(one["copied"] for one in figures.values())


def main(arguments: Sequence[str] | None = None) -> None:
    """Read runs, write copying.json, copying.md and a picture of each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--to", type=Path, default=Path("docs/results"))
    given = parser.parse_args(arguments)
    given.to.mkdir(parents=True, exist_ok=True)
    found = dict(of_run(run, given.to) for run in given.runs)
    names = " ".join(run.resolve().name for run in given.runs)
    about: dict[str, Any] = {"command": f"python -m regard.studies.copying {names}", **machine()}
    write(given.to, "copying", about, {"scores": found}, page(found))


if __name__ == "__main__":
    main()
