"""`regard train` as a person meets it: what it says, what it makes, what it goes on with, and what it refuses."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from regard.cli import main
from regard.train.folder import damage, one_process
from regard.translate.translator import Translator
from tests.train.toys import COMMON, command, data_args, outcome, sentences, write_pairs

STEPS = ("--train.steps", 4, "--train.save-every", 2)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_pairs(tmp_path_factory.mktemp("text"), sentences(60))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, files: dict[str, Path]) -> Path:
    """A run of four steps, for others to copy."""
    run = tmp_path_factory.mktemp("finished") / "run"
    assert main(command("transformer", run, files, *STEPS)) == 0
    return run


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """A copy of that run, in a place of its own: run folders can be moved."""
    shutil.copytree(finished, tmp_path / "moved" / "run")
    return tmp_path / "moved" / "run"


def made(run: Path) -> dict[str, bytes]:
    """What must not change; the manifest has the digest of a recipe that names its text from where it is."""
    return {name: content for name, content in outcome(run).items() if name != "manifest.json"}


def told(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err


class TestWhatItMakes:
    """The folder after a first run."""

    def test_everything_that_is_promised(self, finished: Path) -> None:
        names = {path.name for path in finished.iterdir() if not path.name.startswith(".")}
        assert names >= {
            "recipe.toml", "pieces", "data", "saves", "manifest.json", "log.jsonl", "samples", "loss.png",
            "README.md", "scores.json", "model-00000004.safetensors",
        }  # fmt: skip
        assert not [path for path in finished.rglob("*") if path.name.endswith((".new", "~"))]
        assert damage(finished) is None
        assert set(json.loads((finished / "manifest.json").read_text(encoding="utf-8"))["files"]) == {
            "recipe.toml", "pieces/source.model", "model-00000004.safetensors",
        }  # fmt: skip

    def test_a_card_without_a_place(self, finished: Path) -> None:
        card = (finished / "README.md").read_text(encoding="utf-8")
        assert card.startswith("---\nlibrary_name: regard\n")
        assert "56 pairs from train.en and train.de." in card
        assert str(finished.parent) not in card
        assert "| valid |" in card
        assert "nan" not in card

    def test_a_model_that_translates(self, finished: Path) -> None:
        found = Translator.load(finished)(["one two", "", "dog sees tree"])
        assert [result.text for result in found][1] == ""
        assert len(found) == 3

    def test_no_place_in_the_recipe(self, finished: Path, files: dict[str, Path]) -> None:
        recipe = (finished / "recipe.toml").read_text(encoding="utf-8")
        assert 'source = "../' in recipe
        assert str(files["source"].parent) not in recipe

    def test_what_it_says(self, files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(command("rnn", tmp_path / "run", files, "--train.steps", 2, "--train.save-every", 2)) == 0
        said = told(capsys)
        assert "no validation text given: 4 training lines are held out for it" in said
        assert "56 pairs, 350 pieces" in said
        assert "float32 (the model is narrower than 256), 1 threads, seed 1" in said
        assert "step 2  epoch 0  loss " in said
        assert f"the model is in {tmp_path / 'run'}: its best was step 2" in said

    def test_scores_of_a_test_text(
        self, files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        valid, test = (write_pairs(tmp_path, sentences(3, seed=4), name) for name in ("valid", "test"))
        given = [*data_args(valid, "valid-"), *data_args(test, "test-")]
        args = command("transformer", tmp_path / "run", files, *given, "--train.steps", 1)
        assert main(args) == 0
        said = told(capsys)
        assert "held out" not in said
        assert "test: bleu " in said
        scores = json.loads((tmp_path / "run" / "scores.json").read_text(encoding="utf-8"))
        assert set(scores["test"]) == {"bleu", "chrf", "exact"}
        card = (tmp_path / "run" / "README.md").read_text(encoding="utf-8")
        assert "| test |" in card
        assert "nan" not in card

    def test_sizes_are_chosen_where_no_recipe_is_named(
        self, files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        args = ["train", "--run", str(tmp_path / "run"), *data_args(files), *COMMON, "--train.steps", "1"]
        assert main(args) == 0
        assert "No recipe was named: transformer-mini suits the size of this text" in told(capsys)


class TestGoingOn:
    """The same command again, and almost the same."""

    def test_a_finished_run_is_not_trained_again(
        self, run: Path, files: dict[str, Path], capsys: pytest.CaptureFixture[str]
    ) -> None:
        before = made(run)
        assert main(command("transformer", run, files, *STEPS)) == 0
        assert "resumed at step 4, batch 4 of epoch 0" in told(capsys)
        assert made(run) == before

    def test_what_may_change_is_announced_and_the_model_stays_whole(
        self, run: Path, files: dict[str, Path], capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A recipe that was written anew is in the manifest: the model of before is not taken for damaged."""
        assert main(command("transformer", run, files, *STEPS, "--search.beam", 3, "--train.keep", 1)) == 0
        said = told(capsys)
        assert "search.beam was 2 and is now 3" in said
        assert "train.keep was 2 and is now 1" in said
        assert damage(run) is None
        assert Translator.load(run).search.beam == 3

    def test_a_model_without_saves_is_not_written_over(
        self, run: Path, files: dict[str, Path], capsys: pytest.CaptureFixture[str]
    ) -> None:
        """As an imported one is."""
        shutil.rmtree(run / "saves")
        shutil.rmtree(run / "data")
        before = (run / "manifest.json").read_bytes()
        assert main(command("transformer", run, files, *STEPS)) == 2
        assert "has a model, but no save to go on from" in told(capsys)
        assert (run / "manifest.json").read_bytes() == before

    def test_more_steps(self, run: Path, files: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
        assert main(command("transformer", run, files, "--train.steps", 6, "--train.save-every", 2)) == 0
        said = told(capsys)
        assert "train.steps was 4 and is now 6" in said
        assert "resumed at step 4" in said
        assert sorted(path.name for path in (run / "saves").iterdir())[-1] == "00000006"

    def test_other_threads_are_announced(
        self, run: Path, files: dict[str, Path], capsys: pytest.CaptureFixture[str]
    ) -> None:
        """T9."""
        import torch

        try:
            assert main([*command("transformer", run, files, *STEPS), "--train.threads", "2"]) == 0
        finally:
            torch.set_num_threads(1)
        assert "threads was 1 and is 2: from here on results may differ" in told(capsys)

    @pytest.mark.parametrize(
        ("change", "names"),
        [
            (("--train.seed", 2), ["train.seed was 1 and is now 2"]),
            (("--train.clip", 2, "--model.dropout", 0.5), ["model.dropout was 0.2", "train.clip was 1.0"]),
            (("--data.pieces", 360), ["data.pieces was 350 and is now 360"]),
        ],
    )
    def test_what_may_not_change_is_refused_by_name(
        self, run: Path, files: dict[str, Path], capsys: pytest.CaptureFixture[str], change: tuple[object, ...],
        names: list[str],
    ) -> None:  # fmt: skip
        before = made(run)
        assert main([*command("transformer", run, files, *STEPS), *map(str, change)]) == 2
        said = told(capsys)
        assert "was begun with another recipe" in said
        assert "use another --run, or --fresh to start anew" in said
        assert all(name in said for name in names)
        assert len(said.strip().splitlines()) == 1
        assert made(run) == before

    def test_another_kind_of_model_is_refused(
        self, run: Path, files: dict[str, Path], capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(command("rnn", run, files, *STEPS)) == 2
        assert "model.kind was transformer and is now recurrent" in told(capsys)

    def test_a_damaged_save_is_named(
        self, run: Path, files: dict[str, Path], capsys: pytest.CaptureFixture[str]
    ) -> None:
        before = made(run)
        file = run / "saves" / "00000004" / "optimiser.safetensors"
        file.write_bytes(file.read_bytes()[:-1])
        assert main(command("transformer", run, files, *STEPS)) == 0
        said = told(capsys)
        assert f"{file} is not what was written (its SHA-256 differs); passing it over" in said
        assert "resumed at step 2" in said
        assert made(run) == before

    def test_a_damaged_model_is_a_sentence(
        self, run: Path, files: dict[str, Path], capsys: pytest.CaptureFixture[str]
    ) -> None:
        model = run / "model-00000004.safetensors"
        model.write_bytes(model.read_bytes()[:-1] + b"!")
        assert main(command("transformer", run, files, *STEPS)) == 2
        assert f"{model} is not what was written" in told(capsys).splitlines()[-1]
        with pytest.raises(ValueError, match="restore it from a copy, or train anew"):
            Translator.load(run)


class TestMoving:
    """Neither a run folder nor its text is nailed down."""

    def test_a_moved_run_goes_on_and_translates(
        self, run: Path, files: dict[str, Path], capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(command("transformer", run, files, "--train.steps", 6, "--train.save-every", 2)) == 0
        assert "resumed at step 4" in told(capsys)
        assert damage(run) is None
        assert len(Translator.load(run)(["one"])) == 1

    def test_moved_text_is_known_again(
        self, run: Path, files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        elsewhere = {side: Path(shutil.copy(file, tmp_path / f"other.{side}")) for side, file in files.items()}
        assert main(command("transformer", run, elsewhere, *STEPS)) == 0
        assert "other.source (the same text)" in told(capsys)

    def test_other_text_is_refused(self, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(command("transformer", run, write_pairs(tmp_path, sentences(60, seed=8)), *STEPS)) == 2
        said = told(capsys)
        assert "data.source was " in said
        assert "use another --run, or --fresh" in said


class TestFresh:
    """Starting anew, and what is left alone."""

    def test_another_recipe_in_the_same_folder(
        self, run: Path, files: dict[str, Path], capsys: pytest.CaptureFixture[str]
    ) -> None:
        (run / "notes.txt").write_text("mine", encoding="utf-8")
        (run / "data" / "mine.csv").write_text("mine", encoding="utf-8")
        assert main([*command("rnn", run, files, "--train.steps", 1), "--fresh"]) == 0
        assert "resumed" not in told(capsys)
        assert (run / "notes.txt").exists()
        assert (run / "data" / "mine.csv").exists()
        assert [path.name for path in run.glob("model-*")] == ["model-00000001.safetensors"]
        assert 'kind = "recurrent"' in (run / "recipe.toml").read_text(encoding="utf-8")
        assert {path.name for path in (run / "samples").iterdir()} == {"00000001.txt"}

    def test_the_same_recipe_gives_the_same_run(self, run: Path, files: dict[str, Path]) -> None:
        before = made(run)
        assert main([*command("transformer", run, files, *STEPS), "--fresh"]) == 0
        assert made(run) == before

    @pytest.mark.parametrize("fresh", [[], ["--fresh"]])
    def test_a_folder_that_is_no_run_is_left_alone(
        self, files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], fresh: list[str]
    ) -> None:
        (tmp_path / "data").mkdir()
        (tmp_path / "data" / "train.txt").write_text("mine", encoding="utf-8")
        assert main([*command("transformer", tmp_path, files, *STEPS), *fresh]) == 2
        assert told(capsys) == (
            f"regard: {tmp_path} has files in it, but no recipe.toml, so it is not a run; give another --run\n"
        )
        assert [path.name for path in tmp_path.rglob("*")] == ["data", "train.txt"]

    def test_after_bad_text_the_folder_is_still_free(
        self, files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """What could not be begun binds nobody."""
        empty = write_pairs(tmp_path, [("one", "eins")], "bad")
        empty["target"].write_text("eins\nzwei\n", encoding="utf-8")
        assert main(command("transformer", tmp_path / "run", empty, "--train.steps", 1)) == 2
        assert "bad.en has 1 lines" in told(capsys)
        assert main(command("transformer", tmp_path / "run", files, "--train.steps", 1)) == 0


def missing(folder: Path) -> dict[str, Path]:
    return {"source": folder / "gone.en", "target": folder / "gone.de"}


def empty(folder: Path) -> dict[str, Path]:
    return write_pairs(folder, [], "empty")


def blank(folder: Path) -> dict[str, Path]:
    return write_pairs(folder, [("", "")] * 20, "blank")


def one(folder: Path) -> dict[str, Path]:
    return write_pairs(folder, sentences(1), "one")


def unequal(folder: Path) -> dict[str, Path]:
    files = write_pairs(folder, sentences(20), "unequal")
    files["target"].write_text("eins\n", encoding="utf-8")
    return files


def latin(folder: Path) -> dict[str, Path]:
    files = write_pairs(folder, sentences(20), "latin")
    files["target"].write_bytes("grün\n".encode("latin-1") * 20)
    return files


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (missing, "data.source: {0}/gone.en is not there; check the spelling, and the folder you are in"),
        (empty, "empty.en:1: there is no line. Give a file with one sentence a line."),
        (blank, "There is no text to learn pieces from. Are all lines empty?"),
        (one, "nothing is left to learn from: 1 lines were held out."),
        (unequal, "unequal.de:2: there is no such line:"),
        (latin, "latin.de:1: byte 3 of the line (0xFC) is not UTF-8."),
    ],
)
def test_what_is_wrong_with_text_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], make: Callable[[Path], dict[str, Path]], said: str
) -> None:
    assert main(command("transformer", tmp_path / "run", make(tmp_path), *STEPS)) == 2
    last = told(capsys).strip().splitlines()[-1]
    assert last.startswith("regard: ")
    assert said.format(tmp_path) in last


def test_a_run_that_is_a_file_is_one_sentence(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run").touch()
    assert main(command("transformer", tmp_path / "run", files, *STEPS)) == 2
    assert told(capsys) == f"regard: {tmp_path / 'run'} is a file; give a folder with --run\n"


def test_a_second_process_is_refused(run: Path, files: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    with one_process(run):
        assert main(command("transformer", run, files, *STEPS)) == 2
    assert "is in use by process" in told(capsys)


@pytest.mark.parametrize("args", [["info"], ["finetune"]])
def test_a_folder_that_is_no_run_is_one_sentence(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], args: list[str]
) -> None:
    more = [] if args == ["info"] else ["--run", str(tmp_path / "new"), *data_args(files)]
    assert main([*args, str(tmp_path), *more]) == 2
    assert told(capsys) == (f"regard: {tmp_path} is not a run folder; it has no recipe.toml and no manifest.json\n")


def test_the_real_command_shows_no_traceback(tmp_path: Path) -> None:
    args = command("transformer", tmp_path / "run", missing(tmp_path), *STEPS)
    done = subprocess.run([sys.executable, "-m", "regard", *args], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("regard: data.source: ")
    assert len(done.stderr.splitlines()) == 1
    shown = subprocess.run(
        [sys.executable, "-m", "regard", *args, "--debug"], capture_output=True, text=True, check=False
    )
    assert "Traceback" in shown.stderr
