"""D1, D2 and D6 at full size: the same answer in any company, with caches as without, and an end to every decode."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from regard.models.build import build_model
from regard.models.seq2seq import Seq2Seq
from regard.models.settings import RecurrentModel, TransformerModel
from regard.search.settings import Search
from regard.tasks.decode import hypotheses
from regard.text.ids import END, START

WORDS = 4000
SENTENCES = 1000
NASTY = 10_000
SEARCH = Search(longest_ratio=1.0, longest_extra=4)
NEAR = 1e-5
ALL = "all of them"
Found = tuple[bool, str]
"""Whether it passed, and what was reached."""


def check(sentences: int = SENTENCES, nasty: int = NASTY) -> list[dict[str, Any]]:
    """Each promise with what was reached."""
    models = {"transformer": _made(TransformerModel(dropout=0.0)), "recurrent": _made(RecurrentModel(dropout=0.0))}
    sources = _sources(sentences)
    rows = []
    for kind, model in models.items():
        for threads in (1, 2):
            rows.append(
                _row(
                    "D1",
                    f"{kind}, {threads} threads: batches of 1, 7, 64 and 4 096 tokens in any order",
                    f"{sentences:,} sentences, the same words and scores to the last bit",
                    lambda model=model, threads=threads: _company(model, sources, threads),
                )
            )
        what = f"{kind}: cached and reordered against all at once, beam 1 and 5"
        goal = (
            f"{sentences:,} sentences, log-probabilities within 1e-5, the same greedy words but where two are as near"
        )
        rows.append(_row("D2", what, goal, lambda kind=kind: _cached(_plain(kind), sources)))
    what = f"no decode longer than 3 x source + 20, {nasty:,} nasty inputs"
    rows.append(_row("D6", what, "0 longer ones", lambda: _ends(nasty)))
    return rows


def _company(model: Seq2Seq, sources: list[np.ndarray], threads: int) -> Found:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        whole, different = hypotheses(model, sources, SEARCH), 0
        for place, tokens in enumerate((1, 7 * 16 * SEARCH.beam, 64 * 16 * SEARCH.beam, 4096)):
            order = np.random.default_rng(place).permutation(len(sources))
            settings = SEARCH.model_copy(update={"batch_tokens": tokens})
            again = hypotheses(model, [sources[n] for n in order], settings)
            different += sum(found != whole[n] for n, found in zip(order, again, strict=True))
    finally:
        torch.set_num_threads(before)
    return not different, f"{different} of {4 * len(sources):,} differ" if different else ALL


def _cached(model: Seq2Seq, sources: list[np.ndarray]) -> Found:
    """What was said once more, without caches: each word's log-probability, and whether greedy would say it.

    Of two words that are nearer to each other than caches may be to no caches, either may be said.
    """
    worst, others, ties = 0.0, 0, 0
    for beam in (1, 5):
        settings = SEARCH.model_copy(update={"beam": beam})
        for ids, found in zip(sources, hypotheses(model, sources, settings), strict=True):
            said = [*found[0].words, END][: len(found[0].log_probs)]
            with torch.no_grad():
                before = torch.tensor([[START, *said[:-1]]])
                scores = model(torch.from_numpy(ids)[None], torch.tensor([len(ids)]), before)[0].log_softmax(-1)
            each = scores.gather(1, torch.tensor(said)[:, None])[:, 0]
            worst = max(worst, float((each - torch.tensor(found[0].log_probs)).abs().max()))
            scores[:, :END] = -torch.inf
            behind = scores.max(1).values - each
            others += beam == 1 and bool((behind > NEAR).any())
            ties += beam == 1 and bool((behind > 0).any() and (behind <= NEAR).all())
    tied = f", {ties} sentences with a word as likely to 1e-5 as the one said" if ties else ""
    return worst <= NEAR and not others, f"{worst:.1e} apart, {others} sentences with other words{tied}"


def _ends(count: int) -> Found:
    chance, longer = random.Random(6), 0
    shape = TransformerModel(encoder_layers=1, decoder_layers=1, width=16, heads=2, feedforward=16, tied="none")
    for sharpness in (0.0, 1.0, 30.0, 1e4):
        model = _made(shape, sharpness)
        sources = [
            np.array([chance.choice((1, 4, 39, chance.randrange(1, WORDS)))] * chance.randint(1, 30))
            for _ in range(count // 4)
        ]
        settings = Search(beam=2, batch_tokens=16384)
        for ids, found in zip(sources, hypotheses(model, sources, settings), strict=True):
            longer += any(len(h.words) + h.complete > 3 * len(ids) + 20 for h in found) or not found
    return not longer, f"{longer} are longer, or came to nothing" if longer else ALL


def _plain(kind: str) -> Seq2Seq:
    """As it is built: one made surer of itself makes of the last digit more than it is."""
    torch.manual_seed(9)
    settings = TransformerModel(dropout=0.0) if kind == "transformer" else RecurrentModel(dropout=0.0)
    return build_model(settings, WORDS, WORDS).eval()


def _made(settings: Any, sharpness: float = 3.0) -> Seq2Seq:
    torch.manual_seed(9)
    model = build_model(settings, WORDS, WORDS).eval()
    with torch.no_grad():
        for parameter in (p for sight in model.sights() for p in sight.parameters()):
            parameter.mul_(3)
        model.output.weight.mul_(sharpness)
    return model


def _sources(count: int) -> list[np.ndarray]:
    chance = np.random.default_rng(1)
    return [chance.integers(4, WORDS, length) for length in chance.integers(1, 45, count)]


def _row(name: str, what: str, goal: str, look: Callable[[], Found]) -> dict[str, Any]:
    began = time.monotonic()
    passed, reached = look()
    return {
        "id": name,
        "what": what,
        "goal": goal,
        "reached": reached,
        "passed": passed,
        "seconds": round(time.monotonic() - began, 1),
    }
