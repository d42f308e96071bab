"""Translation as a task: batches, losses, measures, and what is said of them."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import sacrebleu
import torch
from torch.nn import functional as F

from regard.models.settings import ModelSettings, RecurrentModel, TransformerModel
from regard.search.settings import Search
from regard.tasks.parallel_text import TextSource
from regard.tasks.settings import TextData
from regard.tasks.translation import Translation
from regard.text.ids import END, START
from regard.train.fit import Fit
from regard.train.optimise import optimiser
from regard.train.progress import Progress
from regard.train.settings import Train
from tests.train.toys import sentences, write_pairs

MODELS: dict[str, ModelSettings] = {
    "transformer": TransformerModel(
        encoder_layers=1, decoder_layers=1, width=32, heads=2, feedforward=64, dropout=0.0
    ),
    "rnn": RecurrentModel(width=12, embedding=12, dropout=0.0),
}
SEARCH = Search(beam=2, longest_ratio=1, longest_extra=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("text")


@pytest.fixture(scope="module")
def data(folder: Path) -> TextData:
    files = write_pairs(folder, sentences(60, longest=5))
    valid = write_pairs(folder, [*sentences(6, seed=2, longest=5), ("", "leer"), ("", "")], "valid")
    test = write_pairs(folder, sentences(3, seed=3, longest=5), "test")
    named = {f"valid_{side}": file for side, file in valid.items()}
    named |= {f"test_{side}": file for side, file in test.items()}
    return TextData(**files, **named, pieces=350)


def translation(kind: str, data: TextData, folder: Path, smoothing: float = 0.0) -> Translation:
    made = Translation(TextSource(data, say=lambda _: None), MODELS[kind], SEARCH, 60, smoothing)
    made.prepare(folder / "run")
    return made


@pytest.fixture(params=list(MODELS))
def task(request: pytest.FixtureRequest, data: TextData, folder: Path) -> Translation:
    return translation(request.param, data, folder)


def model_of(task: Translation) -> torch.nn.Module:
    torch.manual_seed(1)
    return task.build().eval()


def test_a_batch_has_start_before_and_end_after(task: Translation) -> None:
    which = np.array([0, 3, 7])
    batch = task.load(which)
    for row, index in enumerate(which):
        source, target = task.text.train.source(index).tolist(), task.text.train.target(index).tolist()
        assert batch.lengths[row] == len(source)
        rows = {"source": source, "before": [START, *target], "after": [*target, END]}
        for name, expected in rows.items():
            table = getattr(batch, name)
            assert table[row, : len(expected)].tolist() == expected
            assert not table[row, len(expected) :].any()
    assert task.units(which) == int((batch.after != 0).sum())


def test_broken_pieces_say_the_same_otherwise_in_every_epoch(data: TextData, folder: Path) -> None:
    plain = translation("rnn", data, folder)
    task = translation("rnn", data.model_copy(update={"broken": 0.5}), folder)
    count = len(task.text.train)

    def said(task: Translation, which: np.ndarray) -> list[str]:
        batch = task.load(which)
        return task.text.source.decode(batch.source.tolist()) + task.text.target.decode(batch.after.tolist())

    first, second = task.batches(0)[0], task.batches(1)
    same = next(which for which in second if (which % count == first[0]).any())
    assert sorted(np.concatenate(list(second)).tolist()) == list(range(count, 2 * count))  # each pair once
    assert said(task, first) == said(plain, first)
    assert said(task, same) == said(plain, same % count)
    assert torch.equal(task.load(first).after, task.load(first).after)
    spelt = [task.load(np.array([first[0] + epoch * count])).after.tolist() for epoch in range(9)]
    assert len({tuple(row[0]) for row in spelt}) > 1
    assert int((task.load(first).after != 0).sum()) > task.units(first) == plain.units(first)
    assert task.where(first) == task.where(first + count) == plain.where(first)


def test_broken_pieces_are_planned_as_long_as_they_become(data: TextData, folder: Path) -> None:
    task = translation("rnn", data.model_copy(update={"broken": 0.3}), folder)
    batches = [task.load(which) for which in task.batches(2)]
    assert all(max(batch.source.numel(), batch.after.numel()) <= task.batch_tokens for batch in batches)


def test_the_loss_is_the_plain_one_summed_over_words(task: Translation) -> None:
    """And a pair's part is the same alone as beside longer ones."""
    model, which = model_of(task), np.arange(12)
    batch = task.load(which)
    loss = task.loss(model, batch, "model")
    logits = model(batch.source, batch.lengths, batch.before)
    plain = F.cross_entropy(logits.flatten(0, 1), batch.after.flatten(), ignore_index=0, reduction="sum")
    assert loss.total.item() == pytest.approx(plain.item(), rel=1e-5)
    assert loss.figures["loss"] == pytest.approx(plain.item(), rel=1e-5)
    alone = sum(task.loss(model, task.load(which[i : i + 1]), "model").total.item() for i in range(12))
    assert alone == pytest.approx(loss.total.item(), rel=1e-5)


