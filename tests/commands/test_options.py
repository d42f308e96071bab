"""The command lines of train and finetune: the recipe is found in them, and its settings are their options."""

import re
from types import SimpleNamespace

import pytest

from regard.cli import main
from regard.commands.options import recipe_in


@pytest.fixture
def trained(monkeypatch, tmp_path):
    """What would be trained: the recipe, the folder, and whether anew."""
    import regard.commands.train as training

    seen = SimpleNamespace()

    def train(recipe, run, fresh=False, *_):
        seen.recipe, seen.run, seen.fresh = recipe, run, fresh
        return 75

    monkeypatch.setattr(training, "train", train)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("REGARD_DATA", raising=False)
    return seen


@pytest.mark.parametrize(
    ("args", "recipe"),
    [
        ("dates --run r", "dates"),
        ("--run r dates", "dates"),
        ("--run=r --fresh dates", "dates"),
        ("--run dates", None),
        ("--data.swap --train.betas 0.9 0.98 mine.toml", "mine.toml"),
        ("--data.no_swap --data.valid_source v mine.toml", "mine.toml"),
        ("--model.bidirectional --model.no-reverse rnnsearch", "rnnsearch"),
        ("--help dates", "dates"),
        ("", None),
    ],
)
def test_the_recipe_is_the_first_word_that_is_no_options_value(args, recipe):
    assert recipe_in(args.split()) == recipe


def test_a_recipe_is_trained_with_its_options_and_the_exit_code_is_passed_on(trained, tmp_path):
    assert main(["train", "--run", "r", "--train.steps", "3", "dates", "--model.width", "8"]) == 75
    assert (trained.recipe.train.steps, trained.recipe.model.width, str(trained.run)) == (3, 8, "r")
    assert trained.recipe.data.generated == "dates"
    assert not trained.fresh
    assert main(["train", "dates", "--run", "r", "--fresh"]) == 75
    assert trained.fresh


def write(folder, name, lines):
    (folder / name).write_text("".join(f"{name} {number}\n" for number in range(lines)), encoding="utf-8")


def test_without_a_recipe_sizes_are_chosen_from_the_text(trained, tmp_path, capsys):
    for side in ("a.en", "b.de"):
        write(tmp_path, side, 20)
    assert main(["train", "--run", "r", "--data.source", "a.en", "--data.target", "b.de", "--train.steps", "9"]) == 75
    assert trained.recipe.about.startswith("The smallest Transformer")
    assert (trained.recipe.train.steps, trained.recipe.data.source) == (9, tmp_path / "a.en")
    assert "transformer-mini suits the size of this text" in capsys.readouterr().err


def test_own_text_takes_the_place_of_a_recipes(trained, tmp_path):
    (tmp_path / "mine.tsv").write_text("a\tb\n")
    assert main(["train", "dates", "--run", "r", "--data.pairs", "mine.tsv"]) == 75
    assert (trained.recipe.data.generated, trained.recipe.data.pairs) == (None, tmp_path / "mine.tsv")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            "",
            "there is no text to learn from; give --data.source FILE and --data.target FILE, or --data.pairs FILE",
        ),
        ("transformer-tiny", "there is no text to learn from;"),
        ("--data.source a.en", "there is data.source without data.target; give --data.target FILE"),
        ("--data.target a.en", "there is data.target without data.source; give --data.source FILE"),
        ("--data.pairs a.en --data.source a.en --data.target a.en", "three ways to say the same; give one"),
        ("--data.source none.en --data.target a.en", "none.en is not there; check the spelling"),
        ("--data.source a.en --data.target empty", "has 20 lines and"),
        (
            "multi30k-en-de",
            "and REGARD_DATA is not set; set REGARD_DATA to the folder that has it, or see `regard data",
        ),
        ("dats", "there is no recipe 'dats'; perhaps you meant dates"),
        ("a.en", "a.en:1: not TOML"),
    ],
)
def test_what_is_wrong_is_one_line(args, message, trained, tmp_path, capsys):
    write(tmp_path, "a.en", 20)
    (tmp_path / "empty").write_text("")
    assert main(["train", "--run", "r", *args.split()]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert re.fullmatch(r"regard: [^\n]+\n", told)
    assert not (tmp_path / "r").exists()


def test_a_misspelt_option_is_answered_with_the_right_one(trained, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["train", "dates", "--run", "r", "--train.warmupp", "3"])
    assert ended.value.code == 2
    assert re.search(r"Perhaps you meant.*--train\.warmup INT", capsys.readouterr().err, re.DOTALL)


def test_a_run_must_be_named(trained, capsys):
    with pytest.raises(SystemExit):
        main(["train", "dates"])
    assert "--run" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        (
            ["train", "dates", "--help"],
            ["default: dates", "--model.encoder-layers INT", "--run PATH", "--fresh", "Examples"],
        ),
        (["train", "-h", "rnnsearch"], ["default: 620", "--model.wiring {before,after}", "default: bahdanau"]),
        (["train", "--help"], ["sizes are", "--data.source", "default: 8000"]),
        (["finetune", "--help"], ["--share FLOAT", "--data.source", "The run to start from"]),
    ],
)
def test_help_shows_the_values_of_the_recipe(args, shown, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")
    with pytest.raises(SystemExit) as ended:
        main(args)
    assert ended.value.code == 0
    told = capsys.readouterr().out
    assert [word for word in shown if word not in told] == []


def test_a_model_that_is_made_cannot_be_given_another_size(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["finetune", "--help"])
    assert "--model." not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("run", "message"), [("none", "there is no run folder none"), (".", ". is not a run folder")]
)
def test_finetuning_something_that_is_no_run_is_one_line(run, message, trained, capsys):
    assert main(["finetune", run, "--run", "new", "--data.pairs", "x.tsv"]) == 2
    assert message in capsys.readouterr().err
