"""From text files to what training reads: held out, checked, learned, numbered; there or not there."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from regard.tasks import kept, parallel_text
from regard.tasks.parallel_text import Older, ParallelText, is_ready, prepare
from regard.tasks.settings import TextData
from regard.text.read import BadText
from tests.train.toys import sentences, write_pairs


def made(folder: Path, data: TextData, older: Older | None = None) -> tuple[ParallelText, list[str]]:
    said: list[str] = []
    prepare(data, folder, 1, 1, said.append, older)
    return ParallelText.open(folder), said


def data(files: dict[str, Path], **more: object) -> TextData:
    return TextData(**{"pieces": 350, **files, **more})  # type: ignore[arg-type]


def texts(found: ParallelText) -> list[tuple[int, str, str]]:
    """The training pairs, back from their numbers."""
    return [
        (
            found.train.line(i),
            found.source.decode([found.train.source(i).tolist()])[0],
            found.target.decode([found.train.target(i).tolist()])[0],
        )
        for i in range(len(found.train))
    ]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_pairs(tmp_path_factory.mktemp("text"), sentences(120))


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory, files: dict[str, Path]) -> tuple[ParallelText, list[str]]:
    return made(tmp_path_factory.mktemp("run") / "run", data(files))


class TestHeldOut:
    """Where no validation text is given."""

    def test_a_tenth_at_most_and_said(self, first: tuple[ParallelText, list[str]]) -> None:
        found, said = first
        assert len(found.valid) == 12
        assert said[0] == "no validation text given: 12 training lines are held out for it"

    @pytest.mark.parametrize(("count", "most", "expected"), [(1999, 1000, 199), (29_999, 1000, 1000), (5, 1000, 1)])
    def test_so_many_and_evenly(self, count: int, most: int, expected: int) -> None:
        pairs = [(number, f"s{number}", f"t{number}") for number in range(1, count + 1)]
        lines = [line for line, _, _ in parallel_text._held_out(pairs, most)]
        assert len(lines) == expected
        gaps = {after - before for before, after in pairwise(lines)}
        assert not gaps or max(gaps) - min(gaps) <= 1

    def test_no_source_is_in_both(self, tmp_path: Path) -> None:
        pairs = sentences(30) * 4  # every sentence four times
        found, _ = made(tmp_path / "run", data(write_pairs(tmp_path, pairs)))
        held = {source for _, source, _ in found.valid}
        assert len(found.valid) == 12
        assert held.isdisjoint(source for _, source, _ in texts(found))
        assert len(found.train) == sum(source not in held for source, _ in pairs)

    def test_empty_lines_are_not_held_out(self, tmp_path: Path) -> None:
        pairs = [pair if number % 3 else ("", pair[1]) for number, pair in enumerate(sentences(60))]
        found, said = made(tmp_path / "run", data(write_pairs(tmp_path, pairs)))
        assert len(found.valid) == 4
        assert all(source and target for _, source, target in found.valid)
        assert any(line.startswith("left out: 20 pairs, empty (line 1, 4, 7, 10, 13, ...)") for line in said)

    def test_one_line_is_not_enough_and_told(self, tmp_path: Path) -> None:
        with pytest.raises(BadText, match=r"train\.de: nothing is left to learn from: 1 lines were held out"):
            made(tmp_path / "run", data(write_pairs(tmp_path, sentences(1))))
        assert not is_ready(tmp_path / "run")

    def test_not_where_validation_text_is_given(self, tmp_path: Path, files: dict[str, Path]) -> None:
        valid = write_pairs(tmp_path, sentences(3, seed=9), "valid")
        given = data(files, valid_source=valid["source"], valid_target=valid["target"])
        found, said = made(tmp_path / "run", given)
        assert [pair[1:] for pair in found.valid] == sentences(3, seed=9)
        assert len(found.train) == 120
        assert not any("held out" in line for line in said)


def test_every_pair_comes_back_with_its_line(first: tuple[ParallelText, list[str]]) -> None:
    found, _ = first
    everything = sorted([*texts(found), *found.valid])
    assert everything == [(number, *pair) for number, pair in enumerate(sentences(120), start=1)]


def test_odd_characters_survive(tmp_path: Path) -> None:
    odd = 'a "quoted" \\ b\u2028c\u0085d\u2581e \U0001f600 \u202eright'
    pairs = [*sentences(20), (odd, odd[::-1])] * 2
    found, _ = made(tmp_path / "run", data(write_pairs(tmp_path, pairs), hold_out=1))
    kept = [*texts(found), *found.valid]
    assert sum(source == odd and target == odd[::-1] for _, source, target in kept) == 2


@pytest.mark.parametrize("kind", ["pairs", "gz", "swap", "separate"])
def test_other_ways_to_give_text(tmp_path: Path, kind: str) -> None:
    pairs = sentences(40)
    files = write_pairs(tmp_path, pairs)
    if kind == "pairs":
        (tmp_path / "all.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in pairs), encoding="utf-8")
        given = data({"pairs": tmp_path / "all.tsv"})
    elif kind == "gz":
        packed = {side: file.with_suffix(file.suffix + ".gz") for side, file in files.items()}
        for side, file in files.items():
            packed[side].write_bytes(gzip.compress(file.read_bytes()))
        given = data(packed)
    else:
        given = data(files, swap=kind == "swap", joint=kind != "separate")
    found, _ = made(tmp_path / "run", given)
    expected = [pair[::-1] if kind == "swap" else pair for pair in pairs]
    assert sorted([*texts(found), *found.valid]) == [(number, *pair) for number, pair in enumerate(expected, start=1)]
    assert (tmp_path / "run" / "pieces" / "target.model").exists() == (kind == "separate")
    assert (found.source.fingerprint != found.target.fingerprint) == (kind == "separate")


def test_left_out_pairs_are_counted_with_their_lines(tmp_path: Path) -> None:
    pairs = sentences(40)
    pairs[4], pairs[6], pairs[8] = ("one " * 300, "eins " * 300), ("", "eins"), ("one", "eins " * 40)
    _, said = made(tmp_path / "run", data(write_pairs(tmp_path, pairs), longest=100, hold_out=1))
    assert [line for line in said if line.startswith("left out")] == [
        "left out: 1 pairs, empty (line 7)",
        "left out: 1 pairs, too long (line 5)",
        "left out: 1 pairs, one side much longer (line 9)",
    ]


def test_fewer_pieces_than_asked_for_is_said(tmp_path: Path) -> None:
    found, said = made(tmp_path / "run", data(write_pairs(tmp_path, sentences(30)), pieces=5000))
    assert len(found.source) < 5000
    assert f"the text has only {len(found.source):,} pieces, not the 5,000 asked for" in said


class TestThereOrNotThere:
    """What was made is not made again; what was cut short is."""

    def test_once(self, tmp_path: Path, files: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
        made(tmp_path / "run", data(files))
        monkeypatch.setattr(parallel_text, "texts_of", lambda *_: pytest.fail("it was read again"))
        _, said = made(tmp_path / "run", data(files))
        assert said == []

    @pytest.mark.parametrize("place", ["report", "_pieces", "_keep", "digests"])
    def test_cut_short_anywhere(
        self, tmp_path: Path, files: dict[str, Path], first: tuple[ParallelText, list[str]],
        monkeypatch: pytest.MonkeyPatch, place: str,
    ) -> None:  # fmt: skip
        with monkeypatch.context() as patch:
            patch.setattr(parallel_text, place, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                made(tmp_path / "run", data(files))
        assert not is_ready(tmp_path / "run")
        made(tmp_path / "run", data(files))
        for name in ("data/train/source.ids", "data/train/lines", "data/valid.jsonl", "pieces/source.model"):
            assert (tmp_path / "run" / name).read_bytes() == (first[0].folder / name).read_bytes()

    def test_what_is_damaged_can_be_removed_and_is_made_again(self, tmp_path: Path, files: dict[str, Path]) -> None:
        found, _ = made(tmp_path / "run", data(files))
        ids = found.train.folder / "source.ids"
        content = ids.read_bytes()
        ids.write_bytes(content[:-2])
        with pytest.raises(ValueError, match=r"Remove .*data/train to build it again"):
            made(tmp_path / "run", data(files))
        shutil.rmtree(found.train.folder)
        made(tmp_path / "run", data(files))
        assert ids.read_bytes() == content


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "no text is given; name it with --data.source"),
        ({"generated": "poems"}, "there is no generator 'poems'; there are: dates, arithmetic"),
    ],
)
def test_what_is_not_there_is_said(tmp_path: Path, given: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        made(tmp_path / "run", TextData(**given))


@pytest.mark.parametrize("which", ["valid", "test"])
def test_empty_text_to_measure_by_is_refused(tmp_path: Path, files: dict[str, Path], which: str) -> None:
    empty = write_pairs(tmp_path, [], which)
    given = {f"{which}_{side}": file for side, file in empty.items()}
    with pytest.raises(BadText, match=rf"{which}\.en:1 and .*{which}\.de:1: there is no line"):
        made(tmp_path / "run", data(files, **given))


class TestOlder:
    """What fine-tuning takes from the old run."""

    def test_pieces_are_kept_and_a_share_is_mixed_in(
        self, tmp_path: Path, first: tuple[ParallelText, list[str]]
    ) -> None:
        old = first[0]
        new = [(source.upper(), target.upper()) for source, target in sentences(40, seed=7)]
        found, said = made(tmp_path / "run", data(write_pairs(tmp_path, new)), Older(old.folder, 0.25))
        assert found.source.fingerprint == old.source.fingerprint
        assert "12 pairs of the old text are mixed in, so that it is not forgotten" in said  # a quarter of 36 + 12
        mixed = [(line, *pair) for line, *pair in texts(found) if line < 0]
        assert len(mixed) == 12
        assert len(found.train) == 48
        assert {(-line, *pair) for line, *pair in mixed} <= set(texts(old))
        assert -mixed[0][0] < 20
        assert -mixed[-1][0] > 100  # from all over the old text

    def test_all_there_is_where_a_share_asks_for_more(self, first: tuple[ParallelText, list[str]]) -> None:
        assert len(list(Older(first[0].folder, 0.9).some(1000))) == len(first[0].train)
        assert list(Older(first[0].folder, 0.0).some(1000)) == []

    def test_nothing_where_the_old_text_is_gone(
        self, tmp_path: Path, first: tuple[ParallelText, list[str]], files: dict[str, Path]
    ) -> None:
        shutil.copytree(first[0].folder / "pieces", tmp_path / "old" / "pieces")
        found, said = made(tmp_path / "run", data(files), Older(tmp_path / "old", 0.5))
        assert "0 pairs of the old text are mixed in, so that it is not forgotten" in said
        assert all(line > 0 for line, _, _ in texts(found))


def test_what_is_ready_tells_of_its_text(first: tuple[ParallelText, list[str]], files: dict[str, Path]) -> None:
    told = json.loads((first[0].folder / "data" / "ready.json").read_text(encoding="utf-8"))
    assert told["pairs"] == 108
    assert told["where"] == f"{files['source']} and {files['target']}"
    assert set(told["files"]) == {"source", "target"}
    assert told["report"]["pairs"] == 108


class TestKept:
    """What was made of large text is there for other runs."""

    @pytest.fixture(autouse=True)
    def cache(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setattr(kept, "WORTH", 100)
        monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
        return tmp_path / "cache"

    def test_another_run_makes_nothing(
        self, tmp_path: Path, files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        one, first_said = made(tmp_path / "one", data(files))
        elsewhere = {side: shutil.copy(file, tmp_path / f"other.{side}") for side, file in files.items()}
        for place in ("report", "Pieces.train", "Corpus.build"):
            monkeypatch.setattr(f"regard.tasks.parallel_text.{place}", lambda *_, **__: pytest.fail("made again"))
        two, said = made(tmp_path / "two", data({side: Path(file) for side, file in elsewhere.items()}))
        assert texts(two) == texts(one)
        assert two.source.fingerprint == one.source.fingerprint
        taken = [line for line in said if "as made before from the same text" in line]
        assert [line.split(":")[0] for line in taken] == ["data report", "pieces", "text as numbers"]
        assert [line for line in said if line not in taken] == first_said
        shutil.rmtree(tmp_path / "cache")
        assert texts(ParallelText.open(tmp_path / "two")) == texts(one)  # a run needs nothing but itself

    @pytest.mark.parametrize(
        "other", [{"longest": 90}, {"ratio": 3.0}, {"pieces": 360}, {"swap": True}, {"hold_out": 3}]
    )
    def test_other_settings_are_not_mistaken(
        self, tmp_path: Path, files: dict[str, Path], other: dict[str, object], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made(tmp_path / "one", data(files))
        found, _ = made(tmp_path / "two", data(files, **other))
        monkeypatch.setenv("REGARD_CACHE", "off")
        alone, said = made(tmp_path / "three", data(files, **other))
        assert found.train.manifest == alone.train.manifest
        assert not any("made before" in line for line in said)

    def test_damage_is_told_and_made_anew(self, tmp_path: Path, files: dict[str, Path], cache: Path) -> None:
        one, _ = made(tmp_path / "one", data(files))
        entry = next(cache.glob("text-as-numbers-*"))
        before = texts(one)
        (entry / "source.ids").unlink()
        (entry / "source.ids").write_bytes(b"nothing")
        two, said = made(tmp_path / "two", data(files))
        assert any(line.startswith("text as numbers: ") and line.endswith("; making it anew") for line in said)
        assert texts(two) == before
        _, said = made(tmp_path / "three", data(files))
        assert sum("made before" in line for line in said) == 3

    def test_text_changed_meanwhile_is_not_kept(
        self, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        files = write_pairs(tmp_path, sentences(120))
        real = parallel_text.report

        def slow(*args: object) -> object:
            files["source"].write_text(files["source"].read_text(encoding="utf-8"), encoding="utf-8")
            os.utime(files["source"], (1, 1))
            return real(*args)  # type: ignore[arg-type]

        monkeypatch.setattr(parallel_text, "report", slow)
        made(tmp_path / "run", data(files))
        assert not cache.exists()

    def test_a_place_that_cannot_be_written_is_told(
        self, tmp_path: Path, files: dict[str, Path], cache: Path
    ) -> None:
        cache.write_text("a file")
        found, said = made(tmp_path / "run", data(files))
        assert len(found.train) == 108
        assert any("cannot be kept for other runs" in line for line in said)

    def test_little_text_is_not_kept(
        self, tmp_path: Path, files: dict[str, Path], cache: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(kept, "WORTH", 121)
        made(tmp_path / "run", data(files))
        assert not cache.exists()
