"""Several translations of a sentence; guards against repetition; models that are out of order."""

from __future__ import annotations

import itertools
import random

import pytest
import torch
from pydantic import ValidationError

from regard.models.build import build_model
from regard.models.settings import RecurrentModel, TransformerModel
from regard.search.beam import search
from regard.search.lines import best
from regard.search.rank import repetitive
from regard.search.settings import Search
from regard.text.ids import END
from tests.search.models import ONE, Fixed, Whim, limited, sources


@pytest.mark.parametrize(("beam", "nbest"), [(4, 1), (4, 4), (12, 7)])
@pytest.mark.parametrize("ending", [-3.0, 0.0, 4.0])
def test_as_many_as_asked_and_all_different(ending: float, beam: int, nbest: int) -> None:
    source, lengths = sources(5, 30)
    for found in search(Whim(30, 2.0, ending), source, lengths, limited(6, beam=beam, nbest=nbest)):
        assert nbest <= len(found) <= beam
        assert len({h.words for h in found}) == len(found)
        assert found == sorted(found, key=lambda h: (not h.complete, -h.score))


def test_the_best_are_those_of_exhaustive_search() -> None:
    machine, limit = Whim(6, 1.0, 0.0), 4
    (found,) = search(machine, *ONE, limited(limit, beam=81, nbest=15, length_penalty=0.0))
    assert len([h for h in found if h.complete]) == 15  # 1 + 2 + 4 + 8 texts of two words and fewer than four places
    (few,) = search(machine, *ONE, limited(limit, beam=81, nbest=5, length_penalty=0.0))
    assert [h.words for h in few[:5]] == [h.words for h in found[:5]]


def test_no_more_than_there_are() -> None:
    (found,) = search(Fixed({END: 1.0}), *ONE, limited(9, beam=5, nbest=5))
    assert [h.words for h in found] == [()]


def test_a_beam_has_no_more_than_its_width() -> None:
    with pytest.raises(ValidationError, match=r"set search\.beam to 6"):
        Search(beam=5, nbest=6)
    assert Search(beam=5, nbest=6, sample=True).nbest == 6


def test_diversity_spreads() -> None:
    """The more it is asked for, the fewer beginnings translations share; the best is still scored by the model."""
    source, lengths = sources(12, 30)
    machine, shared = Whim(30, 2.0, 0.5), []
    for diversity in (0.0, 2.0, 4.0):
        settings = limited(8, beam=6, nbest=6, diversity=diversity, length_penalty=0.0)
        found = search(machine, source, lengths, settings)
        pairs = [pair for row in found for pair in itertools.combinations([h.words for h in row], 2)]
        shared.append(sum(a[:1] == b[:1] for a, b in pairs) / len(pairs))
        for row in found:
            assert len({h.words for h in row}) == len(row) >= 6
            assert all(h.log_prob == pytest.approx(sum(h.log_probs), abs=1e-4) for h in row)
    assert shared[0] > shared[1] > shared[2]


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("more", [{"beam": 1}, {"beam": 3}, {"beam": 1, "sample": True}])
def test_no_run_is_said_twice(size: int, more: dict[str, int]) -> None:
    machine = Fixed({4: 0.5, 5: 0.4, 6: 0.0999, END: 1e-4})
    plain = search(machine, *ONE, limited(12, beam=1))[0][0]
    assert plain.words == (4,) * 12
    (found,) = search(machine, *ONE, limited(12, no_repeat=size, **more))  # type: ignore[arg-type]
    for one in found:
        runs = [one.words[place : place + size] for place in range(len(one.words) - size + 1)]
        assert len(set(runs)) == len(runs)


def test_where_nothing_may_follow_what_was_said_is_kept() -> None:
    (found,) = search(Fixed({4: 0.6, 5: 0.4}), *ONE, limited(9, beam=2, no_repeat=1))
    assert not found[0].complete
    assert sorted(found[0].words) == [4, 5]


def test_what_says_one_thing_over_and_over_is_told() -> None:
    (found,) = search(Fixed({4: 0.9, END: 0.1}), *ONE, limited(30, beam=1))
    assert found[0].repeats
    chance = random.Random(1)
    assert not repetitive([chance.randrange(50) for _ in range(300)])
    assert not repetitive([7, 7, 7, 7, 8, 9])  # no, no, no, no
    assert repetitive([1, 2, 3] * 4)
    assert repetitive([9, 8, *[1, 2, 3, 4, 5] * 4, 6])
    assert not repetitive([1, 2, 3, 4, 5] * 3)
    assert not repetitive([])


@pytest.mark.parametrize("sample", [False, True])
@pytest.mark.parametrize(
    "settings",
    [
        TransformerModel(encoder_layers=1, decoder_layers=1, width=8, heads=1, feedforward=8),
        RecurrentModel(width=8, embedding=8),
    ],
)
def test_a_model_of_no_numbers_is_told(settings: TransformerModel | RecurrentModel, sample: bool) -> None:
    model = build_model(settings, 9, 9).eval()
    with torch.no_grad():
        model.output.weight.fill_(torch.nan)
    with pytest.raises(ValueError, match=r"not numbers \(NaN\).*earlier save"):
        search(model, *ONE, limited(4, sample=sample))


@pytest.mark.parametrize("width", [7, 64, 640, 5000, 5003])
def test_the_best_few_by_blocks_are_the_best_few(width: int) -> None:
    table = torch.randn(9, width, generator=torch.Generator().manual_seed(width))
    for count in (1, 4, 7):
        values, words = best(table, count)
        assert torch.equal(values, table.topk(count, 1).values)
        assert torch.equal(table.gather(1, words), values)


def test_never_longer_than_the_limit() -> None:
    """Nasty inputs: one word over and over, ids at the edge, all lengths; models that never end, or end at once."""
    chance = random.Random(2)
    torch.manual_seed(3)
    shape = TransformerModel(encoder_layers=1, decoder_layers=1, width=16, heads=2, feedforward=16, tied="none")
    for sharpness in (0.0, 30.0):
        model = build_model(shape, 40, 40).eval()
        with torch.no_grad():
            model.output.weight.mul_(sharpness)
        rows = [[chance.choice([1, 4, 39])] * chance.randint(1, 40) for _ in range(12)]
        lengths = torch.tensor([len(row) for row in rows])
        source = torch.tensor([row + [0] * (40 - len(row)) for row in rows])
        for found, length in zip(search(model, source, lengths, Search(beam=2)), lengths.tolist(), strict=True):
            assert all(len(h.words) + h.complete <= 3 * length + 20 for h in found)
