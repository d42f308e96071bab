"""Where a decoder is, and what it sees of the source."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attend import select
from regard.attend.heads import Heads
from regard.attend.mechanism import Attention, Mechanism
from regard.attend.memory import Memory
from regard.attend.scope import lengths as up_to
from regard.models.mechanisms import minds_the_past
from regard.models.recurrence.encoder import Encoded

Rows = Float[Tensor, "b _"]


@dataclass(frozen=True)
class Place:
    """Where decoding is: what there is to look at, the cells' states, and what was made of the last look.

    `owners` tells which source each row translates: a beam that stays with its sources copies no memory.
    """

    memory: Memory | None
    owners: Int[Tensor, " b"]
    cells: tuple[Rows, ...]
    fed: Rows
    at: int = 0
    past: Float[Tensor, "b h t k"] | None = None
    log_prob: tuple[Float[Tensor, "b h q"] | float, ...] = ()

    def pick(self, rows: Int[Tensor, " b2"]) -> Place:
        """These rows, in this order."""
        owners = self.owners[rows]
        stay = self.memory is None or torch.equal(owners, self.owners)
        return replace(
            self,
            memory=self.memory if stay or self.memory is None else self.memory.pick(rows),
            owners=owners,
            cells=tuple(state[rows] for state in self.cells),
            fed=self.fed[rows],
            past=None if self.past is None else self.past[rows],
            log_prob=(),
        )


class Sight(nn.Module):
    """A decoder's view of the source, by any mechanism, or by none: then the context is 0 numbers wide."""

    def __init__(self, mechanism: Mechanism | None, width: int) -> None:
        super().__init__()
        self.mechanism, self.width = mechanism, width

    def memory(self, read: Encoded) -> Memory | None:
        """What there is to look at, prepared once."""
        return None if self.mechanism is None else self.mechanism.memory(read.states, scope=up_to(read.lengths))

    def forward(self, query: Float[Tensor, "b q d"], place: Place) -> tuple[Float[Tensor, "b q v"], Place]:
        """What these queries see, the first of them being step `place.at`."""
        if self.mechanism is None or place.memory is None:
            return query.new_zeros(*query.shape[:2], 0), place
        if not self.mindful and not self.chancy:
            return self.mechanism(query, place.memory, place.at), place
        look = self.mechanism.look(query, place.memory, place.at, place.past)
        place = replace(place, log_prob=(*place.log_prob, look.log_prob))
        if not self.mindful:
            return look.context, place
        past = look.weights if place.past is None else torch.cat((place.past, look.weights), 2)
        return look.context, replace(place, past=past)

    @property
    def mindful(self) -> bool:
        """Whether some part may ask for the weights of earlier steps."""
        return self.mechanism is not None and minds_the_past(self.mechanism)

    @property
    def chancy(self) -> bool:
        """Whether the choice is drawn, so that its log-probability is wanted."""
        return self._attention is not None and type(self._attention.select) is select.Hard

    @property
    def _attention(self) -> Attention | None:
        inner = self.mechanism.attention if isinstance(self.mechanism, Heads) else self.mechanism
        return inner if isinstance(inner, Attention) else None
