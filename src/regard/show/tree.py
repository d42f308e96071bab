"""The search as a tree: every hypothesis that was considered, which went on, and which were dropped."""

from __future__ import annotations

from typing import Any

import torch

from regard.search.beam import search
from regard.search.watching import Grown
from regard.search.wishes import NOTHING, Wish
from regard.show.asking import Subject
from regard.text.ids import END
from regard.translate.speaker import END_SIGN


def beam(about: Subject) -> dict[str, Any]:
    """Nodes in the order they came: parent, piece, score, and whether it went on, ended, or was pruned."""
    translator, ask = about.translator, about.ask
    settings = translator.search.model_copy(update={"sample": False, "nbest": 1})
    width = about.beam
    settings = settings.model_copy(update={"beam": width, "nbest": min(len(about.result.nbest) or 1, width)})
    tree = _Tree()
    device = next(translator.model.parameters()).device
    first = translator.speaker.target.encode([ask.prefix])[0] if ask.prefix and ask.part == 0 else ()
    wish = Wish(tuple(first)) if first else NOTHING
    found = search(
        translator.model,
        torch.tensor([list(about.ids)], device=device),
        torch.tensor([len(about.ids)], device=device),
        settings,
        [wish],
        tree.grow,
    )[0]
    pieces = translator.speaker.target.words([node["id"] for node in tree.nodes])
    for node, piece in zip(tree.nodes, pieces, strict=True):
        node["piece"] = END_SIGN if node["id"] == END else piece
    ranked = {hypothesis.words: (rank, hypothesis.score) for rank, hypothesis in enumerate(found)}
    for number, node in enumerate(tree.nodes):
        if node["state"] == "ended" and (said := tree.words(number)) in ranked:
            node["rank"], node["score"] = ranked[said]
    return {"beam": width, "nodes": tree.nodes, "length_penalty": settings.length_penalty, "steps": tree.steps}


class _Tree:
    """Grows as the search tells its steps."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []
        self.steps = 0
        self._live: list[int] = [-1]  # the node of each hypothesis in the beam; -1 is the root

    def grow(self, grown: Grown) -> None:
        """One step: children of the hypotheses, the best going on."""
        self.steps = grown.length
        live: dict[int, int] = {}
        for rank in range(len(grown.words)):
            if grown.scores[rank] == -float("inf"):
                continue
            on = grown.places[rank]
            state = "ended" if grown.ended[rank] else "pruned" if on is None else "kept"
            if on is not None:
                live[on] = len(self.nodes)
            self.nodes.append({
                "parent": self._live[grown.origins[rank]], "step": grown.length, "id": grown.words[rank],
                "log_prob": grown.scores[rank], "said": grown.said[rank], "state": state,
            })  # fmt: skip
        self._live = [live.get(place, -1) for place in range(max(live, default=-1) + 1)]

    def words(self, number: int) -> tuple[int, ...]:
        """What was said on the way to a node, without the end."""
        said: list[int] = []
        while number >= 0:
            said.append(self.nodes[number]["id"])
            number = self.nodes[number]["parent"]
        return tuple(word for word in reversed(said) if word != END)
