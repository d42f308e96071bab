"""Text to score comes from files, line for line, or from the run itself."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest

from regard.evaluate.text import from_files, of_run_itself
from regard.text.read import BadText
from tests.translate.toys import RUN


@pytest.fixture
def run(tmp_path: Path) -> Path:
    shutil.copytree(RUN, tmp_path / "run")
    (tmp_path / "run" / "data").mkdir()
    return tmp_path / "run"


def files(folder: Path, **texts: str) -> list[Path]:
    found = []
    for name, text in texts.items():
        path = folder / name
        path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
        found.append(path)
    return found


class TestFiles:
    def test_several_references_gzipped_or_not(self, tmp_path: Path) -> None:
        source, one, two = files(tmp_path, s="a\nb\n", rgz="x\ny\n", t="p\n\n")
        found = from_files(source, [one, two])
        assert found.sources == ("a", "b")
        assert found.references == (("x", "y"), ("p", ""))
        assert len(found) == 2
        assert str(two) in found.where

    def test_unequal_counts_are_refused_with_their_place(self, tmp_path: Path) -> None:
        source, short, long = files(tmp_path, s="a\nb\nc\n", r="x\ny\n", t="x\ny\nz\nw\n")
        with pytest.raises(BadText, match=r"r:3: there is no such line: .*s has 3 lines and .*r 2"):
            from_files(source, [short])
        equal = files(tmp_path, e="x\ny\nz\n")[0]
        with pytest.raises(BadText, match=r"t:4: it has 4 lines and .*s 3"):
            from_files(source, [equal, long])

    def test_what_cannot_be_read_is_told_with_its_line(self, tmp_path: Path) -> None:
        source, reference = tmp_path / "s", tmp_path / "r"
        source.write_bytes(b"a\n\xff\n")
        reference.write_bytes(b"a\nb\n")
        with pytest.raises(BadText, match=r"s:2: byte 1 of the line \(0xFF\) is not UTF-8"):
            from_files(source, [reference])

    def test_nothing(self, tmp_path: Path) -> None:
        source, reference = files(tmp_path, s="", r="")
        with pytest.raises(BadText, match="there is no line"):
            from_files(source, [reference])


class TestOfTheRun:
    def test_what_it_put_aside(self, run: Path) -> None:
        for name, rows in {"test": [[1, "one", "eins"]], "held_out": [[1, "two", "zwei"], [2, "x", "y"]]}.items():
            (run / "data" / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        first, second = of_run_itself(run)
        assert (first.name, first.sources, first.references) == ("test", ("one",), (("eins",),))
        assert (second.name, len(second)) == ("held_out", 2)

    @pytest.mark.parametrize("line", ["{}", '[1, "a"]', '["a", "b", "c"]', "[" * 5000, '[1, "a", 2]', "x"])
    def test_a_line_that_is_none_is_refused(self, run: Path, line: str) -> None:
        (run / "data" / "test.jsonl").write_text(f'[1, "one", "eins"]\n{line}\n')
        with pytest.raises(BadText, match=r"test.jsonl:2: not a line that training writes"):
            of_run_itself(run)

    def test_a_link_that_leads_out_is_not_followed(self, run: Path, tmp_path: Path) -> None:
        (tmp_path / "secret").write_text('[1, "one", "eins"]\n')
        (run / "data" / "test.jsonl").symlink_to(tmp_path / "secret")
        with pytest.raises(BadText, match="leads out of"):
            of_run_itself(run)

    def test_what_its_recipe_names(self, run: Path) -> None:
        self.recipe(run, 'test_source = "../t.en"', 'test_target = "../t.de"')
        with pytest.raises(ValueError, match=r"data.test_source: .*t.en is not there"):
            of_run_itself(run)
        files(run.parent, **{"t.en": "one\ntwo\n", "t.de": "eins\nzwei\n"})
        (found,) = of_run_itself(run)  # the training text, which is gone, is not missed
        assert (found.name, found.sources) == ("test", ("one", "two"))

    def test_what_its_recipe_generates(self, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("regard.text.dates.pairs", lambda split, seed: [(1, f"{split} {seed}", "2026-11-16")])
        self.recipe(run, 'generated = "dates"')
        test, held_out = of_run_itself(run)
        assert (test.name, test.sources) == ("test", ("test 1",))
        assert (held_out.name, held_out.sources) == ("held_out", ("held_out 1",))

    def test_nothing_put_aside(self, run: Path) -> None:
        with pytest.raises(ValueError, match="names no test text; give some with --source F --reference F"):
            of_run_itself(run)

    def recipe(self, run: Path, *lines: str) -> None:
        path = run / "recipe.toml"
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace("[data]\n", "[data]\n" + "".join(f"{line}\n" for line in lines), 1))
