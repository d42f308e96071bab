"""`regard data`: check, list, fetch."""

import pytest

from regard.cli import main


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("REGARD_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_check_reports_what_is_in_the_text(home, capsys):
    (home / "a.en").write_text("".join(f"a small dog number {n}\n" for n in range(50)) + "a small dog number 1\n")
    (home / "b.de").write_text("".join(f"ein kleiner Hund Nummer {n}\n" for n in range(50)) + "\n")
    assert main(["data", "check", "--data.source", "a.en", "--data.target", "b.de"]) == 0
    told = capsys.readouterr().out
    assert "51" in told
    assert "empty" in told


def test_a_check_of_unequal_files_is_one_line(home, capsys):
    (home / "a.en").write_text("one\ntwo\n")
    (home / "b.de").write_text("eins\n")
    assert main(["data", "check", "--data.source", "a.en", "--data.target", "b.de"]) == 2
    assert "b.de:2: there is no such line" in capsys.readouterr().err


def test_a_check_takes_no_options_of_training(capsys):
    with pytest.raises(SystemExit):
        main(["data", "check", "--train.steps", "3"])
    assert "--train.steps" in capsys.readouterr().err


def test_the_list_says_what_is_here(home, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "250")
    (home / "data" / "tatoeba").mkdir(parents=True)
    (home / "data" / "tatoeba" / "eng-fra.train.tsv.gz").write_bytes(b"")
    assert main(["data", "list"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert any(row.startswith("tatoeba") and str(home / "data" / "tatoeba") in row for row in rows)
    assert any(row.startswith("multi30k") and "not here" in row for row in rows)


def test_fetching_what_is_here_downloads_nothing(home, capsys):
    (home / "data" / "multi30k" / "raw").mkdir(parents=True)
    (home / "data" / "multi30k" / "raw" / "train.en.gz").write_bytes(b"")
    assert main(["data", "fetch", "multi30k"]) == 0
    assert "multi30k is here already" in capsys.readouterr().out


def test_a_misspelt_data_set_is_one_line(capsys):
    assert main(["data", "fetch", "multi3k"]) == 2
    assert capsys.readouterr().err == "regard: there is no data set 'multi3k'; perhaps you meant multi30k\n"
