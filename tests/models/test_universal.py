"""One layer again and again: what its steps are, what they are told, and the laws that hold for any depth (H10)."""

from __future__ import annotations

import pytest
import torch

from regard.attend.scope import lengths
from regard.attend.watch import watch
from regard.models.labeller import Labeller, build_labeller, depth_of
from regard.models.labeller_settings import CellModel, LayersModel, PonderingModel, UniversalModel
from regard.models.universal import Universal

SMALL = {"width": 16, "heads": 2, "feedforward": 24}
KINDS = {
    "layers": LayersModel(**SMALL, layers=3),
    "universal": UniversalModel(**SMALL, steps=3),
    "pre-norm": UniversalModel(**SMALL, steps=3, norm="pre"),
    "pondering": PonderingModel(**SMALL, most=5, eager=-0.5),
    "cell": CellModel(width=16, most=5, eager=-0.5),
}


def labeller(name: str) -> Labeller:
    torch.manual_seed(1)
    return build_labeller(KINDS[name], 12, 0, 7).eval()


def items(*shape: int) -> torch.Tensor:
    return torch.randint(1, 12, (*shape, 1), generator=torch.Generator().manual_seed(5))


def asked(rows: int, count: int) -> torch.Tensor:
    return torch.arange(count).expand(rows, -1)


def test_its_steps_are_the_papers_formulas():
    """A = LayerNorm(x + Attention(x)), H = LayerNorm(A + Transition(A)), with x = H + places + time at every step."""
    torch.manual_seed(1)
    depth = depth_of(UniversalModel(**SMALL, steps=3))
    assert isinstance(depth, Universal)
    x = start = torch.randn(2, 5, 16)
    layer = depth.layer
    for step in range(3):
        x = x + depth.places(5, 4) + depth.times(1, step)
        attended = layer.around_attention.norm(x + layer.attention(x, layer.attention.memory(x)))
        x = layer.around_feedforward.norm(attended + layer.feedforward(attended))
    torch.testing.assert_close(depth(start, at=4).states, x)


def test_more_steps_need_no_more_weights():
    sizes = {
        steps: sum(p.numel() for p in depth_of(UniversalModel(**SMALL, steps=steps)).parameters())
        for steps in (0, 1, 9)
    }
    assert len(set(sizes.values())) == 1
    one = sum(p.numel() for p in depth_of(LayersModel(**SMALL, layers=1)).parameters())
    assert sizes[9] == one


def test_one_step_is_one_layer_and_eager_pondering_is_one_step():
    once, ponders = depth_of(UniversalModel(**SMALL, steps=1)), depth_of(PonderingModel(**SMALL, most=9, eager=99.0))
    assert isinstance(once, Universal)
    assert isinstance(ponders, Universal)
    once.layer.load_state_dict(ponders.layer.state_dict())
    x = torch.randn(2, 5, 16)
    torch.testing.assert_close(once(x).states, ponders(x).states)
    assert ponders(x).cost.unique().tolist() == [2]


@pytest.mark.parametrize("name", list(KINDS))
def test_an_example_alone_equals_the_same_in_a_batch(name):
    model, given = labeller(name), items(4, 6)
    together = model(given, asked(4, 6))
    for row in range(4):
        alone = model(given[row : row + 1], asked(1, 6))
        torch.testing.assert_close(alone.scores[0], together.scores[row], atol=1e-5, rtol=1e-4)
        assert torch.equal(alone.pondered.steps[0], together.pondered.steps[row])


@pytest.mark.parametrize("name", ["layers", "universal", "pre-norm", "pondering"])
def test_padding_changes_nothing(name):
    model, given = labeller(name), items(2, 6)
    padded = torch.cat((given, torch.randint(1, 12, (2, 3, 1))), 1)
    before = model(given, asked(2, 6))
    after = model(padded, asked(2, 6), lengths(torch.tensor([6, 6])))
    torch.testing.assert_close(before.scores, after.scores, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", ["layers", "universal", "pondering"])
def test_watching_changes_nothing_and_sees_every_step(name):
    model, given = labeller(name), items(2, 6)
    before = model(given, asked(2, 6))
    with watch(model) as seen:
        after = model(given, asked(2, 6))
    torch.testing.assert_close(before.scores, after.scores, atol=1e-6, rtol=1e-5)
    assert len(seen) == int(after.pondered.steps.max())


@pytest.mark.parametrize("kind", [LayersModel, UniversalModel, PonderingModel])
def test_without_places_a_set_has_no_order(kind):
    torch.manual_seed(1)
    model = build_labeller(kind(**SMALL, places="none"), 12, 0, 0).eval()
    given, order = items(3, 7), torch.randperm(7)
    before, after = model(given, asked(3, 7)), model(given[:, order], asked(3, 7))
    torch.testing.assert_close(before.scores[..., order], after.scores, atol=1e-6, rtol=1e-5)


def test_with_places_order_matters():
    model, given = labeller("universal"), items(3, 7)
    before, after = model(given, asked(3, 7)), model(given.flip(1), asked(3, 7))
    assert not torch.allclose(before.scores.flip(1), after.scores, atol=1e-3)


def test_it_is_told_which_step_it_is():
    told, untold = (depth_of(UniversalModel(**SMALL, steps=3, times=times)) for times in (True, False))
    untold.load_state_dict(told.state_dict())
    x = torch.randn(2, 5, 16)
    assert not torch.allclose(told(x).states, untold(x).states, atol=1e-3)


def test_the_other_transition_sees_neighbours_only():
    torch.manual_seed(1)
    depth = depth_of(UniversalModel(**SMALL, steps=1, transition="convolution"))
    assert isinstance(depth, Universal)
    x = torch.randn(1, 9, 16)
    other = x.clone()
    other[0, 4] += 1
    changed = (depth.layer.feedforward(x) - depth.layer.feedforward(other)).abs().sum(-1)[0] > 1e-6
    assert changed.nonzero().flatten().tolist() == [3, 4, 5]


@pytest.mark.parametrize("name", list(KINDS))
def test_every_weight_learns(name):
    model = labeller(name).train()
    found = model(items(8, 6), asked(8, 6))
    (found.scores.logsumexp(-1).sum() + found.pondered.cost.sum()).backward()
    assert [key for key, weight in model.named_parameters() if weight.grad is None] == []
