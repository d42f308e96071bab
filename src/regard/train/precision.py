"""In which precision products are formed: a fixed rule, recorded in the run and said in the log."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WIDE = 256  # narrower models lose more in conversions than they win in products
SAFE = {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16"}  # for machines that announce matrix units and then refuse them
PROBE = "import torch; x = torch.randn(64, 512).bfloat16(); torch.nn.functional.linear(x, x).sum().item()"


@dataclass(frozen=True)
class Precision:
    """Where and in which precision to train, and why."""

    name: str
    why: str
    device: str = "cpu"

    def context(self) -> AbstractContextManager[Any]:
        """What a forward pass runs in."""
        if self.name == "float32":
            return nullcontext()
        import torch

        return torch.autocast(self.device, torch.bfloat16)


def choose(asked: str, width: int) -> Precision:
    """bfloat16 where the processor multiplies it natively and the model is wide enough.

    Call this before torch is imported in the process: where only a limited set of instructions works, the limit is
    set in the environment.
    """
    if asked == "float32":
        return Precision("float32", "asked for")
    if asked == "auto":
        if width < WIDE:
            return Precision("float32", f"the model is narrower than {WIDE}")
        if not _announced():
            return Precision("float32", "this processor has no bfloat16 instructions")
    if _works({}):
        return Precision(
            "bfloat16", "asked for" if asked != "auto" else "this processor has it, and the model is wide"
        )
    if asked == "auto":  # what is left without the matrix units is slower than float32
        return Precision("float32", "this processor announces bfloat16 units and refuses them")
    if _works(SAFE):
        os.environ.update(SAFE)
        return Precision("bfloat16", "asked for, with the instruction set that works here")
    raise ValueError("bfloat16 products fail on this processor; use --train.precision float32")


def _announced() -> bool:
    """Whether the processor says it has bfloat16."""
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return False
    return "avx512_bf16" in flags or "amx_bf16" in flags


def _works(environment: dict[str, str]) -> bool:
    """Try a product in a process of its own: a refused instruction would kill this one."""
    done = subprocess.run([sys.executable, "-c", PROBE], env={**os.environ, **environment}, capture_output=True)
    return done.returncode == 0
