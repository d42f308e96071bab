"""One sentence, and every mechanism of the catalogue looking at it.

A new mechanism looks everywhere alike, which makes a poor picture. So each is taught for a moment, on the same
words in other orders: its first head to find the words that are the same as the one that looks, its second head
the word just before. What it then does is its own: contents alone cannot tell which word stands before, places
alone cannot tell which words are the same, a window cannot look far, hard attention must decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from regard.attend import papers
from regard.attend.heads import Pooling
from regard.attend.mechanism import Look
from regard.attend.memory import Memory
from regard.attend.scope import tree
from regard.show.anatomy import Built

SENTENCE = "the sea feeds the rain and the rain feeds the sea"
WORDS = SENTENCE.split()
PARENTS = (1, 2, -1, 4, 2, 8, 7, 8, 2, 10, 8)  # its syntax tree, for attention on graphs
QUESTIONS = ("sea", "feeds", "rain")  # what learned questions are to find
WIDTH, LENGTH = 16, 2.2  # of a word's vector; at this length words are distinct and nothing is saturated
BLUR = 0.2  # of the words that are taught: without it a sparse selection never meets what it has once left out
STEPS, SEED = 200, 4  # the seed, LENGTH and BLUR were chosen among some 35 settings for legible pictures

SIZES: dict[str, object] = {
    "d_query": WIDTH, "d_key": WIDTH, "d_hidden": WIDTH, "d_model": WIDTH, "heads": 2, "groups": 1, "longest": 16,
    "reach": 3, "count": 4, "stride": 2, "ramp": 2, "views": 3, "seeds": 3, "latents": 3,
}  # fmt: skip
# Where a size has to differ so that the picture shows what the mechanism is about.
OWN_SIZES: dict[str, dict[str, object]] = {
    "content": {"heads": 1},
    "locatello": {"heads": 1},
    "shaw": {"reach": 8},
    "raffel": {"reach": 8},
    "beltagy": {"count": 1, "reach": 2},
    "child": {"reach": 4},
    "kitaev": {"rounds": 1},
    "roy": {"buckets": 2},
    "sukhbaatar_span": {"longest": 6},
    "velickovic": {"scope": tree(PARENTS)},
}


@dataclass(frozen=True)
class Shown:
    """A look of one mechanism at the sentence, with what a picture of it needs."""

    weights: Float[Tensor, "h q k"]
    allowed: Bool[Tensor, "h q k"]
    queries: Sequence[str]
    keys: Sequence[str]


def run(name: str, steps: int = STEPS, seed: int = SEED) -> Shown:
    """Build the mechanism of that name, teach it for so many steps, and let it look. The same every time."""
    with alone(seed):
        mechanism = papers.build(name, **{**SIZES, **OWN_SIZES.get(name, {})})
        _teach(mechanism, steps)
        mechanism.eval()
        with torch.no_grad():
            look, allowed, memory = _look(mechanism, vectors(WORDS))
    return Shown(look.weights[0], allowed, _queries(mechanism, WORDS), _keys(memory))


def vectors(words: Sequence[str]) -> Float[Tensor, "1 n d"]:
    """Words as vectors: the same one wherever a word is the same, and nothing that tells its place."""
    drawn = torch.randn(len(WORDS), WIDTH, generator=torch.Generator().manual_seed(0))
    known = F.normalize(drawn, dim=-1) * LENGTH
    return torch.stack([known[WORDS.index(word)] for word in words]).unsqueeze(0)


def wanted(queries: Sequence[str], words: Sequence[str], memory: Memory) -> Float[Tensor, "2 q k"]:
    """Where the two heads should look: at the same word, and at the word before."""
    same = torch.tensor([[float(asked == word) for word in words] for asked in queries])
    before = F.pad(same[:, 1:], (0, 1))  # all words that stand before such a word
    if queries is words:
        before = torch.diag(torch.ones(len(words) - 1), -1)  # the one that stands before this very word
    covers = torch.zeros(len(words), len(memory))
    for key, places in enumerate(_places(memory)):
        covers[places, key] = 1
    return torch.stack((same, before)) @ covers


def _teach(mechanism: Built, steps: int) -> None:
    """A few steps of Adam towards the wanted weights, each on the words in another order."""
    learned = [p for p in mechanism.parameters() if p.requires_grad]
    if not learned:
        return
    optimiser = torch.optim.Adam(learned, lr=0.03)
    for _ in range(steps):
        words = [WORDS[place] for place in torch.randperm(len(WORDS)).tolist()]
        x = vectors(words)
        look, allowed, memory = _look(mechanism, x + BLUR * torch.randn_like(x))
        target = wanted(_queries(mechanism, words), words, memory)[: look.weights.shape[1]] * allowed
        loss = _loss(look, target / target.sum(-1, keepdim=True).clamp_min(1), x)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


def _loss(look: Look, target: Float[Tensor, "h q k"], x: Float[Tensor, "1 n d"]) -> Float[Tensor, ""]:
    """How far the weights are from the target; a choice left to chance learns by REINFORCE."""
    if not target.any():  # keys that are mixtures of all words: no weight is right, the answer has to be
        return F.mse_loss(look.context, x)
    asked = target.any(-1)
    missed = ((look.weights[0] - target).square().sum(-1) * asked).mean()
    reward = (look.weights[0].detach() * (target > 0)).sum(-1)
    return missed - ((reward - reward.mean()) * look.log_prob).mean()


def _look(mechanism: Built, x: Float[Tensor, "1 n d"]) -> tuple[Look, Bool[Tensor, "h q k"], Memory]:
    """A look, what was in scope, and the memory."""
    memory = mechanism.memory(x)
    look = mechanism.look(memory) if isinstance(mechanism, Pooling) else mechanism.look(x, memory)
    everywhere = torch.ones_like(look.weights, dtype=torch.bool)
    return look, (everywhere if look.allowed is None else everywhere & look.allowed)[0], memory


def _queries(mechanism: Built, words: Sequence[str]) -> Sequence[str]:
    return QUESTIONS[: mechanism.questions.shape[1]] if isinstance(mechanism, Pooling) else words


def _keys(memory: Memory) -> list[str]:
    """The words a key stands for; m1, m2, ... where it stands for none."""
    labels = [" ".join(WORDS[place] for place in places) for places in _places(memory)]
    return [label or f"m{number + 1}" for number, label in enumerate(labels)]


def _places(memory: Memory) -> list[list[int]]:
    """The places in the sentence each key is made of: none for learned tokens and for mixtures of everything."""
    reach = range(memory.step)
    return [[p - back for back in reversed(reach) if 0 <= p - back < len(WORDS)] for p in memory.positions.tolist()]


@contextmanager
def alone(seed: int) -> Iterator[None]:
    """A fixed seed, and one thread, which for sizes this small is faster; both are given back."""
    threads = torch.get_num_threads()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(threads)
