"""The rule that chooses a precision."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from regard.recipe import load
from regard.train import precision
from regard.train.precision import SAFE, Precision, choose


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """A made-up processor: what it announces, and with which settings its products work."""
    told: dict[str, object] = {"announced": True, "works": [{}, SAFE], "tried": []}

    def works(environment: dict[str, str]) -> bool:
        told["tried"].append(environment)  # type: ignore[attr-defined]
        return environment in told["works"]  # type: ignore[operator]

    monkeypatch.setattr(precision, "_announced", lambda: told["announced"])
    monkeypatch.setattr(precision, "_works", works)
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA", raising=False)
    return told


def test_what_is_asked_for_is_taken(machine: dict[str, object]) -> None:
    assert choose("float32", 1024) == Precision("float32", "asked for")
    assert machine["tried"] == []
    assert choose("bfloat16", 16) == Precision("bfloat16", "asked for")
    machine["announced"] = False
    assert choose("bfloat16", 16).name == "bfloat16"


@pytest.mark.parametrize(
    ("width", "announced", "works", "name", "why"),
    [
        (512, True, [{}], "bfloat16", "this processor has it, and the model is wide"),
        (256, True, [{}], "bfloat16", "this processor has it, and the model is wide"),
        (255, True, [{}], "float32", "the model is narrower than 256"),
        (512, False, [{}], "float32", "this processor has no bfloat16 instructions"),
        (512, True, [SAFE], "float32", "this processor announces bfloat16 units and refuses them"),
        (512, True, [], "float32", "this processor announces bfloat16 units and refuses them"),
    ],
)
def test_auto_is_a_fixed_rule(
    machine: dict[str, object], width: int, announced: bool, works: list[object], name: str, why: str
) -> None:
    machine |= {"announced": announced, "works": works}
    assert choose("auto", width) == Precision(name, why)
    assert "ONEDNN_MAX_CPU_ISA" not in os.environ


def test_what_works_only_in_part_is_taken_if_asked_for(machine: dict[str, object]) -> None:
    machine["works"] = [SAFE]
    assert choose("bfloat16", 512).why == "asked for, with the instruction set that works here"
    assert os.environ["ONEDNN_MAX_CPU_ISA"] == "AVX512_CORE_BF16"


def test_what_cannot_work_is_refused(machine: dict[str, object]) -> None:
    machine["works"] = []
    with pytest.raises(ValueError, match="bfloat16 products fail on this processor; use"):
        choose("bfloat16", 512)


def test_a_product_is_formed_in_the_precision_chosen() -> None:
    x = torch.ones(2, 3)
    with Precision("float32", "").context():
        assert (x @ x.T).dtype == torch.float32
    with Precision("bfloat16", "").context():
        assert (x @ x.T).dtype == torch.bfloat16
    assert (x @ x.T).dtype == torch.float32


def test_the_probe_is_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "PROBE", "import os; os.kill(os.getpid(), 4)")  # a refused instruction
    assert not precision._works({})
    monkeypatch.setattr(
        precision, "PROBE", "import os; assert os.environ['ONEDNN_MAX_CPU_ISA'] == 'AVX512_CORE_BF16'"
    )
    assert precision._works(SAFE)


def test_choosing_needs_no_torch() -> None:
    """Else the limit of instructions would come too late."""
    told = "import sys, regard.commands.train, regard.train.precision as p; p.choose('auto', 16); "
    told += "assert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, cwd=Path(__file__).parent)
    assert done.returncode == 0, done.stderr


def test_an_accelerator_is_taken_where_there_is_one(
    machine: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[int] = []
    monkeypatch.setattr(precision, "_accelerated", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    monkeypatch.setattr(torch.cuda, "set_device", taken.append)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: True)
    monkeypatch.setenv("LOCAL_RANK", "3")
    assert choose("auto", 16) == Precision("bfloat16", "this accelerator has it", "cuda")
    assert choose("float32", 512, "cuda") == Precision("float32", "asked for", "cuda")
    assert choose("float32", 512, "cpu").device == "cpu"
    assert taken == [3, 3]
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: False)
    assert choose("auto", 512) == Precision("float32", "this accelerator has no bfloat16", "cuda")


def test_an_accelerator_that_is_not_there_is_said(
    machine: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(precision, "_accelerated", lambda: False)
    with pytest.raises(ValueError, match=r"no accelerator .* use --train.device cpu"):
        choose("auto", 512, "cuda")
    assert choose("auto", 16).device == "cpu"


def test_a_transformer_is_wide_at_128(machine: dict[str, object]) -> None:
    """Attention of short rows is two products while it learns, and those win at half the width of recurrent ones."""
    tiny, rnn = load("transformer-tiny"), load("rnnsearch")
    assert (tiny.width, tiny.wide, rnn.wide) == (128, 128, 256)
    assert choose("auto", tiny.width, wide=tiny.wide).name == "bfloat16"
    assert choose("auto", 127, wide=tiny.wide).why == "the model is narrower than 128"
