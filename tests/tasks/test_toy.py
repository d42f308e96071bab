"""The toy language: its answers are exact, and its task runs through the loop."""

from __future__ import annotations

import numpy as np
import torch

from regard.models.settings import RecurrentModel
from regard.tasks.toy import FIRST, Language, ToyTranslation
from regard.train.fit import Fit
from regard.train.optimise import optimiser
from regard.train.progress import Progress
from regard.train.settings import Train


def test_the_rule_of_order_and_the_dictionary() -> None:
    language = Language(words=9)
    source = np.array([FIRST + 1, 6, 8, 10, 12])  # 5 6 8 10 12: 6 goes behind 8, 12 is last and stays
    sentence = language.translate(source)
    assert sentence.links.tolist() == [0, 2, 1, 3, 4]
    word = dict(zip(sentence.source[sentence.links].tolist(), sentence.target.tolist(), strict=True))
    assert len(set(word.values())) == 5
    assert language.translate(np.array([10])).target.tolist() == [word[10]]


def test_drift_puts_fillers_in() -> None:
    sentence = Language(words=9, drift=2).translate(np.array([5, 7, 8, 10]))
    assert len(sentence.target) == 6
    assert sentence.target[[2, 5]].tolist() == [FIRST + 9] * 2
    assert sentence.links.tolist() == [0, 1, 1, 2, 3, 3]


def test_sentences_depend_on_the_seed_alone() -> None:
    one, same, other = (Language().sentences(20, 3, 9, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a.source, b.source) for a, b in zip(one, same, strict=True))
    assert any(not np.array_equal(a.source, b.source) for a, b in zip(one, other, strict=True))
    assert {len(s.source) for s in one} <= set(range(3, 10))


def test_short_sentences_are_learned() -> None:
    torch.manual_seed(0)
    task = ToyTranslation(Language(words=12), RecurrentModel(width=32, embedding=32, dropout=0.0), 2, 5, rows=32)
    model, settings = task.build(), Train(rate=1e-2, schedule="constant", warmup=10)
    fit = Fit(task, model, {"model": optimiser(list(model.parameters()), settings)}, settings, Progress())
    for _update, _ in zip(fit.updates(), range(400), strict=False):
        pass
    assert task.measure(model.eval())["exact"] > 0.9
