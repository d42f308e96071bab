"""The model card: what the model is, what it was trained on, how good it is. Needs no torch."""

from __future__ import annotations

import json
from pathlib import Path

from regard.recipe import of_run
from regard.tasks.settings import TextData
from regard.train.folder import read_manifest


def card(run: Path) -> str:
    """README.md of a run folder, with the front matter that model hubs read."""
    recipe = of_run(run, trust_code=True)  # it is told, not built
    data = recipe.sections()["data"]
    assert isinstance(data, TextData)
    manifest = read_manifest(run)
    ready = json.loads((run / "data" / "ready.json").read_text(encoding="utf-8"))
    scores = json.loads((run / "scores.json").read_text(encoding="utf-8"))
    languages = [code for code in (data.source_language, data.target_language) if code]
    front = ["---", "library_name: regard", "pipeline_tag: translation"]
    front += ["language:", *(f"- {code}" for code in languages)] if languages else []
    lines = [*front, "---", "", f"# {run.resolve().name}", "", recipe.about, ""]
    lines += ["## Data", "", f"{ready['pairs']:,} pairs from {_where(data, ready['where'])}.", ""]
    lines += ["## Scores", "", *_table(scores), ""]
    lines += [
        f"Best of the run: step {manifest['step']}. BLEU and chrF2++ by sacreBLEU, split as `{data.scored}`.",
        "",
    ]
    lines += [
        "## Use",
        "",
        f"`{manifest['model']}` with `recipe.toml` and `pieces/`; SHA-256 of each in `manifest.json`.",
        "",
    ]
    return "\n".join(lines)


def _where(data: TextData, where: str) -> str:
    """What the text was, by name only: a card travels, folders do not."""
    if data.generated is not None:
        return f"a generator (`{data.generated}`): this is no real text"
    return " and ".join(Path(part).name for part in where.split(" and "))


def _table(scores: dict[str, dict[str, float]]) -> list[str]:
    names = list(scores["valid"])
    rows = []
    for split in (name for name in scores if name != "step"):
        cells = (f"{scores[split][name]:.4g}" if name in scores[split] else "" for name in names)
        rows.append(f"| {split} | {' | '.join(cells)} |")
    return ["| | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|", *rows]
