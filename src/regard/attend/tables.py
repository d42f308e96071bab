"""The two products of attention, query x keys and weights x values, in the form of which torch makes least ado."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


def products(
    queries: Float[Tensor, "b h q d"],
    keys: Float[Tensor, "#b h k d"],
    scale: float,
    added: Float[Tensor, "#b #h #q k"] | None = None,
) -> Float[Tensor, "b h q k"]:
    """All dot products times a factor, plus what is to be added, in one call that makes no table but theirs."""
    if queries.shape[:2] != keys.shape[:2] or queries.dtype != keys.dtype:  # one serves many, or autocast decides
        found = queries * scale @ keys.transpose(-2, -1)
        return found if added is None else found + added
    q, k = queries.flatten(0, 1), keys.flatten(0, 1).transpose(1, 2)
    if added is None:
        scores = torch.baddbmm(q.new_empty(()), q, k, beta=0, alpha=scale)
    else:
        scores = torch.baddbmm(_flat(added, *queries.shape[:2]), q, k, alpha=scale)
    return scores.view(*queries.shape[:3], keys.shape[2])


def read_by(weights: Float[Tensor, "b h q k"], values: Float[Tensor, "b h k v"]) -> Float[Tensor, "b h q v"]:
    """What these weights read."""
    if weights.shape[:2] != values.shape[:2] or weights.dtype != values.dtype:
        return weights @ values
    found = torch.bmm(weights.flatten(0, 1), values.flatten(0, 1))
    return found.view(*weights.shape[:3], values.shape[3])


def _flat(table: Tensor, batch: int, heads: int) -> Tensor:
    """A table for each head of each row, or one for all of them."""
    return table[0] if table.shape[:2] == (1, 1) else table.expand(batch, heads, -1, -1).flatten(0, 1)
