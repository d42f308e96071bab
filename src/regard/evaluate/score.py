"""Scores by sacreBLEU, the figures that its own command prints for the same files, each with its signature.

Text is scored as people read it: sacreBLEU splits it into words by itself. Only text that is tokenised on both sides,
as some corpora come, is scored as it is (`none`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, get_args

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest

from regard.evaluate.text import ScoredText
from regard.tasks.settings import TextData
from regard.tasks.texts import languages

TOKENISERS: tuple[str, ...] = get_args(TextData.model_fields["scored"].annotation)
RESAMPLES = 1000
MOST_DRAWN = 10_000_000
"""Lines drawn in all for intervals: sacreBLEU holds what it knows of each at once, about 100 bytes."""
BUCKETS = 8

Metric = BLEU | CHRF | TER


@dataclass(frozen=True)
class Score:
    """One figure of a whole text."""

    name: str
    """As sacreBLEU calls it: BLEU, chrF2++, TER."""
    score: float
    signature: str
    mean: float | None = None
    """Of the resamples; None where there were none."""
    half: float | None = None
    """Half the width of the interval that has 95 % of them."""
    verbose: str = ""
    """As sacreBLEU says it: of BLEU with precisions, brevity penalty and lengths."""


@dataclass(frozen=True)
class Sentence:
    """One line, and how near it came."""

    line: int
    source: str
    references: tuple[str, ...]
    said: str
    bleu: float
    chrf: float
    suspect: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether it says what a reference says, spaces at the ends aside."""
        return self.said.strip() in {reference.strip() for reference in self.references}


@dataclass(frozen=True)
class Bucket:
    """Lines whose sources are about as long: from `first` to `last` words or characters; None has no end."""

    first: int
    last: int | None
    lines: int
    bleu: float
    exact: float

    @property
    def label(self) -> str:
        """The range, for people."""
        if self.last is None:
            return f"{self.first}+"
        return f"{self.first}" if self.first == self.last else f"{self.first}–{self.last}"


def tokeniser_for(data: TextData) -> str:
    """What the recipe says, or what sacreBLEU takes for a language that puts no spaces between words."""
    told, language = data.scored, (languages(data)[1] or "").lower().replace("_", "-").split("-")[0]
    return {"zh": "zh", "ja": "ja-mecab", "ko": "ko-mecab"}.get(language, told) if told == "13a" else told


def metrics(tokenise: str) -> dict[str, Metric]:
    """BLEU, chrF2++ and TER as sacreBLEU has them; TER looks at single characters where words have no spaces."""
    asian = tokenise in ("zh", "ja-mecab", "char")
    try:
        bleu = BLEU(tokenize=tokenise, force=True)
    except (ImportError, RuntimeError) as error:
        extra = tokenise.split("-")[0]
        raise ValueError(
            f"splitting words as {tokenise} needs more ({str(error).splitlines()[0]}): "
            f"pip install 'sacrebleu[{extra}]', or give --tokenize char"
        ) from None
    return {"bleu": bleu, "chrf": CHRF(word_order=2), "ter": TER(normalized=asian, asian_support=asian)}


