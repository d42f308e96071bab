"""What a run shows: a bar where there is a terminal, plain lines now and then where there is none."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from regard.commands.screen import TrainingScreen
from regard.train.fit import Update
from regard.train.progress import Progress
from regard.train.settings import Train


class Shown:
    """A screen with a clock that is turned by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, terminal: bool, settings: Train) -> None:
        self.now, self.out = 0.0, io.StringIO()
        monkeypatch.setattr("regard.commands.screen.time.monotonic", lambda: self.now)
        console = Console(file=self.out, force_terminal=terminal, width=200, highlight=False, soft_wrap=True)
        self.screen = TrainingScreen(settings, console=console)

    def step(self, step: int, now: float, seconds: float = 0.0) -> str:
        """One update at this time; what was written."""
        self.now = now
        before = len(self.out.getvalue())
        update = Update(rate=0.001, norm=1.0, units=100, figures={"loss": 250.0})
        self.screen.update(Progress(step=step, seconds=seconds), update)
        return self.out.getvalue()[before:]


def test_plain_lines_now_and_then_with_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Shown(monkeypatch, False, Train(steps=100))
    assert shown.step(10, 1.0) == ""
    assert shown.step(15, 10.0) == ""
    line = shown.step(20, 21.0)  # ten steps in twenty seconds, eighty to go
    assert line == "step     20   20 %  loss 2.500  rate 0.001  14 tokens/s  3 min left\n"
    assert shown.step(21, 30.0) == ""
    assert shown.step(90, 161.0).endswith("20 s left\n")


def test_the_clock_counts_where_it_ends_the_run_earlier(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Shown(monkeypatch, False, Train(steps=1_000_000, minutes=10))
    shown.step(1, 0.0, seconds=0.0)
    assert shown.step(50, 60.0, seconds=60.0).startswith("step     50   10 %")


def test_a_terminal_has_a_bar_and_lines_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Shown(monkeypatch, True, Train(steps=100))
    with shown.screen as screen:
        shown.step(10, 1.0)
        screen.say("step 10: skipped, [bold]text[/bold] of a/very/long/path/" + 20 * "so/on/")
        screen.phase("validating")
        shown.step(60, 3.0)
    written = shown.out.getvalue()
    assert "training" in written
    assert "[bold]text[/bold] of a/very/long/path/" + 20 * "so/on/" in written
    assert "loss 2.500" in written
