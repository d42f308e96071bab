"""The nine score functions on three tasks: what each can do, what it costs, and what it looks at.

The tables of score functions that lectures print, measured: one recurrent model, of which only the score is changed,
copies, reverses and looks up. `regard study scores --to docs/results`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from regard.attend.mechanism import Attention
from regard.attend.score import (
    Additive,
    Concat,
    Cosine,
    Dot,
    General,
    LinearConcat,
    Location,
    ScaledDot,
    Score,
)
from regard.attend.watch import watch
from regard.models.blocks import embedding, output
from regard.models.recurrence.cells import CELLS
from regard.models.recurrence.encoder import Encoder, Forwards
from regard.models.recurrence.first import Handed
from regard.models.recurrence.readout import Tanh
from regard.models.recurrence.sight import Sight
from regard.models.recurrence.wiring import After
from regard.models.recurrent import Recurrent
from regard.models.seq2seq import Seq2Seq
from regard.studies import trial
from regard.studies.grid import At, Column, Found, Measured, Study, run
from regard.tasks.sequences import batch_of
from regard.tasks.symbols import RULES
from regard.tasks.toy import Sentence, ToyTranslation

WIDTH, LOW, HIGH, ROWS, RATE = 64, 10, 20, 64, 8e-3
TESTED, LONGEST = 200, 32
NONE = "none"

SCORES: dict[str, Callable[[int], Score]] = {
    "dot": lambda d: Dot(),
    "scaled dot": lambda d: ScaledDot(),
    "general": lambda d: General(d, d),
    "additive": lambda d: Additive(d, d, d),
    "concat": lambda d: Concat(d, d, d),
    "linear concat": lambda d: LinearConcat(d, d),
    "cosine": lambda d: Cosine(),
    "cosine, β = 1": lambda d: Cosine(1.0).requires_grad_(False),
    "location": lambda d: Location(d, LONGEST),
}
CONTENT = ("dot", "scaled dot", "general", "additive", "concat", "cosine")
PUBLISHED = {  # Luong, Pham & Manning 2015, table 4 and footnote: global attention, WMT14 en-de
    "dot": "ppl 6.1, BLEU 18.6",
    "general": "ppl 6.1, BLEU 17.3",
    "concat": "ppl 6.7",
    "location": "ppl 6.4, BLEU 18.1",
    "additive": "BLEU 22.5 against 21.8 of dot (Britz et al. 2017, WMT15)",
    NONE: "BLEU 10 to 11 (Britz et al. 2017)",
}


def model(score: Score | None, words: int) -> Recurrent:
    """One GRU that reads, one that speaks and looks afterwards (Luong); of equal width, so that every score fits."""
    cells = [CELLS["gru"](WIDTH // 2, WIDTH) for _ in range(2)]
    sight = Sight(None, 0) if score is None else Sight(Attention(score), WIDTH)
    wiring = After([cells[1]], sight, Tanh(WIDTH + sight.width, WIDTH))
    table = embedding(words, WIDTH // 2)  # what is read and what is said are the same symbols
    encoder = Encoder(table, [Forwards(cells[0])])
    return Recurrent(encoder, table, Handed(), wiring, output(None, words, WIDTH))


def measured(at: At, seed: int, steps: int) -> Measured:
    """Train one score on one task, then test it at all lengths and at the longest."""
    make, rule = SCORES.get(at["score"]), RULES[at["task"]]
    task = ToyTranslation(
        rule, lambda words: model(None if make is None else make(WIDTH), words), LOW, HIGH, ROWS, seed
    )
    trained = trial.train(task, steps, RATE)
    held = rule.sentences(TESTED, LOW, HIGH, 10_000 + seed)
    longest = rule.sentences(TESTED, HIGH, HIGH, 20_000 + seed)
    figures = {
        "exact": trial.score(task, trained.model, held).exact,
        "longest": trial.score(task, trained.model, longest).exact,
        "seconds": trained.seconds,
    }
    if make is None:
        return Measured(figures)
    weights = looked(trained.model, held)
    figures |= {"weights": _weights(trained.model), "query": query_effect(weights), "µs": cost(make(WIDTH))}
    example = rule.sentences(1, 12, 12, 7)
    return Measured(figures, looked(trained.model, example)[0].mul(100).round().int().tolist())


def looked(trained: Seq2Seq, sentences: Sequence[Sentence]) -> Tensor:
    """The weights, sentence by sentence, while the right answer is said: `b t s`."""
    batch = batch_of([s.source for s in sentences], [s.target for s in sentences])
    with torch.no_grad(), watch(trained) as seen:
        trained.states(batch.source, batch.lengths, batch.before)
    return torch.cat([look.weights[:, 0] for look in seen], 1)


def query_effect(weights: Tensor) -> float:
    """How far a sentence's weights change from one step to another, at most: 0 where the query has no say."""
    same = weights[:, :3]  # every answer has three symbols, whatever the task
    return float((same.amax(1) - same.amin(1)).amax(-1).mean())


