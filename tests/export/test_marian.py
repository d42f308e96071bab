"""`regard import`: the same pieces, scores and translations as transformers has; what lies is refused."""

from __future__ import annotations

import io
import json
import os
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from regard.cli import main
from regard.export.marian import import_marian
from regard.files import BadFile
from regard.search.settings import Search
from regard.tasks.decode import hypotheses
from regard.text.ids import END, START, UNKNOWN
from regard.text.numbered import NumberedPieces
from regard.train.folder import model_of
from regard.translate.opened import opened
from regard.translate.translator import Translator
from tests.export.conftest import MakeMarian, Marian

TEXTS = [
    "the red dog runs",
    "two  cats ☃☃ sleep … ﬁve!",
    "a",
    "blue house one two three four five dog dog.",
    "</s> <pad>",
]
KINDS: list[dict[str, Any]] = [
    {},
    {"activation_function": "relu", "scale_embedding": False},
    {"separate": True, "activation_function": "gelu"},
    {"separate": True, "tie_word_embeddings": False},
    {"codes": (">>deu<<", ">>fra<<"), "language": "fra"},
]


def numbers(marian: Marian, pieces: NumberedPieces, side: str) -> list[int]:
    """The other toolkit's number of each of our words."""
    path = marian.folder / ("target_vocab.json" if side == "target" else "vocab.json")
    theirs = json.loads((path if path.exists() else marian.folder / "vocab.json").read_text(encoding="utf-8"))
    start = marian.model.config.decoder_start_token_id
    return [start if n == START else theirs[name] for n, name in enumerate(pieces.names)]


def sides(translator: Translator) -> tuple[NumberedPieces, NumberedPieces]:
    source, target = translator.speaker.source, translator.speaker.target
    assert isinstance(source, NumberedPieces)
    assert isinstance(target, NumberedPieces)
    return source, target


@pytest.mark.parametrize("kind", KINDS, ids=str)
class TestEqual:
    def test_pieces(self, made_marian: MakeMarian, kind: dict[str, Any]) -> None:
        """What has no piece is unknown, and what a user types is never the end."""
        marian = made_marian(**kind)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from transformers import MarianTokenizer

            theirs = MarianTokenizer.from_pretrained(str(marian.folder))
        source, target = sides(Translator.load(marian.run))
        code = ">>fra<<" if kind.get("language") else ""
        there = numbers(marian, source, "source")
        for text in TEXTS[:4]:
            ids = source.encode([text])[0]
            assert [there[i] for i in ids] == theirs(code + text).input_ids
        said = target.encode(["der rote Hund", "ein Haus"])
        assert target.decode(said)[1] == "ein Haus"
        assert source.encode([""]) == [[]]

    def test_scores(self, made_marian: MakeMarian, kind: dict[str, Any]) -> None:
        marian = made_marian(**kind)
        translator = Translator.load(marian.run)
        source, target = sides(translator)
        read, said = numbers(marian, source, "source"), numbers(marian, target, "target")
        rows = source.encode(TEXTS)
        before = torch.tensor([[START, *range(4, 20)]])
        words = [n for n in range(len(said)) if n != START]
        for row in rows:
            with torch.no_grad():
                ours = translator.model(torch.tensor([row]), torch.tensor([len(row)]), before)
                theirs = marian.model(
                    input_ids=torch.tensor([[read[i] for i in row]]),
                    decoder_input_ids=torch.tensor([[said[i] for i in before[0].tolist()]]),
                ).logits[:, :, said]
            assert float((ours - theirs)[:, :, words].abs().max()) < 1e-5
            lost = ours.log_softmax(-1)[:, :, words] - theirs[:, :, words].log_softmax(-1)
            assert float(lost.abs().max()) < 1e-5  # START takes nothing from the others

    def test_translations(self, made_marian: MakeMarian, kind: dict[str, Any]) -> None:
        """Greedy, and by a beam; with padding, as the rows have several lengths."""
        marian = made_marian(**kind)
        translator = Translator.load(marian.run)
        source, target = sides(translator)
        read, said = numbers(marian, source, "source"), numbers(marian, target, "target")
        rows = [[read[i] for i in row] for row in source.encode(TEXTS[:4])]
        pad, most = marian.model.config.pad_token_id, 12
        given = torch.tensor([row + [pad] * (max(map(len, rows)) - len(row)) for row in rows])
        for beam in (1, 3):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                theirs = marian.model.generate(
                    input_ids=given, attention_mask=(given != pad).long(), num_beams=beam, length_penalty=0.0,
                    max_new_tokens=most, do_sample=False, suppress_tokens=[pad, said[UNKNOWN]],
                    renormalize_logits=False, forced_eos_token_id=None, forced_bos_token_id=None,
                )  # fmt: skip
            search = Search(beam=beam, length_penalty=0.0, longest_ratio=1e-9, longest_extra=most)
            ids = [np.array(row) for row in source.encode(TEXTS[:4])]
            for row, found in zip(theirs.tolist(), hypotheses(translator.model, ids, search), strict=True):
                words = [said[word] for word in (*found[0].words, *([END] if found[0].complete else []))]
                assert words == [word for word in row[1:] if word != pad]


