"""Train, run and see every attention model, from Bahdanau to the Perceiver.

The names of `regard.attend` and `Translator` are here too, fetched when first used: `regard --help` must not wait
for torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.attend import *  # noqa: F403
    from regard.translate.translator import Translator as Translator

__version__ = "0.1.0"
OTHERS = {"Translator": "regard.translate.translator"}
"""Names from elsewhere, and where they are."""


def __getattr__(name: str) -> Any:
    if name in OTHERS:
        return getattr(importlib.import_module(OTHERS[name]), name)
    attend = None if name.startswith("_") else importlib.import_module("regard.attend")
    if attend is None or name not in attend.__all__:
        raise AttributeError(f"module 'regard' has no attribute '{name}'")
    return getattr(attend, name)


def __dir__() -> list[str]:
    return [*globals(), *OTHERS, *importlib.import_module("regard.attend").__all__]
