"""Several processes, one training: the same gradient, the same step, the same end, whoever is stopped or killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from regard.train.ranks import RankLost, Ranks
from regard.train.signals import AGAIN, Stop
from tests.train import rank_work
from tests.train.crew import Crew, free_port
from tests.train.rank_work import apart, read_in_the_end, told, uneven_text
from tests.train.toys import command, outcome, sentences, write_pairs

WORK = "tests.train.rank_work"
LENGTH = ("--train.steps", 6, "--train.save-every", 3)
CLOSE = 1e-6


@pytest.fixture(scope="module")
def crew() -> Iterator[Crew]:
    with Crew() as started:
        yield started


@pytest.fixture(scope="module")
def uneven(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("uneven")
    uneven_text(folder)
    return folder


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_pairs(tmp_path_factory.mktemp("text"), sentences(40))


@pytest.mark.parametrize(("model", "accumulate"), [("transformer", 1), ("rnn", 3)])
def test_two_ranks_are_one(crew: Crew, uneven: Path, tmp_path: Path, model: str, accumulate: int) -> None:
    """T10: losses, gradient norms, weights and optimiser as in one process; each pair read by one rank, once."""
    given = {"model": model, "text": str(uneven), "steps": 5, "rate": 0.01, "accumulate": accumulate, "clip": 0.5}
    rank_work.updates(to=str(tmp_path / "one"), shards=["no"], **given)  # type: ignore[arg-type]
    codes = crew.call(2, f"{WORK}:updates", tmp_path / "out", to=str(tmp_path / "two"), shards=["no"], **given)
    assert codes == [0, 0], (tmp_path / "out").read_text(encoding="utf-8")
    one, two, other = (
        told(tmp_path / "one", "no", 0),
        told(tmp_path / "two", "no", 0),
        told(tmp_path / "two", "no", 1),
    )
    assert two["losses"] == pytest.approx(one["losses"], abs=CLOSE)
    assert two["norms"] == pytest.approx(one["norms"], rel=1e-5)
    assert apart(tmp_path / "one.no.safetensors", tmp_path / "two.no.safetensors") < CLOSE
    assert two["losses"] == other["losses"]
    assert two["progress"]["step"] == other["progress"]["step"] == one["progress"]["step"]
    for name in ("epoch", "index", "units"):
        assert two["progress"][name] == other["progress"][name] == one["progress"][name]
    together = [pair for read in (two["read"], other["read"]) for batch in read for pair in batch]
    assert sorted(together) == sorted(pair for batch in one["read"] for pair in batch)
    assert other["read"], "the second rank had nothing to do"


def test_sharded_is_data_parallel(crew: Crew, uneven: Path, tmp_path: Path) -> None:
    """F11: 20 steps, with dropout: the same weights, and half of the optimiser's bytes on each of two ranks."""
    given = {"model": "transformer", "text": str(uneven), "steps": 20, "rate": 0.01, "dropout": 0.2}
    shards = ["no", "all"]
    codes = crew.call(2, f"{WORK}:updates", tmp_path / "out", to=str(tmp_path / "two"), shards=shards, **given)
    assert codes == [0, 0], (tmp_path / "out").read_text(encoding="utf-8")
    assert apart(tmp_path / "two.no.safetensors", tmp_path / "two.all.safetensors") < CLOSE
    whole = told(tmp_path / "two", "no", 0)["bytes"]
    for rank in range(2):
        assert told(tmp_path / "two", "all", rank)["bytes"] == pytest.approx(whole / 2, rel=0.05)


def test_any_number_of_ranks_goes_on_and_each_pair_is_read_once_an_epoch(
    crew: Crew, uneven: Path, tmp_path: Path
) -> None:
    """T7: of two ranks one is killed; one process goes on, then three, then two that share the weights."""
    given = {"model": "transformer", "text": str(uneven), "run": str(tmp_path / "run"), "keep": 9}
    out, work = tmp_path / "out", f"{WORK}:session"
    trouble = {"rank": 1, "what": "killed", "at": 6}
    codes = crew.call(2, work, out, **given, number=0, steps=40, trouble=trouble)
    assert codes == [99, -signal.SIGKILL]
    assert "RankLost: rank 1 did not come" in out.read_text(encoding="utf-8")
    for number, size in enumerate([1, 3, 2], 1):
        shard = "all" if size == 2 else "no"
        codes = crew.call(size, work, out, **given, number=number, steps=4 + 4 * number, shard=shard)
        assert codes == [0] * size, out.read_text(encoding="utf-8")
    straight = {**given, "run": str(tmp_path / "straight")}
    rank_work.session(steps=16, number=0, **straight)  # type: ignore[arg-type]
    last = "saves/00000016/weights.safetensors"
    assert apart(tmp_path / "run" / last, tmp_path / "straight" / last) < 1e-5
    read, due = read_in_the_end(tmp_path / "run"), read_in_the_end(tmp_path / "straight")
    for step in range(
        12
    ):  # later, where weights are shared, a rank without a row of its own goes along with another's
        assert read[step] == due[step], step


