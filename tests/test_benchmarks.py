"""Benchmarks are run by hand; what they ask of the package is asked here, so that they do not break unseen."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PEERS = Path(__file__).parents[1] / "benchmarks" / "peers"
SMALL = """
import sys, sizes
sizes.MODELS = {
    "transformer": sizes.TransformerSize(1, 16, 32, 2, dropout=0.1, vocabulary=50),
    "recurrent": sizes.RecurrentSize(embedding=8, reader=8, writer=16, dropout=0.1, vocabulary=50),
}
import worker, %s
worker.MODELS = sizes.MODELS
worker.serve(%s.build, "torch")
"""


def answers(script: str, questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What a contestant's process says, with models small enough for a test."""
    done = subprocess.run(
        [sys.executable, "-c", SMALL % (script, script)],
        input="\n".join(json.dumps(question) for question in questions),
        capture_output=True,
        text=True,
        cwd=PEERS,
        env={"OMP_NUM_THREADS": "1", "PATH": ""},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("script", ["ours", "plain_torch"])
@pytest.mark.parametrize("model", ["transformer", "recurrent"])
def test_a_contestant_trains(script: str, model: str, tmp_path: Path) -> None:
    dice = np.random.default_rng(0)
    np.savez(tmp_path / "batches.npz", source0=dice.integers(4, 50, (3, 5)), target0=dice.integers(4, 50, (3, 6)))
    run = {"run": [0, 0], "precision": "float32"}
    ready, first, second = answers(script, [{"model": model, "batches": str(tmp_path / "batches.npz")}, run, run])
    assert ready["parameters"] > 1000, ready
    losses = first["losses"] + second["losses"]
    assert len(losses) == 4
    assert np.isfinite(losses).all()
