"""Looking where nobody has looked yet: the sum of earlier weights enters the score. See, Liu & Manning 2017, 2.3."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attend.score import Additive, Keys, Past, Queries, Score, Scores, same_width


class Coverage(Score):
    """v·tanh(W q + U k + w c + b), c = Σ of the weights this key was given so far (their eq. 10 and 11).

    What is written for a single step holds for a whole sequence: queries are read one after another.
    """

    looks_back = True

    def __init__(self, d_query: int, d_key: int, d_hidden: int) -> None:
        super().__init__()
        self.additive = Additive(d_query, d_key, d_hidden)
        self.seen = nn.Parameter(torch.empty(d_hidden).uniform_(-1, 1) * d_hidden**-0.5)

    def prepare(self, keys: Float[Tensor, "b h k d"]) -> Float[Tensor, "b h k dk"]:
        return self.additive.prepare(keys)

    def forward(self, query: Queries, keys: Keys, past: Past | None = None) -> Scores:
        asked = self.additive.ask(query)
        same_width(asked, keys, type(self).__name__)
        if past is not None and past.shape[2]:
            seen = past.cumsum(2)[:, :, -1:].transpose(-2, -1)  # step after step: `sum` adds in an order of its own
            keys = keys + seen * self.seen
        hidden = (asked.unsqueeze(-2) + keys.unsqueeze(-3)).tanh()  # b h q k d
        return hidden @ self.additive.strength


def looked_twice(weights: Float[Tensor, "b t k"]) -> Float[Tensor, "b t"]:
    """Σ_i min(a_i, c_i) at each step: how much of a look fell on what was seen before (their eq. 12)."""
    before = torch.cat((torch.zeros_like(weights[:, :1]), weights.cumsum(1)[:, :-1]), 1)
    return torch.minimum(weights, before).sum(-1)
