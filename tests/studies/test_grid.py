"""The study runner: every cell once, what is measured stays measured, and the page says mean and spread."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from regard.studies.grid import At, Column, Found, Measured, Study, run


class Counted:
    """Measures by a rule, and remembers what it was asked; may be stopped after some."""

    def __init__(self, most: int = 1000) -> None:
        self.asked: list[tuple[str, str, int, int]] = []
        self.most = most

    def __call__(self, at: At, seed: int, steps: int) -> Measured:
        if len(self.asked) == self.most:
            raise KeyboardInterrupt
        self.asked.append((at["size"], at["task"], seed, steps))
        return Measured({"good": int(at["size"]) + seed, "steps": steps}, f"{at['size']} {at['task']}")


def study(measure: Counted, version: int = 1) -> Study:
    return Study(
        name="toy",
        title="Toys",
        about="Tried for {steps} steps.",
        axes={"size": ("1", "2"), "task": ("a", "b")},
        steps=1500,
        seeds=2,
        measure=measure,
        columns=(Column("a %", "good", {"task": "a"}, times=100), Column("both", "good", digits=2)),
        goals=lambda found: [f"- mean {found.mean('good', size='2', task='a'):g}, kept {found.seen(size='2')}"],
        draw=lambda found, path: path.write_bytes(b"picture"),
        published={"2": "7.5 in a paper"},
        version=version,
    )


def test_table_numbers_and_figure(tmp_path: Path, capsys):
    measure = Counted()
    run(study(measure), ["--to", str(tmp_path)])
    assert len(measure.asked) == len(set(measure.asked)) == 8
    assert measure.asked[:4] == [("1", "a", 1, 1500), ("1", "b", 1, 1500), ("2", "a", 1, 1500), ("2", "b", 1, 1500)]
    page = (tmp_path / "toy.md").read_text()
    assert page.startswith("# Toys\n\n- command: `regard study toy --steps 1500 --seeds 2`\n")
    assert "Tried for 1,500 steps." in page
    assert "- mean 3.5, kept 2 a" in page
    assert "| size | a % | both | paper |" in page
    assert "| 2 | 350.0 ± 70.7 | 3.50 ± 0.58 | 7.5 in a paper |" in page  # of two, and of four
    cells = json.loads((tmp_path / "toy.json").read_text())["cells"]
    assert [cell["figures"]["good"] for cell in cells] == [2, 2, 3, 3, 3, 3, 4, 4]
    assert [cell["seen"] is None for cell in cells] == [False] * 4 + [True] * 4
    assert (tmp_path / "toy.png").read_bytes() == b"picture"
    assert "2, b, seed 2: good 4, steps 1500" in capsys.readouterr().out


def test_a_stopped_study_goes_on_where_it_was(tmp_path: Path):
    first, second, third = Counted(3), Counted(), Counted()
    with pytest.raises(KeyboardInterrupt):
        run(study(first), ["--to", str(tmp_path)])
    assert not (tmp_path / "toy.md").exists()
    run(study(second), ["--to", str(tmp_path)])
    assert len(first.asked) == 3
    assert len(second.asked) == 5
    assert not set(first.asked) & set(second.asked)
    before = (tmp_path / "toy.json").read_text()
    run(study(third), ["--to", str(tmp_path)])
    assert third.asked == []
    assert json.loads(before)["cells"] == json.loads((tmp_path / "toy.json").read_text())["cells"]


def test_other_steps_other_versions_and_more_seeds_are_measured(tmp_path: Path):
    run(study(Counted()), ["--to", str(tmp_path), "--seeds", "1"])
    more, other, newer, again = (Counted() for _ in range(4))
    run(study(more), ["--to", str(tmp_path), "--seeds", "2"])
    assert {seed for *_, seed, _ in more.asked} == {2}
    run(study(other), ["--to", str(tmp_path), "--steps", "7"])
    assert len(other.asked) == 8
    run(study(newer, version=2), ["--to", str(tmp_path), "--steps", "7"])
    assert len(newer.asked) == 8
    run(study(again, version=2), ["--to", str(tmp_path), "--steps", "7", "--again"])
    assert len(again.asked) == 8


def test_a_file_that_is_no_study_is_left_alone(tmp_path: Path):
    (tmp_path / "toy.json").write_text('{"cells": [{"at": 1}]}')
    with pytest.raises(ValueError, match=r"toy\.json does not hold the cells of a study .* --again"):
        run(study(Counted()), ["--to", str(tmp_path)])
    assert (tmp_path / "toy.json").read_text() == '{"cells": [{"at": 1}]}'


def test_a_figure_that_some_cells_lack_is_left_empty():
    assert Found([]).values("good", {}) == []
