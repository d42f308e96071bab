"""Recipes: TOML and options become one frozen value; whatever is misspelt is answered with the right word."""

import re
from pathlib import Path

import pytest

from regard.models.settings import RecurrentModel, TransformerModel
from regard.recipe import chosen_for, dump, load, located, shipped, with_overrides
from regard.systems import SYSTEMS, recipe_of
from regard.systems.translation import TranslationRecipe
from regard.tasks.settings import TextData

MINIMAL = 'about = "mine"\n'


@pytest.fixture(autouse=True)
def no_data(monkeypatch, tmp_path):
    monkeypatch.delenv("REGARD_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def written(folder, text, name="mine.toml"):
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_recipe_loads_says_what_it_is_and_comes_back_from_its_dump(name, tmp_path):
    recipe = load(name)
    assert 20 < len(recipe.about) < 160
    assert recipe.about.endswith(".")
    assert load(written(tmp_path, dump(recipe))) == recipe


def test_the_recipes_that_are_promised_are_there():
    promised = (
        "transformer-tiny transformer-base transformer-big deep-encoder rnnsearch seq2seq dates libreoffice-help"
    )
    assert set(promised.split()) < set(shipped())


def test_the_sizes_are_those_of_the_papers():
    base, big, deep = (load(name).model for name in ("transformer-base", "transformer-big", "deep-encoder"))
    assert (base.width, base.heads, base.feedforward, base.encoder_layers, base.norm) == (512, 8, 2048, 6, "post")
    assert (big.width, big.heads, big.feedforward, big.dropout, big.norm) == (1024, 16, 4096, 0.3, "post")
    assert (deep.encoder_layers, deep.decoder_layers) == (12, 1)
    assert (load("rnnsearch").model.width, load("rnnsearch").model.embedding) == (1000, 620)
    assert load("seq2seq").model.attention == "none"
    assert load("seq2seq").model.reverse


def test_a_file_has_its_own_values_over_the_defaults(tmp_path):
    recipe = load(written(tmp_path, MINIMAL + "[train]\nsteps = 7\nbetas = [0.8, 0.9]\n"))
    assert (recipe.train.steps, recipe.train.betas) == (7, (0.8, 0.9))
    assert recipe.model == TransformerModel()


def test_a_recipe_starts_from_another(tmp_path):
    written(tmp_path, 'base = "rnnsearch"\nabout = "one"\n[model]\ncell = "lstm"\n', "one.toml")
    two = load(written(tmp_path, 'base = "one.toml"\n[model]\nlayers = 2\n', "two.toml"))
    model = two.model
    assert isinstance(model, RecurrentModel)
    assert (model.cell, model.layers, model.width, two.about) == ("lstm", 2, 1000, "one")


def test_another_kind_of_model_replaces_the_bases(tmp_path):
    recipe = load(written(tmp_path, 'base = "transformer-tiny"\n[model]\nkind = "recurrent"\n'))
    assert recipe.model == RecurrentModel()
    assert recipe.train == load("transformer-tiny").train


def test_other_data_replaces_the_bases_with_its_validation_text(tmp_path):
    recipe = load(written(tmp_path, 'base = "multi30k-en-de"\n[data]\npairs = "mine.tsv"\n'))
    assert recipe.data == TextData(
        pairs=tmp_path / "mine.tsv", source_language="en", target_language="de", scored="none"
    )


def test_a_recipe_that_is_its_own_base_is_refused(tmp_path):
    written(tmp_path, 'base = "b.toml"\n', "a.toml")
    with pytest.raises(ValueError, match=r"b\.toml:1: this recipe is its own base"):
        load(written(tmp_path, 'base = "a.toml"\n', "b.toml"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n[trian]\nsteps = 3\n", r"mine\.toml:3: there is no \[trian\]; perhaps you meant train"),
        ("[train]\nwarmupp = 3\n", r"mine\.toml:3: \[train\] has no 'warmupp'; perhaps you meant warmup"),
        ("[model]\nrate = 3\n", r"mine\.toml:3: \[model\] has no 'rate'; it belongs to \[train\]"),
        ('[model]\ncell = "gru"\n', r"mine\.toml:3: \[model\] has no 'cell'; there are: kind, encoder_layers"),
        ("steps = 3\n", r"mine\.toml:2: there is no 'steps'; there are: about"),
        ('bsae = "dates"\n', r"mine\.toml:2: there is no 'bsae'; perhaps you meant base"),
        ("[train]\nsteps = 0\n", r"mine\.toml:3: train\.steps: input should be greater than or equal to 1, not 0"),
        ('[train]\nrate = "fast"\n', r"mine\.toml:3: train\.rate: input should be a valid number.*, not 'fast'"),
        ('[model]\nkind = "rnn"\n', r"mine\.toml:3: \[model\] has no kind 'rnn'; there are: transformer, recurrent"),
        ('[model]\nnorm = "both"\n', r"mine\.toml:3: model\.norm: input should be 'pre' or 'post', not 'both'"),
        ("train = 3\n", r"mine\.toml:2: train: input should be"),
        ('task = "dancing"\n', r"mine\.toml:2: there is no task 'dancing'; there are: translation"),
        ("[train\n", r"mine\.toml:2: not TOML: Expected ']'.*; mend that line"),
        ("[train]\nsteps = 3\nsteps = 4\n", r"mine\.toml:4: not TOML: Cannot overwrite a value"),
        ('base = "dats"\n', r"there is no recipe 'dats'; perhaps you meant dates"),
        ('base = "dats.toml"\n', r"dats.toml is not there; a recipe is a TOML file"),
    ],
)
def test_what_is_wrong_is_said_with_its_place_and_the_right_word(text, message, tmp_path):
    with pytest.raises(ValueError, match=message) as told:
        load(written(tmp_path, MINIMAL + text))
    assert "\n" not in str(told.value)


def test_text_that_is_no_text_is_refused(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_bytes(b"about = '\xff'")
    with pytest.raises(ValueError, match=r"mine\.toml: not UTF-8; save"):
        load(file)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("dats", "there is no recipe 'dats'; perhaps you meant dates"),
        ("xyzzy", "there is no recipe 'xyzzy'; `regard recipes list` shows those there are"),
        ("no/such.toml", "no/such.toml is not there; a recipe is a TOML file"),
    ],
)
def test_a_recipe_that_is_not_there_is_answered_with_the_nearest(name, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        load(name)


def test_paths_hold_for_the_folder_of_the_file(tmp_path, monkeypatch):
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path)
    file = written(tmp_path / "inner", MINIMAL + '[data]\nsource = "../a.en"\ntarget = "b.de"\n')
    data = load(Path("inner") / file.name).data
    assert (data.source, data.target) == (tmp_path / "a.en", tmp_path / "inner" / "b.de")


