"""A recipe: all that a run depends on, as typed settings, and the task that is made of them.

No torch until a task is made, so that `--help` answers at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import Field

from regard.settings import Section
from regard.train.precision import WIDE
from regard.train.settings import Train

if TYPE_CHECKING:
    from regard.tasks.parallel_text import Older
    from regard.tasks.task import Task


@dataclass(frozen=True)
class Here:
    """Where a task is made: what it may use, whom it tells what it does, and what it starts from."""

    threads: int = 1
    device: str = "cpu"
    say: Callable[[str], None] = lambda line: None
    older: Older | None = None


class Recipe(Section, ABC):
    """What every recipe has; the other sections are its system's own."""

    family: ClassVar[str]
    """What it is listed under."""
    tag: ClassVar[str] = "other"
    """What model hubs call it."""

    unit: ClassVar[str] = "examples"
    """What its speed is counted in."""

    about: str
    """What it is for, in a sentence or two."""
    task: str
    """What the model is trained for."""
    train: Train = Field(default_factory=Train)

    @abstractmethod
    def make(self, here: Here) -> Task:
        """The task that these settings describe; torch is imported here."""

    def complete(self) -> Self:
        """The same recipe, if it says all that training needs; ValueError says what is missing."""
        return self

    @property
    def width(self) -> int:
        """How wide the model is, which decides whether bfloat16 pays."""
        return int(getattr(self.sections()["model"], "width", 0))

    @property
    def wide(self) -> int:
        """How wide such a model has to be for that."""
        return int(getattr(self.sections()["model"], "wide", WIDE))

    def languages(self) -> list[str]:
        """Codes of the languages it has to do with."""
        return []

    def learned_from(self, ready: Mapping[str, Any]) -> str:
        """What the model was trained on, for its card; `ready` is what the run wrote of its data."""
        return str(ready.get("where", "examples made by a generator"))

    def scored_by(self) -> str:
        """How to read the scores, for the card."""
        return ""

    def sections(self) -> dict[str, Section]:
        """Its sections by name."""
        found = {name: value for name, value in self if isinstance(value, Section)}
        first = [name for name in ("data", "model") if name in found]
        return {name: found[name] for name in [*first, *found]}

    def with_sections(self, sections: Mapping[str, Section]) -> Self:
        """The same recipe with other sections."""
        return self.model_copy(update=dict(sections))
