"""How fast training is, against peers, in real target tokens per second, and against what the machine can multiply.

`python benchmarks/train.py --to docs/results` writes train.json, train.md and train.png. Every peer has a process in
an environment of its own, made on first use. All take turns, in one run, on the same batches; a ratio is our speed
over theirs, taken round by round.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch

from measure import Row, Section, circumstances, patience, ratio, write
from peers.corpus import BUDGET, choose
from peers.course import OURS, Contestant, Course
from peers.environment import Entrant, Unavailable, Worker, python_of
from peers.gemm import peak, working
from peers.sizes import MODELS, operations

SEED = 0
ENTRANTS = [
    Entrant(OURS, "ours.py"),
    Entrant("JoeyNMT", "joey.py", ("joeynmt==2.3.0", "importlib_metadata")),
    Entrant("eole", "eole_nmt.py", ("eole==0.6.4",)),
    Entrant("Marian", "marian.py", ("transformers==5.22.2",)),
    Entrant("x-transformers", "x_former.py", ("x-transformers==2.31.10",)),
    Entrant("torch", "plain_torch.py"),
]
BATCHES = {"tiny": 4, "base": 2, "base-37k": 2, "rnn": 3}  # in a round: some seconds for each contestant
GOALS = {"tiny": 1.4, "base": 1.8, "base-37k": 1.8, "rnn": 1.7}
BY_HAND = {"rnn": "torch"}  # torch has no such model: what stands there is a loop written for this benchmark


# What is told of a course.


def rows(course: Course) -> list[Row]:
    """A row for everyone who was timed to the end, the fastest first."""
    work = sum(operations(MODELS[course.model], batch) for batch in course.batches.lengths)
    return [_row(course, one, work) for one in course.standings]


def _row(course: Course, one: Contestant, work: float) -> Row:
    speeds = [course.batches.tokens / seconds for seconds in one.seconds]
    rate = work / statistics.median(one.seconds) / 1e9
    others = [other for other in course.contestants + course.slower if other.name == one.name and other is not one]
    told = ", ".join(
        f"{other.precision} {course.batches.tokens / statistics.median(other.seconds):.0f}" for other in others
    )
    row: Row = {
        "who": one.name,
        "version": ", ".join(f"{name} {number}" for name, number in one.ready["versions"].items()),
        "parameters": f"{one.ready['parameters']:,}",
        "precision": one.precision,
        "target tokens/s": statistics.median(speeds),
        "least": min(speeds),
        "most": max(speeds),
        "its other precision": told,
        "GFLOP/s": rate,
        "share of the peak": rate / course.peaks[one.precision],
        "peak MiB": one.rounds[-1]["peak MiB"],
        "loss, first and last": f"{one.rounds[0]['losses'][0]:.2f}, {one.rounds[-1]['losses'][-1]:.2f}",
    }
    return row | (ratio(one.seconds, course.ours.seconds) if course.ours else {})


def against_best(course: Course) -> Row | None:
    """Ours over the fastest peer of every round, whoever that is then: as peers are, and given bfloat16 too."""
    by_hand = [one for one in course.standings if one.name == BY_HAND.get(course.model)]
    peers = [one for one in course.contestants if one.name != OURS and one.name != BY_HAND.get(course.model)]
    plain = [one for one in peers if one.precision == "float32"]
    if course.ours is None or not plain:
        return None
    ours, goal = course.ours.seconds, GOALS[course.model]
    found, hardest = ratio(_fastest(plain), ours), ratio(_fastest(peers), ours)
    beside = [ratio(one.seconds, ours)["ratio"] for one in by_hand]
    best, given = (min(some, key=lambda one: statistics.median(one.seconds)) for some in (plain, peers))
    first: Row = {"model": course.model, "the fastest peer as it is": best.name}
    second: Row = {
        "the fastest given bfloat16": f"{given.name} ({given.precision})",
        "over it": f"{hardest['ratio']:.2f} ({hardest['low']:.2f}-{hardest['high']:.2f})",
        "over it at the peak of products": _bound(course, given),
        "over a loop by hand": beside[0] if beside else "",
    }
    return first | found | {"goal": f"≥ {goal}", "reached": found["ratio"] >= goal} | second


def _fastest(peers: Sequence[Contestant]) -> list[float]:
    return [min(each) for each in zip(*(one.seconds for one in peers), strict=True)]


def _bound(course: Course, peer: Contestant) -> float:
    """How many times as fast as a peer a trainer would be that did nothing but products, at the machine's peak."""
    work = sum(operations(MODELS[course.model], batch) for batch in course.batches.lengths)
    return statistics.median(peer.seconds) * course.peaks[peer.precision] * 1e9 / work


