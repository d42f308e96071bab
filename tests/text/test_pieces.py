"""Pieces give back any text, never a control id, and are learned the same every time, or stopped at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.text import learn
from regard.text.ids import END, PAD, START, UNKNOWN
from regard.text.pieces import Pieces
from tests.text.conftest import made

TEXTS = [text for _, source, target in made(300) for text in (source, target)]
HARD = st.text(st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("\u2581 \t\U0010fffd</s>pad")))


@given(st.lists(HARD, max_size=4))
@settings(deadline=None, max_examples=200)
def test_decoding_gives_back_any_text(pieces: Pieces, texts: list[str]) -> None:
    ids = pieces.encode(texts)
    assert pieces.decode(ids) == texts
    assert not {PAD, UNKNOWN, START, END} & {i for row in ids for i in row}
    assert all(0 <= i < len(pieces) for row in ids for i in row)


def test_control_words_are_text(pieces: Pieces) -> None:
    texts = ["</s>", "<pad> <unk> <s> <2de>", "<0x41>", "a</s>b"]
    assert pieces.decode(pieces.encode(texts)) == texts
    assert min(i for row in pieces.encode(texts) for i in row) > END


def test_control_ids_are_silent_and_broken_bytes_are_shown(pieces: Pieces) -> None:
    ids = pieces.encode(["ba"])[0]
    assert pieces.decode([[START, *ids, END, PAD, PAD]]) == ["ba"]
    byte = pieces.encode(["é"])[0][-2:]  # spelt in two bytes, as it was never seen
    assert pieces.decode([byte[:1]]) == ["\ufffd"]
    assert pieces.decode([]) == pieces.encode([]) == []


def test_words_are_how_pieces_are_written(pieces: Pieces) -> None:
    ids = pieces.encode(["ba na"])[0]
    assert "".join(pieces.words(ids)) == "\u2581ba\u2581na"


def test_learned_and_encoded_alike_with_any_number_of_threads(tmp_path: Path) -> None:
    one, two = (Pieces.train(TEXTS, 500, tmp_path / str(n), threads=n) for n in (1, 2))
    assert one.encode(TEXTS) == two.encode(TEXTS) == Pieces.load(tmp_path / "1").encode(TEXTS)
    assert one.fingerprint == two.fingerprint == Pieces.load(tmp_path / "1").fingerprint
    assert len(one) == 500 == one.requested
    assert sorted(os.listdir(tmp_path)) == ["1", "2"]  # nothing is left beside


def test_a_size_beyond_the_text_gives_what_there_is(tmp_path: Path) -> None:
    few = Pieces.train(["ba na na", "na ba"], 8000, tmp_path / "few")
    assert 260 < len(few) < 300
    assert few.requested == 8000
    assert few.decode(few.encode(["ba Ω"])) == ["ba Ω"]


def test_no_line_is_left_out_for_being_long_or_odd(tmp_path: Path) -> None:
    """The trainer drops lines over 4192 bytes, with tabs or with U+2585, and says nothing."""
    odd = ["zig zag " * 2000, "zig\tzag", "zig\u2585zag", "zig\u2581zag", "x" * 50_000]
    learned = Pieces.train(odd, 300, tmp_path / "odd")
    assert {"\u2581zig", "\u2581zag"} <= set(learned.words(range(len(learned))))


def test_more_characters_than_room_are_spelt_in_bytes(tmp_path: Path) -> None:
    many = ["".join(map(chr, range(start, start + 40))) for start in range(0x4E00, 0x6000, 40)] * 3
    learned = Pieces.train(many, 400, tmp_path / "many")
    assert len(learned) == 400
    assert learned.decode(learned.encode(many[:5])) == many[:5]


def test_a_sample_is_fair_and_fixed() -> None:
    texts = [str(i) for i in range(1000)]
    assert learn.sampled(iter(texts), 2000) == texts
    some = learn.sampled(iter(texts), 100)
    assert some == learn.sampled(iter(texts), 100)
    assert len(set(some)) == 100
    assert 300 < sum(map(int, some)) / 100 < 700


@pytest.mark.parametrize(
    ("texts", "size", "message"),
    [
        ([], 300, "There is no text to learn pieces from"),
        (["", ""], 300, "There is no text to learn pieces from"),
        (["a"], 299, "A vocabulary of 299 pieces is too small.*at least 300"),
        (["a\ud800"], 300, "half of a surrogate pair after 'a'.*Remove it"),
    ],
)
def test_what_cannot_be_learned_is_said(tmp_path: Path, texts: list[str], size: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Pieces.train(texts, size, tmp_path / "none")
    assert not list(tmp_path.iterdir())


def test_what_is_no_model_is_said(tmp_path: Path, pieces: Pieces) -> None:
    path = tmp_path / "some.model"
    with pytest.raises(ValueError, match=r"some.model: No such file"):
        Pieces.load(path)
    for wrong in (b"", b"junk", pieces.model[:-100]):
        path.write_bytes(wrong)
        with pytest.raises(ValueError, match=r"some.model: "):
            Pieces.load(path)
    with pytest.raises(ValueError, match="half of a surrogate pair"):
        pieces.encode(["a", "b\udfff"])


def test_tick_stops_the_learner(tmp_path: Path) -> None:
    """A learner that never comes to an end is stopped from within the wait."""

    class Stop(Exception):
        pass

    ticks = 0

    def tick() -> None:
        nonlocal ticks
        ticks += 1
        if ticks == 3:
            raise Stop

    def endless() -> object:
        while True:
            yield "ba na"

    with pytest.raises(Stop):
        Pieces.train(endless(), 300, tmp_path / "never", tick=tick)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL], ids=lambda s: s.name)
def test_a_signal_ends_learner_and_parent(tmp_path: Path, number: signal.Signals) -> None:
    code = f"""
