"""An evaluation as a page of its own: one file, nothing fetched, no script, light or dark as the reader's screen.

Whatever came from text or from a model is escaped before it becomes part of the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from html import escape
from pathlib import Path
from string import Template

from regard import __version__
from regard.evaluate.compare import Comparison
from regard.evaluate.heads import Chosen
from regard.evaluate.run import Evaluation
from regard.evaluate.score import Score, Sentence, sacrebleu_version
from regard.show.lengths import FEW, length_chart

SHOWN = 10  # lines of each kind
DIFFERENT = 1.0  # points of chrF by which a line must differ to be shown


def report(
    runs: Sequence[Sequence[Evaluation]],
    warnings: Sequence[str] = (),
    compared: Mapping[str, Comparison] | None = None,
    chosen: Chosen | None = None,
) -> str:
    """The whole page, for one run and all its texts, or for several runs and one text."""
    first = runs[0][0]
    names = [some[0].run for some in runs]
    title = f"{names[0]}: how good it is" if len(runs) == 1 else f"{len(runs)} translators compared"
    parts = [f"<h1>{escape(title)}</h1>", _about(first), *(f'<p class="warn">{escape(w)}</p>' for w in warnings)]
    if len(runs) == 1:
        for number, one in enumerate(runs[0]):
            parts += [_heading(one)] if number or len(runs[0]) > 1 else []
            parts += [_tiles(one), _lengths([one])]
    else:
        parts += [_compared(names, compared or {}), _lengths([some[0] for some in runs])]
    parts += [_speed([one for some in runs for one in some]), *_links(runs, chosen)]
    parts += list(_lines([some[0] for some in runs]))
    parts.append(_how(first, compared))
    page = Template(Path(__file__).with_name("report.html").read_text(encoding="utf-8"))
    return page.substitute(title=escape(title), body="\n".join(parts))


def _about(one: Evaluation) -> str:
    references = "" if len(one.text.references) == 1 else f", {len(one.text.references)} references"
    return f'<p class="faint where">{len(one.text):,} lines{references}: {escape(one.text.where)}</p>'


def _heading(one: Evaluation) -> str:
    return f"<h2>{escape(one.text.name)}</h2>"


def _tiles(one: Evaluation) -> str:
    tiles = [
        _tile(f"{score.score:.2f}", f"{score.name}{_within(score)}{', lower is better' * (score.name == 'TER')}")
        for score in one.scores.values()
    ]
    tiles.append(_tile(f"{100 * one.exact:.1f} %", "exactly as a reference"))
    return f'<div class="tiles">{"".join(tiles)}</div>{_doubts(one)}'


def _within(score: Score) -> str:
    return "" if score.half is None else f" ± {score.half:.2f}"


def _tile(figure: str, what: str) -> str:
    return f'<div class="tile"><b>{escape(figure)}</b><span>{escape(what)}</span></div>'


def _doubts(one: Evaluation) -> str:
    if not one.suspects:
        return ""
    told = ", ".join(f"{count:,} {name}" for name, count in one.suspects.items())
    return f'<p class="faint">To be doubted: {escape(told)}.</p>'


def _lengths(some: Sequence[Evaluation]) -> str:
    chart = length_chart([one.buckets for one in some], some[0].unit)
    keys = "".join(f'<span class="key c{n % 4}"></span>{escape(one.run)}' for n, one in enumerate(some))
    legend = f"<p>{keys}</p>" if len(some) > 1 else ""
    caption = f"BLEU by the source's {some[0].unit}; below each range, how many lines it has (pale: below {FEW})."
    return f"<h2>By length</h2>{legend}<figure style='margin:0'>{chart}<figcaption>{caption}</figcaption></figure>"


def _compared(names: Sequence[str], compared: Mapping[str, Comparison]) -> str:
    found = list(compared.values())
    head = ["", *(f"{one.name}{' ↓' * (one.name == 'TER')}" for one in found)]
    rows = []
    for number, name in enumerate(names):
        cells = [escape(name)]
        for one in found:
            row = one.rows[number]
            half = "" if row.half is None else f" ± {row.half:.2f}"
            p = "" if row.p is None else f"<br><span class='faint'>{row.difference:+.2f}, p = {row.p:.4f}</span>"
            cells.append(f"{row.score:.2f}{half}{p}")
        rows.append(cells)
    told = (
        "<p class='faint'>Each is compared with the first, line by line. p is how often chance alone makes a "
        "difference this large; below 0.05 is called significant. ↓: lower is better.</p>"
    )
    return _table(head, rows, numbers=False) + told


def _speed(some: Sequence[Evaluation]) -> str:
    head = ["", "lines", "pieces", "seconds", "pieces/s", "lines/s", "one line, median", "95 %", "threads", "beam"]
    rows = [
        [
            escape(one.run if one.text.name == some[0].text.name else one.text.name),
            f"{one.speed.lines:,}", f"{one.speed.pieces:,}", f"{one.speed.seconds:.1f}",
            f"{one.speed.pieces_a_second:,.0f}", f"{one.speed.lines_a_second:,.1f}",
            f"{1000 * one.speed.latency:.0f} ms", f"{1000 * one.speed.latency_95:.0f} ms",
            str(one.speed.threads), str(one.speed.beam),
        ]
        for one in some
    ]  # fmt: skip
    told = "Pieces are those that were said, ends included, without padding; on the machine at hand."
    return f"<h2>Speed</h2>{_table(head, rows)}<p class='faint'>{told}</p>"


def _links(runs: Sequence[Sequence[Evaluation]], chosen: Chosen | None) -> Iterator[str]:
    there = [one for some in runs for one in some if one.links is not None]
    if there:
        head = ["", "AER", "precision", "recall", "links", "lines left out"]
        rows = [
            [
                f"{escape(one.run)}, {escape(str(one.links.heads))}", f"{one.links.score.aer:.3f}",
                f"{one.links.score.precision:.3f}", f"{one.links.score.recall:.3f}",
                f"{one.links.score.links:,}", str(one.links.left_out),
            ]
            for one in there
            if one.links is not None
        ]  # fmt: skip
        yield f"<h2>Word alignment</h2>{_table(head, rows)}"
    if chosen is not None:
        if not there:
            yield "<h2>Word alignment</h2>"
        yield _heads(chosen)


def _heads(chosen: Chosen) -> str:
    """Every head's figure by itself; those chosen are outlined."""
    what = "AER, lower is better" if chosen.by == "gold" else "agreement as F1, higher is better"
    picked = {(chosen.heads.layer, head) for head in chosen.heads.heads or ()}
    body = "".join(
        f"<tr><th>layer {layer}</th>"
        + "".join(
            f'<td class="head{" picked" * ((layer, head) in picked)}">{value:.2f}</td>'
            for head, value in enumerate(row)
        )
        + "</tr>"
        for layer, row in enumerate(chosen.layers)
    )
    head = "".join(f'<th style="text-align:center">head {n}</th>' for n in range(len(chosen.layers[0])))
    unseen = "" if chosen.unseen is None else f" On lines it was not chosen on: {chosen.unseen:.3f}."
    told = (
        f"Chosen by {escape(chosen.by)} on {chosen.lines:,} lines: {escape(str(chosen.heads))}, together "
        f"{chosen.score:.3f} ({what}).{unseen}"
    )
    return f'<p>{told}</p><div class="scroll"><table><tr><th></th>{head}</tr>{body}</table></div>'


