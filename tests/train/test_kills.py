"""T1 in small: a run that was killed at random moments is byte for byte the one that was not; and T11, F1.

The moments come from a seed that is printed; `REGARD_SEED=n` takes another. Some of them are file operations, so that
saves, logs and models are hit while they are written, the others are moments of the clock.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.train.toys import MODELS, command, data_args, outcome, sentences, write_pairs
from tests.train.zygote import Zygote

LENGTH = ("--train.steps", 40, "--train.save-every", 10, "--train.average", 3)
SEED = int(os.environ.get("REGARD_SEED", time.time_ns() % 100_000))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_pairs(tmp_path_factory.mktemp("text"), sentences(300))


def undisturbed(model: str, folder: Path, files: dict[str, Path]) -> dict[str, bytes]:
    """What the real command comes to when nobody kills it."""
    done = subprocess.run(
        [sys.executable, "-m", "regard", *command(model, folder / "run", files, *LENGTH)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return outcome(folder / "run")


@pytest.mark.parametrize("model", list(MODELS))
def test_five_kills_change_nothing(
    zygote: Zygote, files: dict[str, Path], tmp_path_factory: pytest.TempPathFactory, model: str
) -> None:
    whole = undisturbed(model, tmp_path_factory.mktemp("whole"), files)
    assert {name.split("/")[-1] for name in whole} >= {"weights.safetensors", "optimiser.safetensors", "log.jsonl"}
    rng = random.Random(f"{SEED} {model}")
    print(f"REGARD_SEED={SEED}")
    folder = tmp_path_factory.mktemp("killed")
    operations, seconds = measured(zygote, folder, command(model, folder / "measured", files, *LENGTH))
    assert outcome(folder / "measured") == whole
    deaths = [("operation", float(rng.randint(1, operations))) for _ in range(3)]
    deaths += [("clock", rng.random()) for _ in range(2)]
    for number, (how, when) in enumerate(deaths):
        run, out = folder / str(number), folder / f"{number}.out"
        args = command(model, run, files, *LENGTH)
        killed(zygote, args, out, how, when, seconds)
        assert zygote.run(args, out) == 0, out.read_text(encoding="utf-8")
        found = outcome(run)
        assert found.keys() == whole.keys(), (SEED, how, when)
        assert [name for name in whole if found[name] != whole[name]] == [], (SEED, how, when)


def measured(zygote: Zygote, folder: Path, args: list[str]) -> tuple[int, float]:
    """How many file operations a run has, and how long it takes."""
    began = time.monotonic()
    assert zygote.run(args, folder / "out", count=str(folder / "count")) == 0
    return int((folder / "count").read_text(encoding="ascii")), time.monotonic() - began


def killed(zygote: Zygote, args: list[str], out: Path, how: str, when: float, seconds: float) -> None:
    """Start and kill; where it had come to its end before, it is done again and killed sooner."""
    if how == "operation":
        assert zygote.run(args, out, die_at=int(when)) == -signal.SIGKILL
        return
    process = zygote.start([*args, "--fresh"], out)
    time.sleep(when * seconds)
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
    if zygote.end() != -signal.SIGKILL:
        killed(zygote, args, out, how, when / 2, seconds)


def test_three_kills_in_one_run_change_nothing(
    zygote: Zygote, files: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A resume of a resume of a resume."""
    rng = random.Random(f"{SEED} again")
    print(f"REGARD_SEED={SEED}")
    folder = tmp_path_factory.mktemp("thrice")
    operations, _ = measured(zygote, folder, command("rnn", folder / "whole", files, *LENGTH))
    args = command("rnn", folder / "run", files, *LENGTH)
    for _ in range(3):
        code = zygote.run(args, folder / "run.out", die_at=rng.randint(5, operations // 2))
        assert code in (-signal.SIGKILL, 0)
    assert zygote.run(args, folder / "run.out") == 0
    assert outcome(folder / "run") == outcome(folder / "whole"), SEED


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
