"""Recurrent models: laws over every mechanism that fits, loops by hand against plain ones, sizes, learning."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attend import papers, watch
from regard.attend.mechanism import Attention
from regard.models.recurrence import along as reading
from regard.models.recurrence.sight import Place
from regard.models.recurrence.wiring import After, Before, Wiring
from regard.models.recurrent import Recurrent, build_recurrent
from regard.models.settings import RecurrentModel
from regard.text.ids import END, PAD, START

SMALL = RecurrentModel(width=8, embedding=6, longest=20, reach=2, dropout=0.0)
SOURCE, LENGTHS = torch.randint(4, 20, (4, 7), generator=torch.Generator().manual_seed(1)), torch.tensor([7, 4, 6, 1])
BEFORE = torch.randint(4, 20, (4, 5), generator=torch.Generator().manual_seed(2))
NOT_HERE = {"yang", "conneau", "lee", "jaegle", "locatello"}  # no queries of their own, or queries that compete
ONE_WIDTH = {"luong_dot", "content", "kitaev", "velickovic"}  # of queries and keys
ATTENTIONS = pytest.mark.parametrize(
    "attention", ["none", *(name for name in papers.CATALOGUE if name not in NOT_HERE)]
)
WIRINGS = pytest.mark.parametrize("wiring", ["before", "after"])
FEEDING = pytest.mark.parametrize("feeding", [False, True], ids=["unfed", "fed"])


def build(seed: int = 0, words: int = 20, **changes: Any) -> Recurrent:
    torch.manual_seed(seed)
    changes.setdefault("bidirectional", changes.get("attention") not in ONE_WIDTH)
    return build_recurrent(SMALL.model_copy(update=changes), words, words).eval()


def stepped(model: Recurrent, source: Tensor, lengths: Tensor, before: Tensor) -> Tensor:
    state, logits = model.start(source, lengths), []
    for words in before.unbind(1):
        answer, state = model.step(state, words)
        logits.append(answer)
    return torch.stack(logits, 1)


def close(got: Tensor, expected: Tensor, tolerance: float = 2e-6) -> bool:
    got, expected = got.detach(), expected.detach()
    return bool((got - expected).abs().max() <= tolerance * max(1.0, float(expected.abs().max())))


@pytest.fixture
def plainly(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run something with no loop by hand."""

    def run(what: Any) -> Any:
        with monkeypatch.context() as patch:
            for kind in (Before, After):
                patch.setattr(kind, "swift", lambda *_: None)
            patch.setattr(reading.by_hand, "along", lambda *_: None)
            return what()

    return run


@ATTENTIONS
@WIRINGS
@FEEDING
def test_laws(attention: str, wiring: str, feeding: bool) -> None:
    """Steps equal all at once; padding and company change nothing; watched it answers the same, each step seen."""
    for cell, layers in (("gru", 1), ("lstm", 2)):
        model = build(attention=attention, wiring=wiring, input_feeding=feeding, cell=cell, layers=layers)
        with torch.no_grad():
            whole = model(SOURCE, LENGTHS, BEFORE)
            assert close(stepped(model, SOURCE, LENGTHS, BEFORE), whole)
            padded = SOURCE.masked_fill(torch.arange(7) >= LENGTHS[:, None], PAD)
            assert close(model(F.pad(padded, (0, 3), value=7), LENGTHS, BEFORE), whole)
            assert close(model(SOURCE[1:2, :4], LENGTHS[1:2], BEFORE[1:2, :3]), whole[1:2, :3])
            with watch(model) as seen:
                assert close(model(SOURCE, LENGTHS, BEFORE), whole)
        if attention != "none":
            weights = torch.cat([one.weights for one in seen], 2)
            assert weights.shape[2] == BEFORE.shape[1]


@ATTENTIONS
def test_a_beam_may_be_reordered(attention: str) -> None:
    model, rows = build(attention=attention, input_feeding=True), torch.tensor([2, 0, 0])
    with torch.no_grad():
        state = model.start(SOURCE, LENGTHS)
        _, state = model.step(state, BEFORE[:, 0])
        again, _ = model.step(state.pick(rows), BEFORE[rows, 1])
        assert close(again, stepped(model, SOURCE[rows], LENGTHS[rows], BEFORE[rows, :2])[:, 1])


def test_a_beam_that_stays_with_its_sources_copies_no_memory() -> None:
    model, twice = build(), torch.tensor([0, 0, 1, 1])
    state = model.start(SOURCE[:2], LENGTHS[:2]).pick(twice)
    assert state.pick(torch.tensor([1, 0, 3, 3])).memory is state.memory
    fewer = state.pick(torch.tensor([2, 3])).memory
    assert fewer is not None
    assert len(fewer.keys) == 2


