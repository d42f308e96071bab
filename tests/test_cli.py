"""The command line, as a person meets it: in a process of its own."""

import os
import re
import subprocess
import sys

import pytest

import regard
from regard.attend import papers
from regard.cli import main


def run(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "regard", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "100", **environment},
        timeout=120,
        check=False,
    )


def test_help_names_every_command():
    told = run("--help")
    assert told.returncode == 0
    for word in ("demo", "mechanisms", "--version", "--debug"):
        assert word in told.stdout


def test_no_arguments_means_help():
    assert run().stdout == run("--help").stdout


@pytest.mark.parametrize("arguments", [["--help"], ["demo", "--help"], ["mechanisms", "--help"], ["--version"]])
def test_help_does_not_import_torch(arguments):
    code = f"""
import sys
from regard.cli import main
try:
    main({arguments})
except SystemExit:
    pass
assert "torch" not in sys.modules and "matplotlib" not in sys.modules
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=False).returncode == 0


def test_help_answers_at_once():
    def seconds():
        before = os.times()
        run("--help")
        after = os.times()  # of the processor, not of the clock: other tests run beside this one
        return after.children_user + after.children_system - before.children_user - before.children_system

    assert min(seconds() for _ in range(5)) < 0.4


def test_version():
    assert run("--version").stdout == f"regard {regard.__version__}\n"


def test_an_unknown_command_is_an_error_that_lists_the_known_ones():
    told = run("mecanisms")
    assert told.returncode == 2
    assert "demo, mechanisms" in told.stderr
    assert "Traceback" not in told.stderr


def test_a_misspelt_mechanism_is_one_line_with_a_suggestion():
    told = run("mechanisms", "bahdanu")
    assert (told.returncode, told.stdout) == (2, "")
    assert told.stderr == "regard: there is no mechanism 'bahdanu' in the catalogue; perhaps you meant bahdanau\n"


def test_debug_shows_where_an_error_came_from():
    told = run("mechanisms", "bahdanu", "--debug")
    assert told.returncode == 1
    assert "Traceback" in told.stderr


def test_one_mechanism_is_explained_without_colour_where_none_is_wanted():
    told = run("mechanisms", "press", FORCE_COLOR="1", NO_COLOR="1")
    assert told.returncode == 0
    plain = re.sub(r"\x1b\[[\d;]*m", "", told.stdout)
    for part in ("ALiBi", "softmax(q·k / √d - m·|q - k|)", "Alibi + Heads", "papers.press(d_model, heads)", "n·d"):
        assert part in plain
    assert not re.search(r"\x1b\[(\d;)*3\d", told.stdout)


def test_all_mechanisms_are_listed(capsys):
    assert main(["mechanisms"]) == 0
    listed = capsys.readouterr().out
    assert [name for name in papers.CATALOGUE if name not in listed] == []


def test_demo_draws_and_says_where(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("rich.progress.track", lambda names, *_, **__: names[:2])
    assert main(["demo", "--to", str(tmp_path / "a [new] place")]) == 0
    told = capsys.readouterr().out
    assert "0.99999989" in told
    assert f"{tmp_path / 'a [new] place' / 'catalogue.png'} shows all 2 mechanisms" in told
    assert (tmp_path / "a [new] place" / "mechanisms" / "bahdanau.png").is_file()


def test_a_place_that_is_a_file_is_one_line(capsys, tmp_path):
    (tmp_path / "taken").write_text("")
    assert main(["demo", "--to", str(tmp_path / "taken")]) == 2
    assert re.fullmatch(r"regard: .*File exists.*\n", capsys.readouterr().err)