def test_a_dump_beside_has_no_absolute_paths_and_moves_with_its_data(tmp_path):
    recipe = TranslationRecipe(
        about="x", data=TextData(source=tmp_path / "t" / "a.en", target=tmp_path / "t" / "b.de")
    )
    (tmp_path / "run").mkdir()
    text = dump(recipe, tmp_path / "run")
    assert str(tmp_path) not in text
    assert load(written(tmp_path / "run", text)) == recipe


@pytest.mark.parametrize(
    "name", ["a b.en", 'quo"te.en', "back\\slash", "tab\there", "line\nend", "\x7f", "日本語.en", "it's"]
)
def test_any_file_name_survives_the_dump(name, tmp_path):
    recipe = TranslationRecipe(about=f"about {name}", data=TextData(pairs=tmp_path / name))
    assert load(written(tmp_path, dump(recipe))) == recipe


def test_numbers_survive_the_dump_exactly(tmp_path):
    args = ["--train.rate", "0.1234567890123456789", "--train.epsilon", "1e-300", "--train.minutes", "1e22"]
    recipe = with_overrides(load("dates"), args)
    assert load(written(tmp_path, dump(recipe))) == recipe


def test_files_of_a_data_set_are_found_through_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("REGARD_DATA", str(tmp_path))
    folder = tmp_path / "tatoeba"
    folder.mkdir()
    for split in ("train", "val", "test"):
        (folder / f"eng-fra.{split}.tsv.gz").write_bytes(b"")
    recipe = located(load("tatoeba-en-fr"))
    assert recipe.data.pairs == folder / "eng-fra.train.tsv.gz"
    assert 'pairs = "$REGARD_DATA/tatoeba/eng-fra.train.tsv.gz"' in dump(recipe)
    assert load(written(tmp_path, dump(recipe))) == recipe


