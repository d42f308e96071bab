"""`regard demo`: a translator of dates, trained on the spot, and what it looked at."""

from __future__ import annotations

import json
from pathlib import Path

from rich.console import Console

from regard.commands.train import train
from regard.recipe import load
from regard.systems.translation import TranslationRecipe

SENTENCES = ("Sunday, November 15, 2026", "le 14 juillet 1989", "3. Oktober 1990")


def demo(run: Path = Path("runs/dates")) -> int:
    """A translator of dates, trained on the spot, and what it looks at.

    Args:
        run: The folder for it; the same command again goes on where it stopped.
    """
    recipe = load("dates")
    assert isinstance(recipe, TranslationRecipe)
    code = train(recipe, run)
    if code:
        return code
    from regard.show.characters import alignment
    from regard.translate.translator import Translator

    console = Console(highlight=False, soft_wrap=True)
    for result in Translator.load(run)(SENTENCES, attention=True):
        console.print(f"\n{result.source}  →  {result.text}", markup=False)
        if result.attention is not None:
            mean = result.attention.mean((0, 1))
            for line in alignment(mean, result.tokens, result.source_tokens):
                console.print("  " + line, markup=False)
    scores = json.loads((run / "scores.json").read_text(encoding="utf-8"))
    exact, strange = (100 * scores[split]["exact"] for split in ("test", "held_out"))
    console.print(
        f"\n{exact:.1f} % of {_tested(run):,} dates it never saw are exactly right; the dates are generated."
    )
    console.print(f"In languages it never saw: {strange:.1f} %.")
    console.print(f"Look next at {run}/README.md, {run}/loss.png and {run}/samples; `regard info {run}` sums it up.")
    console.print("With your own text: regard train --run runs/mine --data.source a.txt --data.target b.txt")
    return 0


def _tested(run: Path) -> int:
    return sum(1 for _ in (run / "data" / "test.jsonl").open(encoding="utf-8"))
