"""`regard study`: lists what there is without torch, runs one with its options, and knows a misspelt name."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from regard.cli import main
from regard.studies import STUDIES


@pytest.mark.parametrize("asked", [[], ["--help"]])
def test_they_are_listed(asked, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["study", *asked]) == 0
    told = capsys.readouterr().out
    assert [name for name, about in STUDIES.items() if name not in told or about not in told] == []


def test_listing_needs_no_torch():
    code = "import sys; from regard.cli import main; main(['study']); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


@pytest.mark.parametrize("name", STUDIES)
def test_each_is_a_module_with_a_main(name):
    assert callable(importlib.import_module(f"regard.studies.{name}").main)


def test_one_is_run_with_its_options(tmp_path, capsys):
    assert main(["study", "retrieval", "--to", str(tmp_path), "--steps", "10", "--seeds", "1"]) == 0
    assert (tmp_path / "retrieval.md").is_file()
    assert "has the table" in capsys.readouterr().out


def test_a_misspelt_name_is_one_line(capsys):
    assert main(["study", "scors"]) == 2
    assert capsys.readouterr().err == "regard: there is no study 'scors'; perhaps you meant scores\n"
