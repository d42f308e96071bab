"""What may not be said next: parts that strike words out before one is chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.search.lines import sayable
from regard.search.settings import Search
from regard.search.wishes import Wish, known

Guard = Callable[[Float[Tensor, "r v"], Int[Tensor, "r t"]], None]
"""Sets to -inf what may not follow these words (START first)."""


def guards(settings: Search) -> list[Guard]:
    """All that hold for every sentence."""
    common: list[Guard] = [lambda log_probs, words: sayable(log_probs)]
    return common + ([no_repeat(settings.no_repeat)] if settings.no_repeat else [])


def no_repeat(size: int) -> Guard:
    """No run of `size` words a second time. Paulus, Xiong & Socher 2018, 2.5."""

    def strike(log_probs: Float[Tensor, "r v"], words: Int[Tensor, "r t"]) -> None:
        said = words[:, 1:]
        if said.shape[1] < size:
            return
        runs = said.unfold(1, size, 1)
        tail = said[:, said.shape[1] - size + 1 :]
        row, run = (runs[..., :-1] == tail.unsqueeze(1)).all(-1).nonzero(as_tuple=True)
        log_probs[row, runs[row, run, -1]] = -torch.inf

    return strike


def prefixed(
    log_probs: Float[Tensor, "r v"], words: Int[Tensor, "r t"], wishes: Sequence[Wish], rules: Sequence[Guard]
) -> None:
    """Strike out what may not be said; while a prefix is being said, all but its next word, whatever the rules."""
    at = words.shape[1] - 1
    if at == 0:
        known(wishes, log_probs.shape[1])
    forced = [(place, wish.prefix[at]) for place, wish in enumerate(wishes) if at < len(wish.prefix)]
    width = len(words) // len(wishes)
    rows = [place * width + line for place, _ in forced for line in range(width)]
    said = [word for _, word in forced for _ in range(width)]
    kept = log_probs[rows, said] if rows else None
    for rule in rules:
        rule(log_probs, words)
    if kept is not None:
        log_probs[rows] = -torch.inf
        log_probs[rows, said] = kept
