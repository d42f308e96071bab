"""The model card: what the model is, what it was trained on, how good it is. Needs no torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from regard.recipe import of_run
from regard.train.folder import read_manifest


def card(run: Path) -> str:
    """README.md of a run folder, with the front matter that model hubs read."""
    recipe = of_run(run, trust_code=True)  # it is told, not built
    manifest, ready, scores = read_manifest(run), _json(run / "data" / "ready.json"), _json(run / "scores.json")
    languages = recipe.languages()
    front = ["---", "library_name: regard", f"pipeline_tag: {recipe.tag}"]
    front += ["language:", *(f"- {code}" for code in languages)] if languages else []
    lines = [*front, "---", "", f"# {run.resolve().name}", "", recipe.about, ""]
    lines += ["## Data", "", f"{recipe.learned_from(ready)}.", ""]
    lines += ["## Scores", "", *_table(scores), ""]
    lines += [f"Best of the run: step {manifest['step']}. {recipe.scored_by()}".rstrip(), ""]
    files = " and ".join(["`recipe.toml`", *(["`pieces/`"] if (run / "pieces").is_dir() else [])])
    lines += ["## Use", "", f"`{manifest['model']}` with {files}; SHA-256 of each in `manifest.json`.", ""]
    return "\n".join(lines)


def _json(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return found


def _table(scores: dict[str, dict[str, float]]) -> list[str]:
    names = list(scores["valid"])
    rows = []
    for split in (name for name in scores if name != "step"):
        cells = (f"{scores[split][name]:.4g}" if name in scores[split] else "" for name in names)
        rows.append(f"| {split} | {' | '.join(cells)} |")
    return ["| | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|", *rows]
