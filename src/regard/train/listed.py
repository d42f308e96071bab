"""What a manifest may say: files of its own folder with sizes and digests, and figures. No torch."""

from __future__ import annotations

import re
from typing import Any

from regard.files import own_name, quoted, shown

SHA256 = re.compile(r"[0-9a-f]{64}")


def sound(content: dict[str, Any]) -> None:
    """ValueError if what it says cannot be, whoever wrote it."""
    files = content["files"]
    if not isinstance(files, dict):
        raise ValueError("its list of files is none")
    for name, told in files.items():
        if not own_name(name):
            raise ValueError(f"it lists '{shown(name)}', which is no name of a file in this folder")
        match told:
            case {"bytes": int(size), "sha256": str(digest)} if size >= 0 and SHA256.fullmatch(digest):
                continue
        raise ValueError(f"it says {quoted(told)} of '{shown(name)}'")
    model, step, measured = content.get("model", ""), content.get("step", 0), content.get("measured", {})
    if not isinstance(model, str) or (model and not own_name(model)):
        raise ValueError(f"the name of its model is {quoted(model)}")
    if type(step) is not int or not 0 <= step < 2**62:
        raise ValueError(f"its step is {quoted(step)}")
    figures(measured)


def figures(told: Any) -> dict[str, float]:
    """Numbers by their names; ValueError if they are something else."""
    if isinstance(told, dict) and all(_figure(value) for value in told.values()):
        return told
    raise ValueError(f"these are no figures: {quoted(told)}")


def _figure(value: Any) -> bool:
    return isinstance(value, float) or (type(value) is int and abs(value) < 2**62)