@pytest.mark.parametrize("attention", ["bahdanau", "luong_general", "luong_concat", "luong_dot", "none"])
@WIRINGS
@FEEDING
def test_loops_by_hand_equal_plain_ones(attention: str, wiring: str, feeding: bool, plainly: Any) -> None:
    """In float64 with their gradients, dropout on; in float32 within rounding."""
    for cell, layers in (("gru", 1), ("lstm", 3), ("rnn", 2)):
        model = build(
            attention=attention, wiring=wiring, input_feeding=feeding, cell=cell, layers=layers, dropout=0.4
        )
        with torch.no_grad():
            assert close(model(SOURCE, LENGTHS, BEFORE), plainly(lambda model=model: model(SOURCE, LENGTHS, BEFORE)))
        model.double().train()
        learned = [p for p in model.parameters() if p.requires_grad]

        def found(model: Recurrent = model, learned: list[nn.Parameter] = learned) -> list[Tensor]:
            torch.manual_seed(3)
            states = model.states(SOURCE, LENGTHS, BEFORE)
            loss = (states * torch.randn(states.shape)).sum()
            return [states, *torch.autograd.grad(loss, learned, materialize_grads=True, allow_unused=True)]

        for fast, slow in zip(found(), plainly(found), strict=True):
            assert (fast - slow).abs().max() < 1e-9


def spied(model: Recurrent, monkeypatch: pytest.MonkeyPatch, training: bool = False) -> bool:
    """Whether the plain loop was run."""
    called = []
    plain = Wiring.plain
    monkeypatch.setattr(Wiring, "plain", lambda self, *given: called.append(1) or plain(self, *given))
    model.train(training)(SOURCE, LENGTHS, BEFORE)
    return bool(called)


