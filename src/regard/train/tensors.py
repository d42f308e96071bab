"""Tensors into a file, in the safetensors format.

The library that reads them writes them too, but through a temporary file of its own, with its own file mode, and it
tells of a full disk in words only. Written here, each write is ours: one file, the usual mode, the disk's own errors.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

NAMES = {
    torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64",
    torch.int32: "I32", torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8", torch.bool: "BOOL",
}  # fmt: skip


def size_of(tensors: Mapping[str, Tensor]) -> int:
    """Bytes of all of them."""
    return sum(value.numel() * value.element_size() for value in tensors.values())


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write them, one after the other and without a second copy in memory; then wait for the disk."""
    order = sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))  # so that each is aligned
    header, at = {}, 0
    for name in order:
        value = tensors[name]
        end = at + value.numel() * value.element_size()
        header[name] = {"dtype": NAMES[value.dtype], "shape": list(value.shape), "data_offsets": [at, end]}
        at = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in order:
            file.write(tensors[name].detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
        file.flush()
        os.fsync(file.fileno())