class TestRun:
    def test_every_command_knows_it(self, marian: Marian, capsysbinary: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"the red dog\n\n")))
        assert main(["translate", str(marian.run), "--threads", "1"]) == 0
        assert capsysbinary.readouterr().out.count(b"\n") == 2
        assert main(["info", str(marian.run)]) == 0
        assert b"elsewhere: imported from opus-en-de" in capsysbinary.readouterr().out

    def test_characters_are_those_of_the_text(self, marian: Marian) -> None:
        """Though it was normalised, and has a piece for none of some of its characters."""
        text = "two  cats ☃☃ ﬁve"
        result = Translator.load(marian.run)([text], attention=True)[0]
        spans = dict(zip(result.source_tokens, result.parts[0].source_spans, strict=True))
        assert text[slice(*spans["▁two"])] == "two"
        assert text[slice(*spans["<unk>"])] == "☃☃"
        assert text[slice(*spans["▁five"])].strip() == "ﬁve"
        assert spans["</s>"] == (len(text), len(text))

    def test_long_text_is_cut(self, marian: Marian) -> None:
        text = "one two three. " * 20
        result = Translator.load(marian.run)([text])[0]
        assert len(result.parts) > 1
        assert "".join(text[part.start : part.end] for part in result.parts) == text

    def test_it_can_be_trained_further(self, marian: Marian) -> None:
        """The biases of words are part of the loss."""
        from regard.tasks.sequences import batch_of, sequence_loss

        model = opened(marian.run).model.eval()
        batch = batch_of([torch.tensor([5, 6, 3]).numpy()], [torch.tensor([7, 8]).numpy()])
        loss = sequence_loss(model, batch, 0.1)
        with torch.no_grad():
            scores = model(batch.source, batch.lengths, batch.before)[0]
        right = torch.nn.functional.cross_entropy(scores, batch.after[0], reduction="sum")
        assert loss.figures["loss"] == pytest.approx(float(right), rel=1e-5)
        loss.total.backward()  # type: ignore[no-untyped-call]
        assert model.output.bias.grad is not None
        assert bool(model.output.bias.grad.abs().sum() > 0)


Spoil = Callable[[Path], object]


def config(**changes: Any) -> Spoil:
    def spoil(folder: Path) -> None:
        path = folder / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}), encoding="utf-8")

    return spoil


def weights(change: Callable[[dict[str, torch.Tensor]], object]) -> Spoil:
    def spoil(folder: Path) -> None:
        found = {name: value.clone() for name, value in load_file(folder / "model.safetensors").items()}
        change(found)
        save_file(found, folder / "model.safetensors")

    return spoil


def instead(name: str, content: bytes | None) -> Spoil:
    def spoil(folder: Path) -> None:
        (folder / name).unlink()
        if content is not None:
            (folder / name).write_bytes(content)

    return spoil


def linked(name: str) -> Spoil:
    def spoil(folder: Path) -> None:
        outside = folder.parent / name
        shutil.move(folder / name, outside)
        (folder / name).symlink_to(outside)

    return spoil


