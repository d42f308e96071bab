"""`regard export --to onnx`: graphs that compute what the model does, for any length and number of sentences."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

from regard.cli import main
from regard.export import onnx_graphs
from regard.export.folder import Wanted, to_onnx
from regard.export.looks import Prepared
from regard.models.settings import ModelSettings, RecurrentModel, TransformerModel
from regard.translate.opened import opened
from tests.export.conftest import Marian
from tests.export.test_ctranslate import WITHOUT_REGARD, lines
from tests.export.toys import RUN, SAID, sentences, wild

SIZES = {"width": 16, "heads": 4, "feedforward": 24, "encoder_layers": 1, "decoder_layers": 2}
CELLS = {"width": 16, "embedding": 16}
KINDS: dict[str, ModelSettings] = {
    "post, swiglu": TransformerModel(**SIZES, norm="post", activation="swiglu", tied="none"),
    "learned places, groups": TransformerModel(
        **SIZES, positions="learned", longest=64, decoder_attention="ainslie", cross_attention="shazeer"
    ),
    "rotary": TransformerModel(**SIZES, positions="none", encoder_attention="su", decoder_attention="su"),
    "relative": TransformerModel(**SIZES, encoder_attention="press", decoder_attention="raffel"),
    "bahdanau": RecurrentModel(**CELLS, readout="maxout", first_state="mean"),
    "luong": RecurrentModel(
        **CELLS, cell="lstm", layers=2, wiring="after", attention="luong_general", input_feeding=True
    ),
    "sutskever": RecurrentModel(
        **CELLS, cell="lstm", layers=2, bidirectional=False, reverse=True, attention="none", readout="plain"
    ),
    "elman": RecurrentModel(**CELLS, cell="rnn", first_state="learned", select="sparsemax"),
}


@pytest.mark.parametrize("settings", KINDS.values(), ids=KINDS)
def test_same_scores_and_words(settings: ModelSettings, tmp_path: Path) -> None:
    told: list[str] = []
    to_onnx(RUN, wild(settings), tmp_path / "out", Wanted(sentences(), same=1.0), told.append)
    assert told[1].startswith("5 of 5 sentences (100 %)")
    apart = json.loads((tmp_path / "out" / "export.json").read_text(encoding="utf-8"))["scores apart"]
    assert 0 < apart < 1e-6


def test_imported_models(marian: Marian, tmp_path: Path) -> None:
    told: list[str] = []
    to_onnx(marian.run, opened(marian.run), tmp_path / "out", Wanted(sentences(), same=1.0), told.append)
    assert told[1].startswith("5 of 5 sentences (100 %)")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (TransformerModel(**SIZES, encoder_attention="dai"), "this model's encoder_attention cannot be written"),
        (RecurrentModel(**CELLS, attention="luong_local_m"), "this model's attention cannot be written as ONNX"),
        (TransformerModel(**SIZES, cross_attention="gupta"), "torch cannot write a part of this model as ONNX"),
    ],
)
def test_what_cannot_be_written_is_refused(settings: ModelSettings, said: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=said) as refused:
        to_onnx(RUN, wild(settings), tmp_path / "out", Wanted(sentences()), print)
    assert "\n" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_a_constant_in_the_graph_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A length that became a number while tracing would be right for that length only."""
    settings = TransformerModel(**SIZES, encoder_attention="raffel", decoder_attention="raffel")
    frozen = property(lambda self: onnx_graphs.torch.arange(int(self.keys.shape[2])))
    monkeypatch.setattr(Prepared, "positions", frozen)
    with pytest.raises(ValueError, match=r"do not compute what the model does.*running Add node"):
        to_onnx(RUN, wild(settings), tmp_path / "out", Wanted(sentences()), print)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match=r"scores are 0\.001 apart, at most 1e-05 was asked"):
        onnx_graphs.close(1e-3)
    with pytest.raises(ValueError, match="scores are nan apart"):
        onnx_graphs.close(float("nan"))


def test_from_run_to_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By a program that knows neither regard nor torch; the graphs are sound, and a tied table is there once."""
    source, right = lines(tmp_path / "in", list(SAID)), lines(tmp_path / "right", list(SAID.values()))
    folder = tmp_path / "out"
    words = ["export", str(RUN), "--to", "onnx", str(folder), "--threads", "1"]
    assert main([*words, "--source", source, "--reference", right]) == 0
    told = capsys.readouterr().err
    assert "2 of 2 sentences (100 %) of in are word for word the same with onnxruntime" in told
    assert "BLEU 100.00 with regard, 100.00 with onnxruntime" in told
    command = [sys.executable, "-c", WITHOUT_REGARD, str(folder / "translate.py")]
    ran = subprocess.run(command, input="one red dog\n\ntwo blue cat\n", capture_output=True, text=True, check=True)
    assert ran.stdout == "eins rot Hund\n\nzwei blau Katze\n"
    for name in ("encoder", "step"):
        onnx.checker.check_model(str(folder / f"{name}.onnx"), full_check=True)
    graph = onnx.load(folder / "step.onnx").graph
    pieces = len(opened(RUN).target)
    assert len([one for one in graph.initializer if len(one.dims) == 2 and pieces in one.dims]) == 1
    axes = {
        given.name: [d.dim_param or d.dim_value for d in given.type.tensor_type.shape.dim] for given in graph.input
    }
    assert axes["said.0.keys"] == ["rows", 2, "said", 8]
    assert axes["source.0.values"] == ["rows", 2, "source", 8]
    assert main([*words[:-3], str(tmp_path / "other"), "--quantization", "int8"]) == 2
    assert "--quantization is for --to ctranslate2" in capsys.readouterr().err