def _lines(some: Sequence[Evaluation]) -> Iterator[str]:
    """Best and worst lines of one run; of several, those in which the first and another differ most."""
    if len(some) == 1:
        best, worst = some[0].best_and_worst(SHOWN)
        note = (
            "<p class='faint'>By chrF2++ of the line. In the translation, <span class='extra'>words that the "
            "reference does not have there</span>; in the reference, <span class='missed'>words that were missed"
            "</span>.</p>"
        )
        yield f"<h2>Worst lines</h2>{note}" + "".join(_line([one], [""]) for one in worst)
        yield "<h2>Best lines</h2>" + "".join(_line([one], [""]) for one in best)
        return
    first, *others = some
    for other in others:
        pairs = list(zip(first.sentences, other.sentences, strict=True))
        for title, sign in ((f"Where {other.run} is better", 1), (f"Where {first.run} is better", -1)):
            ranked = sorted(pairs, key=lambda pair: (sign * (pair[0].chrf - pair[1].chrf), pair[0].line))
            shown = [pair for pair in ranked[:SHOWN] if sign * (pair[1].chrf - pair[0].chrf) > DIFFERENT]
            if shown:
                lines = "".join(_line(pair, [first.run, other.run]) for pair in shown)
                yield f"<h2>{escape(title)}</h2>{lines}"


