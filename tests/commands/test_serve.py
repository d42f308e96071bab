"""`regard serve`: what it refuses to begin with, and keys."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from regard.cli import main
from regard.commands.serve import pairs
from regard.serve.keys import Keys
from tests.translate.toys import RUN


def test_languages_are_those_of_the_run_or_as_told() -> None:
    (unknown,) = pairs((str(RUN),))
    assert (unknown.id, unknown.name) == ("und-und", RUN.name)
    told = pairs((f"en-de={RUN}", f"de-pt_BR={RUN}"))
    assert [(pair.id, pair.source, pair.target) for pair in told] == [
        ("en-de", "en", "de"),
        ("de-pt_BR", "de", "pt_BR"),
    ]
    with pytest.raises(ValueError, match="two runs would be served as en-de"):
        pairs((f"en-de={RUN}", f"en-de={RUN}"))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["serve"], "say which runs to serve"),
        (["serve", "nowhere"], "nowhere"),
        (["serve", f"en-de={RUN}", "--host", "0.0.0.0"], "give --keys FILE, or --without-keys"),
        (["serve", f"en-de={RUN}", "--deadline", "0"], "the deadline above 0"),
        (["serve", f"en-de={RUN}", "--port", "70000"], "there is no port 70000"),
        (["serve", "--new-key", "me"], "--keys FILE"),
    ],
)
def test_what_cannot_be_is_told_in_a_sentence(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1


def test_a_key_is_told_once_and_works(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "keys"
    assert main(["serve", "--keys", str(file), "--new-key", "me", "--rate", "7"]) == 0
    key = capsys.readouterr().out.strip()
    found = Keys(file).find(key)
    assert found is not None
    assert (found.name, found.rate) == ("me", 7)


def test_the_server_itself_needs_no_torch() -> None:
    code = "import sys, regard.serve.run, regard.commands.serve; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_its_libraries_one_line_says_how_to_get_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["serve", f"en-de={RUN}"]) == 2
    assert "pip install 'regard[serve]'" in capsys.readouterr().err
