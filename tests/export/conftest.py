"""A folder of a Marian model made by transformers, and the run that it becomes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from regard.export.marian import import_marian
from tests.export.marian import make


@dataclass(frozen=True)
class Marian:
    """The folder, the model as transformers has it, and the run."""

    folder: Path
    model: Any
    run: Path


MakeMarian = Callable[..., Marian]


@pytest.fixture(scope="session")
def made_marian(tmp_path_factory: pytest.TempPathFactory) -> MakeMarian:
    """Each kind is made once."""
    known: dict[str, Marian] = {}

    def once(language: str | None = None, **changes: Any) -> Marian:
        key = repr((language, changes))
        if key not in known:
            place = tmp_path_factory.mktemp("marian")
            model = make(place / "opus-en-de", **changes)
            import_marian(place / "opus-en-de", place / "run", language, lambda line: None)
            known[key] = Marian(place / "opus-en-de", model, place / "run")
        return known[key]

    return once


@pytest.fixture
def marian(made_marian: MakeMarian) -> Marian:
    """The usual kind."""
    return made_marian()
