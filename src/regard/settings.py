"""What every section of a recipe is: frozen, typed, and closed to unknown names."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """One section of a recipe; the line under each field is its help."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)


class Data(Section):
    """The `[data]` section: whoever names other data to learn from does not mean the rest of the old."""

    trained_on: ClassVar[frozenset[str]] = frozenset()
    """Fields that say what to learn from."""
    held_out: ClassVar[frozenset[str]] = frozenset()
    """Fields that go with them."""
