"""Finished runs of any system as a table, beside what their papers report, with a picture of each.

`regard study systems --to docs/results RUN ...`; a run is made by `regard train NAME --run RUN`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from regard.evaluate.system import System
from regard.show.system import picture
from regard.studies.trial import machine
from regard.train.folder import read_manifest

PAPERS: dict[str, dict[str, str]] = {
    "hull": {"n=5": "92.0 % exact, 99.6 % of the area (trained on 5 to 50)", "n=10": "87.0 %, 99.8 %"},
    "tour-5": {"n=5": "length 2.12; the optimum is 2.12", "n=10": "not of this model"},
    "tour-10": {
        "n=5": "2.12",
        "n=10": "2.88; the optimum is 2.87",
        "n=20": "3.88 (trained on 5 to 20); optimum 3.83",
    },
    "ntm-copy": {"size=20": "about 0 bits", "size=40": "about 0 bits up to 120"},
    "lstm-copy": {"size=20": "about 2 bits", "size=40": "fails beyond 20"},
    "ntm-ngrams": {"size=200": "133 to 134 bits; the optimum is 131 to 132"},
    "lstm-ngrams": {"size=200": "137 bits"},
    "ntm-recall": {"size=15": "below 1 bit"},
    "scitldr": {"test": "about 43 ROUGE-1 by BART, pre-trained (Cachola et al. 2020, on the test set)"},
    "lstmn": {"test": "on the Penn Treebank: LSTMN 108, LSTM 115"},
    "lstm-lm": {"test": "on the Penn Treebank: 115"},
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
        "command": f"regard train {name} --run {name}",
        "scores": {split: found for split, found in scores.items() if split not in ("step", "valid")},
    }


def _minutes(run: Path) -> float:
    """How long it was trained, as far as its clock tells."""
    file = run / "times.jsonl"
    lines = [line for line in file.read_text(encoding="utf-8").split("\n") if line] if file.is_file() else []
    return round(json.loads(lines[-1])["seconds"] / 60, 1) if lines else 0.0


def page(found: Mapping[str, Any]) -> str:
    """One run in Markdown."""
    scores: dict[str, dict[str, float]] = found["scores"]
    papers, names = (
        PAPERS.get(found["run"], {}),
        list(dict.fromkeys(name for some in scores.values() for name in some)),
    )
    rows = ["| | " + " | ".join(names) + " | paper |", "|---" * (len(names) + 2) + "|"]
    for split, figures in scores.items():
        cells = (f"{figures[name]:.4g}" if name in figures else "" for name in names)
        rows.append(f"| {split} | {' | '.join(cells)} | {papers.get(split, '')} |")
    facts = (
        f"{found['weights']:,} weights, best at step {found['step']:,}, {found['minutes']} min, seed {found['seed']}"
    )
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
    pages = [page(found) for _, found in sorted(known.items())]
    (given.to / "systems.md").write_text("\n".join(["# Systems, measured", "", *pages]), encoding="utf-8")


if __name__ == "__main__":
    main()
