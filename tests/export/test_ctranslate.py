"""`regard export --to ctranslate2`: the same words as the model says, or no folder."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from regard.cli import main
from regard.export import ctranslate
from regard.export.check import Bar, Outcome
from regard.export.folder import Wanted, to_ctranslate2
from regard.models.settings import ModelSettings, RecurrentModel, TransformerModel
from regard.train.saves import weights_of
from regard.translate.opened import opened
from regard.translate.translator import Translator
from tests.export.conftest import MakeMarian
from tests.export.toys import RUN, SAID, TEXTS, sentences, wild

SIZES = {"width": 16, "heads": 2, "feedforward": 24, "encoder_layers": 2, "decoder_layers": 1}
KINDS = {
    "pre": TransformerModel(**SIZES),
    "post": TransformerModel(**SIZES, norm="post", tied="none"),
    "swiglu": TransformerModel(**SIZES, activation="swiglu", tied="output"),
    "gelu, learned": TransformerModel(**SIZES, activation="gelu", positions="learned", longest=64),
    "without places": TransformerModel(**SIZES, positions="none"),
}


def lines(path: Path, texts: Sequence[str]) -> str:
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("settings", KINDS.values(), ids=KINDS)
def test_same_words(settings: TransformerModel, tmp_path: Path) -> None:
    found, told = wild(settings), list[str]()
    before = {name: value.clone() for name, value in weights_of(found.model).items()}
    to_ctranslate2(RUN, found, tmp_path / "out", "float32", Wanted(sentences(), same=1.0), told.append)
    assert told[0].startswith("5 of 5 sentences (100 %) of some text are word for word the same with CTranslate2")
    to_ctranslate2(RUN, found, tmp_path / "small", "int8", Wanted(sentences(), same=0.0), told.append)
    assert all(value.equal(before[name]) for name, value in weights_of(found.model).items())  # quantised in a copy


@pytest.mark.parametrize("kind", [{}, {"codes": (">>deu<<", ">>fra<<"), "language": "fra"}], ids=["one", "several"])
def test_imported_models(made_marian: MakeMarian, tmp_path: Path, kind: dict[str, object]) -> None:
    """Text to text, by the program beside the model, on the words that another toolkit numbered."""
    run, told = made_marian(**kind).run, list[str]()
    to_ctranslate2(run, opened(run), tmp_path / "out", "float32", Wanted(sentences(), same=1.0), told.append)
    from regard.export.beside.with_ctranslate2 import Model

    said = Model(tmp_path / "out", 1).translate([*TEXTS, ""], beam=1)
    assert said == [result.text for result in Translator.load(run)([*TEXTS, ""], beam=1, no_repeat=0)] or _repeats(
        run
    )


def _repeats(run: Path) -> bool:
    """Whether regard tried again, as its first try said one thing over and over: the program does not."""
    return any(result.suspect for result in Translator.load(run)(TEXTS, beam=1))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (RecurrentModel(width=16, embedding=16), "no recurrent models; use --to onnx"),
        (TransformerModel(**SIZES, decoder_attention="press"), "cannot express this model's decoder_attention"),
        (TransformerModel(**SIZES, encoder_attention="shaw"), "train with model.encoder_attention = 'vaswani'"),
        (TransformerModel(**SIZES, cross_attention="bahdanau"), "this model's cross_attention"),
        (TransformerModel(**SIZES, cross_attention="shazeer"), "this model's cross_attention"),
    ],
)
def test_what_it_has_not_is_refused(settings: ModelSettings, said: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=said) as refused:
        to_ctranslate2(RUN, wild(settings), tmp_path / "out", "float32", Wanted(sentences()), print)
    assert "\n" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


class TestCommand:
    def export(self, *words: object) -> int:
        return main(["export", str(RUN), "--to", "ctranslate2", *map(str, words), "--threads", "1"])

    def test_from_run_to_text(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        source, right = lines(tmp_path / "in", list(SAID)), lines(tmp_path / "right", list(SAID.values()))
        folder = tmp_path / "out"
        assert self.export(folder, "--source", source, "--reference", right) == 0
        told = capsys.readouterr().err
        assert "2 of 2 sentences (100 %) of in are word for word the same with CTranslate2" in told
        assert "BLEU 100.00 with regard, 100.00 with CTranslate2" in told
        assert "BLEU 100.00 with regard" in (folder / "README.md").read_text(encoding="utf-8")
        check = json.loads((folder / "export.json").read_text(encoding="utf-8"))["check"]
        assert (check["sentences"], check["same"], check["greedy bleu"]["engine"]) == (2, 2, 100.0)
        command = [sys.executable, "-c", WITHOUT_REGARD, str(folder / "translate.py")]
        ran = subprocess.run(
            command, input="one red dog\n\ntwo blue cat\n", capture_output=True, text=True, check=True
        )
        assert ran.stdout == "eins rot Hund\n\nzwei blau Katze\n"
        assert self.export(folder, "--source", source) == 2
        assert self.export(folder, "--source", source, "--fresh", "--quantization", "int8") == 0
        assert {path.name for path in tmp_path.iterdir()} == {"in", "right", "out"}

    def test_other_words_are_not_kept(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        honest = ctranslate.CTranslate2.greedy

        def lie(self: ctranslate.CTranslate2, rows: object, most: object) -> list[list[int]]:
            return [row[::-1] for row in honest(self, rows, most)]  # type: ignore[arg-type]

        monkeypatch.setattr(ctranslate.CTranslate2, "greedy", lie)
        source = lines(tmp_path / "in", list(SAID))
        assert self.export(tmp_path / "out", "--source", source) == 2
        last = capsys.readouterr().err.strip().splitlines()[-1]
        assert last.startswith("regard: with CTranslate2")
        assert "not kept: only 0 of 2 sentences are the same (99.5 % asked)" in last
        assert "of 'one red dog' one says 'eins rot Hund'" in last
        assert [path.name for path in tmp_path.iterdir()] == ["in"]

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["out"], "has no test or validation text to compare with; give some lines with --source F"),
            (["out", "--reference", "right"], "there is --reference without --source"),
            (["out", "--source", "none"], "none"),
            (["full"], "has files in it; give a new folder"),
            (["file"], "is not a folder"),
        ],
    )
    def test_mistakes(
        self, words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:  # fmt: skip
        monkeypatch.chdir(tmp_path)
        (tmp_path / "full").mkdir()
        (tmp_path / "full" / "mine").write_text("")
        (tmp_path / "file").write_text("")
        assert self.export(*words) == 2
        told = capsys.readouterr().err
        assert said in told
        assert len(told.strip().splitlines()) == 1
        assert not (tmp_path / "out").exists()

    def test_unchecked_is_said(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert self.export(tmp_path / "out", "--unchecked") == 0
        assert "not checked" in capsys.readouterr().err
        assert "Not checked." in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")


WITHOUT_REGARD = """
import runpy, sys
sys.modules["torch"] = sys.modules["regard"] = None
runpy.run_path(sys.argv[1], run_name="__main__")
"""


def test_the_bar() -> None:
    def outcome(same: int, bleu: tuple[float, float] | None) -> Outcome:
        return Outcome("x", "text", 1000, same, 0, bleu, None)

    outcome(995, (30.0, 30.1)).judge(Bar(0.995, 0.11))
    with pytest.raises(ValueError, match="only 994 of 1,000 sentences"):
        outcome(994, None).judge(Bar(0.995, 0.1))
    with pytest.raises(ValueError, match=r"BLEU is 30.00 here and 29.80 there \(at most 0.1 apart asked\)"):
        outcome(1000, (30.0, 29.8)).judge(Bar(0.995, 0.1))
