"""`regard translate`: n lines in, n lines out, and what is written beside them."""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from regard.cli import main
from tests.translate.toys import RUN, nasty_bytes

TEXT = "one red dog\n\ntwo blue cat\n"
SAID = "eins rot Hund\n\nzwei blau Katze\n"


class Told(NamedTuple):
    code: int
    out: bytes
    err: str


@pytest.fixture
def translate(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]):  # type: ignore[no-untyped-def]
    def run(text: str | bytes, *options: object, folder: Path = RUN) -> Told:
        data = text.encode() if isinstance(text, str) else text
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        code = main(["translate", str(folder), "--threads", "1", *map(str, options)])
        seen = capsysbinary.readouterr()
        return Told(code, seen.out, seen.err.decode())

    return run


class TestLines:
    def test_in_and_out(self, translate) -> None:  # type: ignore[no-untyped-def]
        told = translate(TEXT)
        assert told.code == 0
        assert told.out.decode() == SAID
        assert told.err.startswith(f"translating with {RUN} on 1 thread\n")
        assert "3 lines, 23 pieces in " in told.err

    @pytest.mark.parametrize("text", ["", "\n", "\n\n", "one", "one\n", "\r\n\r\none\r\n", "one\ntwo"])
    def test_as_many_as_came(self, translate, text: str) -> None:  # type: ignore[no-untyped-def]
        out = translate(text).out.decode()
        assert out.count("\n") == text.count("\n")
        assert out.endswith("\n") == text.endswith("\n")
        assert [line.strip() == "" for line in out.split("\n")] == [line.strip() == "" for line in text.split("\n")]

    def test_any_bytes(self, translate) -> None:  # type: ignore[no-untyped-def]
        """D4, a little of it; `make reliability` does 100 000."""
        rng = random.Random(7)
        data = b"\n".join(nasty_bytes(rng, 6) for _ in range(60)) + b"\n"
        told = translate(data, "--beam", 1, "--longest", 12)
        assert told.code == 0
        assert told.out.count(b"\n") == data.count(b"\n")
        told.out.decode("utf-8")

    def test_what_is_not_utf_8_is_told(self, translate) -> None:  # type: ignore[no-untyped-def]
        told = translate(b"one\n\xff two \xc3\n")
        assert "line 2: 2 bytes are not UTF-8; U+FFFD stands for what was there\n" in told.err
        assert "2 bytes not UTF-8" in told.err.splitlines()[-1]

    def test_limits_are_told_by_line(self, translate) -> None:  # type: ignore[no-untyped-def]
        told = translate("one red dog\n" + "one red dog, " * 5 + "\n", "--longest", 12)
        assert "line 2: translated in " in told.err
        assert "line 1: " not in told.err