def test_smoothing_is_in_the_loss_and_not_in_the_figure(data: TextData, folder: Path) -> None:
    plain, smooth = (translation("transformer", data, folder, smoothing) for smoothing in (0.0, 0.2))
    model = model_of(plain)
    one, two = (task.loss(model, task.load(np.arange(5)), "model") for task in (plain, smooth))
    assert one.figures["loss"] == pytest.approx(two.figures["loss"])
    assert two.total.item() != pytest.approx(one.total.item(), rel=1e-3)
    assert two.figures["smoothed"] == pytest.approx(two.total.item())


def test_a_batch_halves_until_it_is_one_pair(task: Translation) -> None:
    parts = task.split(np.array([4, 5, 6]))
    assert [part.tolist() for part in parts] == [[4, 5], [6]]
    assert [part.tolist() for part in task.split(np.array([4]))] == [[4]]


def test_lines_are_told_a_score_of_them_at_most(task: Translation, folder: Path) -> None:
    names = f"{folder / 'train.en'} and {folder / 'train.de'}"
    assert task.where(np.array([2])) == f"{names}: line 3"
    assert task.where(np.array([4, 2])) == f"{names}: lines 3, 5"
    assert task.where(np.arange(25)) == f"{names}: lines {', '.join(map(str, range(1, 21)))} and 5 more"


def test_measures_are_those_of_sacrebleu_and_empty_lines_do_no_harm(task: Translation) -> None:
    model = model_of(task)
    found = task.measure(model)
    pairs = task.text.valid
    said = task.translations(model, [source for _, source, _ in pairs], SEARCH.model_copy(update={"beam": 1}))  # type: ignore[arg-type]
    assert said[-2:] == ["", ""]
    right = [target for _, _, target in pairs]
    assert found["bleu"] == sacrebleu.corpus_bleu(said, [right]).score
    assert found["chrf"] == sacrebleu.corpus_chrf(said, [right], word_order=2).score
    assert found["exact"] == pytest.approx(sum(a == b for a, b in zip(said, right, strict=True)) / 8)
    assert found["perplexity"] == pytest.approx(math.exp(found["loss"]))
    full = [pair for pair in pairs if pair[1]]
    one = [task._likelihood(model, [pair]) for pair in full]  # type: ignore[arg-type]
    counts = [len(row) + 1 for row in task.text.target.encode([target for _, _, target in full])]
    assert found["loss"] == pytest.approx(np.average(one, weights=counts), rel=1e-5)


def test_the_test_text_is_measured_at_the_end_only(task: Translation, data: TextData, folder: Path) -> None:
    found = task.final(model_of(task))
    assert set(found) == {"test"}
    assert set(found["test"]) == {"bleu", "chrf", "exact"}
    assert len(task.text.tests["test"]) == 3
    task.text = replace(task.text, tests={})
    assert task.final(model_of(task)) == {}


def test_samples_show_source_reference_and_translation(task: Translation) -> None:
    shown = task.samples(model_of(task)).splitlines()
    assert len(shown) == 3 * 8
    (_, source, target), *_ = task.text.valid
    assert shown[:2] == [source, f"  = {target}"]
    assert shown[2].startswith("  > ")


def test_it_learns_to_translate(data: TextData, folder: Path) -> None:
    """Words it has seen, in sentences it has not: many are right after some seconds."""
    task = translation("transformer", data, folder)
    settings = Train(rate=0.01, warmup=20, steps=200)
    torch.manual_seed(1)
    model = task.build()
    fit = Fit(task, model, {"model": optimiser(list(model.parameters()), settings)}, settings, Progress())
    before = task.measure(model.eval())
    model.train()
    for _, _ in zip(range(200), fit.updates(), strict=False):
        pass
    after = task.measure(model.eval())
    assert before["loss"] > 5
    assert after["loss"] < 2
    assert after["chrf"] > before["chrf"] + 15
