"""How ranks share a model: each has a copy of all of it, or each keeps a part (Rajbhandari et al. 2020, ZeRO)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import torch
from torch import Tensor, nn

from regard.train.optimise import gradient_norm
from regard.train.ranks import ALONE, Ranks
from regard.train.split import own

Stage = Literal["optimiser", "gradients", "all"]


class Spread(Protocol):
    """What the loop asks of either way."""

    @property
    def ranks(self) -> Ranks:
        """Who shares."""

    @property
    def lockstep(self) -> bool:
        """Whether all ranks must go through each batch together, because they need each other's weights for it."""

    def ready(self, model: nn.Module, blocks: Sequence[nn.Module]) -> None:
        """Before the first step; `blocks` are parts that are called as a whole."""

    def batch(self, model: nn.Module, last: bool) -> None:
        """Before each batch of an update."""

    def gather(self, parameters: Sequence[nn.Parameter]) -> Tensor:
        """After the last: gradients are those of all ranks' batches; their norm."""

    def readable(self, model: nn.Module, build: Callable[[], nn.Module]) -> nn.Module:
        """A whole model that one rank can use alone."""


@dataclass(frozen=True)
class Copies:
    """Every rank has all of it: gradients are summed once an update."""

    ranks: Ranks = ALONE
    lockstep: bool = False

    def ready(self, model: nn.Module, blocks: Sequence[nn.Module]) -> None:
        self.ranks.copy([value.detach() for value in model.state_dict(keep_vars=True).values()])

    def batch(self, model: nn.Module, last: bool) -> None:
        """Nothing to do."""

    def gather(self, parameters: Sequence[nn.Parameter]) -> Tensor:
        if self.ranks.size > 1:
            self._add(parameters)
        return gradient_norm(list(parameters))

    def _add(self, parameters: Sequence[nn.Parameter]) -> None:
        """A parameter that no rank used has no gradient afterwards either: optimisers tell none from zero."""
        used = parameters[0].new_tensor([float(p.grad is not None) for p in parameters])
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        self.ranks.add([used, *grads])
        for parameter, grad, count in zip(parameters, grads, used.tolist(), strict=True):
            parameter.grad = grad if count else None

    def readable(self, model: nn.Module, build: Callable[[], nn.Module]) -> nn.Module:
        return model


@dataclass(frozen=True)
class Shards:
    """Each rank keeps 1/size of the optimiser's memory, then of gradients, then of weights: ZeRO's three stages.

    By torch's `fully_shard`. Stage "optimiser" has whole gradients until an update's last batch, "gradients" sums and
    splits them after each batch, "all" also forgets a block's weights between its forward and its backward pass.
    """

    ranks: Ranks
    stage: Stage
    device: str = "cpu"
    lockstep: bool = True

    def ready(self, model: nn.Module, blocks: Sequence[nn.Module]) -> None:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import FSDPModule, fully_shard, register_fsdp_forward_method

        if not hasattr(FSDPModule, "set_force_sum_reduction_for_comms"):
            raise ValueError(
                f"torch {torch.__version__} cannot share weights as it must; train without --train.shard"
            )
        warnings.filterwarnings("ignore", message="FSDP2-wrapped module .* returned a view")  # and none is changed
        Copies(self.ranks).ready(model, blocks)
        mesh = init_device_mesh(self.device, (self.ranks.size,))
        for part in [*blocks, model]:
            fully_shard(part, mesh=mesh, reshard_after_forward=self.stage == "all" and part is not model)
        for part in model.modules():
            if isinstance(part, FSDPModule):
                part.set_gradient_divide_factor(1.0)  # the loss was divided already, once, by what all ranks have
                part.set_force_sum_reduction_for_comms(True)  # the only kind that gloo knows
        if hasattr(model, "states"):
            register_fsdp_forward_method(model, "states")

    def batch(self, model: Any, last: bool) -> None:
        model.set_requires_gradient_sync(last or self.stage != "optimiser")
        model.set_reshard_after_backward(last or self.stage == "all")
        model.set_is_last_backward(last)

    def gather(self, parameters: Sequence[nn.Parameter]) -> Tensor:
        grads = [own(p.grad) for p in parameters if p.grad is not None]
        squares = torch.stack(torch._foreach_norm(grads)).double().square().sum()
        self.ranks.add([squares])
        return squares.sqrt()

    def readable(self, model: nn.Module, build: Callable[[], nn.Module]) -> nn.Module:
        with torch.random.fork_rng():  # building draws weights; whoever measures with this draws as without
            return build()


def spread(ranks: Ranks, shard: Literal["no"] | Stage, device: str) -> Spread:
    """As the settings say; one rank alone has all of it."""
    return Copies(ranks) if shard == "no" or ranks.size == 1 else Shards(ranks, shard, device)
