"""The task of copying: batches that can be drawn again, its loss by hand, figures, files, and a model that learns."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch

from regard.models.settings import CopyingModel
from regard.recipe import load
from regard.search.settings import Search
from regard.systems.system import Here
from regard.tasks.copying import CopyingTask
from regard.tasks.settings import ArticleData
from regard.tasks.summaries import Filed, Invented
from regard.text.articles import Article
from regard.text.ids import END, START, UNKNOWN

SEARCH = Search(beam=1, length_penalty=0.0, longest_ratio=1.0)


def task(problem: str = "digest", model: CopyingModel | None = None, **data) -> CopyingTask:
    given = ArticleData(generated=problem, smallest=2, largest=3, rows=16, held_out_rows=6, **data)
    return CopyingTask(Invented(given, 1), model or CopyingModel(width=24, embedding=16), SEARCH)


def filed(tmp_path: Path, count: int = 30) -> Filed:
    rng, words = np.random.default_rng(1), ["red", "green", "blue", "old", "new", "big"]
    rows = []
    for number in range(count):
        said = rng.choice(words, 6).tolist()
        rows.append({"source": [" ".join(said), f"name{number}"], "target": [f"name{number} {said[0]}", said[1]]})
    (tmp_path / "all.jsonl.gz").write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    data = ArticleData(articles=tmp_path / "all.jsonl.gz", test_articles=tmp_path / "all.jsonl.gz", words=10)
    return Filed(data, 1, 60)


def test_a_batch_is_the_same_whenever_it_is_drawn_and_parts_are_the_whole():
    origin = task().origin
    which = origin.batches(2)[7]
    whole = origin.load(which)
    assert origin.load(which) == whole
    parts = origin.split(which, 3)
    assert [article for part in parts for article in origin.load(part)] == whole
    assert sum(map(origin.units, parts)) == origin.units(which) == len(whole) == 16
    assert origin.load(origin.batches(3)[7]) != whole
    assert {article.text.count(".") for article in whole} == {2, 3}


def test_what_is_learned_begins_with_start_and_ends_with_end():
    here = task()
    some = here.origin.load(here.origin.batches(0)[0])
    batch, words = here.batch(some), here.origin.words
    assert bool((batch.before[:, 0] == START).all())
    for row, article in enumerate(some):
        after = batch.after[row].tolist()
        said = after[: after.index(END)]
        assert words.said(said, article.text) == article.summaries[0]
        assert UNKNOWN not in said
        assert set(after[len(said) + 1 :]) <= {0}


def test_the_loss_is_the_mean_over_words_summed_over_texts():
    here = task()
    torch.manual_seed(1)
    model, some = here.build().eval(), here.origin.load(here.origin.batches(0)[0])[:3]
    expected = 0.0
    for article in some:
        batch = here.batch([article])
        told = model.told(batch.source, batch.lengths, batch.before)
        table, weights = model.chances(told, batch.source)[0].detach(), told.weights[0].detach()
        words = batch.after[0].tolist()
        for t, word in enumerate(words):
            twice = torch.minimum(weights[t], weights[:t].sum(0)).sum()
            expected += float(-table[t, word] + here.model.coverage * twice) / len(words)
    assert float(here.loss(model, here.batch(some), "model").total.detach()) == pytest.approx(expected, rel=1e-5)


def test_without_coverage_looking_twice_costs_nothing():
    here = task(model=CopyingModel(width=8, embedding=8, attention="bahdanau"))
    loss = here.loss(here.build(), here.load(here.batches(0)[0]), "model")
    assert float(loss.total.detach()) == pytest.approx(loss.figures["loss"], rel=1e-6)
    assert loss.figures["looked_twice"] > 0


def test_unknown_words_count_in_their_order():
    here = task()
    article = Article(("Bado", "of", "Kela", "sold", "7"), (("Bado", "sells", "7", "in", "Kela"),))
    assert here.copied(article.summaries[0], article) == (3, 3)
    assert here.copied(("Kela", "sells", "7", "in", "Bado"), article) == (1, 3)
    assert here.copied(("Mirko", "sells", "7"), article) == (1, 3)
    assert here.copied((), article) == (0, 3)


@pytest.mark.parametrize("problem", ["news", "digest"])
def test_every_problem_has_measures_and_samples(problem):
    here = task(problem, tested=(5,))
    torch.manual_seed(1)
    model = here.build()
    here.loss(model, here.load(here.batches(0)[0]), "model").total.backward()
    assert all(weight.grad is not None for weight in model.parameters())
    model.eval()
    with torch.no_grad():
        found = here.final(model)
        assert here.samples(model).count("  > ") == 5
    assert list(found) == ["sentences=2", "sentences=3", "sentences=5"]
    for figures in found.values():
        assert all(0 <= figures[name] <= 100 for name in ("rouge1", "rouge2", "rougeL"))
        assert all(0 <= figures[name] <= 1 for name in ("exact", "copied", "repeated", "p_gen", "p_gen, unknown"))


def test_a_right_summary_has_the_highest_figures(monkeypatch):
    here = task()
    model, some = here.build().eval(), here.origin.valid()
    monkeypatch.setattr(here, "summaries", lambda model, texts, search: [article.summaries[0] for article in some])
    with torch.no_grad():
        found = here.scores(model, some, SEARCH)
    assert [found[name] for name in ("rouge1", "rouge2", "rougeL", "exact", "copied")] == [100, 100, 100, 1, 1]
    assert found["repeated"] == 0


def test_files_give_words_texts_and_what_is_held_out(tmp_path):
    origin = filed(tmp_path)
    origin.prepare(tmp_path / "run")
    assert (tmp_path / "run" / origin.files()[0]).is_file()
    assert len(origin.words) == 10
    held, epoch = origin.valid(), origin.batches(0)
    learned = [article for which in epoch for article in origin.load(which)]
    assert len(held) == 3
    assert len(learned) == 2 * 27
    assert all(len(article.summaries) == 1 for article in learned)
    assert not {article.text for article in held} & {article.text for article in learned}
    assert len(origin.tests()["test"][0].summaries) == 2
    assert sum(map(origin.units, origin.split(epoch[0], 2))) == origin.units(epoch[0])
    again = filed(tmp_path)
    (tmp_path / "all.jsonl.gz").unlink()
    again.prepare(tmp_path / "run")  # the words are there: a model is opened without what it learned from
    assert again.words.known == origin.words.known


def test_too_few_texts_are_refused(tmp_path):
    origin = filed(tmp_path, count=1)
    with pytest.raises(ValueError, match="give at least two"):
        origin.prepare(tmp_path)


def test_it_learns_to_copy_names():
    here = task("news", CopyingModel(width=32, embedding=16))
    torch.manual_seed(1)
    model = here.build()
    rule = torch.optim.Adam(model.parameters(), 0.01)
    for which in here.batches(0)[:70]:
        rule.zero_grad()
        (here.loss(model, here.load(which), "model").total / 16).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 2.0)
        rule.step()
    with torch.no_grad():
        found = here.measure(model.eval())
    assert found["copied"] > 0.8
    assert found["p_gen, unknown"] < 0.2 < found["p_gen"]


@pytest.mark.skipif(not os.environ.get("REGARD_DATA"), reason="the real set is not here")
def test_the_real_set_is_read_and_learned_from(tmp_path):
    recipe = load("scitldr")
    small = recipe.with_sections({"model": CopyingModel(width=8, embedding=8)})
    here = small.make(Here())
    here.prepare(tmp_path)
    assert len(here.origin.words) == recipe.sections()["data"].words
    assert len(here.origin.valid()) == 100
    assert len(here.origin.tests()["test"]) == 619
    loss = here.loss(here.build(), here.load(here.batches(0)[0]), "model")
    assert loss.figures["loss"] > 0
