"""T6, T7, T10 and F11: several ranks, one of them told to stop or killed; work and weights shared among them."""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from regard.train.signals import AGAIN
from tests.reliability.report import ROOT, Row, each, row
from tests.train import rank_work
from tests.train.crew import Crew, free_port
from tests.train.rank_work import apart, read_in_the_end, told, uneven_text
from tests.train.toys import command, outcome, sentences, write_pairs

SHORT = ("--train.steps", 6, "--train.save-every", 3, "--train.wait", 20)
LONG = ("--train.steps", 120, "--train.save-every", 10, "--train.keep", 2)
KILLS = 10
HANG = 30.0
WORK = "tests.train.rank_work"
STAGES = ["no", "optimiser", "gradients", "all"]


def check(seed: int = 1) -> list[Row]:
    """All of them."""
    with tempfile.TemporaryDirectory() as made, Crew() as crew:
        work = Path(made)
        (work / "uneven").mkdir()
        uneven_text(work / "uneven", 60)
        return [
            *signals(crew, work, random.Random(seed)),
            *torchrun_stopped(work),
            *killed_by_torchrun(work, random.Random(seed)),
            *other_sizes(crew, work, random.Random(seed)),
            *split(crew, work),
            *sharded(crew, work),
        ]


def signals(crew: Crew, work: Path, rng: random.Random) -> list[Row]:
    """T6: 20 times, to either rank, in every phase of the first and at moments of the clock."""
    began, files = time.monotonic(), write_pairs(work / "text", sentences(40))
    (work / "whole").mkdir()
    args = command("transformer", work / "whole" / "run", files, *SHORT)
    assert crew.train(2, args, work / "whole" / "out") == [0, 0]
    due, took = outcome(work / "whole" / "run"), time.monotonic() - began
    phases = ["pieces", "binarising", "step", "validation", "save", "the end"]
    cases: list[tuple[int, str | float]] = list(itertools.product((0, 1), phases))
    cases += [(number % 2, rng.random()) for number in range(20 - len(cases))]

    def run(case: tuple[int, str | float]) -> str | None:
        to, when = case
        folder = work / f"stop.{to}.{when}".replace(" ", "-")
        folder.mkdir()
        return stopped(crew, folder, files, due, to, when, took)

    wrong = each("T6", cases, run)
    what = "SIGTERM to one rank of two, in every phase and at random moments"
    return [row("T6", what, "20/20, no hang over 30 s", wrong, began)]


def stopped(
    crew: Crew, folder: Path, files: dict[str, Path], due: dict[str, bytes], to: int, when: str | float, took: float
) -> str | None:
    """One signal, then the same command again."""
    run, out = folder / "run", folder / "out"
    args = command("transformer", run, files, *SHORT)
    began = time.monotonic()
    if isinstance(when, str):
        codes = crew.train(2, args, out, signal="SIGTERM", at=when, to=to)
    else:
        pids = crew.start([{"args": args, "out": str(out)}] * 2)
        time.sleep(0.3 + when * 0.7 * took)
        with suppress(ProcessLookupError):
            os.kill(pids[to], signal.SIGTERM)
        codes = crew.end()
    seconds = time.monotonic() - began
    said = out.read_text(encoding="utf-8")
    late = not isinstance(when, str) or when == "the end"  # the other rank may be done before it hears of it
    if codes != [AGAIN, AGAIN] and not (late and codes == [0, 0]):
        return f"{to}, {when}: exit codes {codes}: {said[-400:]}"
    if seconds > took + HANG or "Traceback" in said:
        return f"{to}, {when}: {seconds:.0f} s: {said[-400:]}"
    if crew.train(2, args, out) != [0, 0] or outcome(run) != due:
        return f"{to}, {when}: gone on to another end"
    return None


