"""Small translators, taught in seconds for the pages of the worked examples."""

from __future__ import annotations

import itertools
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from regard.models.build import build_model
from regard.models.settings import ModelSettings, RecurrentModel, TransformerModel
from regard.search.settings import Search
from regard.show.example import alone
from regard.tasks.sequences import batch_of, sequence_loss
from regard.text.pieces import Pieces
from regard.translate.translator import Translator

Pair = tuple[str, str]

PEOPLE = {
    "Je suis": "I am", "Tu es": "You are", "Il est": "He is", "Elle est": "She is", "On est": "One is",
    "Je suis encore": "I am still", "Il est déjà": "He is already", "Elle est encore": "She is still",
}  # fmt: skip
TRADES = {
    "étudiant": "a student", "professeur": "a teacher", "médecin": "a doctor", "boulanger": "a baker",
    "peintre": "a painter", "écrivain": "a writer", "pilote": "a pilot", "marin": "a sailor", "juge": "a judge",
    "acteur": "an actor", "ingénieur": "an engineer", "architecte": "an architect",
}  # fmt: skip
PAPERS = {"agreement": "l'accord", "report": "le rapport", "treaty": "le traité", "debate": "le débat"}
PLACES = {"Area": "zone", "Union": "union", "Region": "région", "Community": "communauté"}
FIRST = {"European": "européenne", "African": "africaine", "Asian": "asiatique", "American": "américaine"}
SECOND = {"Economic": "économique", "Monetary": "monétaire", "Political": "politique"}
DEEDS = {"signed": "signé", "read": "lu", "published": "publié", "ended": "terminé"}
MONTHS = {"August": "août", "May": "mai", "June": "juin", "October": "octobre"}


def people() -> list[Pair]:
    """Who is what, French to English: *Je suis étudiant* → *I am a student*."""
    return [
        (f"{who} {trade}", f"{told} {called}")
        for (who, told), (trade, called) in itertools.product(PEOPLE.items(), TRADES.items())
    ]


def treaties(count: int = 1200, seed: int = 1992) -> list[Pair]:
    """English to French, whose adjectives stand behind the noun, in reverse: *the European Economic Area*."""
    rng = random.Random(seed)
    found = []
    for _ in range(count):
        paper, place, first, second, deed, month = (
            rng.choice(list(some.items())) for some in (PAPERS, PLACES, FIRST, SECOND, DEEDS, MONTHS)
        )
        named, called = [first, second][: rng.randint(1, 2)], rng.choice(("", "was "))
        adjectives = " ".join(word for word, _ in named)
        behind = " ".join(word for _, word in reversed(named))
        year = rng.randint(1980, 1999)
        about = "l'union" if place[1] == "union" else f"la {place[1]}"
        was, a_été = ("was", "a été") if called else ("is", "est")
        found.append((
            f"the {paper[0]} on the {adjectives} {place[0]} {was} {deed[0]} in {month[0]} {year} .",
            f"{paper[1]} sur {about} {behind} {a_été} {deed[1]} en {month[1]} {year} .",
        ))  # fmt: skip
    return found


def taught(pairs: Sequence[Pair], settings: ModelSettings, steps: int, seed: int = 3, rows: int = 48) -> Translator:
    """A translator that learned these pairs; the same every time on one machine."""
    with tempfile.TemporaryDirectory() as folder:
        texts = [text for pair in pairs for text in pair]
        pieces = Pieces.train(texts, 2000, Path(folder) / "pieces.model")
    sources, targets = (
        [np.asarray(row, np.int64) for row in pieces.encode([pair[side] for pair in pairs])] for side in (0, 1)
    )
    with alone(seed):
        model = build_model(settings, len(pieces), len(pieces))
        optimiser = torch.optim.Adam(model.parameters(), 5e-3, betas=(0.9, 0.98))
        rate = torch.optim.lr_scheduler.LambdaLR(
            optimiser, lambda step: min((step + 1) / 30, max(0.02, 1 - step / steps))
        )
        rng = np.random.default_rng(seed)
        model.train()
        for _ in range(steps):
            chosen = rng.integers(0, len(pairs), rows)
            batch = batch_of([sources[at] for at in chosen], [targets[at] for at in chosen])
            loss = sequence_loss(model, batch, 0.0).total / sum(len(targets[at]) + 1 for at in chosen)
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            rate.step()
    return Translator(model, pieces, pieces, Search(beam=3), longest=64)


def transformer() -> TransformerModel:
    """Two layers of four heads."""
    return TransformerModel(encoder_layers=2, decoder_layers=2, width=64, heads=4, feedforward=128, dropout=0.1)


def recurrent() -> RecurrentModel:
    """Bahdanau's: an encoder both ways, and a look before each step."""
    return RecurrentModel(width=64, embedding=64, dropout=0.1)


def luong() -> RecurrentModel:
    """Luong's order, the one that most drawings show: the cell first, then the look."""
    return RecurrentModel(
        width=64, embedding=64, dropout=0.1, bidirectional=False, attention="luong_general", wiring="after"
    )