def resamples_for(lines: int, asked: int | None = None) -> int:
    """As many as asked for, else a thousand; fewer where there are very many lines."""
    return max(0, min(RESAMPLES, MOST_DRAWN // max(1, lines)) if asked is None else asked)


def scores(
    said: Sequence[str], references: Sequence[Sequence[str]], tokenise: str = "13a", resamples: int = RESAMPLES
) -> dict[str, Score]:
    """BLEU, chrF2++ and TER of a whole text, with 95 % intervals by bootstrap resampling of its lines."""
    if not said:
        raise ValueError("there is no line to score; give a text with one sentence a line")
    found, right = {}, [list(some) for some in references]
    for key, metric in metrics(tokenise).items():
        score = metric.corpus_score(list(said), right)
        plain = Score(
            score.name, score.score, str(metric.get_signature()), verbose=score.format().partition(" = ")[2]
        )
        found[key] = plain if resamples < 2 else _with_interval(plain, metric, list(said), right, resamples)
    return found


def _with_interval(
    plain: Score, metric: Metric, said: list[str], references: list[list[str]], resamples: int
) -> Score:
    """sacreBLEU's bootstrap, by way of its paired test: the plain way cannot add up its own numbers of some texts."""
    signatures, results = PairedTest([("", said)], {plain.name: metric}, references, "bs", resamples)()
    one: Any = results[plain.name][0]
    return replace(plain, signature=str(signatures[plain.name]), mean=float(one.mean), half=float(one.ci))


def sentences(
    said: Sequence[str], text: ScoredText, tokenise: str, suspect: Sequence[tuple[str, ...]] | None = None
) -> list[Sentence]:
    """Every line by itself. BLEU of a sentence leaves out n-grams that it is too short for."""
    bleu, chrf = BLEU(tokenize=tokenise, effective_order=True, force=True), CHRF(word_order=2)
    doubts = suspect or [()] * len(said)
    return [
        Sentence(
            number, source, right, one,
            bleu.sentence_score(one, right).score, chrf.sentence_score(one, right).score, doubt,
        )
        for number, (source, one, doubt, *right_) in enumerate(
            zip(text.sources, said, doubts, *text.references, strict=True), start=1
        )
        for right in [tuple(right_)]
    ]  # fmt: skip


def best_and_worst(found: Sequence[Sentence], count: int = 10) -> tuple[list[Sentence], list[Sentence]]:
    """Those with the highest and the lowest chrF2++, no line in both; empty ones say nothing."""
    ranked = sorted((one for one in found if one.source.strip()), key=lambda one: (-one.chrf, one.line))
    count = min(count, len(ranked) // 2 or len(ranked))
    return ranked[:count], ranked[::-1][: min(count, len(ranked) - count)]


def by_length(found: Sequence[Sentence], tokenise: str) -> tuple[str, list[Bucket]]:
    """BLEU by the source's words, or by its characters where it has no spaces; at most eight ranges of one width."""
    words = [len(one.source.split()) for one in found]
    unit = "words" if sorted(words)[len(words) // 2] > 1 else "characters"
    lengths = words if unit == "words" else [len(one.source.strip()) for one in found]
    inside = sorted(lengths)[math.ceil(0.99 * len(lengths)) - 1]  # a few very long lines share the last range
    width = next(w for w in _widths() if (inside + w - 1) // w <= BUCKETS)
    last = max(0, (inside - 1) // width)
    groups: dict[int, list[Sentence]] = {}
    for one, length in zip(found, lengths, strict=True):
        groups.setdefault(min(last, max(0, length - 1) // width), []).append(one)
    open_ended = max(lengths) > (last + 1) * width
    return unit, [
        Bucket(
            n * width + 1,
            None if n == last and open_ended else (n + 1) * width,
            len(groups[n]),
            _bleu(groups[n], tokenise),
            sum(one.exact for one in groups[n]) / len(groups[n]),
        )
        for n in sorted(groups)
    ]


def _widths() -> Sequence[int]:
    return [step * 10**power for power in range(12) for step in (1, 2, 5)]


def _bleu(some: Sequence[Sentence], tokenise: str) -> float:
    references = list(zip(*(one.references for one in some), strict=True))
    score: float = BLEU(tokenize=tokenise, force=True).corpus_score([one.said for one in some], references).score
    return score


_APART = re.compile(r"\s[.,](\s|$)")
_THERE = re.compile(r"[.,](\s|$)")


def tokenised(texts: Sequence[str]) -> float:
    """Of the lines with a full stop or a comma, the share in which one stands apart, as tokenisers leave it."""
    there = [text for text in texts if _THERE.search(text)]
    return sum(bool(_APART.search(text)) for text in there) / len(there) if there else math.nan


def warnings(text: ScoredText, tokenise: str) -> list[str]:
    """What makes the figures mean something else than they seem to."""
    found = []
    for number, reference in enumerate(text.references, start=1):
        which = "the reference" if len(text.references) == 1 else f"reference {number}"
        share = tokenised(reference)
        if tokenise != "none" and share > 0.5:
            found.append(
                f"{which} looks tokenised ({share:.0%} of its lines with a full stop or comma have a space there): "
                "figures of such text cannot be compared with others'; give the text as it was before, or "
                "--tokenize none to score it as it is"
            )
        if tokenise == "none" and share < 0.5:
            found.append(
                f"{which} is scored as it is (none), but does not look tokenised: words with a comma count as other "
                "words; give tokenised text, or --tokenize 13a"
            )
        empty = sum(not line.strip() for line in reference)
        if empty:
            found.append(f"{which} has {empty:,} empty line{'s' if empty > 1 else ''}")
    return found


@cache
def sacrebleu_version() -> str:
    """Of the library that scores."""
    from importlib.metadata import version

    return version("sacrebleu")