def torchrun(args: list[str], out: Path, restarts: int) -> subprocess.Popen[bytes]:
    """`torchrun --nproc-per-node 2 -m -- regard ...`."""
    start = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--max-restarts", str(restarts)]
    with out.open("ab") as file:
        return subprocess.Popen(
            [*start, "--master-port", str(free_port()), "-m", "--", "regard", *args],
            stdout=file, stderr=file, cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip


def torchrun_stopped(work: Path) -> list[Row]:
    """T6: what a scheduler does: torchrun itself is told, and passes it on."""
    began, files = time.monotonic(), write_pairs(work / "text6", sentences(300))
    runs = [work / name for name in ("whole6", "run6")]
    whole = torchrun(command("transformer", runs[0], files, *LONG), work / "whole6.out", 0)
    args = command("transformer", runs[1], files, *LONG)
    agent, saves = torchrun(args, work / "run6.out", 0), runs[1] / "saves"
    while agent.poll() is None and not (saves / "00000020").exists():
        time.sleep(0.05)
    sent = time.monotonic()
    agent.terminate()
    agent.wait()
    took, said = time.monotonic() - sent, (work / "run6.out").read_text(encoding="utf-8")
    again = torchrun(args, work / "run6.out", 0).wait()
    wrong = None
    if "everything is saved" not in said or took > HANG:
        wrong = f"after {took:.0f} s: {said[-600:]}"
    elif (again, whole.wait()) != (0, 0) or outcome(runs[0]) != outcome(runs[1]):
        wrong = f"exit code {again}, or gone on to another end"
    return [row("T6", "SIGTERM to torchrun itself, then the same command", "saved, identical", [wrong], began)]


def ranks_of(agent: int, restart: int) -> dict[int, int]:
    """The process of each rank that torchrun has started for the so-many-th time."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, KeyError):
            if int((folder / "stat").read_text(encoding="ascii").rpartition(")")[2].split()[1]) != agent:
                continue
            named = dict(
                entry.split("=", 1) for entry in (folder / "environ").read_text().split("\0") if "=" in entry
            )
            if int(named["TORCHELASTIC_RESTART_COUNT"]) == restart:
                found[int(named["RANK"])] = int(folder.name)
    return found


def killed_by_torchrun(work: Path, rng: random.Random) -> list[Row]:
    """T7: ten kills in one run: by turns while ranks start, and as soon as there is another save."""
    began, files = time.monotonic(), write_pairs(work / "text7", sentences(300))
    whole = torchrun(command("transformer", work / "whole7", files, *LONG), work / "whole7.out", 0)
    assert whole.wait() == 0, (work / "whole7.out").read_text(encoding="utf-8")
    run, out = work / "run7", work / "run7.out"
    agent, kills = torchrun(command("transformer", run, files, *LONG), out, KILLS), 0
    while agent.poll() is None:
        found = ranks_of(agent.pid, kills) if kills < KILLS else {}
        saved = max((int(path.name) for path in run.glob("saves/[0-9]*[0-9]")), default=-1)
        if len(found) == 2 and (kills % 2 or saved >= 10 * kills):
            time.sleep(rng.uniform(0, 4 if kills % 2 else 0.3))
            with suppress(ProcessLookupError):
                os.kill(found[rng.randint(0, 1)], signal.SIGKILL)
            kills += 1
        time.sleep(0.05)
    wrong = []
    if agent.returncode != 0 or kills < KILLS:
        wrong = [f"exit code {agent.returncode} after {kills} kills: {out.read_text(encoding='utf-8')[-800:]}"]
    elif outcome(run) != outcome(work / "whole7"):
        wrong = ["other weights, optimiser, log or model than without kills"]
    what = f"torchrun with 2 ranks, one of them killed {kills} times: ends by itself, byte for byte as without"
    return [row("T7", what, "10 kills, identical", wrong or [None] * kills, began)]


def other_sizes(crew: Crew, work: Path, rng: random.Random) -> list[Row]:
    """T7: a rank is killed, and another number of ranks goes on: each pair once an epoch, and the same weights."""
    began = time.monotonic()
    given: dict[str, Any] = {"model": "transformer", "text": str(work / "uneven"), "keep": 99}
    rank_work.session(**given, run=str(work / "straight"), steps=40)
    due, wrong = read_in_the_end(work / "straight"), []
    for start in (2, 3):
        run, out = work / f"sizes{start}", work / f"sizes{start}.out"
        for number, size in enumerate([start, 1, 3, 2, 4]):
            trouble = {
                "rank": rng.randrange(size),
                "what": "killed",
                "at": 8 * number + rng.randint(1, 3),
            }
            more = {"number": number, "steps": 8 * number + 8}
            killed = crew.call(size, f"{WORK}:session", out, **given, **more, run=str(run), trouble=trouble)
            again = crew.call(size, f"{WORK}:session", out, **given, **{**more, "number": number + 0.5}, run=str(run))
            if -signal.SIGKILL not in killed or again != [0] * size:
                wrong.append(f"{size} ranks: exit codes {killed}, then {again}: {out.read_text()[-400:]}")
        read, last = read_in_the_end(run), "saves/00000040/weights.safetensors"
        far = apart(run / last, work / "straight" / last)
        wrong += [None if read == due else "other pairs read", None if far < 1e-4 else f"weights {far:.1e} apart"]
    what = "after a kill 1, 2, 3 or 4 ranks go on: each pair once an epoch, as in one process"
    return [row("T7", what, "exactly once", wrong, began)]


def split(crew: Crew, work: Path) -> list[Row]:
    """T10: the work of one process dealt among 2, 3 and 4."""
    began, wrong, far = time.monotonic(), [], 0.0
    for model, accumulate in itertools.product(("transformer", "rnn"), (1, 3)):
        name = f"{model}{accumulate}"
        given: dict[str, Any] = {"model": model, "text": str(work / "uneven"), "steps": 10, "accumulate": accumulate}
        rank_work.updates(**given, rate=0.01, to=str(work / name), shards=["no"])
        for size in (2, 3, 4):
            to, out = work / f"{name}.{size}", work / f"{name}.out"
            codes = crew.call(size, f"{WORK}:updates", out, **given, rate=0.01, to=str(to), shards=["no"])
            if any(codes):
                wrong.append(f"{name}, {size} ranks: {out.read_text(encoding='utf-8')[-400:]}")
                continue
            losses = zip(told(to, "no", 0)["losses"], told(work / name, "no", 0)["losses"], strict=True)
            loss = max(abs(one - other) for one, other in losses)
            far = max(far, loss, apart(Path(f"{to}.no.safetensors"), work / f"{name}.no.safetensors"))
            wrong.append(None if far < 1e-5 else f"{name}, {size} ranks: {far:.1e}")
    what = f"rows of very uneven lengths dealt among 2, 3, 4 ranks: loss and weights as in one process ({far:.1e})"
    return [row("T10", what, "< 1e-5", wrong, began)]


def sharded(crew: Crew, work: Path) -> list[Row]:
    """F11: ZeRO's three stages against data parallel."""
    began, wrong, far, shares = time.monotonic(), [], 0.0, set()
    for model, size in (("transformer", 2), ("rnn", 2), ("transformer", 4)):
        to, out = work / f"shard.{model}.{size}", work / f"shard.{model}.out"
        given = {"model": model, "text": str(work / "uneven"), "steps": 20, "dropout": 0.2, "rate": 0.01}
        codes = crew.call(size, f"{WORK}:updates", out, **given, accumulate=2, to=str(to), shards=STAGES)
        if any(codes):
            wrong.append(f"{model}, {size} ranks: {out.read_text(encoding='utf-8')[-400:]}")
            continue
        whole = told(to, "no", 0)["bytes"]
        for stage in STAGES[1:]:
            away = apart(Path(f"{to}.no.safetensors"), Path(f"{to}.{stage}.safetensors"))
            share = [told(to, stage, rank)["bytes"] * size / whole for rank in range(size)]
            far, shares = max(far, away), shares | set(share)
            good = away < 1e-6 and all(abs(each - 1) < 0.05 for each in share)
            wrong.append(None if good else f"{model}, {size} ranks, {stage}: {away:.1e} apart, shares {share}")
    found = f"{far:.1e} apart, {min(shares, default=0):.3f} to {max(shares, default=0):.3f} of 1/N"
    what = (
        f"sharded over 2 and 4 ranks, 20 steps, three stages: weights as data parallel, optimiser bytes 1/N ({found})"
    )
    return [row("F11", what, "< 1e-6, ± 5 %", wrong, began)]


if __name__ == "__main__":
    for found in check():
        print(found)
