"""Laws over whole models: Transformers and recurrent ones in all their variants.

A mechanism added to the catalogue is tried in every place of a model where it fits, without a line here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pytest
import torch
from safetensors.torch import load, save
from torch import Tensor, nn

from regard.attend import papers, watch
from regard.attend.bias import AdaptiveSpan
from regard.attend.select import Hard
from regard.models.build import build_model
from regard.models.mechanisms import SELECTIONS
from regard.models.seq2seq import Seq2Seq
from regard.models.settings import ModelSettings, RecurrentModel, TransformerModel
from regard.text.ids import PAD, START
from regard.train.saves import load_weights, weights_of

WORDS, STEPS = 11, 5
LENGTHS = torch.tensor([6, 4, 1])
REAL = torch.arange(6) < LENGTHS[:, None]
SOURCE = torch.randint(4, WORDS, (3, 6), generator=torch.Generator().manual_seed(1)).masked_fill(~REAL, PAD)
BEFORE = torch.randint(4, WORDS, (3, STEPS), generator=torch.Generator().manual_seed(2)).index_fill(
    1, torch.tensor(0), START
)

TRANSFORMER = TransformerModel(
    encoder_layers=1, decoder_layers=1, width=8, heads=2, feedforward=12, dropout=0.0, longest=32
)
RECURRENT = RecurrentModel(width=8, embedding=6, dropout=0.0, longest=32, reach=2)


@dataclass(frozen=True)
class Subject:
    """A model to be tested, built once."""

    name: str
    settings: ModelSettings

    def build(self, seed: int = 1) -> Seq2Seq:
        """What starts at zeros is stirred, padding too, or some laws would hold for nothing."""
        torch.manual_seed(seed)
        model = build_model(self.settings, WORDS, WORDS).eval()
        for parameter in model.parameters():
            if parameter.requires_grad and not bool(parameter.any()):
                nn.init.normal_(parameter, std=0.5)
        with torch.no_grad():
            for module in model.modules():
                if isinstance(module, nn.Embedding):
                    module.weight[PAD].normal_()
        return model

    @cached_property
    def model(self) -> Seq2Seq:
        return self.build()

    @cached_property
    def whole(self) -> Tensor:
        """All scores at once."""
        with torch.no_grad():
            return self.model(SOURCE, LENGTHS, BEFORE)  # type: ignore[no-any-return]

    def __str__(self) -> str:
        return self.name


Law = Callable[[Subject], None]


def padding_never_changes_the_answer(subject: Subject) -> None:
    """Neither longer padding, nor what stands there."""
    noise = torch.randint(4, WORDS, (3, 9), generator=torch.Generator().manual_seed(3))
    padded = torch.where(torch.arange(9) < LENGTHS[:, None], torch.nn.functional.pad(SOURCE, (0, 3)), noise)
    close(subject.model(padded, LENGTHS, BEFORE), subject.whole)


def alone_equals_in_a_batch(subject: Subject) -> None:
    for row, length in enumerate(LENGTHS.tolist()):
        one = slice(row, row + 1)
        close(subject.model(SOURCE[one, :length], LENGTHS[one], BEFORE[one]), subject.whole[one])


def step_by_step_equals_all_at_once(subject: Subject) -> None:
    state = subject.model.start(SOURCE, LENGTHS)
    for place in range(STEPS):
        scores, state = subject.model.step(state, BEFORE[:, place])
        close(scores, subject.whole[:, place])


def picked_rows_go_on_as_if_they_had_been_alone(subject: Subject) -> None:
    """Rows of other sources, then other words of the same sources: a beam does both."""
    model, words = subject.model, BEFORE
    state = model.start(SOURCE, LENGTHS)
    _, state = model.step(state, words[:, 0])
    rows = torch.tensor([2, 2, 0, 0, 1])
    state, source, lengths, words = state.pick(rows), SOURCE[rows], LENGTHS[rows], words[rows]
    words[:, 1] = torch.tensor([4, 5, 6, 7, 8])
    _, state = model.step(state, words[:, 1])
    rows = torch.tensor([1, 0, 3, 3, 4])  # every row keeps its source, and not its words
    state, words = state.pick(rows), words[rows]
    _, state = model.step(state, words[:, 2])
    rows = torch.tensor([3, 1])
    state, source, lengths, words = state.pick(rows), source[rows], lengths[rows], words[rows]
    scores, _ = model.step(state, words[:, 3])
    close(scores, model(source, lengths, words)[:, 3])


def future_cannot_change_the_past(subject: Subject) -> None:
    """Later words change no earlier score, bit for bit; and they do change their own."""
    changed = BEFORE.clone()
    changed[:, 3:] = 4 + (changed[:, 3:] - 3) % 7
    scores = subject.model(SOURCE, LENGTHS, changed)
    assert torch.equal(scores[:, :3], subject.whole[:, :3])
    assert bool((scores[:, 3:] != subject.whole[:, 3:]).any(-1).all())


def watching_changes_nothing(subject: Subject) -> None:
    with watch(subject.model) as seen:
        close(subject.model(SOURCE, LENGTHS, BEFORE), subject.whole)
    assert torch.equal(subject.model(SOURCE, LENGTHS, BEFORE), subject.whole)
    assert len({look.name for look in seen}) >= len(subject.model.sights())
    for sight in subject.model.sights():
        with watch(sight) as looks:
            subject.model(SOURCE, LENGTHS, BEFORE)
        assert sum(look.weights.shape[2] for look in looks) == STEPS


def saving_and_loading_changes_nothing(subject: Subject) -> None:
    other = subject.build(seed=2)
    assert not torch.equal(other(SOURCE, LENGTHS, BEFORE), subject.whole)
    load_weights(other, load(save(weights_of(subject.model))))
    assert torch.equal(other(SOURCE, LENGTHS, BEFORE), subject.whole)


def a_batch_teaches_what_its_sentences_teach(subject: Subject) -> None:
    """The gradient of a batch is the sum of its sentences', and every weight has one."""
    model = subject.model
    scale = torch.linspace(-1, 1, WORDS)
    with torch.enable_grad():
        together = _gradients(model, (model(SOURCE, LENGTHS, BEFORE) * scale).sum())
        alone = [torch.zeros_like(grad) for grad in together]
        for row, length in enumerate(LENGTHS.tolist()):
            one = slice(row, row + 1)
            scores = model(SOURCE[one, :length], LENGTHS[one], BEFORE[one])
            for total, grad in zip(alone, _gradients(model, (scores * scale).sum()), strict=True):
                total += grad
    size = max(float(grad.abs().max()) for grad in together)
    for one_grad, total in zip(together, alone, strict=True):
        close(one_grad / size, total / size, 1e-5)
    silent = (Hard, AdaptiveSpan)  # one is taught by reward, the other's span is longer than these sentences
    if not any(isinstance(module, silent) for module in model.modules()):
        still = [name for (name, _), grad in zip(_trained(model), together, strict=True) if not grad.any()]
        assert not still, f"nothing is learned by {still}"


