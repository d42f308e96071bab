"""JoeyNMT's models and its own smoothed loss, without the count of right words it makes for its log.

Its Transformer drops attention weights and inner feed-forward units at the rate of everything else; here, as for all,
only embeddings and what sub-layers add are dropped. It keeps 0 for unknown words and 1 for padding.
"""

from __future__ import annotations

from types import SimpleNamespace

import torch
from joeynmt.model import build_model
from joeynmt.transformer_layers import MultiHeadedAttention, PositionwiseFeedForward
from joeynmt.vocabulary import Vocabulary
from sizes import PAD, SMOOTHING, RecurrentSize, Size
from torch import Tensor, nn
from torch.nn import functional as F
from worker import Batch, Peer, serve, with_adamw


def build(size: Size) -> Peer[dict[str, Tensor]]:
    words = _vocabulary(size.vocabulary)
    model = build_model(_recurrent(size) if isinstance(size, RecurrentSize) else _transformer(size), words, words)
    model.loss_function = ("crossentropy", SMOOTHING)
    for part in model.modules():
        if isinstance(part, MultiHeadedAttention):
            part.dropout = nn.Identity()
        elif isinstance(part, PositionwiseFeedForward):
            part.pwff_layer[2] = nn.Identity()

    def loss(ready: dict[str, Tensor]) -> Tensor:
        found = model._encode_decode(**ready)[0]
        return model.loss_function(F.log_softmax(found, dim=-1), **ready) / ready["count"]

    return with_adamw(model, _prepare, loss)


def _prepare(batch: Batch) -> dict[str, Tensor]:
    """The fields of its own batch."""
    return {
        "src": _swapped(batch.source),
        "src_length": batch.lengths,
        "src_mask": (batch.source != PAD).unsqueeze(1),
        "trg_input": _swapped(batch.before),
        "trg": _swapped(batch.after),
        "trg_mask": (batch.after != PAD).unsqueeze(1),
        "count": torch.tensor(batch.tokens),
    }


def _swapped(ids: Tensor) -> Tensor:
    return torch.where(ids < 2, 1 - ids, ids)


def _vocabulary(count: int) -> Vocabulary:
    marks = {"unk": 0, "pad": 1, "bos": 2, "eos": 3}
    named = {f"{mark}_token": f"<{mark}>" for mark in marks} | {f"{mark}_id": place for mark, place in marks.items()}
    return Vocabulary([str(i) for i in range(4, count)], SimpleNamespace(sep_token=None, lang_tags=[], **named))


def _transformer(size: Size) -> dict[str, object]:
    side = {
        "type": "transformer",
        "num_layers": size.layers,
        "num_heads": size.heads,
        "embeddings": {"embedding_dim": size.width, "scale": True, "dropout": size.dropout},
        "hidden_size": size.width,
        "ff_size": size.feedforward,
        "dropout": size.dropout,
        "layer_norm": "pre",
    }
    return {"tied_embeddings": True, "tied_softmax": True, "encoder": side, "decoder": side}


def _recurrent(size: RecurrentSize) -> dict[str, object]:
    """Its decoder looks after the cell and feeds what it saw to the next step."""
    side = {
        "type": "recurrent",
        "rnn_type": "gru",
        "num_layers": 1,
        "embeddings": {"embedding_dim": size.embedding, "scale": False, "dropout": size.dropout},
    }
    decoder = side | {
        "hidden_size": size.writer,
        "hidden_dropout": size.dropout,
        "attention": "bahdanau",
        "init_hidden": "bridge",
        "input_feeding": True,
    }
    return {"encoder": side | {"hidden_size": size.reader, "bidirectional": True}, "decoder": decoder}


if __name__ == "__main__":
    serve(build, "joeynmt")
