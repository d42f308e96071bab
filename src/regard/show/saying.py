"""What a translator, or whatever else says a text for a text, looked at while it answered some that it never saw."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import shorten
from typing import Any, cast

from torch import nn

from regard.models.seq2seq import Seq2Seq
from regard.show import matrix, points
from regard.tasks.texts import Pair
from regard.tasks.translation import Translation
from regard.translate.align import chosen
from regard.translate.speaker import Speaker, place_of

WIDEST = 72  # letters of a title


def pictured(figure: Any, task: Translation, model: nn.Module) -> None:
    """What was looked at while each of three held-out texts was answered, and whether the answer is right."""
    speaker = Speaker(cast(Seq2Seq, model), task.text.source, task.text.target)
    some = _different(next(iter(task.text.tests.values()), task.text.valid))
    texts = [source for _, source, _ in some]
    places = [place_of(text, 0, len(text)) for text in texts]
    said = [row[0] for row in speaker.say(texts, places, task.search, task.origin.data.longest)]
    figure.set_size_inches(14, 5)
    for axes, pair, spoken in zip(figure.subplots(1, len(some)), some, said, strict=True):
        part = speaker.watched(spoken).part
        right = part.text == pair[2]
        lines = (pair[1], part.text) if right else (pair[1], part.text, f"right: {pair[2]}")
        title = "\n".join(shorten(line, WIDEST, placeholder=" …") for line in lines)
        axes.set_title(title, fontsize=7, color="black" if right else points.BAD)
        if part.attention is None:
            axes.text(0.5, 0.5, "it does not look at the source", ha="center", va="center", color=points.GREY)
            axes.set(xticks=[], yticks=[])
        else:
            matrix.matrix(axes, chosen(part.attention.numpy(), None, None), part.tokens, part.source_tokens)


def _different(pairs: Sequence[Pair]) -> list[Pair]:
    """Three texts among those of the upper half by length, spread evenly."""
    ranked = sorted({pair[1]: pair for pair in pairs}.values(), key=lambda pair: len(pair[1]))
    return [ranked[len(ranked) * place // 8] for place in (4, 5, 6)]