import signal, sys
from pathlib import Path
from regard.text.pieces import Pieces
signal.signal(signal.SIGTERM, lambda *_: sys.exit(75))
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs are born deaf to it
def texts():
    yield from (f"{{i * 7919 % 100003}} {{i * 104729 % 1000003}}" for i in range(300_000))
    print("told", flush=True)
Pieces.train(texts(), 20_000, Path({str(tmp_path / "m")!r}))
"""
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        process.stdout.readline()
        learners = children(process.pid)
        start = time.monotonic()
        process.send_signal(number)
        process.wait(10)
        while any(map(alive, learners)):
            assert time.monotonic() - start < 10
            time.sleep(0.05)
    assert process.returncode == {signal.SIGTERM: 75}.get(number, -number)
    assert learners
    assert not (tmp_path / "m").exists()


def children(parent: int) -> list[int]:
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    return [int(pid) for pid, ppid in (line.split() for line in listed.splitlines()) if int(ppid) == parent]


def alive(pid: int) -> bool:
    state = subprocess.run(["ps", "-o", "state=", "-p", str(pid)], capture_output=True, text=True).stdout.strip()
    return state not in ("", "Z")


SPELT = {
    "characters": (["ba na", "bb"] * 3, "ab na", ["\u2581", "a", "b", "\u2581", "n", "a"]),
    "words": (["AA B", "B G AAA"] * 3, "AAA B AA", ["\u2581AAA", "\u2581B", "\u2581AA"]),
    "tagged": (["lesen case=DAT", "rufen num=SG"] * 3, "fluss num=SG", [*"\u2581flu", "s", "s", "\u2581num=SG"]),
}


@pytest.mark.parametrize("spelling", SPELT)
def test_pieces_may_be_characters_words_or_both(tmp_path: Path, spelling: str) -> None:
    texts, text, wanted = SPELT[spelling]
    pieces = Pieces.train(texts, 400, tmp_path / "p.model", spelling=spelling)
    assert pieces.words(pieces.encode([text])[0]) == wanted
    odd = ["", " ", "zé  B", "AAAA Q ", "\u2581x", "=", "a case=DATx", "<s> <0x41>", "\t"]
    assert pieces.decode(pieces.encode(odd)) == odd
    assert not {PAD, UNKNOWN, START, END} & {i for row in pieces.encode(odd) for i in row}
    assert Pieces.load(tmp_path / "p.model").encode(odd) == pieces.encode(odd)


def test_words_beyond_the_size_are_spelt(tmp_path: Path) -> None:
    texts = [f"w{chr(97 + n % 26)}{chr(97 + n // 26)} often" for n in range(200)]
    pieces = Pieces.train(texts, 320, tmp_path / "p.model", spelling="words")
    assert len(pieces) <= 320
    assert pieces.words(pieces.encode(["often"])[0]) == ["\u2581often"]
    assert pieces.decode(pieces.encode(texts)) == texts
