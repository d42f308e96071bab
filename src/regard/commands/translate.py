"""`regard translate`: n lines in, n lines out; what there is to say beside them goes to standard error."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from regard.text.read import lines
from regard.train.folder import read_manifest

if TYPE_CHECKING:
    from regard.translate.lines import Block
    from regard.translate.result import Result
    from regard.translate.writers import Writer

RUN = Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN", help="The folder of a trained translator.")]


@dataclass(frozen=True)
class Searching:
    """How translations are found; what is not given is as the run's recipe has it."""

    beam: int | None = None
    """Hypotheses kept at each step; 1 is greedy."""
    nbest: int = 1
    """More than 1: so many translations of each line, as `line ||| text ||| score`."""
    length_penalty: float | None = None
    """Above 0 prefers longer translations."""
    batch_tokens: int | None = None
    """Source pieces searched together; the answers are the same."""
    no_repeat: int | None = None
    """No run of this many pieces is said twice; 0 allows any."""
    sample: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Draw words by chance."""
    temperature: float | None = None
    """Of the draws: below 1 is surer, above 1 bolder."""
    top_k: int | None = None
    """Draw among this many likeliest pieces; 0 is all."""
    top_p: float | None = None
    """Draw among the likeliest pieces that together have this probability."""
    seed: int | None = None
    """Of the draws."""

    def changes(self) -> dict[str, Any]:
        """What was given."""
        given = {key: value for key, value in vars(self).items() if value is not None and key != "nbest"}
        return given if self.sample else {key: value for key, value in given.items() if key != "sample"}

    def of_draws(self) -> list[str]:
        """Options given that mean nothing unless words are drawn."""
        names = ("temperature", "top_k", "top_p", "seed")
        return [f"--{name.replace('_', '-')}" for name in names if getattr(self, name) is not None]


@dataclass(frozen=True)
class Beside:
    """What the translations must be like, and what is written beside them."""

    alignments: Path | None = None
    """A file for word alignments, `0-0 1-2` for each line (Moses)."""
    attention: Path | None = None
    """A file (.npz) for all weights: 1.weights [layers, heads, target, source], 1.source, 1.target for line 1 ..."""
    scores: Path | None = None
    """A file for scores: the mean log-probability of a piece, for each line."""
    glossary: Path | None = None
    """A file of terms: source, tab, target; a translation has those whose source is in its line."""
    prefix: Path | None = None
    """A file of beginnings, one for each line; an empty one asks for none."""
    keep_placeholders: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """%1$s, {name}, <b>, &amp;, addresses come out as they went in."""
    keep_numbers: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Numbers too."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """An object of JSON for each line: text, score, tokens, what to be wary of, ..."""
    longest: int | None = None
    """Text of more pieces is cut at sentences; without it, of more than the model was trained on."""
    layer: int | None = None
    """The layer that alignments are read from: 0 is the first, -1 the last."""
    heads: tuple[int, ...] | None = None
    """The heads of it; without, all."""
    threads: int = 0
    """Processor threads; 0 = all cores."""
    trust_code: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Allow a run that names a mechanism in a file of its own, which is then run."""


def translate(
    run: RUN,
    searching: Annotated[Searching, tyro.conf.arg(name="")] = Searching(),  # noqa: B008 (frozen)
    beside: Annotated[Beside, tyro.conf.arg(name="")] = Beside(),  # noqa: B008
) -> int:
    """Translate standard input to standard output, line by line: n lines in, n lines out.

    Example: regard translate runs/mine < text.en > text.de
    """
    read_manifest(run)  # what is no run is told before torch is waited for
    threads = beside.threads or len(os.sched_getaffinity(0))
    import torch

    torch.set_num_threads(threads)
    from regard.translate.glossary import Glossary
    from regard.translate.lines import blocks
    from regard.translate.translator import Translator

    terms = Glossary.load(beside.glossary) if beside.glossary else None
    translator = Translator.load(run, beside.layer, beside.heads, beside.trust_code)
    if not (searching.sample or translator.search.sample) and (idle := searching.of_draws()):
        raise ValueError(f"{idle[0]} is for words drawn by chance; give --sample with it")
    options = {
        "nbest": searching.nbest,
        "attention": beside.attention is not None,
        "alignment": beside.alignments is not None,
        "glossary": terms,
        "keep_placeholders": beside.keep_placeholders,
        "keep_numbers": beside.keep_numbers,
        "longest": beside.longest,
        **searching.changes(),
    }
    translator([], **options)  # a setting that cannot be is told before anything is read
    with ExitStack() as files:
        report, writers, prefixes = Report(), _writers(searching, beside, files), _prefixes(beside.prefix)
        report.say(f"translating with {run} on {threads} thread{'s' if threads > 1 else ''}")
        try:
            for block in _until_stopped(blocks(sys.stdin.buffer)):
                results = translator(block.lines, prefix=prefixes(len(block.lines)), **options)
                for write in writers:
                    write(block, results)
                report.tell(block, results)
        except BrokenPipeError:
            return 128 + signal.SIGPIPE  # whoever reads has enough
        report.end()
    return 0


