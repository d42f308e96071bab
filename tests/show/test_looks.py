"""Looks of every kind as people meet them: words by p_gen, tapes over time, bars of thought, points with arrows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from regard.show.looks import MOST, fitting
from regard.show.page import Shown, page
from regard.show.points import sides
from regard.show.tape import _exact
from regard.show.trace import Trace, packed
from tests.show.browsing import Page
from tests.show.hostile import CORPUS

HALF = torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.25, 0.0]])
PROSE = Trace(
    "copying", HALF, ["cats", "■"], ["many", "cats", "slept"], kind="prose",
    about={"title": "Told", "note": "", "right": ["cats slept"], "p_gen": [0.0, 1.0]},
)  # fmt: skip
TAPE = Trace(
    "tape", torch.eye(3), list("123"), list("abc"), kind="tape",
    about={"title": "Wrote", "above": {"name": "bits", "rows": [[1, 0, 1], [0, 0, 1]]},
           "beside": {"name": "held", "rows": [[1.0, 0.0], [-1.0, 0.0], [0.0, 0.5]]}},
)  # fmt: skip
PONDER = Trace(
    "pondered", torch.tensor([[1.0, 0, 0], [0.2, 0.3, 0.5]]), ["easy", "hard"], ["step 1", "step 2", "step 3"],
    kind="ponder", about={"title": "Thought", "steps": [1, 3], "asked": [1]},
)  # fmt: skip
POINTS = Trace(
    "pointing", torch.eye(4), ["step 1: 0", "step 2: 1", "step 3: 2", "end"], ["end", "0", "1", "2"], kind="points",
    about={"title": "Pointed", "places": [[0, -0.1], [0, 0], [1, 0], [0, 1]], "arrows": True,
           "sides": {name: [(a + 1, b + 1, step) for a, b, step in sides("hull", answer)]
                     for name, answer in (("said", [0, 1, 2]), ("right", [1, 2, 0]))}},
)  # fmt: skip
TEXTS = "return [...document.querySelectorAll(arguments[0])].map((node) => node.textContent)"
SHARES = "return [...document.querySelectorAll(arguments[0])].map((node) => +node.style.getPropertyValue('--share'))"


def opened(browser: Any, folder: Path, *traces: Trace) -> Page:
    path = folder / "looks.html"
    views = {"it": {"looks": packed(traces)}}
    path.write_text(page(Shown([{"id": "it", "name": "it"}], views, "it", first="looks")), encoding="utf-8")
    shown = Page(browser).open(path.as_uri())
    shown.one("#panel .card")
    return shown


def test_words_said_are_coloured_and_shade_what_they_looked_at(browser: Any, tmp_path: Path) -> None:
    shown = opened(browser, tmp_path, PROSE)
    assert shown.run(SHARES, ".read .w") == [0.5, 0.75, 0.0]  # all that was looked at, while nothing is chosen
    said = shown.all(".own .w")
    colours = [shown.run("return getComputedStyle(arguments[0]).color", node) for node in said]
    assert colours[0] != colours[1]
    shown.point(said[1])
    assert shown.run(SHARES, ".read .w") == [0.0, 0.25, 0.0]
    assert shown.one("#readout").text == "■: 1.00 its own, 0.00 copied; looked most at cats"
    shown.point(said[1], "pointerleave")
    assert shown.run(SHARES, ".read .w") == [0.5, 0.75, 0.0]
    shown.point(shown.all(".read .w")[1])
    assert shown.run(SHARES, ".own .w") == [0.5, 0.25]
    assert "0.75 times" in shown.one("#readout").text


def test_a_tape_is_drawn_over_time_and_read_cell_by_cell(browser: Any, tmp_path: Path) -> None:
    shown = opened(browser, tmp_path, TAPE)
    corners = (
        "return [...document.querySelectorAll('.tape .weight')]"
        ".map((one) => [one.x, one.y].map((at) => at.baseVal.value))"
    )
    (left, top), *more = shown.run(corners)
    assert more == [[left + 20 * step, top + 16 * step] for step in (1, 2)]  # a step further, a place further
    assert len(shown.all(".tape .bit")) == 6  # three bits above, three numbers that are not zero beside
    assert len(shown.all(".tape .bit.low")) == 1
    shown.run("document.querySelector('.tape').focus()")
    assert shown.one("#readout").text == "step 1, place a: 1.000"
    press = "document.querySelector('.tape').dispatchEvent(new KeyboardEvent('keydown', {key: arguments[0]}))"
    shown.run(press, "ArrowDown")
    assert shown.one("#readout").text == "step 1, place b: 0.000"
    shown.run(press, "ArrowRight")
    assert shown.one("#readout").text == "step 2, place b: 1.000"


def test_a_machine_of_rules_has_its_signs_on_the_same_view(browser: Any, tmp_path: Path) -> None:
    trace = _exact("10")
    shown = opened(browser, tmp_path, trace)
    assert len(shown.all(".tape .weight")) == len(trace.queries)
    expected = [sign for moment in trace.about["signs"] for sign in moment if sign]
    assert shown.run(TEXTS, ".tape .sign") == expected


def test_bars_of_thought_are_as_long_as_the_steps(browser: Any, tmp_path: Path) -> None:
    shown = opened(browser, tmp_path, PONDER)
    count = "return [...document.querySelectorAll('.ponder g')].map((bar) => bar.querySelectorAll('.thought').length)"
    assert shown.run(count) == [1, 3]
    assert shown.run(TEXTS, ".ponder .asked .row") == ["hard"]
    inks = "return [...document.querySelectorAll('.asked .thought')].map((one) => +one.getAttribute('fill-opacity'))"
    assert shown.run(inks) == pytest.approx([0.12 + 0.88 * share for share in (0.2, 0.3, 0.5)], abs=0.005)


def test_points_are_joined_up_to_the_step_that_is_chosen(browser: Any, tmp_path: Path) -> None:
    shown = opened(browser, tmp_path, POINTS)
    assert [len(shown.all(f".way.{kind} polygon")) for kind in ("said", "right")] == [3, 3]
    choose = "arguments[0].value = 1; arguments[0].dispatchEvent(new Event('change'))"
    shown.run(choose, shown.one("#panel select"))
    assert [len(shown.all(f".way.{kind} polygon")) for kind in ("said", "right")] == [1, 3]
    assert shown.one("#readout").text == "step 2: 1: most at 0, 1.00"
    large = "return [...document.querySelectorAll('figure:first-child circle')].map((one) => +one.getAttribute('r'))"
    assert shown.run(large) == [3, 12, 3, 3]


def test_of_many_tables_the_first_are_left_out_and_never_a_picture() -> None:
    tables = [Trace(f"look {number}", HALF, ["a", "b"], ["c", "d", "e"]) for number in range(MOST + 3)]
    kept = fitting([PONDER, *tables, TAPE])
    assert [one.name for one in kept] == ["pondered", *(one.name for one in tables[3:]), "tape"]
    assert len(fitting([PONDER, *tables[:MOST]])) == MOST + 1


@pytest.mark.parametrize(
    ("kind", "about", "places"),
    [
        ("prose", {"right": CORPUS[:3], "p_gen": [0.5] * len(CORPUS)}, ".own .w"),
        ("tape", {"signs": [CORPUS] + [[""] * len(CORPUS)] * (len(CORPUS) - 1)}, ".tape .sign"),
        ("ponder", {"steps": [1] * len(CORPUS), "asked": []}, ".ponder .row"),
        ("points", {"places": [[at, 0] for at in range(len(CORPUS))]}, ".plane text"),
    ],
)
def test_a_hundred_hostile_texts_stay_text(browser: Any, tmp_path: Path, kind: Any, about: Any, places: str) -> None:
    shown = opened(browser, tmp_path, Trace(kind, torch.eye(len(CORPUS)), CORPUS, CORPUS, kind=kind, about=about))
    assert shown.run(TEXTS, places) == CORPUS
    strangers = "#panel script, #panel img, #panel iframe"
    assert shown.run("return [window.hurt ?? null, document.querySelectorAll(arguments[0]).length]", strangers) == [
        None,
        0,
    ]
    assert shown.complaints() == []


@pytest.mark.parametrize("width", [390, 1200])
def test_no_kind_is_wider_than_the_screen(browser: Any, tmp_path: Path, width: int) -> None:
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        shown = opened(browser, tmp_path, PROSE, TAPE, _exact("1011"), PONDER, POINTS)
        assert shown.run("return document.documentElement.scrollWidth") <= width
        assert shown.complaints() == []
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
