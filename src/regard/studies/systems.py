"""Finished runs of any system as a table, beside what their papers report, with a picture of each.

`regard study systems --to docs/results RUN ...`; a run is made by `regard train NAME --run RUN`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from regard.evaluate.system import System
from regard.show.system import picture
from regard.studies.trial import machine
from regard.train.folder import made_with, read_manifest

PAPERS: dict[str, dict[str, str]] = {
    "hull": {"n=5": "92.0 % exact, 99.6 % of the area (trained on 5 to 50)", "n=10": "87.0 %, 99.8 %"},
    "hull-vinyals": {"given, n=5": "92.0 % exact, 99.6 % of the area (trained on 5 to 50)"},
    "delaunay": {"n=5": "80.7 % exact, 93.0 % of the triangles", "n=10": "22.6 %, 81.3 % (trained on 10)"},
    "tour-5": {"n=5": "length 2.12; the optimum is 2.12", "n=10": "not of this model"},
    "tour-10": {
        "n=5": "2.12",
        "n=10": "2.88; the optimum is 2.87",
        "n=20": "3.88 (trained on 5 to 20); optimum 3.83",
    },
    "ntm-copy": {"size=20": "about 0 bits", "size=40": "about 0 bits up to 120"},
    "lstm-copy": {"size=20": "about 2 bits", "size=40": "fails beyond 20"},
    "ntm-ngrams": {"size=60": "at 200 bits that depend on five: 133 to 134 bits; the optimum is 131 to 132"},
    "lstm-ngrams": {"size=60": "at 200 bits that depend on five: 137 bits"},
    "ntm-recall": {"size=15": "below 1 bit"},
    "scitldr": {"test": "about 43 ROUGE-1 by BART, pre-trained (Cachola et al. 2020, on the test set)"},
    "lstmn": {"test": "on the Penn Treebank: LSTMN 108, LSTM 115"},
    "lstm-lm": {"test": "on the Penn Treebank: 115"},
    "lstmn-dictionary": {"test": "on the Penn Treebank, in words: LSTMN 108, LSTM 115"},
    "omniglot": {"5-way 1-shot": "99.07 % (1,200 characters at random, 28 × 28)"},
    "cmudict": {"test": "5.45 % errors, 23.55 % wrong (Yao & Zweig 2015, bi-LSTM; another split)"},
    "inflection-german": {"test": "95.56 % exact, the mean of ten languages (Kann & Schütze 2016; the test sets)"},
    "reverse": {"size=16": "100.00 % (Lippe's tutorial 6)"},
    "odd-one-out": {"size=10": "94.30 % (Lippe's tutorial 6, on features of CIFAR-100)"},
    "odd-omniglot": {"size=10": "94.30 % (Lippe's tutorial 6, on features of CIFAR-100)"},
    "stories": {
        "facts=1": "2.3 steps on bAbI (Dehghani et al. 2019)",
        "facts=2": "3.1 steps",
        "facts=3": "3.8 steps",
    },
}


TOLD = ("regard", "threads", "precision")
"""Of what a run was made with; the rest is in systems.json."""

Scores = Mapping[str, Mapping[str, float]]
"""Figures by split, then by measure."""


class Goal(NamedTuple):
    """What a figure is to come to: a number, or so many times another figure."""

    split: str
    measure: str
    sign: Literal["≥", "≤"]
    value: float
    of: tuple[str, str, str] | None = None
    """The other figure: its run, its split, its measure."""

    def told(self, name: str, known: Mapping[str, Scores]) -> str | None:
        """One line: what was asked and whether it was reached; None while a figure is not known."""
        ours = _figure(known, (name, self.split, self.measure))
        theirs = 1.0 if self.of is None else _figure(known, self.of)
        if ours is None or theirs is None:
            return None
        asked = self.value * theirs
        reached = ours >= asked if self.sign == "≥" else ours <= asked
        what = "" if self.of is None else f" × {theirs:.4g}, {self.of[2]} at {self.of[1]} of {self.of[0]}"
        return (
            f"- {self.split}, {self.measure}: {ours:.4g} ({self.sign} {self.value:g}{what}): "
            f"{'reached' if reached else '**not reached**'}"
        )


def _figure(known: Mapping[str, Scores], at: tuple[str, str, str]) -> float | None:
    run, split, measure = at
    return known.get(run, {}).get(split, {}).get(measure)


GOALS: dict[str, Sequence[Goal]] = {
    "hull": (Goal("n=5", "exact", "≥", 0.85), Goal("n=5", "area", "≥", 0.99)),
    "hull-vinyals": (Goal("given, n=5", "exact", "≥", 0.85), Goal("given, n=5", "area", "≥", 0.99)),
    "sort": (Goal("n=10", "exact", "≥", 0.9),),
    "tour-5": (Goal("n=5", "length", "≤", 2.15),),
    "tour-10": (Goal("n=10", "length", "≤", 3.0),),
    "ntm-copy": (
        Goal("size=10", "bits", "≤", 0.1),
        Goal("size=20", "bits", "≤", 0.1),
        Goal("size=40", "bits", "≤", 1),
    ),
    "lstm-copy": (Goal("size=40", "bits", "≥", 10),),
    "ntm-copy-x23": (
        Goal("size=20", "bits", "≥", 5, ("ntm-copy", "size=20", "bits")),
        Goal("size=40", "bits", "≥", 5, ("ntm-copy", "size=40", "bits")),
    ),
    "ntm-ngrams": (
        Goal("size=60", "bits", "≤", 1.03, ("ntm-ngrams", "size=60", "best possible")),
        Goal("size=60", "bits", "≤", 1, ("lstm-ngrams", "size=60", "bits")),
    ),
    "news": (Goal("sentences=6", "copied", "≥", 0.95),),
    "news-plain": (Goal("sentences=6", "copied", "≤", 0),),
    "digest": (
        Goal("sentences=5", "repeated", "≤", 0.2, ("digest-uncovered", "sentences=5", "repeated")),
        Goal("sentences=8", "repeated", "≤", 0.2, ("digest-uncovered", "sentences=8", "repeated")),
    ),
    "omniglot": (Goal("5-way 1-shot", "right", "≥", 0.85),),
    "lstmn": (Goal("test", "perplexity", "≤", 0.98, ("lstm-lm", "test", "perplexity")),),
    "lstmn-dictionary": (Goal("test", "perplexity", "≤", 0.98, ("lstm-dictionary", "test", "perplexity")),),
    "reverse": (Goal("size=16", "right", "≥", 0.999), Goal("size=16", "anti-diagonal", "≥", 0.9)),
    "odd-one-out": (Goal("size=10", "right", "≥", 0.9),),
    "referent": (Goal("size=12", "right", "≥", 0.95), Goal("pairs", "moves", "≥", 0.9)),
    "stories": (
        Goal("facts=1", "right", "≥", 0.95),
        Goal("facts=2", "right", "≥", 0.95),
        Goal("facts=3", "right", "≥", 0.95),
        Goal("facts=2", "steps where asked", "≥", 1.01, ("stories", "facts=1", "steps where asked")),
        Goal("facts=3", "steps where asked", "≥", 1.01, ("stories", "facts=2", "steps where asked")),
    ),
    "trees": (Goal("test", "exact", "≥", 0.95),),
}


def record(run: Path, to: Path) -> dict[str, Any]:
    """What a run has come to, and its picture beside it."""
    name, manifest, system = run.resolve().name, read_manifest(run), System.load(run)
    recipe, model = system.recipe, system.model
    picture(system.task, model, to / f"{name}.png")
    scores = json.loads((run / "scores.json").read_text(encoding="utf-8"))
    return {
        "run": name,
        "about": recipe.about,
        "weights": sum(weight.numel() for weight in model.parameters() if weight.requires_grad),
        "step": manifest["step"],
        "minutes": _minutes(run),
        "seed": recipe.train.seed,
        "command": f"regard train {_recipe(name)} --run {name}{_seed(recipe.train.seed)}",
        "made with": made_with(run),
        "scores": {split: found for split, found in scores.items() if split not in ("step", "valid")},
    }


def _recipe(run: str) -> str:
    """What it is a run of: hull-seed2 is one of hull."""
    return run.partition("-seed")[0]


def _seed(seed: int) -> str:
    return "" if seed == 1 else f" --train.seed {seed}"


def _minutes(run: Path) -> float:
    """How long it was trained, as far as its clock tells."""
    file = run / "times.jsonl"
    lines = [line for line in file.read_text(encoding="utf-8").split("\n") if line] if file.is_file() else []
    return round(json.loads(lines[-1])["seconds"] / 60, 1) if lines else 0.0


def page(found: Mapping[str, Any], known: Mapping[str, Scores]) -> str:
    """One run in Markdown."""
    scores: dict[str, dict[str, float]] = found["scores"]
    papers, names = (
        PAPERS.get(_recipe(found["run"]), {}),
        list(dict.fromkeys(name for some in scores.values() for name in some)),
    )
    rows = ["| | " + " | ".join(names) + " | paper |", "|---" * (len(names) + 2) + "|"]
    for split, figures in scores.items():
        cells = (f"{figures[name]:.4g}" if name in figures else "" for name in names)
        rows.append(f"| {split} | {' | '.join(cells)} | {papers.get(split, '')} |")
    made = "".join(f", {name} {told}" for name, told in found.get("made with", {}).items() if name in TOLD)
    facts = (
        f"{found['weights']:,} weights, best at step {found['step']:,}, {found['minutes']} min, "
        f"seed {found['seed']}{made}"
    )
    told = [
        line for goal in GOALS.get(_recipe(found["run"]), ()) if (line := goal.told(found["run"], known)) is not None
    ]
    rows += ["", "Goals:", "", *told] if told else []
    return "\n".join(
        [f"## {found['run']}", "", found["about"], "", f"`{found['command']}`: {facts}.", "", *rows, "",
         f"![{found['run']}]({found['run']}.png)", ""]
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Read runs, write systems.json, systems.md and a picture of each; what is known of other runs stays."""
    parser = argparse.ArgumentParser("regard study systems", description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--to", type=Path, default=Path("docs/results"))
    given = parser.parse_args(arguments)
    given.to.mkdir(parents=True, exist_ok=True)
    file = given.to / "systems.json"
    known = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    for run in given.runs:
        found = record(run, given.to) | machine()
        known[found["run"]] = found
    file.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    scores = {name: found["scores"] for name, found in known.items()}
    pages = [page(found, scores) for _, found in sorted(known.items())]
    (given.to / "systems.md").write_text("\n".join(["# Systems, measured", "", *pages]), encoding="utf-8")


if __name__ == "__main__":
    main()