def _trained(model: Seq2Seq) -> list[tuple[str, nn.Parameter]]:
    return [(name, weight) for name, weight in model.named_parameters() if weight.requires_grad]


def _gradients(model: Seq2Seq, loss: Tensor) -> list[Tensor]:
    weights = [weight for _, weight in _trained(model)]
    found = torch.autograd.grad(loss, weights, allow_unused=True)
    return [torch.zeros_like(w) if grad is None else grad for w, grad in zip(weights, found, strict=True)]


def close(got: Tensor, expected: Tensor, tolerance: float = 1e-5) -> None:
    apart = float((got - expected).abs().max())
    assert apart <= tolerance * max(1.0, float(expected.abs().max())), f"{apart:.1e} apart"


LAWS: tuple[Law, ...] = (
    padding_never_changes_the_answer,
    alone_equals_in_a_batch,
    step_by_step_equals_all_at_once,
    picked_rows_go_on_as_if_they_had_been_alone,
    future_cannot_change_the_past,
    watching_changes_nothing,
    saving_and_loading_changes_nothing,
    a_batch_teaches_what_its_sentences_teach,
)

PLACES = ("encoder_attention", "decoder_attention", "cross_attention")
REFUSED = {"yang", "conneau", "lee", "jaegle", "locatello"}  # ask questions of their own, or let queries compete
NOT_THERE = {  # mixtures of tokens would show the decoder words that are not said yet
    "decoder_attention": {"liu", "wang_linformer"},
}
TRANSFORMERS: dict[str, dict[str, Any]] = {
    "pre": {"encoder_layers": 2, "decoder_layers": 2},
    "post": {"encoder_layers": 2, "decoder_layers": 2, "norm": "post"},
    "learned": {"positions": "learned"},
    "no-places": {"positions": "none"},
    "post-learned-gelu": {"norm": "post", "positions": "learned", "activation": "gelu"},
    "gelu": {"activation": "gelu"},
    "swiglu": {"activation": "swiglu"},
    "post-swiglu-output": {"norm": "post", "activation": "swiglu", "tied": "output"},
    "tied-output": {"tied": "output"},
    "tied-none": {"tied": "none", "encoder_layers": 3, "decoder_layers": 1},
    "one-head": {"heads": 1},
    "tokens-everywhere": dict.fromkeys(PLACES, "sukhbaatar_memory"),
    "relative-everywhere": {**dict.fromkeys(PLACES, "dai"), "positions": "none"},
    "mindful-everywhere": {**dict.fromkeys(PLACES, "graves"), "decoder_layers": 2},
    "dropout-unused": {"dropout": 0.5, "attention_dropout": 0.5, "feedforward_dropout": 0.5},
}
RECURRENTS: dict[str, dict[str, Any]] = {
    "bahdanau": {"readout": "maxout"},
    "bahdanau-lstm-2": {"cell": "lstm", "layers": 2},
    "bahdanau-fed": {"input_feeding": True, "layers": 2},
    "rnn": {"cell": "rnn", "first_state": "mean"},
    "luong": {"wiring": "after", "attention": "luong_general", "cell": "lstm", "layers": 2, "bidirectional": False},
    "luong-fed": {"wiring": "after", "attention": "luong_general", "input_feeding": True, "bidirectional": False},
    "luong-local": {"wiring": "after", "attention": "luong_local_p", "bidirectional": False, "reverse": True},
    "luong-local-m": {"wiring": "after", "attention": "luong_local_m", "input_feeding": True},
    "sutskever": {"attention": "none", "cell": "lstm", "layers": 2, "bidirectional": False, "reverse": True},
    "sutskever-plain": {"attention": "none", "bidirectional": False, "readout": "plain", "wiring": "after"},
    "learned-start": {"first_state": "learned", "cell": "lstm"},
    "zero-start": {"first_state": "zeros", "wiring": "after"},
    "tied-all": {"tied": "all"},
    "tied-output": {"tied": "output", "wiring": "after"},
    "heads": {"attention": "vaswani", "wiring": "before"},
    **{f"select-{name}": {"select": name} for name in SELECTIONS if name != "competition"},
    "heads-sparsemax": {"attention": "vaswani", "select": "sparsemax", "wiring": "after"},
    "turing": {"attention": "graves", "bidirectional": False},
    "turing-fed": {"attention": "graves", "bidirectional": False, "wiring": "after", "input_feeding": True},
    "dropout-unused": {"dropout": 0.5, "layers": 2},
}


