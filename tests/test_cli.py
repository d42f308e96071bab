"""The command line, as a person meets it: in a process of its own."""

import os
import re
import subprocess
import sys

import pytest

import regard
from regard.attend import papers
from regard.cli import COMMANDS, SPINS, Group, main


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
    for word in (*COMMANDS.commands, "--version", "--debug"):
        assert word in told.stdout


def test_no_arguments_means_help():
    assert run().stdout == run("--help").stdout


def every(group, before=()):
    for name, command in group.commands.items():
        yield [*before, name, "--help"]
        if isinstance(command, Group):
            yield from every(command, (*before, name))


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], *every(COMMANDS)], ids=" ".join)
def test_help_does_not_import_torch(arguments):
    code = f"""
import sys
from regard.cli import COMMANDS, SPINS, Group, main
try:
    main({arguments})
except SystemExit as ended:
    assert ended.code == 0
for name in ("torch", "matplotlib", "babel", "sacrebleu"):
    assert name not in sys.modules, name
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert told.returncode == 0, told.stderr


def test_help_answers_at_once():
    def seconds():
        before = os.times()
        run("--help")
        after = os.times()  # of the processor, not of the clock: other tests run beside this one
        return after.children_user + after.children_system - before.children_user - before.children_system

    assert min(seconds() for _ in range(5)) < 0.4


def test_waiting_threads_sleep_unless_the_environment_says_how_they_wait():
    code = "import os; from regard.cli import main; main(['--version']); print(os.environ.get('GOMP_SPINCOUNT'))"
    alone = {name: value for name, value in os.environ.items() if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}

    def told(**environment):
        command = [sys.executable, "-c", code]
        return subprocess.run(
            command, capture_output=True, text=True, env={**alone, **environment}, timeout=60, check=True
        )

    assert told().stdout.split()[-1] == SPINS
    assert told(GOMP_SPINCOUNT="7").stdout.split()[-1] == "7"
    assert told(OMP_WAIT_POLICY="ACTIVE").stdout.split()[-1] == "None"


def test_version():
    assert run("--version").stdout == f"regard {regard.__version__}\n"


def test_an_unknown_command_is_an_error_that_lists_the_known_ones():
    told = run("mecanisms")
    assert told.returncode == 2
    assert all(name in told.stderr for name in ("demo", "gallery", "mechanisms", "train"))
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


def test_gallery_draws_and_says_where(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("rich.progress.track", lambda names, *_, **__: names[:2])
    assert main(["gallery", "--to", str(tmp_path / "a [new] place")]) == 0
    told = capsys.readouterr().out
    assert "0.99999989" in told
    assert f"{tmp_path / 'a [new] place' / 'catalogue.png'} shows all 2 mechanisms" in told
    assert (tmp_path / "a [new] place" / "mechanisms" / "bahdanau.png").is_file()


def test_a_place_that_is_a_file_is_one_line(capsys, tmp_path):
    (tmp_path / "taken").write_text("")
    assert main(["gallery", "--to", str(tmp_path / "taken")]) == 2
    assert re.fullmatch(r"regard: .*File exists.*\n", capsys.readouterr().err)


def test_every_command_says_what_it_is_for_in_one_sentence():
    def abouts(group):
        for command in group.commands.values():
            yield command.about
            if isinstance(command, Group):
                yield from abouts(command)

    assert [about for about in abouts(COMMANDS) if not re.fullmatch(r"[A-Z].{10,90}\.", about)] == []


@pytest.mark.parametrize("answer", [0, 75])
def test_what_a_command_answers_is_the_exit_code(answer, monkeypatch, tmp_path):
    monkeypatch.setattr("regard.commands.demo.demo", lambda: answer)
    assert main(["demo"]) == answer


@pytest.mark.parametrize(
    ("error", "code"), [(ValueError("x"), 2), (FileNotFoundError("x"), 2), (KeyboardInterrupt(), 130)]
)
def test_errors_and_exit_codes(error, code, monkeypatch, capsys):
    def demo():
        raise error

    monkeypatch.setattr("regard.commands.demo.demo", demo)
    assert main(["demo"]) == code
    assert capsys.readouterr().err == ("regard: x\n" if code == 2 else "")


@pytest.mark.skipif(os.name == "nt", reason="pipes break otherwise there")
def test_a_reader_who_has_read_enough_is_no_error():
    ends, starts = os.pipe()
    os.close(ends)  # nobody reads, as after `| head`
    told = subprocess.run(
        [sys.executable, "-m", "regard", "--help"],
        stdout=starts,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )
    os.close(starts)
    assert (told.returncode, told.stderr) == (141, "")
