"""Beam search against exhaustive search, greedy search, and itself one sentence at a time."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from regard.models.build import build_model
from regard.models.seq2seq import Seq2Seq
from regard.models.settings import RecurrentModel, TransformerModel
from regard.search.beam import Hypothesis, penalty, search
from regard.search.settings import Search
from regard.tasks.cross_entropy import cross_entropy
from regard.text.ids import END, PAD, START, UNKNOWN
from regard.train.optimise import optimiser
from regard.train.settings import Train
from tests.search.models import ONE, Fixed, Nowhere, Whim, limited, sources

KINDS = ["whim", "transformer", "recurrent"]
SAYABLE = (END, 4, 5)
SMALL = TransformerModel(
    encoder_layers=1, decoder_layers=1, width=16, heads=2, feedforward=16, dropout=0.0, tied="none"
)


def model(kind: str, vocabulary: int = 6, sharpness: float = 1.0, ending: float = 0.0) -> Seq2Seq:
    """A model that was taught nothing; the larger the sharpness, the surer it is all the same."""
    if kind == "whim":
        return Whim(vocabulary, sharpness, ending)
    torch.manual_seed(5)
    settings = RecurrentModel(width=16, embedding=16, dropout=0.0) if kind == "recurrent" else SMALL
    made = build_model(settings, vocabulary, vocabulary).eval()
    with torch.no_grad():
        made.output.weight.copy_(torch.randn(vocabulary, 16) * sharpness)
    return made


@torch.no_grad()
def log_prob(model: Seq2Seq, source: Tensor, length: Tensor, words: tuple[int, ...]) -> float:
    """Of these words after each other, all at once and without a search."""
    before = torch.tensor([[START, *words[:-1]]])
    log_probs = model(source[None, : int(length)], length[None], before).log_softmax(-1)
    return float(log_probs[0].gather(1, torch.tensor(words)[:, None]).sum())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("power", [-1.0, 0.0, 0.6, 2.0])
def test_a_beam_that_holds_everything_finds_the_best(power: float, kind: str) -> None:
    machine, limit = model(kind, sharpness=0.5), 4
    source, lengths = sources(3)
    found = search(machine, source, lengths, limited(limit, beam=len(SAYABLE) ** limit, length_penalty=power))
    for row, hypotheses in enumerate(found):
        every = []
        for size in range(limit):
            for words in itertools.product(SAYABLE[1:], repeat=size):
                value = log_prob(machine, source[row], lengths[row], (*words, END))
                every.append((value / ((5 + size + 1) / 6) ** power, value, words))
        score, value, words = max(every)
        best = hypotheses[0]
        assert best.words == words
        assert (best.score, best.log_prob) == pytest.approx((score, value), abs=1e-5)
        assert best.complete
        known = {words: (score, value) for score, value, words in every}
        for hypothesis in hypotheses:  # of all that were found, none is scored wrongly
            assert (hypothesis.score, hypothesis.log_prob) == pytest.approx(known[hypothesis.words], abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_beam_of_one_is_greedy(kind: str) -> None:
    machine = model(kind, 30, ending=0.7)
    source, lengths = sources(8, 30)
    complete = []
    for row, (found,) in enumerate(search(machine, source, lengths, limited(5, beam=1))):
        said: list[int] = []
        while len(said) < 5 and said[-1:] != [END]:
            with torch.no_grad():
                before = torch.tensor([[START, *said]])
                scores = machine(source[row : row + 1, : lengths[row]], lengths[row : row + 1], before)[0, -1]
            scores[[PAD, START, UNKNOWN]] = -torch.inf
            said.append(int(scores.argmax()))
        assert (*found.words, *([END] if found.complete else [])) == tuple(said)
        complete.append(found.complete)
    assert len(set(complete)) == 2 or kind != "whim"  # some ended, some were cut: both are tested


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("beam", [1, 3, 5])
def test_together_equals_one_by_one(beam: int, kind: str) -> None:
    machine = model(kind, 30, sharpness=0.7, ending=2.0)
    source, lengths = sources(9, 30)
    settings = Search(beam=beam, longest_ratio=1.5, longest_extra=2)  # a limit of its own for each
    together = search(machine, source, lengths, settings)
    for row in range(9):
        (alone,) = search(machine, source[row : row + 1, : lengths[row]], lengths[row : row + 1], settings)
        assert [h.words for h in alone] == [h.words for h in together[row]]
        assert [h.complete for h in alone] == [h.complete for h in together[row]]
        for one, other in zip(alone, together[row], strict=True):
            assert (one.log_prob, one.score) == pytest.approx((other.log_prob, other.score), abs=1e-4)


@pytest.mark.parametrize("power", [0.0, 0.6, 1.0])
def test_what_is_found_is_what_it_says(power: float) -> None:
    machine = model("whim", 30, sharpness=2.0, ending=2.0)
    source, lengths = sources(5, 30)
    for row, hypotheses in enumerate(search(machine, source, lengths, limited(9, beam=4, length_penalty=power))):
        assert 1 <= len(hypotheses) <= 4
        assert hypotheses == sorted(hypotheses, key=lambda h: -h.score)
        assert len({h.words for h in hypotheses}) == len(hypotheses)
        for found in hypotheses:
            words = (*found.words, END) if found.complete else found.words
            assert found.log_prob == pytest.approx(log_prob(machine, source[row], lengths[row], words), abs=1e-4)
            assert found.score == pytest.approx(found.log_prob / ((5 + len(words)) / 6) ** power)
            assert not set(found.words) & {PAD, UNKNOWN, START, END}


def test_the_penalty_is_the_papers() -> None:
    assert penalty(1, 0.6) == 1.0
    assert penalty(7, 0.6) == pytest.approx(2**0.6)
    assert penalty(100, 0.0) == 1.0
    assert penalty(13, 1.0) == 3.0


def test_a_longer_penalty_prefers_longer_translations() -> None:
    machine = model("whim", 8)
    source, lengths = sources(20, 8)
    sizes = []
    for power in (0.0, 1.0, 3.0):
        found = search(machine, source, lengths, limited(8, beam=20, length_penalty=power))
        sizes.append(sum(len(hypotheses[0].words) for hypotheses in found))
    assert sizes[0] < sizes[1] < sizes[2]


def test_no_more_words_than_a_model_has_places() -> None:
    settings = SMALL.model_copy(update={"positions": "learned", "longest": 8})
    machine = build_model(settings, 30, 30).eval()
    with torch.no_grad():
        machine.output.weight[END] = 0.0
        machine.output.weight[4:] = 5 * torch.randn(26, 16)
    assert machine.longest == 8
    for (only,) in search(machine, *sources(4, 30), Search(beam=3)):
        assert (len(only.words), only.complete) == (8, False)


def test_words_never_said_are_never_said() -> None:
    (found,) = search(Fixed({PAD: 0.3, UNKNOWN: 0.3, START: 0.3, 4: 0.06, END: 0.04}), *ONE, limited(3, beam=5))
    ending = pytest.approx(-3.2189, abs=1e-4)
    assert (found[0].words, found[0].log_prob, found[0].score, found[0].log_probs) == ((), ending, ending, (ending,))
    assert {word for h in found for word in h.words} == {4}


def test_a_model_that_only_ends_says_nothing() -> None:
    for beam in (1, 4):
        (found,) = search(Fixed({END: 1.0}), *ONE, Search(beam=beam))
        assert found == [Hypothesis((), 0.0, 0.0, log_probs=(0.0,))]


def test_it_stops_when_nothing_better_can_come() -> None:
    """With END at 0.9 the empty answer is best; longer ones are not waited for."""
    calls = []

    class Counted(Fixed):
        def step(self, state: Any, words: Tensor) -> tuple[Tensor, Nowhere]:
            calls.append(len(words))
            return super().step(state, words)

    (found,) = search(Counted({END: 0.9, 4: 0.05, 5: 0.05}), *ONE, limited(500, beam=4, length_penalty=0.0))
    assert found[0].words == ()
    assert len(calls) <= 2


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("ending", [{}, {END: 1e-4}])
def test_a_limit_reached_is_said(beam: int, ending: dict[int, float]) -> None:
    source, lengths = sources(4, 30)
    machine = Fixed({4: 0.4, 5: 0.3, 6: 0.2, 7: 0.1 - 1e-4, **ending})
    found = search(machine, source, lengths, Search(beam=beam, longest_ratio=2, longest_extra=3))
    for (only,), length in zip(found, lengths.tolist(), strict=True):
        assert not only.complete
        assert only.words == (4,) * (2 * length + 3)
        assert only.log_prob == pytest.approx(len(only.words) * math.log(0.4), rel=1e-3)
        assert only.score == pytest.approx(only.log_prob / penalty(len(only.words), 0.6))


def test_beams_wider_than_what_there_is_to_say() -> None:
    """Three words and a beam of 50: rows come as they can be filled."""
    (found,) = search(Fixed({END: 0.1, 4: 0.7, 5: 0.2}), *ONE, limited(3, beam=50, length_penalty=0.0))
    assert [h.words for h in found] == [(), (4,), (4, 4), (5,), (4, 5), (5, 4), (5, 5)]


def test_early_ends_do_not_end_the_search() -> None:
    """Two poor hypotheses end first; the sentence that is likelier than both is still waited for."""
    likely = {(): (4, 0.8), (4,): (4, 0.8), (4, 4): (4, 0.8), (4, 4, 4): (END, 1.0)}

    class Patient(Whim):
        def fancy(self, source: tuple[int, ...], words: tuple[int, ...]) -> Tensor:
            word, share = likely.get(words[1:], (5, 0.5))
            scores = torch.full((6,), -torch.inf)
            scores[END], scores[word] = math.log(max(1 - share, 1e-9)), math.log(share)
            return scores

    for beam, power in itertools.product((1, 2, 3, 5), (0.0, 0.6)):
        (found,) = search(Patient(6, 0, 0), *ONE, limited(9, beam=beam, length_penalty=power))
        assert found[0].words == (4, 4, 4)
        assert found[0].log_prob == pytest.approx(3 * math.log(0.8), abs=1e-6)


def test_what_may_still_become_the_best_is_waited_for() -> None:
    """As likely as the short one and six words longer: with a length penalty it wins, though not before its end."""

    class Wordy(Whim):
        def fancy(self, source: tuple[int, ...], words: tuple[int, ...]) -> Tensor:
            scores = torch.full((6,), -torch.inf)
            scores[END] = 0.0 if len(words) in (1, 7) else -torch.inf
            scores[4] = 0.0 if len(words) < 7 else -torch.inf
            return scores

    for beam in (2, 4):
        (found,) = search(Wordy(6, 0, 0), *ONE, limited(9, beam=beam, length_penalty=1.0))
        assert [h.words for h in found] == [(4,) * 6, ()]


def test_a_wider_beam_finds_no_worse_on_average() -> None:
    """On a model that has learned something: copying, for a short while."""
    torch.manual_seed(2)
    machine = build_model(SMALL.model_copy(update={"width": 32, "feedforward": 64}), 14, 14)
    rule = optimiser(list(machine.parameters()), Train(rate=5e-3))
    means: list[list[float]] = []
    for steps in (60, 100):
        for _ in range(steps):
            words = torch.randint(4, 14, (32, 6))
            before, after = F.pad(words, (1, 0), value=START), F.pad(words, (0, 1), value=END)
            states = machine.train().states(words, torch.full((32,), 6), before)
            loss, _ = cross_entropy(states.flatten(0, 1), machine.output.weight, after.flatten(), 0.1)
            rule.zero_grad()
            (loss / after.numel()).backward()  # type: ignore[no-untyped-call]
            rule.step()
        source, lengths = torch.randint(4, 14, (40, 6)), torch.full((40,), 6)
        means.append([])
        for beam in (1, 2, 4, 8):
            found = search(machine.eval(), source, lengths, limited(12, beam=beam, length_penalty=0.0))
            means[-1].append(sum(hypotheses[0].log_prob for hypotheses in found) / 40)
    for half in means:
        assert all(wider >= narrower - 1e-6 for narrower, wider in itertools.pairwise(half))  # sums round as they may
    assert means[0][-1] > means[0][0] + 0.01  # it was not sure of itself yet, and a wider beam found better
