"""How many products of matrices this machine does in a second, at best: what a model's speed is measured against.

`python gemm.py bfloat16` prints 10^9 floating-point operations a second. It is a process of its own because some
machines announce instructions that they then refuse, which ends the process.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

SIDE, TIMES = 2048, 8
SAFE = {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16"}  # leaves out the matrix units, which virtual machines may refuse


def peak(precision: str, environment: dict[str, str]) -> float | None:
    """The best of some products, in 10^9 operations a second; None where they fail."""
    command = [sys.executable, str(Path(__file__)), precision]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True)
    return float(done.stdout) if done.returncode == 0 else None


def working(environment: dict[str, str]) -> dict[str, str] | None:
    """What has to be set so that products in bfloat16 work here; None if nothing helps."""
    for more in ({}, SAFE):
        if peak("bfloat16", environment | more) is not None:
            return more
    return None


def _measured(precision: str) -> float:
    import torch

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    one, other = (torch.randn(SIDE, SIDE).to(getattr(torch, precision)) for _ in range(2))
    least = float("inf")
    for _ in range(TIMES):
        start = time.perf_counter()
        one @ other
        least = min(least, time.perf_counter() - start)
    return 2 * SIDE**3 / least / 1e9


if __name__ == "__main__":
    print(_measured(sys.argv[1]))