def pickled(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def vocabulary(change: Callable[[dict[str, Any]], object]) -> Spoil:
    def spoil(folder: Path) -> None:
        path = folder / "vocab.json"
        told = json.loads(path.read_text(encoding="utf-8"))
        change(told)
        path.write_text(json.dumps(told), encoding="utf-8")

    return spoil


LIES: dict[str, tuple[Spoil, str]] = {
    "another model": (config(model_type="bart"), "only marian models"),
    "no JSON": (instead("config.json", b"{"), "not readable as JSON"),
    "deep": (instead("config.json", b'{"a":' * 5000), "not readable as JSON"),
    "a size that is none": (config(d_model="16"), "d_model is '16', not a whole number"),
    "a size below none": (config(encoder_layers=-1), "encoder_layers is -1"),
    "no size": (config(d_model=None), "d_model is None"),
    "too wide": (config(d_model=2**20), "width: input should be less than or equal to 65536"),
    "too deep": (config(encoder_layers=999), "layers"),
    "wider than it is": (config(d_model=32), "by the config"),
    "more layers": (config(decoder_layers=2), "lacks model.decoder.layers.1"),
    "fewer layers": (config(encoder_layers=1), "has model.encoder.layers.1"),
    "heads that do not fit": (config(encoder_attention_heads=3), "cannot be split evenly"),
    "an unknown bend": (config(activation_function="mish"), "activation_function is 'mish'"),
    "untied": (config(share_encoder_decoder_embeddings=False), "lacks model.encoder.embed_tokens"),
    "a flag that is none": (config(scale_embedding="yes"), "not true or false"),
    "a word that is not there": (config(eos_token_id=9999), "eos_token_id is 9999"),
    "two ends": (config(eos_token_id=1), "not three words"),
    "dropout": (config(dropout=2), "dropout"),
    "more words": (config(vocab_size=10**6), "does not number its"),
    "a number twice": (vocabulary(lambda told: told.update({"</s>": 5})), "does not number its"),
    "a number that is none": (vocabulary(lambda told: told.update({"</s>": "0"})), "does not number its"),
    "nothing unknown": (vocabulary(lambda told: told.update({"<UNK>": told.pop("<unk>")})), "has no <unk>"),
    "a weight missing": (weights(lambda w: w.pop("model.encoder.layers.0.fc1.bias")), "lacks model.encoder.layers"),
    "a weight too many": (weights(lambda w: w.update(more=torch.zeros(2))), "has more, of which"),
    "another shape": (weights(lambda w: w.update(final_logits_bias=torch.zeros(1, 3))), "final_logits_bias is F32"),
    "whole numbers": (
        weights(lambda w: w.update(final_logits_bias=w["final_logits_bias"].long())), "final_logits_bias is I64"),
    "not a number": (weights(lambda w: w["model.shared.weight"].fill_(float("nan"))), "NaN"),
    "tables that differ": (
        weights(lambda w: w.update({"lm_head.weight": w["model.shared.weight"] + 1})), "are one, and they differ"),
    "other places": (
        weights(lambda w: w.update({"model.encoder.embed_positions.weight": torch.ones(64, 16)})), "not sinusoids"),
    "cut short": (lambda folder: os.truncate(folder / "model.safetensors", 2000), "is not a file of weights"),
    "a pickle by that name": (
        instead("model.safetensors", b"\x80\x04cos\nsystem\n" + bytes(99)), "not a file of weights"),
    "a pickle": (pickled, "can run code.*make a model.safetensors"),
    "no weights": (instead("model.safetensors", None), "model.safetensors is missing"),
    "no pieces": (instead("source.spm", None), "source.spm is missing"),
    "other pieces": (instead("target.spm", b"no pieces"), "sentencepiece model in it is none"),
    "a link": (linked("model.safetensors"), "link that leads out"),
    "linked pieces": (linked("source.spm"), "link that leads out"),
    "linked settings": (linked("config.json"), "link that leads out"),
}  # fmt: skip


@pytest.mark.parametrize("name", LIES)
def test_a_lie_is_refused(name: str, marian: Marian, tmp_path: Path) -> None:
    """And nothing is left behind."""
    spoil, said = LIES[name]
    folder = tmp_path / "folder"
    shutil.copytree(marian.folder, folder)
    spoil(folder)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ValueError, match=said) as refused:
        import_marian(folder, tmp_path / "run", None, lambda line: None)
    assert "\n" not in str(refused.value)
    assert sorted(tmp_path.rglob("*")) == before


class TestMistakes:
    def test_languages(self, made_marian: MakeMarian, marian: Marian, tmp_path: Path) -> None:
        several = made_marian(codes=(">>deu<<", ">>fra<<"), language="fra").folder
        for language, said in ((None, "choose one with --language: deu, fra"), ("ita", "has no language 'ita'")):
            with pytest.raises(ValueError, match=said):
                import_marian(several, tmp_path / "run", language, lambda line: None)
        with pytest.raises(ValueError, match="leave --language out"):
            import_marian(marian.folder, tmp_path / "run", "fra", lambda line: None)

    def test_folders(self, marian: Marian, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(BadFile, match="there is no folder"):
            import_marian(tmp_path / "none", tmp_path / "run", None, lambda line: None)
        (tmp_path / "mine").write_text("", encoding="utf-8")
        assert main(["import", str(marian.folder), "--run", str(tmp_path)]) == 2
        assert capsys.readouterr().err.strip().endswith("has files in it; give a new folder")

    def test_damage_is_seen(self, marian: Marian, tmp_path: Path) -> None:
        shutil.copytree(marian.run, tmp_path / "run")
        path = tmp_path / "run" / "pieces" / "source.model"
        path.write_bytes(path.read_bytes().replace(b'"ends": true', b'"ends":false'))
        with pytest.raises(ValueError, match="is not what was written"):
            model_of(tmp_path / "run")
