"""Optimisers, one per player, and their state as named tensors."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.optim import Adam, AdamW, Optimizer, RAdam

from regard.train.settings import Train
from regard.train.split import own, split_like, whole


def optimiser(parameters: list[nn.Parameter], settings: Train) -> Optimizer:
    """The update rule that these settings describe."""
    common = {"lr": settings.rate, "betas": settings.betas, "eps": settings.epsilon}
    if settings.optimiser == "radam":
        return RAdam(parameters, weight_decay=settings.decay, **common)  # type: ignore[arg-type]
    kind = Adam if settings.optimiser == "adam" else AdamW
    return kind(parameters, weight_decay=settings.decay, fused=True, **common)  # type: ignore[arg-type]


def as_tensors(optimisers: Mapping[str, Optimizer]) -> dict[str, Tensor]:
    """Everything the optimisers remember, under `player.number.name`."""
    return {
        f"{player}.{number}.{name}": whole(value).contiguous()
        for player, rule in optimisers.items()
        for number, remembered in rule.state_dict()["state"].items()
        for name, value in remembered.items()
    }


def restore(optimisers: Mapping[str, Optimizer], tensors: Mapping[str, Tensor]) -> None:
    """Put back what `as_tensors` gave."""
    for player, rule in optimisers.items():
        state: dict[int, dict[str, Tensor]] = {}
        parameters = [parameter for group in rule.param_groups for parameter in group["params"]]
        for key, value in tensors.items():
            owner, number, name = key.split(".")
            if owner == player:
                state.setdefault(int(number), {})[name] = split_like(parameters[int(number)], value)
        rule.load_state_dict({"state": state, "param_groups": rule.state_dict()["param_groups"]})


def set_rate(rule: Optimizer, rate: float) -> None:
    """The learning rate of the next update."""
    for group in rule.param_groups:
        group["lr"] = rate


def gradient_norm(parameters: list[nn.Parameter]) -> Tensor:
    """The norm over all gradients; not finite if any of them is not."""
    grads = [own(p.grad) for p in parameters if p.grad is not None]
    norm: Tensor = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(grads)))
    return norm