@pytest.mark.parametrize(
    ("changes", "plain"),
    [
        ({}, False),
        ({"attention": "luong_general", "wiring": "after", "input_feeding": True}, False),
        ({"attention": "none", "wiring": "before"}, False),
        ({"attention": "luong_local_p", "wiring": "after"}, False),  # all looks at once
        ({"attention": "luong_local_p", "wiring": "after", "input_feeding": True}, True),
        ({"attention": "martins"}, True),
        ({"attention": "vaswani"}, True),
        ({"input_feeding": True, "readout": "maxout"}, True),
    ],
)
def test_the_loop_by_hand_is_chosen_by_the_parts(
    changes: dict[str, Any], plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert spied(build(**changes), monkeypatch) is plain


def test_attention_with_dropout_or_a_scope_is_read_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    model = build()
    attention = model.wiring.sight.mechanism
    assert isinstance(attention, Attention)
    attention.dropout = 0.5
    assert spied(model, monkeypatch, training=True)
    attention.dropout, attention.scope = 0.0, papers.luong_local_m(1, 1).scope
    assert spied(model, monkeypatch)


@WIRINGS
@FEEDING
def test_under_autocast_it_is_close_to_full_precision(wiring: str, feeding: bool) -> None:
    model = build(width=32, embedding=16, wiring=wiring, input_feeding=feeding, cell="lstm", layers=2).train()
    expected = model.states(SOURCE, LENGTHS, BEFORE)
    expected.square().sum().backward()
    wanted = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    model.zero_grad()
    with torch.autocast("cpu", torch.bfloat16):
        states = model.states(SOURCE, LENGTHS, BEFORE)
    states.float().square().sum().backward()
    assert (states - expected).abs().max() < 0.02
    got = [p.grad for p in model.parameters() if p.grad is not None]
    near = F.cosine_similarity(torch.cat([g.flatten() for g in got]), torch.cat([g.flatten() for g in wanted]), 0)
    assert near > 0.995


@pytest.mark.parametrize("first", ["last", "mean", "zeros", "learned"])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_where_the_decoder_starts(first: str, bidirectional: bool) -> None:
    model = build(first_state=first, bidirectional=bidirectional, cell="lstm", layers=2)
    start = model.start(SOURCE, LENGTHS)
    read = model.encoder(SOURCE, LENGTHS)
    assert [state.shape for state in start.cells] == [(4, 16), (4, 16)]
    if first == "zeros" or first == "learned":
        assert not any(state.any() for state in start.cells)
        assert any(p.requires_grad for p in model.first.parameters()) is (first == "learned")
    if first == "last" and not bidirectional:
        assert torch.equal(start.cells[1], read.last[1])
        assert close(start.cells[1][1, :8], read.states[1, 3])  # the fourth and last word of row 1
    if first == "mean":
        mean = read.states[1, :4].mean(0)
        assert close(start.cells[0][1], model.first.layers[0](mean).tanh())  # type: ignore[index,operator,union-attr]


def test_reading_from_the_end_is_reading_the_source_turned() -> None:
    forwards, backwards = (build(attention="none", bidirectional=False, reverse=reverse) for reverse in (False, True))
    turned = reading.turned(SOURCE.unsqueeze(-1).float(), LENGTHS).squeeze(-1).long()
    assert not torch.equal(turned, SOURCE)
    assert close(backwards(SOURCE, LENGTHS, BEFORE), forwards(turned, LENGTHS, BEFORE))
    words = build(attention="bahdanau", bidirectional=False, reverse=True)
    with torch.no_grad(), watch(words) as seen:
        words(SOURCE, LENGTHS, BEFORE)
    assert not seen[0].weights[1, :, :, 4:].any()  # weights stand in the order of the words


def count(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


@pytest.mark.parametrize("cell", ["lstm", "gru", "rnn"])
def test_sizes_of_both_wirings(cell: str) -> None:
    """Before: the cell is given the context; after: only the read-out is."""
    gates, width, embedding, words = {"lstm": 4, "gru": 3, "rnn": 1}[cell], 8, 6, 20
    parts = 2 if cell == "lstm" else 1
    one_cell = lambda given: gates * width * (given + width + 2)  # noqa: E731
    look = width * width + width + 2 * width * width + width
    first = (4 * width * parts // 2 + 1) * width * parts
    common = 2 * words * embedding + 2 * one_cell(embedding) + look + first + words * width
    before, after = (build(cell=cell, wiring=wiring) for wiring in ("before", "after"))
    assert count(before) == common + one_cell(embedding + 2 * width) + (3 * width + embedding + 1) * width
    assert count(after) == common + one_cell(embedding) + (3 * width + 1) * width
    fed = build(cell=cell, wiring="after", input_feeding=True)
    assert count(fed) - count(after) == gates * width * width


def test_tables_that_are_one() -> None:
    three, two, one = (build(tied=tied, width=8, embedding=8) for tied in ("none", "output", "all"))
    assert count(three) - count(two) == count(two) - count(one) == 20 * 8
    assert one.encoder.embedding.weight is one.embedding.weight is one.output.weight


def test_hard_attention_tells_how_likely_its_choices_were() -> None:
    """The log-probability of every step, with a gradient for the scores: what REINFORCE multiplies by the reward."""
    model = build(attention="xu_hard").train()
    attention = model.wiring.sight.mechanism
    assert isinstance(attention, Attention)
    told = model.unrolled(SOURCE, LENGTHS, BEFORE)
    assert isinstance(told.log_prob, Tensor)
    assert told.log_prob.shape == BEFORE.shape
    assert (told.log_prob <= 0).all()
    assert (told.log_prob[3] == 0).all()  # one word to choose from
    (grad,) = torch.autograd.grad(told.log_prob.sum(), attention.score.strength)  # type: ignore[arg-type]
    assert grad.abs().sum() > 0
    assert build().unrolled(SOURCE, LENGTHS, BEFORE).log_prob == 0.0


def test_a_turing_machine_walks_from_where_it_was() -> None:
    model = build(attention="graves")
    state = model.start(SOURCE, LENGTHS)
    for words in BEFORE.unbind(1)[:3]:
        _, state = model.step(state, words)
    assert isinstance(state, Place)
    assert state.past is not None
    assert state.past.shape == (4, 1, 3, 7)
    assert build().step(build().start(SOURCE, LENGTHS), BEFORE[:, 0])[1].past is None


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"attention": "luong_dot", "bidirectional": True},
            r"'luong_dot' does not fit .* 8 and an encoder state 16 wide",
        ),
        ({"attention": "locatello"}, "queries of 'locatello' compete, and here they come one by one; try bahdanau"),
        ({"attention": "lee"}, "'lee' asks questions of its own"),
        ({"attention": "bahdanou"}, "perhaps you meant bahdanau"),
        ({"reverse": True}, "reverse changes nothing .* set bidirectional = false"),
        (
            {"tied": "output", "readout": "plain"},
            "a plain read-out is 30 wide and an embedding 6; set readout = 'tanh'",
        ),
    ],
)
def test_what_does_not_fit_is_told_before_training(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        build(**changes)


def test_one_table_for_two_vocabularies_is_refused() -> None:
    with pytest.raises(ValueError, match=r"one vocabulary, and these have 20 and 30 pieces; set data.joint = true"):
        build_recurrent(SMALL.model_copy(update={"tied": "all"}), 20, 30)


def test_a_source_longer_than_location_reaches_is_told() -> None:
    model = build(attention="luong_location", longest=5)
    with pytest.raises(ValueError, match="reach 5 places and this memory has 7 keys"):
        model(SOURCE, LENGTHS, BEFORE)


@WIRINGS
def test_it_learns_to_turn_a_sequence_around(wiring: str) -> None:
    model = build(wiring=wiring, width=32, embedding=16, words=9).train()
    rule, draw, lengths = (
        torch.optim.Adam(model.parameters(), 1e-2),
        torch.Generator().manual_seed(0),
        torch.full((32,), 4),
    )
    losses = []
    for _ in range(80):
        source = torch.randint(4, 9, (32, 4), generator=draw)
        before, after = F.pad(source.flip(1), (1, 0), value=START), F.pad(source.flip(1), (0, 1), value=END)
        loss = F.cross_entropy(model(source, lengths, before).flatten(0, 1), after.flatten())
        rule.zero_grad()
        loss.backward()
        rule.step()
        losses.append(float(loss.detach()))
    assert losses[0] > 1.9
    assert losses[-1] < 0.1
