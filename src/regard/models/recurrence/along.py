"""A cell along a whole sequence, from its beginning or from its end."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.models.recurrence.by_hand import cells as by_hand
from regard.models.recurrence.cells import Cell
from regard.models.seq2seq import Lengths

Sequences = Float[Tensor, "b n _"]
States = Float[Tensor, "b n _"]


def along(
    cell: Cell, x: Sequences, first: Float[Tensor, "b s"] | None = None, lengths: Lengths | None = None
) -> tuple[Sequences, States]:
    """What the cell shows, and its whole states, at every place; with `lengths` it reads from each row's end.

    States of padding mean nothing, and no word's state has seen them.
    """
    first = x.new_zeros(len(x), cell.size) if first is None else first
    states = by_hand.along(cell, x, first, lengths)
    states = plain(cell, x, first, lengths) if states is None else states
    return cell.shown(states), states


def plain(cell: Cell, x: Sequences, first: Float[Tensor, "b s"], lengths: Lengths | None = None) -> States:
    """One step after another, as written."""
    given = cell.input(x if lengths is None else turned(x, lengths))
    states, state = [], first
    for step in given.unbind(1):
        state = cell.turn(step, state)
        states.append(state)
    whole = torch.stack(states, 1)
    return whole if lengths is None else turned(whole, lengths)


def turned(x: Sequences, lengths: Lengths) -> Sequences:
    """Each row from its last word to its first; padding stays where it is."""
    places, ends = torch.arange(x.shape[1], device=x.device), lengths.unsqueeze(-1)
    mirrored: Int[Tensor, "b n"] = torch.where(places < ends, ends - 1 - places, places)
    return x.gather(1, mirrored.unsqueeze(-1).expand_as(x))
