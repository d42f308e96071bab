"""What a file of safetensors says it holds, held against its size before any of it is believed. Needs no torch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.files import BadFile, json_object, quoted, shown

LONGEST = 2 * 2**20  # bytes of a header; some fifteen thousand tensors
BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}


@dataclass(frozen=True)
class Told:
    """One tensor: the kind of its numbers, and its shape."""

    dtype: str
    shape: tuple[int, ...]


def header(path: Path) -> dict[str, Told]:
    """Every tensor by name. They fill the file without gap or overlap, or it is refused."""
    if not path.is_file():
        raise BadFile(f"{shown(path)} is not there or is not a plain file; copy the folder as a whole")
    with path.open("rb") as file:
        size = path.stat().st_size - 8
        length = int.from_bytes(file.read(8), "little")
        if size < 2 or length > min(size, LONGEST):
            raise _wrong(path, f"its header would have {length:,} bytes")
        text = file.read(length)
    try:
        entries = json_object(text)
    except ValueError as error:
        raise _wrong(path, f"its header cannot be read: {shown(str(error))}") from None
    entries.pop("__metadata__", None)
    tensors = {name: _told(path, name, entry) for name, entry in entries.items()}
    at = 0
    for start, end, name in sorted((start, end, name) for name, (_, start, end) in tensors.items()):
        if start != at:
            raise _wrong(path, f"'{shown(name)}' begins at byte {start:,}, where {at:,} is next")
        at = end
    if at != size - length:
        raise _wrong(path, f"its tensors take {at:,} bytes, and {size - length:,} are there")
    return {name: told for name, (told, _, _) in tensors.items()}


def _told(path: Path, name: str, entry: Any) -> tuple[Told, int, int]:
    """One entry of the header, if it can be true, and from which byte to which it lies."""
    match entry:
        case {"dtype": str(dtype), "shape": [*shape], "data_offsets": [start, end], **rest} if not rest:
            numbers = [*shape, start, end]
            whole = all(type(number) is int and 0 <= number < 2**62 for number in numbers)
            if whole and dtype in BYTES and len(shape) <= 16 and math.prod(shape) * BYTES[dtype] == end - start:
                return Told(dtype, tuple(shape)), start, end
    raise _wrong(path, f"what it says of '{shown(name)}' cannot be: {quoted(entry)}")


def _wrong(path: Path, why: str) -> BadFile:
    return BadFile(f"{shown(path)} is not a file of weights: {why}; do not use it, or restore it from a copy")