def section(course: Course) -> Section:
    size, batches = MODELS[course.model], course.batches
    peaks = ", ".join(f"{found:.0f} GFLOP/s in {precision}" for precision, found in course.peaks.items() if found)
    says = [
        f"`{size}`. {len(batches.lengths)} batches a round, {batches.tokens} target tokens, "
        f"{100 * batches.padding:.1f} % of the tables padding: {batches.says}. "
        f"The best product of two 2048 × 2048 matrices during these rounds: {peaks}. GFLOP/s count the products of "
        "real tokens by formula (`operations` in benchmarks/peers/sizes.py), the same for all.",
        *course.notes,
    ]
    return Section(course.model, "\n\n".join(says), rows(course))


def report(to: Path, about: Row, courses: Sequence[Course], absent: Sequence[str]) -> None:
    summary = [row for course in courses if (row := against_best(course))]
    sections = [Section("Ours over the best peer", BEST, summary)] if summary else []
    sections += [section(course) for course in courses]
    taken = {
        course.model: {f"{one.name} {one.precision}": one.seconds for one in course.contestants} for course in courses
    }
    tables = {one.title: one.rows for one in sections}
    write(to / "train.json", about | tables | {"seconds of every round": taken, "absent": list(absent)})
    heads = [
        "# Training, measured",
        SAYS,
        "\n".join(f"- {name}: {value}" for name, value in about.items()),
        *(f"Not taking part: {one}" for one in absent),
        "![target tokens per second](train.png)",
    ]
    (to / "train.md").write_text("\n\n".join(heads + [one.text() for one in sections]), encoding="utf-8")
    draw(courses, to / "train.png")


SAYS = (
    "Made by the command below; not edited by hand. One update is forward, loss with label smoothing 0.1, "
    "backward and a step of fused AdamW without clipping, dropout on; ours is the toolkit's own loop, which "
    "also checks that gradients are finite. Every turn begins with one untimed update. "
    "Batches are the same ids for all, sorted by length, at most "
    f"{BUDGET} places of the longer side. Only real target tokens count, END among them. "
    "Every peer is given its own model and loss with its fastest settings, and drops what all drop: embeddings "
    "and what sub-layers add; the head of each script in benchmarks/peers says what that meant. Each runs in "
    "float32 and under bfloat16 autocast and is told in the faster; ours in what its own rule chooses. A ratio "
    "is our speed over theirs, the median over rounds, with the least and the most in brackets."
)
BEST = (
    "In every round ours against whichever peer was the fastest in that round. *As it is*: no peer leaves float32 by "
    "itself on a processor; the goals were set so. *Given bfloat16*: with autocast put around its model and loss by "
    "this benchmark, and told in the faster precision; *at the peak of products* is what nothing but products, at "
    "the best speed seen in these rounds, would be over that. torch has no recurrent translator: what takes part "
    "under its name there is a loop written by hand for this benchmark, told apart from libraries."
)


