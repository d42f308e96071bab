"""The worked examples as pages: `regard show --examples FOLDER`, or `python -m regard.show.pages FOLDER`.

Each is computed when it is written: two scores are set by hand, as every lecture prints them; the rest is taught to
small models on the spot, which takes a minute or so.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from regard.attend.mechanism import Attention
from regard.attend.score import ScaledDot
from regard.show import example, lessons
from regard.show.ask import Ask
from regard.show.asking import Subject
from regard.show.page import Shown, answers, page
from regard.show.steps import SHOWN
from regard.show.trace import Trace, floats, packed
from regard.show.worked import D_KEY, WORDS, thinking_machines
from regard.translate.translator import Translator

STUDENT = "Je suis étudiant"
TREATY = "the agreement on the European Economic Area was signed in August 1992 ."


def thinking() -> Shown:
    """*Thinking Machines*: 112 and 96, ÷ 8, softmax, 0.88 and 0.12."""
    worked = thinking_machines()
    told: dict[str, Any] = {
        "place": "encoder", "layer": 0, "head": 0, "name": "Thinking Machines", "queries": [WORDS[0]],
        "keys": list(WORDS), "score": "ScaledDot", "select": "Softmax", "scale": D_KEY**-0.5, "biased": None,
        "allowed": None, "asking": floats(worked.embeddings[:1, :SHOWN]),
        "asked": floats(worked.embeddings[:, :SHOWN]),
        "q": floats(worked.queries[:1]), "k": floats(worked.keys), "v": floats(worked.values),
        "raw": floats(worked.scores[None]), "scores": floats(worked.scaled[None]),
        "weights": floats(worked.weights[None]), "sum": floats(worked.total[None]),
    }  # fmt: skip
    note = (
        "The worked example of every lecture. Two scores, 112 and 96, are set; all else comes out of the package. "
        f"Without ÷ 8 the first weight would be {worked.unscaled_weights[0]:.8f}. Both words at once, as matrices, "
        f"give the same sum to {max(float((worked.matrix[0] - worked.total).abs().max()), 1e-16):.0e}."
    )
    return Shown([{"id": "k1", "name": "set by hand"}], {"k1": {"steps": {"encoder.0.0": told}}},
                 "Thinking Machines", note, first="steps")  # fmt: skip


def student() -> Shown:
    """*Je suis étudiant* → *I am a student*, step by step, by a small Transformer."""
    translator = lessons.taught(lessons.people(), lessons.transformer(), 250)
    note = "A Transformer of two layers and four heads, taught 96 sentences for a few seconds. Step through it."
    return _of(translator, STUDENT, note, "steps", "film", "transformer", ("fr", "en"))


def treaty() -> Shown:
    """*European Economic Area*: the block that is read in reverse. Bahdanau, Cho & Bengio 2015, figure 3."""
    translator = lessons.taught(lessons.treaties(), lessons.recurrent(), 450)
    note = (
        "The sentence of figure 3a of Bahdanau, Cho & Bengio (2015). The model is theirs, small, taught 1 200 "
        "generated sentences of this kind. French puts its adjectives behind the noun: the block runs backwards."
    )
    return _of(translator, TREATY, note, "translate", "film", "rnnsearch", ("en", "fr"))


def stages() -> Shown:
    """Sequence to sequence with attention, frame by frame: encoding, alignment, weighting, context, decoding."""
    translator = lessons.taught(lessons.people(), lessons.luong(), 300)
    note = (
        "A recurrent encoder hands over all its states; at each step the decoder scores them, weighs them, "
        "reads their sum, and says a word. In Luong's order: the cell first, then the look."
    )
    return _of(translator, STUDENT, note, "steps", "film", "seq2seq with attention", ("fr", "en"))


def four() -> Shown:
    """The four ways to use attention side by side: within a text, back, across, and to sum up."""
    translator = lessons.taught(lessons.people(), lessons.transformer(), 250)
    about = Subject(translator, Ask(text=STUDENT))
    seen = about.watched
    traces = []
    for place, title in (
        ("encoder", "Self: a text looks at itself"),
        ("decoder", "Masked self: at what was said"),
        ("cross", "Encoder-decoder: at the source"),
    ):
        one = seen.of(place, 1)
        queries, keys = about.labels(one)
        allowed = None if one.allowed is None else one.allowed[0]
        told = {"title": title, "note": "Layer 2, the mean of its heads, of a small Transformer."}
        traces.append(Trace(one.name, one.weights.mean(0), queries, keys, 1, allowed=allowed, about=told))
    pooled = example.run("yang")
    told = {"title": "Aggregation: learned questions sum a text up", "note": "Yang et al. 2016; no word asks here."}
    traces.append(Trace("yang", pooled.weights[0], pooled.queries, pooled.keys, about=told))
    traces.append(_two_texts())
    return Shown([{"id": "d7", "name": "five looks"}], {"d7": {"looks": packed(traces)}}, "The uses of attention",
                 "Who asks, and what is there to look at, is all that differs.", first="looks")  # fmt: skip


def _two_texts() -> Trace:
    """Two texts that look at each other, as for question and paragraph, with nothing learned."""
    asks, text = ["the", "rain", "feeds", "the", "sea"], example.WORDS
    mechanism = Attention(ScaledDot())
    look = mechanism.look(example.vectors(asks), mechanism.memory(example.vectors(text)))
    told = {"title": "Cross: one text looks at another", "note": "Equal words, equal vectors; nothing is learned."}
    return Trace("cross", look.weights[0, 0], asks, text, about=told)


def _of(
    translator: Translator, text: str, note: str, first: str, way: str, name: str, languages: tuple[str, str]
) -> Shown:
    with torch.no_grad():
        views = answers(translator, Ask(text=text))
    model = {"id": name, "name": name, "source": languages[0], "target": languages[1]}
    return Shown([model], {name: views}, text, note, text, first, {"way": way})


PAGES: dict[str, Callable[[], Shown]] = {
    "thinking-machines": thinking,
    "je-suis-etudiant": student,
    "european-economic-area": treaty,
    "five-stages": stages,
    "four-uses": four,
}


def write(folder: Path) -> Iterator[tuple[Path, str]]:
    """Each page as it is made, with what it shows."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in PAGES.items():
        path = folder / f"{name}.html"
        path.write_text(page(make()), encoding="utf-8")
        yield path, (make.__doc__ or "").split("\n")[0].replace("*", "")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m regard.show.pages FOLDER")
    for made, about in write(Path(sys.argv[1])):
        print(f"{made}: {about}")
