"""What `regard evaluate` does once its options are read: translate, score, compare, choose heads. Needs torch."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from regard.commands.scores import Done
from regard.evaluate.compare import compare
from regard.evaluate.heads import Chosen, all_tables, by_both, by_gold, by_itself
from regard.evaluate.links import Gold
from regard.evaluate.run import Evaluation, evaluate
from regard.evaluate.score import metrics, resamples_for, tokeniser_for, warnings
from regard.evaluate.text import ScoredText
from regard.recipe import of_run
from regard.tasks.settings import TextData
from regard.translate.heads import store
from regard.translate.translator import Translator

if TYPE_CHECKING:
    from regard.commands.evaluate import Aligned, Chance, Given, Machine, Searching

ENOUGH = 500  # lines to choose heads by, where there are no gold links


@dataclass(frozen=True)
class Asked:
    """What was asked for, and doing it."""

    runs: Sequence[Path]
    given: Given
    searching: Searching
    chance: Chance
    aligned: Aligned
    machine: Machine

    def done(self, texts: Sequence[ScoredText], gold: Sequence[Gold] | None) -> Done:
        """Translate and score, run by run; then compare."""
        tokenise = self._tokenise()
        told = list(dict.fromkeys(line for text in texts for line in warnings(text, tokenise)))
        for line in told:
            print(f"warning: {line}", file=sys.stderr, flush=True)
        resamples = resamples_for(len(texts[0]), self.chance.resamples)
        names, found, chosen = _names(self.runs), [], None
        for run, name in zip(self.runs, names, strict=True):
            translator = self._translator(run)
            if self.aligned.choose_heads:
                chosen = self._choose(translator, texts[0], gold)
            found.append([self._one(translator, name, t, tokenise, resamples, gold) for t in texts])
        if len(found) == 1:
            return Done(found, told, chosen)
        said = {some[0].run: some[0].said for some in found}
        compared = compare(said, texts[0].references, tokenise, self.chance.test, self.chance.trials)
        return Done(found, told, chosen, compared, self.chance.test)

    def _translator(self, run: Path) -> Translator:
        translator = Translator.load(run, self.aligned.layer, self.aligned.heads, self.machine.trust_code)
        translator([], **self._search())  # a setting that cannot be is told before anything is translated
        return translator

    def _search(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self.searching).items() if value is not None}

    def _tokenise(self) -> str:
        """What was given, else what the first run's recipe says."""
        found: str = self.given.tokenize
        if found == "auto":
            data = of_run(self.runs[0], trust_code=True).sections().get("data")
            found = tokeniser_for(data) if isinstance(data, TextData) else "13a"
        metrics(found)  # a library that is missing is told now
        return found

    def _one(
        self, translator: Translator, name: str, text: ScoredText, tokenise: str, resamples: int,
        gold: Sequence[Gold] | None,
    ) -> Evaluation:  # fmt: skip
        with Console(stderr=True).status(f"translating {len(text):,} lines with {name}") as status:

            def tick(count: int) -> None:
                status.update(f"{name}: {count:,} of {len(text):,} lines")

            return evaluate(translator, name, text, tokenise, resamples, gold, tick, **self._search())

    def _choose(self, translator: Translator, text: ScoredText, gold: Sequence[Gold] | None) -> Chosen:
        """Choose heads, let the translator use them, and keep them with the run."""
        count = len(text) if gold is not None else ENOUGH
        here, there = text.sources[:count], text.references[0][:count]
        seen = all_tables(translator, here, there)
        if gold is not None:
            chosen = by_gold(seen, gold)
        elif self.aligned.reverse is not None:
            other = Translator.load(self.aligned.reverse, trust_code=self.machine.trust_code)
            chosen, _ = by_both(seen, all_tables(other, there, here))
        else:
            chosen = by_itself(seen)
        translator.layer, translator.heads = chosen.heads.layer, chosen.heads.heads
        store(self.runs[0], chosen.heads, by=chosen.by, score=round(chosen.score, 6), lines=chosen.lines)
        return chosen


def _names(runs: Sequence[Path]) -> list[str]:
    """Short ones, if they tell the runs apart."""
    short = [run.resolve().name for run in runs]
    return short if len(set(short)) == len(short) else [str(run) for run in runs]
