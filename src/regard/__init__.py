"""Train, run and see every attention model, from Bahdanau to the Perceiver.

The names of `regard.attend` are here too, fetched when first used: `regard --help` must not wait for torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.attend import *  # noqa: F403

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    attend = None if name.startswith("_") else importlib.import_module("regard.attend")
    if attend is None or name not in attend.__all__:
        raise AttributeError(f"module 'regard' has no attribute '{name}'")
    return getattr(attend, name)


def __dir__() -> list[str]:
    return [*globals(), *importlib.import_module("regard.attend").__all__]