def variants() -> Iterator[Subject]:
    for name, changes in TRANSFORMERS.items():
        yield Subject(f"transformer-{name}", TRANSFORMER.model_copy(update=changes))
    for name, changes in RECURRENTS.items():
        yield Subject(f"recurrent-{name}", RECURRENT.model_copy(update=changes))


def catalogue() -> Iterator[Subject]:
    """Every mechanism in every place it fits."""
    for name in sorted(papers.CATALOGUE.keys() - REFUSED):
        for place in PLACES:
            if name not in NOT_THERE.get(place, ()):
                yield Subject(
                    f"{place.removesuffix('_attention')}-{name}", TRANSFORMER.model_copy(update={place: name})
                )
        changes = {"attention": name, "wiring": "after", "bidirectional": False}
        yield Subject(f"recurrent-after-{name}", RECURRENT.model_copy(update=changes))


@torch.no_grad()
def keep_all(subject: Subject) -> None:
    for law in LAWS:
        try:
            law(subject)
        except Exception as error:
            error.add_note(f"{subject} breaks the law: {law.__name__.replace('_', ' ')}")
            raise


@pytest.mark.parametrize("subject", [s for s in variants() if isinstance(s.settings, TransformerModel)], ids=str)
def test_transformers(subject: Subject) -> None:
    keep_all(subject)


@pytest.mark.parametrize("subject", [s for s in variants() if isinstance(s.settings, RecurrentModel)], ids=str)
def test_recurrent_models(subject: Subject) -> None:
    keep_all(subject)


@pytest.mark.unchecked
@pytest.mark.parametrize("subject", list(catalogue()), ids=str)
def test_catalogue(subject: Subject) -> None:
    keep_all(subject)


def test_what_is_ranged_over() -> None:
    names = [subject.name for subject in (*variants(), *catalogue())]
    assert len(names) == len(set(names)) > 150
    for name in REFUSED:
        for place in PLACES:
            with pytest.raises(ValueError, match=f"'{name}'.* cannot stand here|queries of '{name}' compete"):
                build_model(TRANSFORMER.model_copy(update={place: name}), WORDS, WORDS)
    for place, names_there in NOT_THERE.items():
        for name in names_there:
            with pytest.raises(ValueError, match="words not yet said"):
                build_model(TRANSFORMER.model_copy(update={place: name}), WORDS, WORDS)


class Nosy(nn.Module):
    """A read-out that looks at its neighbours: at the batch, at the future, at who asks."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind, self.weight = kind, torch.eye(8)[:WORDS]

    def forward(self, x: Tensor) -> Tensor:
        scores = nn.functional.pad(x, (0, WORDS - 8))
        if self.kind == "batch":
            return scores + scores.mean(0)
        if self.kind == "future":
            return scores + scores.mean(-2, keepdim=True) if x.dim() == 3 else scores
        return scores * (1 + x.dim())


@pytest.mark.parametrize(
    ("kind", "law"),
    [
        ("batch", alone_equals_in_a_batch),
        ("future", future_cannot_change_the_past),
        ("who", step_by_step_equals_all_at_once),
    ],
)
def test_a_law_that_is_broken_is_noticed(kind: str, law: Law) -> None:
    subject = Subject("broken", TRANSFORMER)
    subject.model.output = Nosy(kind)  # type: ignore[assignment]
    with torch.no_grad(), pytest.raises(AssertionError):
        law(subject)