def _until_stopped(found: Iterator[Block]) -> Iterator[Block]:
    """Ctrl-C ends it, also where a callback that was just running swallowed the exception."""
    asked: list[int] = []

    def stop(number: int, frame: object) -> None:
        asked.append(number)
        raise KeyboardInterrupt

    alone = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, stop) if alone else None
    try:
        for block in found:
            if asked:
                raise KeyboardInterrupt
            yield block
        if asked:
            raise KeyboardInterrupt
    finally:
        if alone:
            signal.signal(signal.SIGINT, before)


def _writers(searching: Searching, beside: Beside, files: ExitStack) -> list[Writer]:
    """Where each block goes; what is read by others comes last, so that all is there when they see it."""
    from regard.translate import writers
    from regard.translate.lines import Output

    def beside_it(path: Path) -> Output:
        return Output(files.enter_context(path.open("wb")))

    found: list[Writer] = []
    if beside.alignments:
        found.append(writers.alignments(beside_it(beside.alignments)))
    if beside.scores:
        found.append(writers.scores(beside_it(beside.scores)))
    if beside.attention:
        found.append(files.enter_context(writers.weights(beside.attention)))
    main = writers.objects if beside.json else writers.lists if searching.nbest > 1 else writers.plain
    return [*found, main(Output(sys.stdout.buffer))]


def _prefixes(path: Path | None) -> Callable[[int], list[str] | None]:
    """A function that gives the beginnings of the next so many lines."""
    if path is None:
        return lambda count: None
    there = lines(path)

    def following(count: int) -> list[str]:
        some = list(islice(there, count))
        if len(some) < count:
            raise ValueError(f"{path} has fewer lines than there are to translate; give one each, empty for none")
        return some

    return following


class Report:
    """What is said on standard error: every line of which something was lost, cut, or is to be doubted."""

    def __init__(self) -> None:
        self.began, self.lines, self.pieces, self.damaged, self.cut, self.doubted = time.monotonic(), 0, 0, 0, 0, 0

    def say(self, line: str) -> None:
        """One line."""
        print(line, file=sys.stderr, flush=True)

    def tell(self, block: Block, results: Sequence[Result]) -> None:
        """What there is to say of these."""
        for number, count in block.damaged:
            self.damaged += count
            what = "1 byte is not UTF-8" if count == 1 else f"{count} bytes are not UTF-8"
            self.say(f"line {number}: {what}; U+FFFD stands for what was there")
        for number, result in enumerate(results, start=block.number):
            self.lines += 1
            self.pieces += len(result.tokens)
            if len(result.parts) > 1:
                self.cut += 1
                self.say(f"line {number}: translated in {len(result.parts)} parts")
            if result.suspect:
                self.doubted += 1
                self.say(f"line {number}: {', '.join(result.suspect)}")

    def end(self) -> None:
        """The sums."""
        seconds = time.monotonic() - self.began
        more = [f"{self.damaged:,} bytes not UTF-8"] if self.damaged else []
        more += [f"{self.cut:,} cut into parts"] if self.cut else []
        more += [f"{self.doubted:,} to be doubted"] if self.doubted else []
        self.say(", ".join((f"{self.lines:,} lines, {self.pieces:,} pieces in {seconds:.1f} s", *more)))