def cost(score: Score, times: int = 20) -> float:
    """Microseconds of a look, of 20 queries at 20 keys in each of 32 rows; the quickest of some."""
    attention = Attention(score).eval()
    query, keys = torch.randn(ROWS, HIGH, WIDTH), torch.randn(ROWS, HIGH, WIDTH)
    taken = []
    with torch.no_grad():
        memory = attention.memory(keys)
        for _ in range(times):
            start = time.perf_counter()
            attention.look(query, memory)
            taken.append(time.perf_counter() - start)
    return 1e6 * min(taken)


def _weights(trained: Seq2Seq) -> int:
    return sum(weight.numel() for sight in trained.sights() for weight in sight.parameters() if weight.requires_grad)


def goals(found: Found) -> list[str]:
    """What was aimed at and what was found."""
    least = min(CONTENT, key=lambda score: found.mean("exact", score=score, task="look-up"))
    blind_look_up = found.mean("exact", score=NONE, task="look-up")
    blind = {task: found.mean("longest", score=NONE, task=task) for task in RULES}
    seeing = {task: found.mean("longest", score="additive", task=task) for task in RULES}
    return [
        trial.reached(
            f"look-up by content, the least of six scores (`{least}`, exact %)",
            100 * found.mean("exact", score=least, task="look-up"),
            98,
        ),
        trial.reached("copying by location (exact %)", 100 * found.mean("exact", score="location", task="copy"), 98),
        trial.reached(
            "looking up by location over no attention at all (points)",
            100 * (found.mean("exact", score="location", task="look-up") - blind_look_up),
            10,
            at_least=False,
        ),
        trial.reached(
            "how far the query moves the weights of `linear concat`",
            found.mean("query", score="linear concat"),
            1e-5,
            at_least=False,
        ),
        trial.reached(
            "attention (`additive`) over none at length 20, the least of three tasks (points)",
            100 * min(seeing[task] - blind[task] for task in RULES),
            30,
        ),
    ]


def draw(found: Found, path: Path) -> None:
    """What each score looked at: a task in each row, a score in each column."""
    figure = trial.figure_of(14, 5.2)
    grid = figure.subplots(len(RULES), len(SCORES))
    for row, task in zip(grid, RULES, strict=True):
        for axes, score in zip(row, SCORES, strict=True):
            axes.imshow(found.seen(score=score, task=task), cmap="Blues", vmin=0, vmax=100, aspect="auto")
            axes.set(xticks=[], yticks=[])
            exact = 100 * found.mean("exact", score=score, task=task)
            axes.set_xlabel(f"{exact:.0f} %", fontsize=8, color=trial.BLUE if exact >= 98 else trial.ORANGE)
            if task == next(iter(RULES)):
                axes.set_title(score, fontsize=9)
        row[0].set_ylabel(task, fontsize=9)
    figure.suptitle("Source across, answer down; below, the share of answers exactly right", fontsize=9)
    figure.savefig(path, dpi=130)


STUDY = Study(
    name="scores",
    title="Nine score functions on three tasks",
    about=(
        f"A GRU of {WIDTH} units reads {LOW} to {HIGH} symbols, another speaks and looks at what was read with its "
        f"current state; only the score is changed. {{steps}} updates of {ROWS} fresh examples, then {TESTED} "
        "others, greedily; right is an answer that is right as a whole. *Copy* and *reverse* have each symbol once; "
        "*look-up* has pairs in random order and three values to be found one after the other, each by the one "
        "before. `perceptron`, which some tables list besides `additive`, is the same function; `linear concat` is "
        "the form of the same tables that cannot work. `weights` are those of the score, `µs` a look of 20 queries "
        "at 20 keys in 32 rows, `query` how far weights move from step to step (0: not at all)."
    ),
    axes={"score": (*SCORES, NONE), "task": tuple(RULES)},
    steps=700,
    seeds=3,
    measure=measured,
    columns=(
        *(Column(f"{task}, exact %", "exact", {"task": task}, 100) for task in RULES),
        *(Column(f"{task} at 20", "longest", {"task": task}, 100) for task in RULES),
        Column("weights", "weights", digits=0, spread=False),
        Column("µs", "µs", digits=0),
        Column("query", "query", digits=2),
    ),
    goals=goals,
    draw=draw,
    published=PUBLISHED,
)

main = partial(run, STUDY)


if __name__ == "__main__":
    main()
