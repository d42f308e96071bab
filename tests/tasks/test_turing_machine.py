"""The Turing machine is exact: increments and copies are those of Python."""

from __future__ import annotations

import itertools

import pytest

from regard.tasks.turing_machine import COPY, INCREMENT, NeverHalts, run, said


@pytest.mark.parametrize("number", [0, 1, 2, 7, 8, 255, 1023])
def test_one_more(number):
    assert int(said(run(INCREMENT, f"{number:b}")), 2) == number + 1


@pytest.mark.parametrize("word", ["", "0", "1", "10", "110100", "111111"])
def test_copying(word):
    assert said(run(COPY, f"{word}#")) == f"{word}#{word}"


def test_every_moment_has_the_head_on_the_tape_and_writes_only_there():
    moments = run(COPY, "101#")
    assert moments[0].state == "start"
    assert moments[-1].state == "halt"
    for before, after in itertools.pairwise(moments):
        changed = [at for at, (a, b) in enumerate(zip(before.tape, after.tape, strict=True)) if a != b]
        assert changed in ([], [before.head])
        assert abs(after.head - before.head) <= 1
        assert 0 <= after.head < len(after.tape)


def test_what_has_no_rule_or_no_end_is_told():
    with pytest.raises(ValueError, match="no rule for state 'start' at symbol '2'"):
        run(INCREMENT, "12")
    with pytest.raises(NeverHalts, match="within 50 steps"):
        run({("start", "_"): ("_", 1, "start")}, "", most=50)
