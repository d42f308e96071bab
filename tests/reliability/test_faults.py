"""T3 and T12 in small: a crash, or a full disk, at some of the changes that a training makes to the disk."""

from __future__ import annotations

import os
import random
import re
import stat
from pathlib import Path
from unittest import mock

import pytest
import torch
from safetensors.torch import load_file

from regard.train import room
from regard.train.drive import Run
from regard.train.log import Log
from regard.train.room import NoRoom
from regard.train.signals import Stop
from regard.train.tensors import write_tensors
from tests.reliability.disk import Dead, Disk
from tests.reliability.faults import begun, copied, crashes, finished, lesson
from tests.train.toys import Heard, outcome


def test_a_crash_at_any_change_leaves_a_run_that_goes_on(tmp_path: Path) -> None:
    """T3; `make reliability` dies at every one of them."""
    wrong = crashes(tmp_path / "work", every=29, cuts=1, seed=random.randrange(29))
    assert len(wrong) >= 14
    assert [problem for problem in wrong if problem] == []


def test_what_was_not_made_durable_may_be_lost(tmp_path: Path) -> None:
    """The layer itself: a file renamed before it was synced is found empty, cut or whole; one synced is whole."""
    seen: dict[str, set[bytes]] = {"safe": set(), "unsafe": set()}
    with Disk(tmp_path) as disk:
        for name in seen:
            with (tmp_path / ".new").open("wb") as file:
                file.write(b"content")
                file.flush()
                if name == "safe":
                    os.fsync(file.fileno())
            os.replace(tmp_path / ".new", tmp_path / name)
        handle = os.open(tmp_path, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)
    assert [what.split()[0] for what in disk.done] == [
        "open",
        "write",
        "fsync",
        "rename",
        "open",
        "write",
        "rename",
        "fsync",
    ]
    for number in range(30):
        disk.power_cut(tmp_path.with_name(f"after{number}"), random.Random(number))
        for name, found in seen.items():
            found.add((tmp_path.with_name(f"after{number}") / name).read_bytes())
    assert seen["safe"] == {b"content"}
    assert {b"", b"content"} < seen["unsafe"]


def test_nothing_is_written_after_death(tmp_path: Path) -> None:
    """A killed process runs no clean-up."""

    def write() -> None:
        try:
            (tmp_path / "a").write_bytes(b"1234")
        finally:
            (tmp_path / "b").touch()
            (tmp_path / "a").unlink()

    with Disk(tmp_path, die_at=2), pytest.raises(Dead):
        write()
    assert (tmp_path / "a").read_bytes() == b"12"


def until_full(run: Run) -> str | None:
    try:
        run.train(Stop())
    except NoRoom as error:
        return str(error)
    return None


def test_a_disk_that_runs_full_takes_nothing_from_what_was_saved(tmp_path: Path) -> None:
    """T12: one sentence with the bytes, and when there is room again the same end."""
    whole = outcome(finished(tmp_path / "whole")[1].folder)
    base, stopped = begun(tmp_path / "begun"), 0
    for number in range(random.randrange(12) + 1, 85, 12):
        folder = copied(base, tmp_path / str(number))
        with mock.patch("regard.train.drive.LOG_EVERY", 2), Disk(folder, full_at=number):
            run = lesson(folder)
            assert run.resume()
            said = until_full(run)
        if said is not None:
            stopped += 1
            told = r"is full \(No space left on device\): the (save|model) of step \d+ needs [\d,]+ bytes and"
            assert re.search(told, said)
        assert not list(folder.rglob(".*.new"))
        at, again = finished(folder)
        assert at in (10, 15)
        assert isinstance(again.screen, Heard)
        assert "passing it over" not in again.screen.text
        assert outcome(folder) == whole, number
    assert stopped > 3


