"""This toolkit as it translates: `regard.tasks.decode.hypotheses` with its defaults, whatever the batch.

What a sentence gets does not depend on its company, to the last bit. END is
made unlikely, so that every hypothesis goes on to the limit: the last norm always says something that END is not.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import torch
from decode_worker import WORDS, Decoder, Rows, Translate, serve
from sizes import END, TransformerSize

from regard.models.build import build_model
from regard.models.settings import TransformerModel
from regard.search.settings import Search
from regard.search.steady import ask_for_strict
from regard.tasks.decode import hypotheses


def build(size: TransformerSize) -> Decoder:
    ask_for_strict()  # as `Translator.load` does
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    torch.manual_seed(1)
    settings = TransformerModel(
        encoder_layers=size.layers, decoder_layers=size.layers, width=size.width, heads=size.heads,
        feedforward=size.feedforward, dropout=size.dropout,
    )  # fmt: skip
    model = build_model(settings, size.vocabulary, size.vocabulary).eval()
    with torch.no_grad():
        model.decoder_norm.bias[0] = 10.0  # type: ignore[index,union-attr,operator]
        model.output.weight[END] = 0.0
        model.output.weight[END, 0] = -100.0

    def translate(rows: Rows, beam: int) -> int:
        found = hypotheses(model, rows, Search(beam=beam, longest_ratio=1e-9, longest_extra=WORDS))
        return sum(len(one[0].words) for one in found)

    def forms(batch: int) -> Mapping[str, Translate]:
        return {"float32": translate}

    return Decoder(sum(weight.numel() for weight in model.parameters()), forms)


if __name__ == "__main__":
    serve(build, "regard", "torch")
