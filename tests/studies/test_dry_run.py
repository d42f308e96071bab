"""What is counted without contents is what real tensors cost."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest
import torch

from regard.models.build import build_model
from regard.models.dropout import Dropout, ResidualDropout
from regard.models.seq2seq import Seq2Seq
from regard.models.settings import TransformerModel
from regard.studies.dry_run import Cost, DryRun, Ledger, without_contents
from regard.tasks.sequences import Batch, sequence_loss
from regard.train.optimise import optimiser
from regard.train.settings import Train

WIDTH, INNER, WORDS, LAYERS = 32, 64, 400, 1
ROWS, LENGTH = 40, 30  # the loss takes more than two chunks


@pytest.fixture(autouse=True)
def _plain_products() -> Iterator[None]:
    """Some processors announce bfloat16 units and refuse them; without oneDNN nobody asks."""
    with torch.backends.mkldnn.flags(enabled=False, allow_tf32=None):  # type: ignore[no-untyped-call]
        yield


def model(dropout: float = 0.1, norm: str = "post") -> Seq2Seq:
    sizes = TransformerModel(
        encoder_layers=LAYERS, decoder_layers=LAYERS, width=WIDTH, heads=4, feedforward=INNER, dropout=dropout,
        norm=norm,  # type: ignore[arg-type]
    )  # fmt: skip
    return build_model(sizes, WORDS, WORDS)


@cache
def dry(rows: int = ROWS, half: bool = False, dropout: float = 0.1) -> Cost:
    with without_contents():
        return DryRun(model(dropout), Train(), half).update(rows, LENGTH)


@pytest.mark.parametrize("half", [False, True])
def test_a_dry_run_costs_what_a_real_one_does(half: bool) -> None:
    real = DryRun(model(), Train(), half)
    assert dry(half=half) == real.update(ROWS, LENGTH)
    assert dry(half=half).forward == real.forward(ROWS, LENGTH), "an update leaves nothing behind"


def test_nothing_is_computed() -> None:
    with without_contents():
        large = build_model(TransformerModel(width=8192, heads=8, feedforward=65536), 100_000, 100_000)
    assert sum(p.numel() for p in large.parameters()) * 4 > 40e9


def test_the_optimiser_weighs_what_adam_keeps() -> None:
    real = model()
    rule = optimiser(list(real.parameters()), Train())
    words = torch.ones(2, 3, dtype=torch.long)
    sequence_loss(real, Batch(words, torch.tensor([3, 3]), words, words), 0.1).total.backward()
    rule.step()
    kept = sum(value.nbytes for state in rule.state.values() for value in state.values())
    found = dry()
    assert found.optimiser == kept == 8 * found.weights + 4 * found.tensors


def test_operations_are_those_counted_by_hand() -> None:
    layers = LAYERS * (2 * (4 * WIDTH**2 + 2 * WIDTH * INNER) + 4 * WIDTH**2)
    found = dry()
    assert found.products == 6 * ROWS * LENGTH * (layers + WIDTH * WORDS)
    assert found.attention == 3 * ROWS * LENGTH * 3 * LAYERS * 4 * LENGTH * WIDTH


def test_operations_do_not_depend_on_the_precision() -> None:
    assert dry(half=True).products == dry().products


def test_masks_are_a_byte_a_number_as_the_fused_kernel_keeps() -> None:
    places = 2 + 5 * LAYERS  # both embeddings; two residuals of each encoder layer, three of each decoder layer
    assert dry().forward.kept - dry(dropout=0.0).forward.kept == places * ROWS * LENGTH * WIDTH
    x, sizes = torch.ones(50, requires_grad=True), []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: sizes.append(t.nbytes) or t, lambda t: t):
        torch.native_dropout(x, 0.1, True)
    assert sizes == [50]


def test_every_place_of_dropout_is_found() -> None:
    kinds = {type(part) for part in model().modules() if "Dropout" in type(part).__name__}
    assert kinds == {Dropout, ResidualDropout}


def test_a_forward_pass_is_a_straight_line_in_tokens() -> None:
    with without_contents():
        run = DryRun(model(), Train(), half=True)
        few, some, many = (run.forward(rows, LENGTH) for rows in (52, 104, 260))
    for name in ("kept", "peak"):
        low, middle, high = (getattr(one, name) for one in (few, some, many))
        assert high == pytest.approx(middle + 3 * (middle - low), rel=1e-3)


def test_the_ledger_forgets_what_nobody_needs() -> None:
    with Ledger() as ledger:
        first = torch.ones(1000)
        view = first[:10]
        second = first * 2
        assert (ledger.now, ledger.peak) == (8000, 8000)
        del second
        assert ledger.now == 4000
        del first
        assert ledger.now == 4000, "a view holds all of it"
        del view
    assert (ledger.now, ledger.peak) == (0, 8000)