def test_a_log_that_cannot_be_written_has_no_holes_later(tmp_path: Path) -> None:
    """Only the log is refused: training goes on, a save has what is missing, and a resumed run writes it."""
    whole = outcome(finished(tmp_path / "whole")[1].folder)
    folder = tmp_path / "run"
    with mock.patch("regard.train.drive.LOG_EVERY", 2), mock.patch("os.fsync", return_value=None):
        run, stop = lesson(folder), Stop()
        (folder / "log.jsonl").mkdir()  # so it cannot be opened
        real = run.screen.update

        def update(progress: object, done: object) -> None:
            real(progress, done)  # type: ignore[arg-type]
            stop.asked = "SIGTERM" if run.progress.step == 7 else None

        run.screen.update = update  # type: ignore[method-assign]
        assert not run.train(stop)
    assert isinstance(run.screen, Heard)
    assert run.screen.text.count("log.jsonl cannot be written (Is a directory); training goes on") == 1
    assert run.progress.unlogged.count("\n") == 4  # of steps 2, 4, 5 and 6
    (folder / "log.jsonl").rmdir()
    assert outcome(finished(folder)[1].folder) == whole


def test_half_a_line_is_written_again(tmp_path: Path) -> None:
    """A write that failed in the middle of a line, and then went on."""
    heard: list[str] = []
    log = Log(tmp_path, heard.append)
    log.add({"step": 1})
    with Disk(tmp_path, full_at=1):
        log.add({"step": 2})
        log.sample(2, "two")
        assert log.settle() == (0, '{"step": 1}\n{"step": 2}\n')
    with (tmp_path / "log.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"st')
    log.add({"step": 3})
    log.sample(3, "three")
    assert (tmp_path / "log.jsonl").read_text(encoding="utf-8") == '{"step": 1}\n{"step": 2}\n{"step": 3}\n'
    assert log.settle() == (36, "")
    assert [path.read_text(encoding="utf-8") for path in sorted(tmp_path.glob("samples/*"))] == ["two", "three"]
    assert heard == [
        "log.jsonl cannot be written (No space left on device); training goes on",
        "samples cannot be written (No space left on device); training goes on",
        "log.jsonl is written again",
        "samples is written again",
    ]


def test_too_little_room_is_found_out_before_the_first_step(tmp_path: Path) -> None:
    run = lesson(tmp_path / "run")
    needed = run.saves.needs(run.model, run.optimisers)
    with mock.patch("shutil.disk_usage", return_value=mock.Mock(total=10**9, free=needed - 1)):
        told = (
            rf"has room for {needed - 1:,} bytes, and the saves and the model of this run need {needed:,} more; free"
        )
        with pytest.raises(NoRoom, match=told):
            run.train(Stop())
    assert run.progress.step == 0
    assert not (tmp_path / "run" / "saves").exists()
    room.check(tmp_path, 1)


def test_what_was_asked_for_is_enough(tmp_path: Path) -> None:
    """A run never has more on the disk than it said it needs; and it did not ask for far too much."""
    run = lesson(tmp_path / "run")
    asked, most = run.saves.needs(run.model, run.optimisers), 0

    def watched(path: Path, tensors: dict[str, torch.Tensor]) -> None:
        nonlocal most
        write_tensors(path, tensors)
        most = max(most, sum(file.stat().st_size for file in run.folder.rglob("*") if file.is_file()))

    with mock.patch("os.fsync", return_value=None), mock.patch("regard.train.saves.write_tensors", watched):
        assert run.train(Stop())
    assert 0 < most <= asked <= most + 10 * 2**16


def test_tensors_are_written_as_others_read_them(tmp_path: Path) -> None:
    kinds = [torch.float32, torch.bfloat16, torch.float64, torch.int64, torch.uint8, torch.bool]
    tensors = {f"of {kind}": (torch.randn(3, 2) * 9).to(kind) for kind in kinds}
    tensors |= {"empty": torch.zeros(0, 4), "one": torch.tensor(2.5), "turned": torch.arange(6.0).view(2, 3).T}
    write_tensors(tmp_path / "a.safetensors", tensors)
    found = load_file(tmp_path / "a.safetensors")
    assert found.keys() == tensors.keys()
    assert all(
        found[name].dtype == value.dtype and torch.equal(found[name], value) for name, value in tensors.items()
    )
    usual = tmp_path / "usual"
    usual.touch()
    assert stat.S_IMODE((tmp_path / "a.safetensors").stat().st_mode) == stat.S_IMODE(usual.stat().st_mode)
