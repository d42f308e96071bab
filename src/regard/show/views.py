"""What a page asks for, each by its name: a translator and a request in, JSON out; ValueError is for people.

`regard serve` answers these live; `regard show` asks them once and puts the answers into the page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from regard.show.ask import asked
from regard.show.asking import MOST_BYTES, Subject, spoken
from regard.show.habits import called, habits
from regard.show.steps import film, positions, steps
from regard.show.trace import Trace, fitted, packed
from regard.show.tree import beam
from regard.translate.align import by_word, chosen, default_layer
from regard.translate.result import Result
from regard.translate.translator import Translator

View = Callable[[Translator, Mapping[str, Any]], dict[str, Any]]

TITLES = {
    "encoder": "The source looks at itself",
    "decoder": "The translation looks back at itself",
    "cross": "The translation looks at the source",
}


def translation(about: Subject) -> dict[str, Any]:
    """The translation and its alternatives, each with its alignment, in words and in pieces."""
    translator, result = about.translator, about.found
    layers = len(translator.model.sights())
    return {
        "source": segments(result.source),
        "source_words": result.source_words,
        "source_tokens": list(result.source_tokens),
        "source_word_of": result.source_word_of,
        "layer": (default_layer(layers) if translator.layer is None else translator.layer % layers)
        if layers
        else None,
        "heads": None if translator.heads is None else list(translator.heads),
        "looks": [0, 0] if result.attention is None else list(result.attention.shape[:2]),
        "parts": len(spoken(result)),
        "beam": about.beam,
        "candidates": [candidate(translator, one) for one in result.nbest or (result,)],
    }


def candidate(translator: Translator, result: Result) -> dict[str, Any]:
    """One translation: text, scores, and the two alignment matrices."""
    return {
        "text": result.text,
        "segments": segments(result.text),
        "score": None if np.isnan(result.score) else result.score,
        "complete": result.complete,
        "suspect": list(result.suspect),
        "words": result.words,
        "tokens": list(result.tokens),
        "scores": list(result.scores),
        "word_of": result.word_of,
        "alignment": [list(link) for link in result.alignment or ()],
        **_matrices(translator, result),
    }


def _matrices(translator: Translator, result: Result) -> dict[str, Any]:
    """The alignment by `pieces` and `by_words`; None where the model looks at nothing, or at mixtures of words."""
    if result.attention is None:
        return {"pieces": None, "by_words": None}
    table = chosen(result.attention.numpy(), translator.layer, translator.heads)
    if table.shape[1] != len(result.source_tokens):
        keys = fitted(result.source_tokens, table.shape[1])
        return {"pieces": packed([_trace("alignment", table, result.tokens, keys)]), "by_words": None}
    words = np.zeros((len(result.words), len(result.source_words)))
    found = by_word(table, result.source_word_of, result.word_of)
    words[: found.shape[0], : found.shape[1]] = found
    return {
        "pieces": packed([_trace("alignment", table, result.tokens, result.source_tokens)]),
        "by_words": packed([_trace("alignment", words, result.words, result.source_words)]),
    }


def _trace(name: str, table: np.ndarray, queries: Sequence[str], keys: Sequence[str]) -> Trace:
    return Trace(name, torch.from_numpy(np.ascontiguousarray(table)), queries, keys)


def heads(about: Subject) -> dict[str, Any]:
    """Every layer and head of every place that looks, and what each does on average."""
    found = about.watched.sightings
    size = sum(sighting.weights.numel() for sighting in found)
    if size > MOST_BYTES:
        raise ValueError(
            f"the looks at these {len(about.ids)} pieces are {size >> 20} MB, and {MOST_BYTES >> 20} MB are shown; "
            "give a shorter text"
        )
    traces, told = [], []
    for sighting in found:
        queries, keys = about.labels(sighting)
        for head, weights in enumerate(sighting.weights):
            allowed = None if sighting.allowed is None else sighting.allowed[head]
            traces.append(Trace(sighting.name, weights, queries, keys, sighting.layer, head, allowed=allowed))
            shares = habits(weights, keys, across=sighting.place == "cross")
            told.append({"place": sighting.place, "does": called(shares, len(keys)), **_rounded(shares)})
    return {"titles": TITLES, "habits": told, "parts": len(spoken(about.result)), **packed(traces)}


def segments(text: str) -> list[list[Any]]:
    """The text in order: words with their number, and what stands between them with -1."""
    found: list[list[Any]] = []
    word = 0
    for some in re.findall(r"\S+|\s+", text):
        found.append([some, -1 if some.isspace() else word])
        word += not some.isspace()
    return found


def _rounded(shares: Mapping[str, float]) -> dict[str, float]:
    return {name: round(share, 4) for name, share in shares.items()}


def _view(of: Callable[[Subject], dict[str, Any]]) -> View:
    def answer(translator: Translator, body: Mapping[str, Any]) -> dict[str, Any]:
        return of(Subject(translator, asked(body)))

    return answer


OF_A_TEXT: Mapping[str, Callable[[Subject], dict[str, Any]]] = {
    "translation": translation,
    "heads": heads,
    "film": film,
    "positions": positions,
    "beam": beam,
    "steps": steps,
}
VIEWS: Mapping[str, View] = {name: _view(of) for name, of in OF_A_TEXT.items()}
