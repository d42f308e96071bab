"""Code in a folder of somebody else runs only where the user says so; one's own goes on as ever."""

from __future__ import annotations

import ast
import re
import shutil
import tomllib
from pathlib import Path

import pytest

import regard
from regard.cli import main
from regard.files import BadFile, no_way_out
from regard.recipe import of_run
from regard.translate.translator import Translator
from tests.files.hostile import FIXTURE, folder_with, manifest, recipe

OWN = """
from pathlib import Path
from regard.attend import papers

Path("code-was-run").touch()


def mine(d_model, heads):
    return papers.build("vaswani", d_model=d_model, heads=heads)
"""
PAIRS = "".join(f"{word} {word}\t{word}\n" for word in ("one", "two", "three", "four")) * 8
TOY = ["--data.pieces", "300", "--train.steps", "2", "--train.save-every", "1", "--train.threads", "1"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(OWN, encoding="utf-8")
    Path("pairs.tsv").write_text(PAIRS, encoding="utf-8")
    return tmp_path


def was_run() -> bool:
    mark = Path("code-was-run")
    return mark.exists() and (mark.unlink() or True)


def named(folder: Path) -> Path:
    """A run folder whose recipe names a mechanism in a file."""
    return folder_with(recipe("cross_attention", 'cross_attention = "own.py:mine"'), folder)


def test_a_folder_runs_no_code_unless_trusted(here: Path) -> None:
    run = named(here / "run")
    with pytest.raises(
        ValueError, match=r"recipe.toml:\d+: model.cross_attention = 'own.py:mine' would run the code"
    ):
        Translator.load(run)
    assert not was_run()
    assert Translator.load(run, trust_code=True)(["one red dog"])[0].text == "eins rot Hund"
    assert was_run()


def test_finetuning_and_info_run_no_code_unless_trusted(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = named(here / "run")
    args = ["finetune", str(run), "--run", "new", "--data.pairs", "pairs.tsv", *TOY, "--data.hold-out", "2"]
    assert main(args) == 2
    assert "would run the code" in capsys.readouterr().err
    assert not Path("new").exists()
    assert main(["info", str(run)]) == 0
    assert "own.py:mine" in capsys.readouterr().out
    assert not was_run()
    assert main([*args, "--trust-code"]) == 0
    assert was_run()


def test_what_is_typed_is_trusted_and_goes_on(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A mechanism of one's own, named on the command line, as docs/training.md has it; also when resumed."""
    sizes = ["--model.width", "8", "--model.heads", "2", "--model.feedforward", "8"]
    args = ["train", "transformer-mini", "--run", "mine", "--data.pairs", "pairs.tsv", *sizes, *TOY]
    args += ["--data.hold-out", "2", "--model.cross-attention", "own.py:mine"]
    assert main(args) == 0
    assert main([*args, "--train.steps", "3"]) == 0
    assert "resumed at step 2" in capsys.readouterr().err
    assert was_run()
    assert main(["train", "mine/recipe.toml", "--run", "other"]) == 2
    assert "--model.cross-attention own.py:mine" in capsys.readouterr().err
    assert not was_run()


def test_a_run_has_no_base(here: Path) -> None:
    run = folder_with(recipe("", "base = 'dates'"), here / "run")
    with pytest.raises(ValueError, match=r"recipe.toml:1: the recipe of a run has no base"):
        of_run(run)


@pytest.mark.parametrize("place", ["log.jsonl", "saves", ".lock", "data", "samples/1.txt"])
def test_nothing_is_written_through_a_link(here: Path, place: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder with a link among what training writes: it would append to, cut or clear what lies elsewhere."""
    run, out = Path("run"), Path("precious")
    shutil.copytree(FIXTURE, run)
    out.mkdir()
    (out / ".keep").write_text("precious", encoding="utf-8")
    (run / place).unlink(missing_ok=True)
    (run / place).parent.mkdir(exist_ok=True)
    (run / place).symlink_to(out.absolute() if "." not in place else (out / ".keep").absolute())
    for args in (["train", "transformer-mini", "--run", "run"], ["finetune", "run", "--run", "new"]):
        assert main([*args, "--data.pairs", "pairs.tsv", *TOY]) == 2
        assert "is a link that leads out of run" in capsys.readouterr().err
    assert (out / ".keep").read_text(encoding="utf-8") == "precious"
    assert [path.name for path in out.iterdir()] == [".keep"]


def test_links_within_the_folder_are_fine(tmp_path: Path) -> None:
    run = shutil.copytree(FIXTURE, tmp_path / "run")
    model = manifest(run)["model"]
    (run / "real").write_bytes((run / model).read_bytes())
    (run / model).unlink()
    (run / model).symlink_to("real")
    no_way_out(run)
    assert Translator.load(run)(["one red dog"])[0].text == "eins rot Hund"
    (run / "up").symlink_to("..")
    with pytest.raises(BadFile, match="up is a link that leads out"):
        no_way_out(run)


SPOILT = {
    "scores.json": [
        "{",
        "[]",
        '{"test": 5}',
        '{"test": {"bleu": "x"}}',
        '{"test": {"bleu": 1' + "0" * 400 + "}}",
        "\xff",
    ],
    "log.jsonl": ["{\n", "[]\n", "[" * 5000 + "\n", '{"step": 1, "step": 2}\n'],
    "data/ready.json": ["{", "[]", '{"pairs": "x", "pairs": 1}'],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in SPOILT.items() for text in texts])
def test_info_of_spoilt_files_is_one_line(
    name: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = shutil.copytree(FIXTURE, tmp_path / "run")
    (run / name).parent.mkdir(exist_ok=True)
    (run / name).write_text(text, encoding="latin-1")
    assert main(["info", str(run)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert name in error


def test_info_shows_text_and_does_not_follow_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = shutil.copytree(FIXTURE, tmp_path / "run")
    recipe("about", r'about = "[/bold] [link=x]y[/link] \u001b[2J"')(run)
    (run / "log.jsonl").write_text('{"step": "many", "epoch": [1]}\n', encoding="utf-8")
    assert main(["info", str(run)]) == 0
    out = capsys.readouterr().out
    assert r"[/bold] [link=x]y[/link] \x1b[2J" in " ".join(out.split())
    assert "step 0 of" in out


SRC = sorted(Path(regard.__file__).parent.rglob("*.py"))
DANGEROUS = {"pickle", "marshal", "shelve", "dill", "joblib", "tarfile", "zipfile", "yaml", "cloudpickle"}
CALLS = {"eval", "exec", "__import__", "torch.load", "np.load", "numpy.load", "shutil.unpack_archive"}


def test_no_pickle_no_archive_no_eval_in_the_package() -> None:
    """F1 and F3: what is not there cannot be deceived. Archives are not opened at all."""
    found = []
    for path in SRC:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            bad = [name for name in names if name.split(".")[0] in DANGEROUS] + [called] * (called in CALLS)
            found += [f"{path.name}: {name}" for name in bad]
    own = {"mechanisms.py: exec", "writers.py: zipfile"}  # one's own code; arrays as .npz, written
    arrays = ("glyphs.py", "seasons.py")  # pictures and series to learn from: arrays of numbers, nothing else
    read = {f"{name}: {what}" for name in arrays for what in ("np.load", "zipfile")}
    assert set(found) <= own | read
    for name in arrays:
        assert any("np.load(file, allow_pickle=False)" in p.read_text() for p in SRC if p.name == name)


def test_archives_are_refused_where_folders_and_texts_are_wanted(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for kind in ("zip", "gztar", "tar"):
        archive = shutil.make_archive("model", kind, FIXTURE)
        before = sorted(path.name for path in here.iterdir())
        assert main(["info", archive]) == 2
        assert main(["data", "check", "--data.pairs", archive]) == 2
        assert main(["train", archive, "--run", "run"]) == 2
        assert sorted(path.name for path in here.iterdir()) == before
        assert "Traceback" not in capsys.readouterr().err


def test_floors_of_what_reads_files_are_stated() -> None:
    """F7: sentencepiece before 0.2.1 can be made to overrun its memory by a model file (CVE-2026-1260)."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    floors = dict(re.fullmatch(r"([\w-]+)>=([\d.]+)", one).groups() for one in project["dependencies"])  # type: ignore[union-attr]
    parts = {name: tuple(map(int, floor.split("."))) for name, floor in floors.items()}
    assert parts["sentencepiece"] >= (0, 2, 1)
    assert parts["safetensors"] >= (0, 4, 3)
    assert parts["torch"] >= (2, 6)