class TestBeside:
    def test_alignments_and_scores(self, translate, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
        links, scores = tmp_path / "links", tmp_path / "scores"
        assert translate(TEXT, "--alignments", links, "--scores", scores).out.decode() == SAID
        first, empty, third = links.read_text().split("\n")[:-1]
        assert empty == ""
        for line in (first, third):
            assert [int(link.split("-")[1]) for link in sorted(line.split(), key=lambda x: x[2:])] == [0, 1, 2]
        one, nothing, two = map(float, scores.read_text().split())
        assert -0.2 < one < 0
        assert -0.2 < two < 0
        assert np.isnan(nothing)

    def test_attention(self, translate, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
        file = tmp_path / "seen.npz"
        assert translate(TEXT + "one\rtwo", "--attention", file).code == 0
        with np.load(file, allow_pickle=False) as seen:
            assert seen["1.weights"].shape == (1, 2, len(seen["1.target"]), len(seen["1.source"]))
            assert "".join(seen["1.target"]) == "▁eins▁rot▁Hund</s>"
            assert np.allclose(seen["3.weights"].sum(-1), 1, atol=1e-5)
            assert {"4.0.weights", "4.1.weights"} <= set(seen)
            assert "2.weights" not in seen

    def test_json(self, translate, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
        told = translate(TEXT.rstrip("\n"), "--json", "--nbest", 2, "--alignments", tmp_path / "links")
        first, empty, third = (json.loads(line) for line in told.out.decode().split("\n")[:-1])
        assert first["text"] == "eins rot Hund"
        assert "".join(first["tokens"]) == "▁eins▁rot▁Hund</s>"
        assert len(first["token_scores"]) == len(first["tokens"])
        assert first["parts"] == [[0, 11]]
        assert first["suspect"] == []
        assert first["nbest"][0]["text"] == "eins rot Hund"
        assert len(first["nbest"]) == 2
        assert len(first["alignment"]) == 3
        assert (empty["text"], empty["score"], empty["alignment"]) == ("", None, [])
        assert third["text"] == "zwei blau Katze"

    def test_n_best_lists(self, translate) -> None:  # type: ignore[no-untyped-def]
        lines = translate("one red dog\ntwo blue cat\n", "--nbest", 2).out.decode().splitlines()
        assert [line.split(" ||| ")[0] for line in lines] == ["0", "0", "1", "1"]
        assert lines[0].split(" ||| ")[1] == "eins rot Hund"
        assert float(lines[0].split(" ||| ")[2]) >= float(lines[1].split(" ||| ")[2]) - 1


class TestWishes:
    def test_glossary_prefix_and_placeholders(self, translate, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
        (tmp_path / "terms").write_text("dog\tKatze\n", encoding="utf-8")
        (tmp_path / "begin").write_text("zwei\n\n", encoding="utf-8")
        first, second = (
            translate(
                "one red dog\none {name} cat\n", "--glossary", tmp_path / "terms", "--prefix", tmp_path / "begin",
                "--keep-placeholders", "--beam", 4,
            ).out.decode().splitlines()
        )  # fmt: skip
        assert first.startswith("zwei")
        assert "Katze" in first
        assert second.count("{name}") == 1

    def test_a_seed_draws_the_same_again(self, translate) -> None:  # type: ignore[no-untyped-def]
        once, again, other = (
            translate("one red dog\n", "--sample", "--temperature", 5, "--seed", seed).out for seed in (1, 1, 2)
        )
        assert once == again != other

    def test_draws_among_the_likeliest(self, translate) -> None:  # type: ignore[no-untyped-def]
        """However hot, one piece to draw from is the greedy one."""
        hot = ("--sample", "--temperature", 50)
        greedy = translate("one red dog\n", "--beam", 1).out
        assert translate("one red dog\n", *hot).out != greedy
        assert translate("one red dog\n", *hot, "--top-k", 1).out == greedy
        assert translate("one red dog\n", *hot, "--top-p", 0.001).out == greedy

    def test_no_run_is_said_twice(self, translate) -> None:  # type: ignore[no-untyped-def]
        assert translate("five five cat\n", "--beam", 1).out.decode() == "fünf fünf Katze\n"
        assert translate("five five cat\n", "--beam", 1, "--no-repeat", 1).out.decode() == "fünf Katze\n"


class TestMistakes:
    """One sentence each, before anything is written, exit code 2."""

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (["--beam", "0"], "beam: Input should be greater than or equal to 1"),
            (["--nbest", "9", "--beam", "2"], "nbest: a beam of 2 has no 9 translations"),
            (["--sample", "--top-p", "2"], "top_p: Input should be less than or equal to 1"),
            (["--top-k", "2"], "--top-k is for words drawn by chance; give --sample with it"),
            (["--glossary", "nowhere"], "nowhere"),
            (["--scores", "no/where"], "no/where"),
        ],
    )
    def test_options(self, translate, options: list[str], said: str) -> None:  # type: ignore[no-untyped-def]
        self.one_sentence(translate("one\n", *options), said)

    def test_fewer_prefixes_than_lines(self, translate, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
        (tmp_path / "begin").write_text("zwei\n", encoding="utf-8")
        told = translate("one\ntwo\n", "--prefix", tmp_path / "begin")
        assert told.code == 2
        assert "has fewer lines than there are to translate" in told.err

    def test_no_model(self, translate, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
        self.one_sentence(translate("one\n", folder=tmp_path / "none"), "there is no run folder")
        self.one_sentence(translate("one\n", folder=tmp_path), "is not a run folder")

    def test_a_corrupted_file(self, translate, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
        shutil.copytree(RUN, tmp_path / "run")
        model = next((tmp_path / "run").glob("model-*"))
        model.write_bytes(model.read_bytes()[:-1] + b"\0")
        self.one_sentence(translate("one\n", folder=tmp_path / "run"), f"{model} is not what was written")

    def one_sentence(self, told: Told, said: str) -> None:
        assert told.code == 2
        assert told.out == b""
        assert told.err.startswith("regard: ")
        assert said in told.err
        assert len(told.err.strip().splitlines()) == 1


class TestPipes:
    """In a process of its own."""

    def start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "regard", "translate", str(RUN), "--threads", "1"]
        pipe = subprocess.PIPE
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment)

    def test_whoever_reads_may_have_enough(self) -> None:
        with self.start() as process:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdin.write(b"one red dog\n" * 5000)
            process.stdin.flush()
            assert process.stdout.readline() == b"eins rot Hund\n"
            process.stdout.close()
            process.stdin.close()
            assert process.wait(200) == 128 + signal.SIGPIPE
            assert process.stderr.read().decode().splitlines() == [f"translating with {RUN} on 1 thread"]

    def test_ctrl_c_leaves_no_half_line(self) -> None:
        """And a line is answered while the next is waited for."""
        with self.start() as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(b"one red dog\ntwo bl")
            process.stdin.flush()
            assert process.stdout.readline() == b"eins rot Hund\n"
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=200)
            assert process.returncode == 130
            assert out == b""
            assert b"Traceback" not in err