@pytest.mark.parametrize(("what", "said"), [("error", "RankFailed: rank 1 ended with ValueError: this rank has had"),
                                            ("asleep", "RankLost: rank 1 did not come")])  # fmt: skip
def test_no_rank_waits_for_ever(crew: Crew, uneven: Path, tmp_path: Path, what: str, said: str) -> None:
    """An error on one ends the others too, with its words; one that does not come is named after the time-out."""
    trouble = {"rank": 1, "what": what, "at": 2, "seconds": 12}
    given = {"model": "rnn", "text": str(uneven), "run": str(tmp_path / "run"), "steps": 9}
    began = time.monotonic()
    codes = crew.call(
        2, f"{WORK}:session", tmp_path / "out", **given, trouble=trouble, wait=4 if what == "asleep" else 250
    )
    assert time.monotonic() - began < 120
    assert 0 not in codes
    assert said in (tmp_path / "out").read_text(encoding="utf-8")


@pytest.mark.parametrize(("what", "stops_at"), [("told", 2), ("told while it waits", 4)])
def test_all_ranks_stop_at_the_step_at_which_one_is_told(
    crew: Crew, uneven: Path, tmp_path: Path, what: str, stops_at: int
) -> None:
    """T6: with steps that are over before anybody could pass it on; and in a validation that would take minutes."""
    trouble = {"rank": 1, "what": what, "at": 2, "until": 4, "validation": 0.0 if what == "told" else 250.0}
    given = {"model": "rnn", "text": str(uneven), "run": str(tmp_path / "run"), "steps": 9}
    began = time.monotonic()
    codes = crew.call(2, f"{WORK}:session", tmp_path / "out", **given, trouble=trouble, wait=20)
    assert codes == [0, 0], (tmp_path / "out").read_text(encoding="utf-8")
    assert time.monotonic() - began < 60
    for rank in range(2):
        ended = json.loads((tmp_path / "run" / f"ended.{rank}.json").read_text(encoding="ascii"))
        assert ended == {"done": False, "step": stops_at}
    assert max(path.name for path in (tmp_path / "run" / "saves").iterdir()) == f"{stops_at:08d}"


def test_memory_and_numbers_that_fail_on_one_rank_are_handled_by_all(
    crew: Crew, uneven: Path, tmp_path: Path
) -> None:
    codes = crew.call(2, f"{WORK}:uneven_memory", tmp_path / "out", text=str(uneven), to=str(tmp_path / "told"))
    assert codes == [0, 0], (tmp_path / "out").read_text(encoding="utf-8")
    one, other = (json.loads((tmp_path / f"told.{rank}.json").read_text(encoding="utf-8")) for rank in range(2))
    assert one == other
    halved, poisoned = one
    rank_work.uneven_memory(str(uneven), str(tmp_path / "alone"))
    alone, _ = json.loads((tmp_path / "alone.0.json").read_text(encoding="utf-8"))
    assert len(halved["split"]) == 2  # 6 rows a rank, then two batches of 6, then 3 at most
    assert halved["norm"] == pytest.approx(alone["norm"], rel=1e-5)
    assert halved["units"] == alone["units"]
    assert "the gradient is not finite in" in poisoned["skipped"]


