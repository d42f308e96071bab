"""T1, T2, T8 in small: a run that was killed at random moments is byte for byte the one that was not; and T11, F1.

The moments come from a seed that is printed; `REGARD_SEED=n` takes another. `make reliability` has many more of them.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.reliability.kills import Whole, deaths, for_real, one_kill, pairs, three_kills, undisturbed
from tests.reliability.trouble import poisoned
from tests.train.toys import MODELS, command, data_args, sentences, write_pairs
from tests.train.zygote import Zygote

SEED = int(os.environ.get("REGARD_SEED", time.time_ns() % 100_000))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return pairs(tmp_path_factory.mktemp("pairs"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, zygote: Zygote, files: dict[str, Path]) -> Callable[[str], Whole]:
    """What a run of each model comes to that nobody kills."""
    made: dict[str, Whole] = {}

    def one(model: str) -> Whole:
        if model not in made:
            made[model] = undisturbed(zygote, tmp_path_factory.mktemp(model) / "whole", files, model)
        return made[model]

    return one


@pytest.mark.parametrize("model", list(MODELS))
def test_four_kills_change_nothing(zygote: Zygote, whole: Callable[[str], Whole], tmp_path: Path, model: str) -> None:
    """T1: in an operation, in a phase, by the clock, in another operation."""
    print(f"REGARD_SEED={SEED}")
    one = whole(model)
    assert {name.split("/")[-1] for name in one.found} >= {
        "weights.safetensors",
        "optimiser.safetensors",
        "log.jsonl",
    }
    for number, death in enumerate(deaths(random.Random(f"{SEED} {model}"), one, 4)):
        assert one_kill(zygote, tmp_path / str(number), one, death) is None


def test_three_kills_in_one_run_change_nothing(zygote: Zygote, whole: Callable[[str], Whole], tmp_path: Path) -> None:
    """T2: a resume of a resume of a resume."""
    print(f"REGARD_SEED={SEED}")
    assert three_kills(zygote, tmp_path / "thrice", whole("rnn"), random.Random(f"{SEED} again")) is None


def test_the_command_itself_comes_to_the_same(whole: Callable[[str], Whole], tmp_path: Path) -> None:
    """Not forked, as people start it."""
    assert for_real(tmp_path / "real", whole("transformer")) is None


def test_gradients_that_are_no_numbers_are_logged_with_their_lines(
    zygote: Zygote, files: dict[str, Path], tmp_path: Path
) -> None:
    """T8, with real text; every kind of trouble is in test_drive.py."""
    assert poisoned(zygote, tmp_path / "poisoned", files, "transformer", random.Random(3)) is None


def test_a_line_a_thousand_times_the_usual_with_little_memory(zygote: Zygote, tmp_path: Path) -> None:
    """T11: a cap on the process, and every weight formed; the run ends and names the line."""
    pairs = sentences(60, longest=5)
    pairs[30] = tuple(" ".join(text for pair in sentences(900, seed=3) for text in [pair[side]]) for side in (0, 1))
    assert len(pairs[30][0].split()) > 1000 * 3.5
    files = write_pairs(tmp_path, pairs)
    valid = write_pairs(tmp_path, sentences(4, seed=2), "valid")
    run, out = tmp_path / "run", tmp_path / "out"
    args = command("transformer", run, files, *data_args(valid, "valid-"), "--data.longest", 20_000)
    args += ["--model.attention-dropout", "0.1", "--train.steps", "12", "--train.save-every", "6"]
    assert zygote.run(args, out, room=600_000_000) == 0, out.read_text(encoding="utf-8")[-3000:]
    said = out.read_text(encoding="utf-8")
    assert "train.de: line 31 (left out: alone it needs more memory than there is)" in said
    log = (run / "log.jsonl").read_text(encoding="utf-8")
    assert "line 31 (left out" in log
    assert "the model is in" in said


WATCHED = """
import pickle, sys
from fractions import Fraction
control = pickle.dumps(Fraction(1, 3))
seen = []
sys.addaudithook(lambda event, args: seen.append(args) if event == "pickle.find_class" else None)
from regard.cli import main
run, *args = sys.argv[1:]
assert main([*args, "--train.steps", "4"]) == 0
assert main([*args, "--train.steps", "8"]) == 0
from regard.translate.translator import Translator
assert len(Translator.load(run)(["one two", "old cat"])) == 2
assert seen == [], seen
pickle.loads(control)
assert len(seen) == 1
"""


def test_nothing_is_pickled(files: dict[str, Path], tmp_path: Path) -> None:
    """F1: no class is looked up for a pickle while training, resuming, loading and translating."""
    args = command("transformer", tmp_path / "run", files, "--train.save-every", 2)
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, str(tmp_path / "run"), *args], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "resumed at step 4" in done.stderr
