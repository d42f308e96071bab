"""The page says what the code does, and the pictures show what was learned."""

import re
from pathlib import Path

import pytest
import torch

from regard.attend import papers
from regard.show import anatomy, catalogue, draw, example

ANOTHER_SEED = 100  # not the one the pictures were chosen with: what the page claims must not hang on it
DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_in_docs_is_the_one_made_now():
    assert (DOCS / "mechanisms.md").read_text(encoding="utf-8") == catalogue.page(), "run make docs"


def test_every_picture_is_there():
    pictures = re.findall(r"!\[.*\]\((.*)\)", catalogue.page())
    assert len(pictures) == 1 + len(papers.CATALOGUE)
    assert [picture for picture in pictures if not (DOCS / picture).is_file()] == []


def test_links_lead_somewhere_and_tables_keep_their_columns():
    page = catalogue.page()
    headings = {catalogue._anchor(title) for title in re.findall(r"^#+ (.*)$", page, re.M)}
    assert set(re.findall(r"\]\(#(.*?)\)", page)) <= headings
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {5}


@pytest.mark.parametrize("name", papers.CATALOGUE)
def test_every_entry_is_complete(name):
    entry = anatomy.describe(name)
    assert entry.citation.endswith(".")
    assert entry.formula
    assert entry.cost
    assert len(entry.parts) >= 3
    assert entry.call.startswith(f"{name}(")


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("bahdanau", "Additive + Softmax + everything"),
        ("graves", "Cosine + Turing(ShiftChoice) + everything"),
        ("press", "ScaledDot + Softmax + causal + Alibi + Heads"),
        ("shazeer", "ScaledDot + Softmax + everything + Heads(groups=1)"),
        ("katharopoulos", "Kernel(EluPlusOne) + Softmax + causal + Heads"),
        ("kitaev", "Mapped(Scale, Unit) + Softmax + Hashing + SelfLast + Heads(key = query)"),
        ("yang", "Mapped + Softmax + everything + Pooling"),
    ],
)
def test_parts_are_read_off_the_live_object(name, parts):
    assert " + ".join(anatomy.describe(name).parts) == parts


def test_citations_are_shortened_to_who_and_when():
    shorts = {name: anatomy.describe(name).short for name in ("bahdanau", "martins", "shazeer", "linear_concat")}
    assert shorts == {
        "bahdanau": "Bahdanau et al. 2015",
        "martins": "Martins & Astudillo 2016",
        "shazeer": "Shazeer 2019",
        "linear_concat": "Degenerate",
    }


def test_a_field_may_go_on_over_lines():
    assert anatomy.fields(["", "Formula: softmax(q·k)", "  over all keys", "Cost: n", "", "More."]) == {
        "Formula": "softmax(q·k) over all keys",
        "Cost": "n",
    }


@pytest.mark.parametrize("name", papers.CATALOGUE)
def test_every_mechanism_looks_at_the_sentence(name):
    shown = example.run(name, steps=1)
    assert shown.weights.shape == shown.allowed.shape
    assert shown.weights.shape[1:] == (len(shown.queries), len(shown.keys))
    assert (shown.weights[~shown.allowed] == 0).all()
    assert shown.weights.isfinite().all()


def test_it_is_the_same_every_time_and_leaves_no_trace():
    torch.manual_seed(1)
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    first, second = example.run("xu_hard", steps=5), example.run("xu_hard", steps=5)
    assert torch.equal(first.weights, second.weights)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize(("name", "least", "most"), [("su", 0.8, 1.0), ("vaswani", 0.0, 0.3)])
@pytest.mark.parametrize("seed", [example.SEED, ANOTHER_SEED])
def test_only_who_knows_places_finds_the_word_before(name, least, most, seed):
    found = example.run(name, seed=seed).weights[1].diagonal(-1).mean()
    assert least <= found <= most


@pytest.mark.parametrize(("name", "least", "most"), [("bahdanau", 0.9, 1.0), ("luong_location", 0.0, 0.5)])
@pytest.mark.parametrize("seed", [example.SEED, ANOTHER_SEED])
def test_only_who_sees_contents_finds_the_same_word(name, least, most, seed):
    same = torch.tensor([[asked == word for word in example.WORDS] for asked in example.WORDS])
    assert least <= (example.run(name, seed=seed).weights[0] * same).sum(-1).mean() <= most


def test_the_sheet_has_them_all(tmp_path):
    shown = {name: example.run(name, steps=0) for name in ("bahdanau", "yang", "kitaev", "liu")}
    figure = catalogue.sheet(shown, columns=3)
    titles = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert [title for title in titles if not title.isdigit()] == list(shown)
    assert draw.save(figure, tmp_path / "sheet.png").stat().st_size > 0
    assert draw.save(catalogue.picture(shown["liu"]), tmp_path / "liu.png").stat().st_size > 0


def test_pictures_are_put_where_asked(tmp_path):
    made = catalogue.pictures(tmp_path / "new", lambda names: names[:2])
    assert [str(path.relative_to(tmp_path)) for path in made] == [
        "new/catalogue.png",
        "new/mechanisms/bahdanau.png",
        "new/mechanisms/luong_dot.png",
    ]
    assert all(path.is_file() for path in made)
