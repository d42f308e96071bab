"""`regard recipes`: list, show, copy."""

import pytest

from regard.cli import main
from regard.recipe import load, shipped


def test_every_recipe_is_listed_with_what_it_is_for(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["recipes", "list"]) == 0
    told = capsys.readouterr().out
    assert [name for name in shipped() if name not in told] == []
    assert "generated" in told


def test_what_is_shown_is_the_whole_recipe_and_loads(capsys, tmp_path):
    assert main(["recipes", "show", "transformer-big"]) == 0
    file = tmp_path / "shown.toml"
    file.write_text(capsys.readouterr().out, encoding="utf-8")
    assert load(file) == load("transformer-big")
    assert "epsilon = 1e-09" in file.read_text()


def test_a_copy_keeps_its_comments_and_means_the_same(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["recipes", "copy", "transformer-big"]) == 0
    copy = tmp_path / "transformer-big.toml"
    assert "# Vaswani et al. 2017" in copy.read_text(encoding="utf-8")
    assert load(copy) == load("transformer-big")
    assert "transformer-big.toml is yours to change" in capsys.readouterr().out


def test_a_file_that_is_there_is_not_overwritten(capsys, tmp_path):
    (tmp_path / "mine.toml").write_text("mine")
    assert main(["recipes", "copy", "dates", "--to", str(tmp_path / "mine.toml")]) == 2
    assert "mine.toml is there already; name another file with --to" in capsys.readouterr().err
    assert (tmp_path / "mine.toml").read_text() == "mine"


@pytest.mark.parametrize("verb", ["show", "copy"])
def test_a_misspelt_name_is_one_line(verb, capsys):
    assert main(["recipes", verb, "dats"]) == 2
    assert capsys.readouterr().err == "regard: there is no recipe 'dats'; perhaps you meant dates\n"
