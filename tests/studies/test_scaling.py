"""The page of large runs says what is counted now, and its formulas are those of real files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from regard.models.build import build_model
from regard.models.settings import TransformerModel
from regard.studies import scaling
from regard.studies.scaling import FRENCH, GERMAN, Model, Text, filled, on_disk
from regard.text.corpus import Corpus
from regard.text.encode import Encoder
from regard.text.pieces import Pieces
from regard.train.optimise import optimiser
from regard.train.progress import Progress
from regard.train.saves import Saves
from regard.train.settings import Train

UNITS = {"MB": 1e6, "GB": 1e9}
PAGE = Path(__file__).parents[2] / "docs" / "scaling.md"


def test_the_page_is_the_one_made_now() -> None:
    page = PAGE.read_text(encoding="utf-8")
    made = scaling.tables()
    (now, now_figures), (then, figures) = (_figures(text) for text in (filled(page, made), page))
    assert now == then, "run regard study scaling --to docs"
    # What is alive at once differs by some bytes with what ran before: a last digit may be rounded either way.
    assert now_figures == pytest.approx(figures, rel=0.01), "run regard study scaling --to docs"
    base, big = made["models"].splitlines()[2:4]
    assert 60e6 < _weights(base) < 66e6  # Vaswani et al. 2017, table 3: 65 and 213 million
    assert 209e6 < _weights(big) < 217e6
    for row in made["check"].splitlines()[2:]:
        whole, summed = (float(cell.split()[0]) * UNITS[cell.split()[1]] for cell in row.split("|")[3:5])
        assert 0.6 * summed < whole <= summed, "the table of memory is an upper bound, and not far from the truth"


def _weights(row: str) -> int:
    return int(row.split("|")[2].replace(",", ""))


def test_only_what_is_between_markers_changes() -> None:
    page = "a\n<!-- table: x -->\nold\n<!-- end: x -->\nb\n<!-- table: y -->\n<!-- end: y -->\n"
    assert filled(page, {"x": "new\n"}) == page.replace("old", "new")
    assert filled(page, {"y": r"\1 | g<0>" + "\n"}).endswith("\n<!-- table: y -->\n\\1 | g<0>\n<!-- end: y -->\n")


@pytest.mark.parametrize("page", ["", "<!-- table: x -->\n", "<!-- table: x -->\n<!-- end: x -->" * 2 + "\n"])
def test_a_table_without_its_place_is_an_error(page: str) -> None:
    with pytest.raises(ValueError, match="not one place for the table 'x'"):
        filled(page, {"x": "new\n"})


def test_a_rank_holds_less_the_more_is_split() -> None:
    model = Model("m", Train(), 1000, 1, 8000, 300, 0, 0, 10, 50, 0, 6000, 0)
    shards = ("no", "optimiser", "gradients", "all")
    assert [model.held(1, shard) for shard in shards] == [16_000] * 4
    assert [model.held(8, shard) for shard in shards] == [16_000, 9_500, 6_000, 3_200]
    assert model.held(8, "all") - 1200 == 16_000 / 8
    assert model.beyond(7) == 120


def test_text_takes_as_many_bytes_as_a_corpus_on_disk(tmp_path: Path) -> None:
    pieces = Pieces.train(["a dog and a cat ran over the hill"] * 20, 300, tmp_path / "p.model", threads=1)
    corpus = Corpus.build(
        tmp_path / "corpus", [(n, "a dog ran", "a cat") for n in range(1, 8)], Encoder(pieces, pieces)
    )
    text = Text("", len(corpus), len(corpus.source(0)), len(corpus.target(0)))
    on = {file.name: file.stat().st_size for file in (tmp_path / "corpus").iterdir()}
    assert text.ids == on["source.ids"] + on["target.ids"]
    assert text.places == on["source.offsets"] + on["target.offsets"] + on["lines"]


def test_saves_take_as_many_bytes_as_are_told(tmp_path: Path) -> None:
    train = Train(average=5, keep=2)
    model = build_model(TransformerModel(encoder_layers=1, decoder_layers=1), 2000, 2000)
    rules = {"model": optimiser(list(model.parameters()), train)}
    for parameter in model.parameters():
        parameter.grad = parameter.detach().clone()
    rules["model"].step()
    weights = 4 * sum(parameter.numel() for parameter in model.parameters())
    remembered = sum(value.nbytes for state in rules["model"].state.values() for value in state.values())
    saves = Saves(tmp_path / "saves", train.save_every, train.average, train.keep)
    assert on_disk(weights, remembered, train) == pytest.approx(saves.needs(model, rules), rel=0.05)
    path = saves.save(model, rules, Progress(), {})
    assert weights + remembered == pytest.approx(sum(file.stat().st_size for file in path.iterdir()), rel=0.01)


def test_runs_are_what_they_say() -> None:
    assert [run.update for run in scaling.RUNS] == [25_000, 102_400, 25_000, 400_000, 400_000, 400_000]
    assert {run.text for run in scaling.RUNS} == {GERMAN, FRENCH}
    assert {run.ranks for run in scaling.RUNS} == {8, 64}
    assert all(run.accumulate % run.ranks == 0 for run in scaling.RUNS), "every rank has whole batches"


def test_bytes_are_told_with_three_digits() -> None:
    told = [scaling._bytes(n) for n in (7, 1234, 99_960, 999_400, 12_345_678, 999_600_000, 123e9)]
    assert told == ["7 B", "1.23 kB", "100 kB", "999 kB", "12.3 MB", "1.00 GB", "123 GB"]


def _figures(page: str) -> tuple[list[str], list[float]]:
    """What a page says beside its numbers, and these."""
    number = r"\d+(?:,\d{3})*(?:\.\d+)?"
    return re.split(number, page), [float(found.replace(",", "")) for found in re.findall(number, page)]