def draw(courses: Sequence[Course], file: Path) -> None:
    """Bars of speed, a panel for each model; whiskers reach from the slowest round to the fastest."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(
        1, len(courses), figsize=(4.2 * len(courses), 3), squeeze=False, layout="constrained"
    )
    for panel, course in zip(panels[0], courses, strict=True):
        found = rows(course)[::-1]
        speeds = [row["target tokens/s"] for row in found]
        reach = [
            [row["target tokens/s"] - row["least"] for row in found],
            [row["most"] - row["target tokens/s"] for row in found],
        ]
        colours = ["tab:orange" if row["who"] == OURS else "tab:gray" for row in found]
        panel.barh([f"{row['who']} ({row['precision']})" for row in found], speeds, xerr=reach, color=colours)
        panel.set(title=course.model, xlabel="target tokens per second")
    figure.savefig(file, dpi=120)
    pyplot.close(figure)


# All of it.


@contextmanager
def entered(
    names: Sequence[str], folder: Path, environment: dict[str, str]
) -> Iterator[tuple[list[Worker], list[str]]]:
    """A process for everyone who can be installed, and why the others cannot."""
    workers, absent = [], []
    folder.mkdir(parents=True, exist_ok=True)
    for entrant in ENTRANTS:
        if entrant.name not in names:
            continue
        try:
            workers.append(Worker(entrant, python_of(entrant, folder), environment, folder / f"{entrant.script}.log"))
        except Unavailable as why:
            absent.append(f"{entrant.name}: {why}")
            print(absent[-1], flush=True)
    try:
        yield workers, absent
    finally:
        for worker in workers:
            worker.close()


def run(course: Course, workers: Sequence[Worker], rounds: int, precisions: Sequence[str], environment: Row) -> None:
    """Warm up, then the rounds; before each the machine shows what it can multiply just then."""
    course.warm(workers, precisions)
    start = time.perf_counter()
    for number in range(rounds):
        for precision in precisions:
            course.peaks[precision] = max(course.peaks.get(precision, 0.0), peak(precision, environment) or 0.0)
        course.turn(number)
        print(f"{course.model}: round {number + 1} of {rounds}, {time.perf_counter() - start:.0f} s", flush=True)


def asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=Path("docs/results"), help="the folder for the results")
    parser.add_argument("--rounds", type=int, default=7, help="how often each contestant is timed, at least 5")
    parser.add_argument(
        "--models", nargs="+", choices=list(MODELS), default=["tiny", "base", "rnn"], help="what is trained"
    )
    parser.add_argument("--peers", nargs="+", default=[one.name for one in ENTRANTS], help="who takes part")
    parser.add_argument("--envs", type=Path, default=Path("~/.cache/regard-bench"), help="where peers are installed")
    parser.add_argument("--threads", type=int, default=2, help="of everyone")
    parser.add_argument("--patience", type=float, default=5, help="minutes to wait, in all, for a quiet machine")
    parser.add_argument("--quick", action="store_true", help="one batch and one round, to see that it runs")
    options = parser.parse_args()
    if options.quick:
        options.rounds = 1
    elif options.rounds < 5:
        parser.error(f"--rounds {options.rounds}: a median of fewer than 5 says little")
    return options


def main() -> None:
    options = asked()
    patience.seconds = 60 * options.patience
    torch.set_num_threads(options.threads)
    options.to.mkdir(parents=True, exist_ok=True)
    environment = {"OMP_NUM_THREADS": str(options.threads)}
    limited = working(environment)
    precisions = ["float32"] if limited is None else ["float32", "bfloat16"]
    environment |= limited or {}
    about = circumstances(SEED, options.rounds)
    about["set so that bfloat16 works"] = "nothing helps" if limited is None else limited or "nothing needed"
    start, courses, envs = time.perf_counter(), list[Course](), options.envs.expanduser()
    with tempfile.TemporaryDirectory() as folder, entered(options.peers, envs, environment) as (workers, absent):
        for model in options.models:
            batches = choose(1 if options.quick else BATCHES[model], Path(folder) / f"{model}.npz", SEED)
            courses.append(Course(model, batches))
            run(courses[-1], workers, options.rounds, precisions, environment)
            about["minutes"] = round((time.perf_counter() - start) / 60, 1)
            about["of these, waiting for a quiet machine"] = round(patience.waited / 60, 1)
            report(options.to, about, courses, absent)  # after every model: a run cut short leaves what it has


if __name__ == "__main__":
    main()
