"""Where and in which precision products are formed: a fixed rule, recorded in the run and said in the log."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

WIDE = 256  # narrower models lose more in conversions than they win in products, unless their settings know better
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


def choose(asked: str, width: int, device: str = "auto", wide: int = WIDE) -> Precision:
    """An accelerator if there is one; bfloat16 where products are native in it and the model is `wide` at least.

    Call this before torch is imported in the process: where only a limited set of a processor's instructions works,
    the limit is set in the environment.
    """
    if device == "cuda" and not _accelerated():
        raise ValueError("there is no accelerator that this torch can use; use --train.device cpu")
    if device != "cpu" and _accelerated():
        return _on_an_accelerator(asked)
    if asked == "float32":
        return Precision("float32", "asked for")
    if asked == "auto":
        if width < wide:
            return Precision("float32", f"the model is narrower than {wide}")
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


def _accelerated() -> bool:
    """Whether torch can train on an accelerator; one built for processors alone is not even imported."""
    if version("torch").endswith("+cpu"):
        return False
    import torch

    return torch.cuda.is_available()


def _on_an_accelerator(asked: str) -> Precision:
    """Each rank of a machine takes one of its own."""
    import torch

    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
    if asked == "auto" and not torch.cuda.is_bf16_supported(including_emulation=False):
        return Precision("float32", "this accelerator has no bfloat16", "cuda")
    if asked == "auto":
        return Precision("bfloat16", "this accelerator has it", "cuda")
    return Precision(asked, "asked for", "cuda")


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
