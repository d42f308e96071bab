"""Maps by another library are the maps that torch's own make."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from regard.attend import maps


@pytest.fixture
def other(monkeypatch: pytest.MonkeyPatch) -> None:
    """oneDNN whatever the processor; of any size."""
    if not (torch.backends.mkldnn.is_available() and maps._is_right()):
        pytest.skip("there is no oneDNN")
    monkeypatch.setattr(maps, "by_onednn", lambda: True)
    monkeypatch.setattr(maps, "LARGE", 1)


def test_every_product_goes_through_it(other: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maps, "_product", lambda x, weight, bias: x.new_zeros(*x.shape[:-1], len(weight)))
    assert not maps.Linear(300, 250)(torch.randn(3, 300)).any()


@pytest.mark.usefixtures("other")
@pytest.mark.parametrize("shape", [(33,), (0, 33), (1, 33), (7, 33), (3, 4, 33), (2, 0, 33)])
@pytest.mark.parametrize("bias", [True, False])
def test_it_is_the_plain_map_with_its_gradients(shape: tuple[int, ...], bias: bool) -> None:
    layer = maps.Linear(33, 20, bias=bias)
    given = torch.randn(shape, requires_grad=True)
    arriving = torch.randn(*shape[:-1], 20)
    wanted = (given, *layer.parameters())
    plain = F.linear(given, layer.weight, layer.bias)
    torch.testing.assert_close(layer(given), plain, atol=1e-5, rtol=1e-5)
    for ours, theirs in zip(
        torch.autograd.grad(layer(given), wanted, arriving), torch.autograd.grad(plain, wanted, arriving), strict=True
    ):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)


@pytest.mark.usefixtures("other")
def test_rows_that_do_not_lie_side_by_side() -> None:
    layer = maps.Linear(33, 20)
    for given in (torch.randn(33, 7).t(), torch.randn(5, 7, 33).transpose(0, 1), torch.randn(4, 66)[:, ::2]):
        torch.testing.assert_close(layer(given), F.linear(given, layer.weight, layer.bias), atol=1e-5, rtol=1e-5)


@pytest.mark.usefixtures("other")
def test_gradients_of_gradients() -> None:
    def squared_slope(layer: nn.Linear, given: torch.Tensor) -> torch.Tensor:
        slope = torch.autograd.grad(layer(given).square().sum(), given, create_graph=True)[0]
        return torch.autograd.grad(slope.square().sum(), layer.weight)[0]

    ours, theirs = maps.Linear(33, 20), nn.Linear(33, 20)
    theirs.load_state_dict(ours.state_dict())
    given = torch.randn(6, 33, requires_grad=True)
    torch.testing.assert_close(squared_slope(ours, given), squared_slope(theirs, given), atol=1e-3, rtol=1e-4)


@pytest.mark.usefixtures("other")
def test_what_it_cannot_do_is_left_to_torch() -> None:
    layer = maps.Linear(33, 20)
    assert layer.double()(torch.randn(2, 33, dtype=torch.float64)).dtype == torch.float64
    layer.float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert layer(torch.randn(2, 33)).dtype == torch.bfloat16
    assert torch.func.vmap(layer)(torch.randn(3, 2, 33)).shape == (3, 2, 20)
    assert maps.Linear(33, 20, device="meta")(torch.randn(2, 33, device="meta")).shape == (2, 20)


@pytest.mark.skipif(not maps.by_onednn(), reason="another library multiplies here")
def test_a_row_does_not_depend_on_its_company() -> None:
    """From two rows on: one alone is multiplied as a vector."""
    layer, given = maps.Linear(512, 300), torch.randn(100, 512)
    with torch.no_grad():
        whole = layer(given)
        assert all(torch.equal(layer(given[:count]), whole[:count]) for count in (2, 3, 7, 16, 33, 64))
