"""Paired tests are sacreBLEU's own."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from regard.evaluate.compare import TRIALS, compare, trials_for

WORDS = ["the", "a", "dog", "cat", "man", "runs", "sleeps", "sees", "red", "big", "old", "in", "on", "park"]


def texts(seed: int, wrong: float) -> tuple[list[str], list[str]]:
    """References, and translations in which so many words are others."""
    rng = random.Random(1)
    right = [rng.choices(WORDS, k=rng.randint(4, 9)) for _ in range(60)]
    rng = random.Random(seed)
    said = [[rng.choice(WORDS) if rng.random() < wrong else word for word in line] for line in right]
    return [" ".join(line) for line in right], [" ".join(line) for line in said]


@pytest.mark.parametrize(("test", "option"), [("bootstrap", "--paired-bs"), ("randomisation", "--paired-ar")])
def test_the_same_as_the_command(tmp_path: Path, test: str, option: str) -> None:
    right, good = texts(2, 0.1)
    _, poor = texts(3, 0.3)
    for name, some in {"right": right, "good": good, "poor": poor}.items():
        (tmp_path / name).write_text("\n".join(some) + "\n", encoding="utf-8")
    words = [sys.executable, "-m", "sacrebleu", "right", "-i", "good", "poor", "-m", "bleu", "chrf", "ter", "--quiet"]
    words += ["--chrf-word-order", "2", option, f"{option}-n", "100", "-w", "4", "--format", "text", "--no-color"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    found = compare({"good": good, "poor": poor}, [right], test=test, trials=100)  # type: ignore[arg-type]
    for one in found.values():
        base, other = one.rows
        assert base.p is None
        assert f" {base.score:.4f} " in done.stdout
        assert f" {other.score:.4f} " in done.stdout
        assert f"(p = {other.p:.4f})" in done.stdout
        assert other.difference == pytest.approx(other.score - base.score)
        assert one.signature in done.stdout


def test_what_is_far_worse_is_significant_and_what_is_the_same_is_not() -> None:
    right, good = texts(2, 0.1)
    _, poor = texts(3, 0.5)
    found = compare({"good": good, "poor": poor, "again": list(good)}, [right], trials=100)
    for one in found.values():
        _, worse, same = one.rows
        assert worse.p is not None
        assert worse.p < 0.05
        assert (same.p, same.difference) == (1, 0)
    assert "bs:100" in found["bleu"].signature


def test_very_many_lines_get_fewer_trials() -> None:
    assert trials_for("bootstrap", 1000) == TRIALS["bootstrap"]
    assert trials_for("bootstrap", 1_000_000) == 10