def named(monkeypatch: pytest.MonkeyPatch, rank: int, size: int, port: int = 1) -> None:
    told = {"RANK": rank, "WORLD_SIZE": size, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    for name, value in told.items():
        monkeypatch.setenv(name, str(value))


def test_a_rank_that_never_comes_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    named(monkeypatch, 0, 3, free_port())
    with Stop() as stop, pytest.raises(RankLost, match="ranks 1, 2 did not come within 1 s"):  # noqa: SIM117
        with Ranks.named().joined(stop, 1.0):
            pytest.fail("it is alone")


def test_one_alone_is_nothing_special(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (
        Ranks.named({}) == Ranks() == Ranks.named({"RANK": "3", "WORLD_SIZE": "8"})
    )  # a scheduler's names, not torchrun's
    named(monkeypatch, 2, 4)
    found = Ranks.named({**os.environ, "LOCAL_WORLD_SIZE": "2", "TORCHELASTIC_RESTART_COUNT": "1"})
    assert (found.rank, found.size, found.beside, found.first, found.again) == (2, 4, 2, False, True)
    code = "import sys, regard.train.ranks; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    with Stop() as stop, Ranks().joined(stop, 1.0) as alone:
        tensor = torch.ones(2)
        alone.add([tensor])
        assert (alone.gather("x"), alone.tell("y"), tensor.tolist()) == (["x"], "y", [1.0, 1.0])


@pytest.fixture(scope="module")
def whole(
    tmp_path_factory: pytest.TempPathFactory, crew: Crew, files: dict[str, Path]
) -> tuple[dict[str, bytes], float]:
    """What a run of two ranks comes to that nobody disturbs, and how long it takes."""
    began = time.monotonic()
    run = tmp_path_factory.mktemp("whole") / "run"
    out = run.with_name("out")
    assert crew.train(2, command("transformer", run, files, *LENGTH), out) == [0, 0], out.read_text(encoding="utf-8")
    return outcome(run), time.monotonic() - began


@pytest.mark.parametrize("phase", ["binarising", "step", "validation"])
def test_a_signal_to_one_rank_stops_both_at_the_same_step(
    crew: Crew, files: dict[str, Path], whole: tuple[dict[str, bytes], float], tmp_path: Path, phase: str
) -> None:
    """T6: rank 1 gets it while rank 0 is in that phase; both end with 75, and the same command goes on."""
    run, out = tmp_path / "run", tmp_path / "out"
    args = command("transformer", run, files, *LENGTH)
    began = time.monotonic()
    codes = crew.train(2, args, out, signal="SIGTERM", at=phase, to=1)
    said = out.read_text(encoding="utf-8")
    assert codes == [AGAIN, AGAIN], said
    assert time.monotonic() - began < whole[1] + 30
    assert said.count("run the same command to go on") == 1
    assert "Traceback" not in said
    assert crew.train(2, args, out) == [0, 0], out.read_text(encoding="utf-8")
    assert outcome(run) == whole[0]


def test_a_signal_in_the_end_is_obeyed_by_all_or_comes_too_late_for_all(
    crew: Crew, files: dict[str, Path], whole: tuple[dict[str, bytes], float], tmp_path: Path
) -> None:
    run, out = tmp_path / "run", tmp_path / "out"
    args = command("transformer", run, files, *LENGTH)
    codes = crew.train(2, args, out, signal="SIGTERM", at="the end", to=1)
    assert codes in ([AGAIN, AGAIN], [0, 0]), out.read_text(encoding="utf-8")
    assert crew.train(2, args, out) == [0, 0], out.read_text(encoding="utf-8")
    assert outcome(run) == whole[0]


TORCHRUN = """
import json, os, signal, sys
from pathlib import Path
from regard.train.ranks import Ranks
from regard.train.signals import AGAIN, Stop, Stopped
named = Ranks.named()
with Stop() as stop:
    try:
        with named.joined(stop, 60.0) as ranks:
            count = sum(ranks.gather(1 + ranks.rank))
            if not ranks.again:
                if ranks.rank == 1:
                    os.kill(os.getpid(), signal.SIGKILL)
                ranks.gather(None)
            Path(sys.argv[1] + str(ranks.rank)).write_text(json.dumps([count, ranks.tell(os.getpid()), ranks.beside]))
    except Stopped:
        sys.exit(AGAIN)
"""


def test_torchrun_starts_ranks_again_when_one_is_killed(tmp_path: Path) -> None:
    """T7: the real torchrun; the second start meets on the same port and store, and comes to the end."""
    (tmp_path / "script.py").write_text(TORCHRUN, encoding="utf-8")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--max-restarts", "1"]
    done = subprocess.run(
        [*torchrun, "--master-port", str(free_port()), str(tmp_path / "script.py"), str(tmp_path / "told")],
        capture_output=True, text=True, check=False, timeout=200,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    one, other = (json.loads((tmp_path / f"told{rank}").read_text(encoding="ascii")) for rank in range(2))
    assert one == other
    assert (one[0], one[2]) == (3, 2)


def test_torchrun_takes_the_documented_command() -> None:
    """Without `--`, it would take `--run` for a short form of its own `--run-path`, before Python 3.12."""
    from torch.distributed.run import get_args_parser

    written = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")
    commands = [line.split()[1:] for line in written.splitlines() if line.startswith("torchrun ")]
    assert len(commands) == 2
    for words in commands:
        taken = get_args_parser().parse_args(words)
        assert (taken.module, taken.training_script, taken.training_script_args[0]) == (True, "regard", "train")
        assert taken.training_script_args[-2] == "--run"


def test_ranks_with_other_settings_are_refused(crew: Crew, files: dict[str, Path], tmp_path: Path) -> None:
    orders = [
        {"args": command("rnn", tmp_path / "run", files, "--train.clip", clip), "out": str(tmp_path / f"out.{clip}")}
        for clip in (1, 2)
    ]
    assert crew.run(orders) == [2, 2]
    assert (
        (tmp_path / "out.1").read_text(encoding="utf-8").startswith("regard: rank 1 has other settings than rank 0")
    )
    assert (tmp_path / "out.2").read_text(encoding="utf-8").startswith("regard: rank 1: ")
