"""What was measured as JSON, which other programs read; docs/evaluating.md says what each name means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from regard import __version__
from regard.evaluate.compare import Comparison, Test
from regard.evaluate.heads import Chosen
from regard.evaluate.run import Evaluation
from regard.evaluate.score import Sentence, sacrebleu_version

FORMAT = 1
LISTED = 10  # best and worst lines


def record(
    runs: Sequence[Sequence[Evaluation]],
    warnings: Sequence[str] = (),
    compared: Mapping[str, Comparison] | None = None,
    test: Test = "bootstrap",
    chosen: Chosen | None = None,
) -> dict[str, Any]:
    """Everything. One run's first text stands at the top and its other texts under `sets`; several under `runs`."""
    about: dict[str, Any] = {"format": FORMAT, "regard": __version__, "sacrebleu": sacrebleu_version()}
    if len(runs) == 1:
        first, *others = runs[0]
        found = {**about, **of_one(first), "sets": {one.text.name: of_one(one) for one in others}}
    else:
        found = {**about, "runs": [of_one(some[0]) for some in runs]}
    if compared is not None:
        found["paired"] = {"test": test, "metrics": {key: asdict(one) for key, one in compared.items()}}
    if chosen is not None:
        found["heads"] = asdict(chosen)
    return {**found, "warnings": list(warnings)}


def of_one(one: Evaluation) -> dict[str, Any]:
    """One run on one text: the plain figures first, then all about them."""
    best, worst = one.best_and_worst(LISTED)
    found: dict[str, Any] = {
        "run": one.run,
        "set": one.text.name,
        "text": one.text.where,
        "lines": len(one.text),
        "references": len(one.text.references),
        "tokenize": one.tokenise,
        "exact": one.exact,
        **{key: score.score for key, score in one.scores.items()},
        "scores": {key: asdict(score) for key, score in one.scores.items()},
        "speed": {
            **asdict(one.speed),
            "pieces_a_second": one.speed.pieces_a_second,
            "lines_a_second": one.speed.lines_a_second,
        },
        "by_length": {"unit": one.unit, "buckets": [asdict(bucket) for bucket in one.buckets]},
        "suspect": one.suspects,
        "best": [_line(sentence) for sentence in best],
        "worst": [_line(sentence) for sentence in worst],
    }
    if one.links is not None:
        found |= {"aer": one.links.score.aer, "links": asdict(one.links)}
    return found


def _line(one: Sentence) -> dict[str, Any]:
    return {**asdict(one), "exact": one.exact}