def _line(said: Sequence[Sentence], names: Sequence[str]) -> str:
    one = said[0]
    missed, _ = _differences(one.references[0], one.said)
    rows = [("source", escape(one.source)), ("reference", missed)]
    for sentence, name in zip(said, names, strict=True):
        _, extra = _differences(sentence.references[0], sentence.said)
        rows.append((escape(name) or "translation", extra or "<i class='faint'>nothing</i>"))
    told = [f"chrF2++ {sentence.chrf:.1f}, BLEU {sentence.bleu:.1f}" for sentence in said]
    doubts = [f"to be doubted: {', '.join(one.suspect)}" for one in said if one.suspect]
    head = f"<span class='faint'>line {one.line:,} · {escape(' · '.join([*told, *doubts]))}</span>"
    listed = "".join(f"<dt>{name}</dt><dd dir='auto'>{text}</dd>" for name, text in rows)
    return f'<div class="line">{head}<dl>{listed}</dl></div>'


def _differences(reference: str, said: str) -> tuple[str, str]:
    """Both texts as HTML, the words of each that the other has not in the same order marked."""
    left, right = reference.split(), said.split()
    matches = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
    missed = _marked([(left[a:b], tag != "equal") for tag, a, b, _, _ in matches], "missed")
    extra = _marked([(right[c:d], tag != "equal") for tag, _, _, c, d in matches], "extra")
    return missed, extra


def _marked(stretches: Iterable[tuple[Sequence[str], bool]], kind: str) -> str:
    shown = (
        f'<span class="{kind}">{escape(" ".join(words))}</span>' if marked else escape(" ".join(words))
        for words, marked in stretches
        if words
    )
    return " ".join(shown)


def _how(one: Evaluation, compared: Mapping[str, Comparison] | None) -> str:
    signatures = (
        [f"{score.name}|{score.signature}" for score in one.scores.values()]
        if compared is None
        else [f"{found.name}|{found.signature}" for found in compared.values()]
    )
    told = escape("\n".join(signatures))
    versions = f"regard {__version__}, sacreBLEU {sacrebleu_version()}"
    return (
        f"<h2>How it was scored</h2><p>By sacreBLEU, words split as <code>{escape(one.tokenise)}</code>. Quote these "
        f"signatures with the figures:</p><pre>{told}</pre><p class='faint'>{escape(versions)}. Intervals have 95 % "
        "of resampled texts in them.</p>"
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: bool = True) -> str:
    """Cells are HTML already; all but the first column hold numbers."""
    kind = ' class="n"' if numbers else ""
    top = "".join(f"<th{kind if n else ''}>{title}</th>" for n, title in enumerate(head))
    body = "".join(
        "<tr>" + "".join(f"<td{kind if n else ''}>{cell}</td>" for n, cell in enumerate(row)) + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><tr>{top}</tr>{body}</table></div>'
