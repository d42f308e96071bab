"""Every problem that asks for labels, by the name a recipe has for it."""

from __future__ import annotations

from regard.tasks.labels import LabelProblem
from regard.tasks.odd_pictures import Drawings, OddPicture
from regard.tasks.rows import Again, Mirror, Parity, Sum, Switch
from regard.tasks.sentences import Referent
from regard.tasks.sets import Digits, OddOneOut, different, largest, total
from regard.tasks.stories import Story

LABELS: dict[str, LabelProblem] = {
    "mirror": Mirror(),
    "copy": Again(),
    "reverse": Again(backwards=True),
    "sum": Sum(),
    "parity": Parity(),
    "switch": Switch(),
    "max": Digits(largest),
    "total": Digits(total),
    "different": Digits(different),
    "odd": OddOneOut(),
    "referent": Referent(),
    "story": Story(),
}


def problem_of(name: str, drawings: Drawings) -> LabelProblem:
    """The problem of that name; one is about drawings."""
    return OddPicture(drawings) if name == "odd-picture" else LABELS[name]
