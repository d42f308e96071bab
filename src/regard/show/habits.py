"""What a head does on average: how much of its looking goes to the same place, the word before, punctuation, ..."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

STRONG = 0.5  # of all looking: what a head is then called by
_SILENT = ("<s>", "</s>", "<pad>")


def habits(weights: Float[Tensor, "q k"], keys: Sequence[str], across: bool = False) -> dict[str, float]:
    """Shares of one head's looking, the mean over queries; `reach` is the words it spreads over (2 ^ entropy).

    `across` where queries and keys are different texts: then the diagonal is the same share of both lengths.
    """
    rows, columns = weights.shape
    table = weights.double()
    total = table.sum(1)
    asked = total > 0
    if not bool(asked.any()):
        return {"diagonal": 0.0, "previous": 0.0, "next": 0.0, "first": 0.0, "punctuation": 0.0, "reach": 0.0}
    table = table[asked] / total[asked, None]
    places = torch.arange(rows)[asked]
    if across and rows > 1:
        places = (places * (columns - 1) / (rows - 1)).round().long()
    near = torch.arange(columns) - places[:, None]
    marks = torch.tensor([is_punctuation(key) for key in keys], dtype=torch.bool)
    entropy = -(table * table.clamp_min(1e-30).log2()).sum(1)
    return {
        "diagonal": _share(table, near.abs() <= int(across)),
        "previous": _share(table, near == -1),
        "next": _share(table, near == 1),
        "first": float(table[:, 0].mean()),
        "punctuation": float(table[:, marks].sum(1).mean()),
        "reach": float((2**entropy).mean()),
    }


def called(shares: dict[str, float], keys: int) -> str:
    """A name for what it mostly does."""
    most = max(("diagonal", "previous", "next", "punctuation", "first"), key=lambda name: shares[name])
    if shares[most] >= STRONG:
        words = {"previous": "the word before", "next": "the word after", "first": "the first word"}
        return words.get(most, most)
    return "broad" if shares["reach"] > max(2.0, 0.6 * keys) else "mixed"


def is_punctuation(piece: str) -> bool:
    """Whether a piece is marks only, or the end of the sentence."""
    text = piece.replace("\u2581", "").strip()
    if piece in _SILENT:
        return True
    return bool(text) and all(unicodedata.category(character)[0] in "PS" for character in text)


def _share(table: Float[Tensor, "q k"], where: Tensor) -> float:
    return float((table * where).sum(1).mean())
