"""The loop by itself: sums and seeds, what is skipped, what is halved, and players who take turns."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from regard.models.settings import ModelSettings, RecurrentModel, TransformerModel
from regard.search.settings import Search
from regard.tasks.parallel_text import TextSource
from regard.tasks.settings import TextData
from regard.tasks.task import Loss
from regard.tasks.translation import Translation
from regard.train.fit import Fit, Update, out_of_memory, seed_of
from regard.train.optimise import optimiser
from regard.train.progress import Progress
from regard.train.settings import Train
from tests.train.toys import Duel, Line, sentences, write_pairs

MODELS: dict[str, ModelSettings] = {
    "transformer": TransformerModel(
        encoder_layers=1, decoder_layers=1, width=16, heads=2, feedforward=16, dropout=0.0
    ),
    "rnn": RecurrentModel(width=12, embedding=12, dropout=0.0),
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, TextData]:
    """Text of very uneven lengths: 2 to 9 words, and then some of 60."""
    folder = tmp_path_factory.mktemp("text")
    pairs = sentences(60)
    pairs[7] = pairs[30] = (
        " ".join(source for source, _ in pairs[:10]),
        " ".join(target for _, target in pairs[:10]),
    )
    files = write_pairs(folder, pairs)
    data = TextData(**files, pieces=350, hold_out=4, longest=1000)
    Translation(TextSource(data, say=lambda _: None), MODELS["rnn"], Search(), 100, 0.1).prepare(folder / "run")
    return folder / "run", data


@pytest.fixture(params=list(MODELS))
def task(request: pytest.FixtureRequest, prepared: tuple[Path, TextData]) -> Translation:
    folder, data = prepared
    made = Translation(TextSource(data, say=lambda _: None), MODELS[request.param], Search(), 100, 0.1)
    made.prepare(folder)
    return made


def fit(task: Any, model: nn.Module | None = None, **settings: Any) -> Fit:
    chosen = Train(**{"warmup": 0, "schedule": "constant", "rate": 0.01, "epsilon": 1e-5, **settings})
    torch.manual_seed(3)
    model = task.build() if model is None else copy.deepcopy(model)
    optimisers = {player: optimiser(task.parameters(model, player), chosen) for player in task.players}
    return Fit(task, model, optimisers, chosen, Progress())


def tensors(model: nn.Module) -> Tensor:
    return torch.cat([value.detach().flatten() for value in model.state_dict().values()])


def parts(which: np.ndarray, count: int) -> list[np.ndarray]:
    return list(np.array_split(which, count))


@pytest.mark.parametrize(("task", "count"), [("transformer", 2), ("transformer", 56), ("rnn", 7)], indirect=["task"])
def test_many_small_batches_are_one_big_batch(task: Translation, count: int) -> None:
    """T10: with pairs of 2 to 60 words, in 2, 7 or 56 parts."""
    everything = np.arange(len(task.text.train))
    whole, parted = fit(task, clip=0.5), fit(task, clip=0.5)
    for _ in range(3):
        one, many = whole.update([everything]), parted.update(parts(everything, count))
        assert one.units == many.units == task.units(everything)
        assert many.figures["loss"] / many.units == pytest.approx(one.figures["loss"] / one.units, abs=1e-5)
    assert (tensors(whole.model) - tensors(parted.model)).abs().max() < 1e-5


@pytest.mark.parametrize("task", ["transformer"], indirect=True)
def test_a_mean_of_means_would_not_pass(task: Translation) -> None:
    """What the test above would say to the usual mistake: dividing each batch by its own count."""

    class Mistaken(Translation):
        def loss(self, model: nn.Module, batch: Any, player: str) -> Loss:
            right = super().loss(model, batch, player)
            return Loss(right.total / int((batch.after != 0).sum()), right.figures)

        def units(self, which: np.ndarray) -> int:
            return 1

    wrong = Mistaken(task.origin, task.model, task.search, 100, 0.1)
    wrong.text = task.text
    everything = np.arange(len(task.text.train))
    whole, parted = fit(wrong, clip=0.0), fit(wrong, clip=0.0)
    for _ in range(3):
        whole.update([everything]), parted.update(parts(everything, 7))
    assert (tensors(whole.model) - tensors(parted.model)).abs().max() > 1e-4


def test_accumulation_takes_neighbouring_batches(tmp_path: Path) -> None:
    task = Line(points=20, batch=4)  # five batches: two, two, and the one that is left
    task.prepare(tmp_path)
    taken = fit(task, accumulate=2)
    updates = taken.updates()
    seen = [(next(updates).units, taken.progress.epoch, taken.progress.index) for _ in range(4)]
    assert seen == [(8, 0, 2), (8, 0, 4), (4, 0, 5), (8, 1, 2)]


@pytest.mark.parametrize("task", ["transformer"], indirect=True)
def test_each_example_once_an_epoch(task: Translation) -> None:
    for epoch in range(2):
        found = np.concatenate(task.batches(epoch))
        assert sorted(found.tolist()) == list(range(len(task.text.train)))


class Poisoned(Line):
    """Some batches give a loss, or a gradient alone, that is not finite."""

    def __init__(self, how: Callable[[Tensor], Tensor], when: Callable[[int], bool]) -> None:
        super().__init__()
        self.how, self.when, self.calls = how, when, 0

    def loss(self, model: nn.Module, batch: Any, player: str) -> Loss:
        right = super().loss(model, batch, player)
        self.calls += 1
        return Loss(self.how(right.total), right.figures) if self.when(self.calls) else right


POISONS: dict[str, Callable[[Tensor], Tensor]] = {
    "nan loss": lambda total: total * float("nan"),
    "infinite loss": lambda total: total * float("inf"),
    "nan gradient": lambda total: total + (total * 0).sqrt(),  # the loss is fine, its gradient 0 times infinity
}


@pytest.mark.parametrize("poison", list(POISONS))
def test_what_is_not_finite_is_skipped(tmp_path: Path, poison: str) -> None:
    """T8: weights and optimiser are as before, and the examples are named."""
    task = Poisoned(POISONS[poison], lambda call: call == 3)
    task.prepare(tmp_path)
    trained = fit(task)
    updates = trained.updates()
    for _ in range(2):
        assert next(updates).skipped is None
    weights = tensors(trained.model)
    memory = copy.deepcopy(trained.optimisers["model"].state_dict()["state"])
    third = next(updates)
    assert third.skipped is not None
    assert task.where(task.batches(0)[2]) in third.skipped
    assert third.figures == {}
    assert torch.equal(tensors(trained.model), weights)
    for number, kept in trained.optimisers["model"].state_dict()["state"].items():
        assert all(torch.equal(value, memory[number][name]) for name, value in kept.items())
    assert (trained.progress.skipped, trained.progress.skipped_in_a_row) == (1, 1)
    assert next(updates).skipped is None
    assert (trained.progress.skipped, trained.progress.skipped_in_a_row) == (1, 0)
    assert not torch.equal(tensors(trained.model), weights)


@pytest.mark.parametrize("task", ["transformer"], indirect=True)
def test_lines_are_named(task: Translation, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Translation.loss
    monkeypatch.setattr(Translation, "loss", lambda *args: Loss(real(*args).total * float("nan")))
    which = np.array([0, 5, 9])
    lines = sorted(task.text.train.line(int(i)) for i in which)
    update = fit(task).update([which])
    assert update.skipped is not None
    assert update.skipped.endswith(f"train.de: lines {lines[0]}, {lines[1]}, {lines[2]}")


OUT = {
    "cuda": lambda: torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"),
    "cpu": lambda: RuntimeError(
        "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to "
        "allocate 400000000000 bytes. Error code 12 (Cannot allocate memory)"
    ),
    "windows": lambda: RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 1 bytes."),
    "c++": lambda: RuntimeError("std::bad_alloc"),
    "python": lambda: MemoryError(),
}


@pytest.mark.parametrize(
    ("task", "kind"), [*(("transformer", kind) for kind in OUT), ("rnn", "cpu")], indirect=["task"]
)
def test_a_batch_too_large_is_halved(task: Translation, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """T11: the same gradient, and the lines are named."""
    everything = np.arange(len(task.text.train))
    whole, halved = fit(task, clip=0.0), fit(task, clip=0.0)
    whole.update([everything])
    real, sizes = Translation.loss, []

    def small_only(self: Translation, model: nn.Module, batch: Any, player: str) -> Loss:
        sizes.append(len(batch.source))
        if len(batch.source) > 20:
            raise OUT[kind]()
        return real(self, model, batch, player)

    monkeypatch.setattr(Translation, "loss", small_only)
    update = halved.update([everything])
    assert update.skipped is None
    assert update.units == task.units(everything)
    assert sizes == [56, 28, 14, 14, 28, 14, 14, 14, 14]
    gradients = [[p.grad for p in one.model.parameters()] for one in (whole, halved)]
    for mine, theirs in zip(*gradients, strict=True):
        assert mine is not None
        assert theirs is not None
        assert (mine - theirs).abs().max() < 1e-6
    assert len(update.split) == 3
    first = ", ".join(str(task.text.train.line(i)) for i in range(3))
    assert f"train.de: lines {first}" in update.split[0]


def test_one_example_too_large_is_left_out(tmp_path: Path) -> None:
    class Heavy(Line):
        def loss(self, model: nn.Module, batch: Any, player: str) -> Loss:
            if bool((batch[0] == self.x[7]).all(-1).any()):
                raise MemoryError
            return super().loss(model, batch, player)

    task = Heavy()
    task.prepare(tmp_path)
    heavy = fit(task)
    update = heavy.update([[2, 3], [1, 7], [4]])
    assert update.units == 4
    assert update.split == ("points 1, 7", "points 7 (left out: alone it needs more memory than there is)")
    assert update.skipped is None
    alone = heavy.update([[7]])
    assert alone.skipped == "nothing of it fits the memory"
    assert alone.units == 0


def test_other_errors_are_not_swallowed(tmp_path: Path) -> None:
    class Broken(Line):
        def loss(self, model: nn.Module, batch: Any, player: str) -> Loss:
            raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    task = Broken()
    task.prepare(tmp_path)
    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        fit(task).update([[1]])
    assert not out_of_memory(RuntimeError("no kernel"))


def test_nothing_to_train_on_is_said(tmp_path: Path) -> None:
    class Empty(Line):
        def batches(self, epoch: int) -> Sequence[list[int]]:
            return []

    task = Empty()
    task.prepare(tmp_path)
    with pytest.raises(ValueError, match="there is nothing to train on"):
        next(fit(task).updates())


def test_chance_depends_on_seed_and_step_alone(tmp_path: Path) -> None:
    """What was drawn before, by a validation say, changes nothing."""
    task = Line()
    task.prepare(tmp_path)
    calm, disturbed = fit(task), fit(task)
    one, two = calm.updates(), disturbed.updates()
    for number in range(6):
        next(one)
        torch.rand(number)
        next(two)
    assert torch.equal(tensors(calm.model), tensors(disturbed.model))
    other = fit(task, seed=2)
    updates = other.updates()
    for _ in range(6):
        next(updates)
    assert not torch.equal(tensors(calm.model), tensors(other.model))


def test_seeds_differ_wherever_they_are_asked_for() -> None:
    seeds = [seed_of(a, b, c) for a in range(4) for b in range(50) for c in range(4)]
    assert len({*seeds, *(seed_of(a, b) for a in range(4) for b in range(50))}) == 1000
    torch.manual_seed(max(seeds))  # torch takes them


def test_the_rate_follows_schedule_and_roll_backs(tmp_path: Path) -> None:
    task = Line()
    task.prepare(tmp_path)
    trained = fit(task, rate=0.4, warmup=4, schedule="linear", steps=8)
    updates = trained.updates()
    assert [round(next(updates).rate, 6) for _ in range(5)] == [0.1, 0.2, 0.3, 0.4, 0.3]
    trained.progress.rate_factor = 0.5
    assert next(updates).rate == pytest.approx(0.1)
    assert trained.optimisers["model"].param_groups[0]["lr"] == pytest.approx(0.1)


def test_the_gradient_is_clipped(tmp_path: Path) -> None:
    task = Line()
    task.prepare(tmp_path)
    free, held = fit(task, clip=0.0), fit(task, clip=0.01)
    norms = [one.update(task.batches(0)[:1]).norm for one in (free, held)]
    assert norms[0] == norms[1] > 0.01
    found = [float(torch.cat([p.grad.flatten() for p in one.model.parameters()]).norm()) for one in (free, held)]
    assert found[0] == pytest.approx(norms[0])
    assert found[1] == pytest.approx(0.01)


class TestTwoPlayers:
    """A task whose parts are trained in turn."""

    @pytest.fixture
    def duel(self, tmp_path: Path) -> Fit:
        task = Duel()
        task.prepare(tmp_path)
        return fit(task)

    def turns(self, duel: Fit, monkeypatch: pytest.MonkeyPatch, trouble: Callable[[str], Loss | None]) -> Update:
        real = Duel.loss
        monkeypatch.setattr(Duel, "loss", lambda *args: trouble(args[3]) or real(*args))
        return duel.update([[0, 1, 2, 3]])

    def test_each_changes_its_own_weights_only(self, duel: Fit) -> None:
        before = {name: value.clone() for name, value in duel.model.state_dict().items()}
        update = duel.update([[0, 1, 2, 3]])
        assert set(update.figures) == {"judge", "maker"}
        assert all(not torch.equal(value, before[name]) for name, value in duel.model.state_dict().items())
        judge = duel.optimisers["judge"].param_groups[0]["params"]
        assert {id(p) for p in judge} == {id(p) for p in duel.task.parameters(duel.model, "judge")}

    def test_memory_that_ends_in_the_second_turn_repeats_no_first_turn(
        self, duel: Fit, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fails = iter([True])

        def trouble(player: str) -> None:
            if player == "maker" and next(fails, False):
                raise MemoryError

        update = self.turns(duel, monkeypatch, trouble)
        assert update.skipped is None
        assert len(update.split) == 1
        for rule in duel.optimisers.values():
            assert {float(kept["step"]) for kept in rule.state_dict()["state"].values()} == {1.0}

    def test_the_one_whose_gradient_is_not_finite_is_named_and_keeps_its_weights(
        self, duel: Fit, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = {name: value.clone() for name, value in duel.model.state_dict().items()}
        nan = Loss(torch.tensor(float("nan"), requires_grad=True))
        maker = duel.task.parameters(duel.model, "maker")
        update = self.turns(
            duel, monkeypatch, lambda who: Loss(nan.total * maker[0].sum()) if who == "maker" else None
        )
        assert update.skipped == "the gradient of maker is not finite in points 0, 1, 2, 3"
        after = duel.model.state_dict()
        assert torch.equal(after["maker.weight"], before["maker.weight"])
        assert not torch.equal(after["judge.weight"], before["judge.weight"])
