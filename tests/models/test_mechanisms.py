"""A mechanism by name: of the catalogue or of a file, with another selection; and what is said otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from regard.attend.heads import Heads
from regard.attend.mechanism import Attention
from regard.attend.score import Additive
from regard.attend.select import Hard, LocalP, Sparsemax, TopK
from regard.models.mechanisms import SELECTIONS, mechanism

SIZES = {"d_query": 8, "d_key": 12, "d_hidden": 6, "d_model": 8, "heads": 2, "groups": 1, "longest": 20, "reach": 3}

OWN = """
from regard.attend import Additive, Attention, Sparsemax

def sparse_bahdanau(d_query, d_key, d_hidden):
    return Attention(Additive(d_query, d_key, d_hidden), Sparsemax())

def hungry(d_query, appetite):
    return None

def wrong():
    return 3
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(OWN, encoding="utf-8")
    return Path("mine.py")


def test_by_name_with_the_sizes_it_asks_for() -> None:
    look = mechanism("bahdanau", **SIZES)
    assert isinstance(look, Attention)
    assert isinstance(look.score, Additive)
    assert look.score.key.weight.shape == (6, 12)
    dashed = mechanism("luong-local-p", **SIZES)
    assert isinstance(dashed, Attention)
    assert isinstance(dashed.select, LocalP)
    assert dashed.select.reach == 3


@pytest.mark.parametrize("name", ["mine.py:sparse_bahdanau", "mine:sparse_bahdanau", "./mine.py:sparse_bahdanau"])
def test_from_a_file_of_ones_own(own: Path, name: str) -> None:
    look = mechanism(name, **SIZES)
    assert isinstance(look, Attention)
    assert isinstance(look.select, Sparsemax)
    assert look(torch.randn(1, 2, 8), look.memory(torch.randn(1, 5, 12))).shape == (1, 2, 12)


def test_another_selection() -> None:
    look = mechanism("bahdanau", "hard", **SIZES)
    assert isinstance(look, Attention)
    assert isinstance(look.select, Hard)
    heads = mechanism("vaswani", "local-p", **SIZES)
    assert isinstance(heads, Heads)
    assert isinstance(heads.attention.select, LocalP)
    assert heads.attention.select.hidden.in_features == 4  # the width of one head
    assert heads.attention.select.reach == 3
    few = mechanism("bahdanau", "topk", count=2, **SIZES)
    assert isinstance(few, Attention)
    assert isinstance(few.select, TopK)
    assert few.select.count == 2


@pytest.mark.parametrize("select", sorted(SELECTIONS))
@pytest.mark.parametrize("name", ["bahdanau", "vaswani"])
def test_every_selection_reads(name: str, select: str) -> None:
    look = mechanism(name, select, d_memory=12, **SIZES)
    assert torch.isfinite(look(torch.randn(2, 3, 8), look.memory(torch.randn(2, 5, 12)))).all()


def test_heads_that_look_at_a_wider_memory() -> None:
    look = mechanism("vaswani", d_memory=12, **SIZES)
    assert look(torch.randn(1, 2, 8), look.memory(torch.randn(1, 5, 12))).shape == (1, 2, 8)
    turning = mechanism("su", d_memory=12, **SIZES)
    assert isinstance(turning, Heads)
    assert turning.key.bias is not None  # a projection of the same kind
    with pytest.raises(ValueError, match=r"one map for queries and keys.*got 8 and 12: try vaswani"):
        mechanism("kitaev", d_memory=12, **SIZES)
    with pytest.raises(ValueError, match="one map for queries and keys"):
        mechanism("velickovic", d_memory=12, **SIZES)


@pytest.mark.parametrize(
    ("name", "select", "told"),
    [
        ("bahdanou", None, "no mechanism 'bahdanou' in the catalogue; perhaps you meant bahdanau"),
        ("bahdanau", "sparsmax", "no selection 'sparsmax'; perhaps you meant sparsemax"),
        ("bahdanau", "xyz", "no selection 'xyz'; perhaps you meant competition, gumbel, hard"),
        ("yang", None, "'yang' asks questions of its own .* try vaswani"),
        ("missing.py:f", None, "no file missing.py to take the mechanism 'f' from; give its place"),
        ("mine.py:sparse_bahdanou", None, "mine.py has no function 'sparse_bahdanou'; it has sparse_bahdanau"),
        ("mine.py:hungry", None, "'mine.py:hungry' asks for appetite, which is not known here; known are d_hidden"),
        ("mine.py:wrong", None, "'mine.py:wrong' gave a int; it must return an Attention or Heads"),
    ],
)
def test_what_is_said(own: Path, name: str, select: str | None, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        mechanism(name, select, **SIZES)


def test_a_file_with_a_mistake_in_it_says_where(own: Path) -> None:
    own.write_text("def f(:\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"mine.py:1: .*invalid syntax"):
        mechanism("mine.py:f")
    own.write_text("\nimport nothing_of_that_name\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"mine.py:2: ModuleNotFoundError: .*nothing_of_that_name"):
        mechanism("mine.py:f")