def test_a_data_set_that_is_not_there_is_one_sentence(tmp_path, monkeypatch):
    message = (
        r"data\.pairs: tatoeba/eng-fra\.train\.tsv\.gz is not in .*, and REGARD_DATA is not set; set REGARD_DATA"
    )
    with pytest.raises(ValueError, match=message):
        located(load("tatoeba-en-fr"))
    monkeypatch.setenv("REGARD_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match=r"is not in \S+nowhere or \S+regard; set REGARD_DATA to the folder"):
        located(load("tatoeba-en-fr"))


@pytest.mark.parametrize(("name", "what"), [("none.en", "is not there"), ("folder", "is a folder, not a file")])
def test_a_file_that_is_not_there_is_one_sentence(name, what, tmp_path):
    (tmp_path / "folder").mkdir()
    recipe = TranslationRecipe(about="x", data=TextData(pairs=tmp_path / name))
    with pytest.raises(ValueError, match=rf"data\.pairs: \S+{name} {what}; check the spelling"):
        located(recipe)


def test_options_change_a_recipe_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = load("dates")
    after = with_overrides(
        before, ["--train.steps", "3", "--model.width=8", "--data.no-joint", "--train.betas", "0.5", "0.6"]
    )
    assert (after.train.steps, after.model.width, after.data.joint, after.train.betas) == (3, 8, False, (0.5, 0.6))
    changed = after.with_sections(
        {
            "train": after.train.model_copy(update={"steps": before.train.steps, "betas": before.train.betas}),
            "model": after.model.model_copy(update={"width": before.model.width}),
            "data": after.data.model_copy(update={"joint": before.data.joint}),
        }
    )
    assert changed == before
    assert with_overrides(before, []) == before


def test_options_that_name_text_replace_the_recipes_text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = with_overrides(load("multi30k-en-de"), ["--data.pairs", "mine.tsv"]).data
    assert data.pairs == tmp_path / "mine.tsv"
    assert (data.source, data.valid_source, data.test_target) == (None, None, None)


def test_options_for_validation_alone_leave_the_text(tmp_path):
    recipe = with_overrides(load("multi30k-en-de"), ["--data.valid-source", "v.en", "--data.valid-target", "v.de"])
    assert recipe.data.source is not None
    assert recipe.data.valid_source == Path.cwd() / "v.en"


def test_options_are_those_of_the_recipes_model(capsys):
    assert with_overrides(load("rnnsearch"), ["--model.cell", "lstm"]).model.cell == "lstm"
    with pytest.raises(SystemExit):
        with_overrides(load("dates"), ["--model.cell", "lstm"])


def test_a_misspelt_option_is_answered_with_the_right_one(capsys):
    with pytest.raises(SystemExit) as ended:
        with_overrides(load("dates"), ["--train.warmupp", "3"])
    assert ended.value.code == 2
    assert re.search(r"Perhaps you meant.*--train\.warmup INT", capsys.readouterr().err, re.DOTALL)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--train.save-every", "0", "--train.save-every: input should be greater than or equal to 1, not 0"),
        ("--model.dropout", "1.5", "--model.dropout: input should be less than 1, not 1.5"),
    ],
)
def test_a_value_that_cannot_be_is_one_sentence(option, value, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        with_overrides(load("dates"), [option, value])


@pytest.mark.parametrize(
    ("pairs", "name"),
    [
        (1, "transformer-mini"),
        (29_000, "transformer-tiny"),
        (300_000, "transformer-small"),
        (4_500_000, "transformer-base"),
    ],
)
def test_sizes_are_chosen_from_the_corpus(pairs, name):
    assert chosen_for(pairs) == name
    assert name in shipped()


def test_recipes_cannot_be_changed_in_place():
    with pytest.raises(Exception, match="frozen"):
        load("dates").train.steps = 3


def test_every_task_has_a_recipe_of_its_own_sections():
    for name in SYSTEMS:
        kind = recipe_of(name)
        assert kind.family
        assert kind(about="x").task == name
        assert {"data", "model", "train"} <= set(kind(about="x").sections())


def test_the_documents_name_every_recipe_and_their_example_loads(tmp_path):
    page = (Path(__file__).parent.parent / "docs" / "recipes.md").read_text(encoding="utf-8")
    assert [name for name in shipped() if f"`{name}`" not in page] == []
    example = re.search(r"```toml\n(.*?)```", page, re.DOTALL)
    recipe = load(written(tmp_path, example[1]))
    assert (recipe.train.minutes, recipe.data.source, recipe.model.width) == (90, tmp_path / "letters.en.gz", 128)
