"""JoeyNMT's own search over its own Transformer. It keeps no cache: each step reads all words said so far again."""

from __future__ import annotations

import os
from collections.abc import Mapping

import torch
from decode_worker import WORDS, Decoder, Rows, Translate, by, serve
from joey import _swapped, _transformer, _vocabulary
from joeynmt.model import build_model
from joeynmt.search import beam_search, greedy
from sizes import PAD, TransformerSize
from torch.nn.utils.rnn import pad_sequence


def build(size: TransformerSize) -> Decoder:
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    torch.manual_seed(1)
    words = _vocabulary(size.vocabulary)
    model = build_model(_transformer(size), words, words).eval()

    def translate(rows: Rows, beam: int) -> int:
        ids = pad_sequence([torch.from_numpy(row) for row in rows], batch_first=True, padding_value=PAD)
        mask = (ids != PAD).unsqueeze(1)
        with torch.no_grad():
            read, last, *_ = model(
                return_type="encode", src=_swapped(ids), src_length=mask.sum((1, 2)), src_mask=mask
            )
            common = {
                "src_mask": mask, "max_output_length": WORDS, "min_output_length": WORDS, "model": model,
                "encoder_output": read, "encoder_hidden": last, "return_prob": "none", "return_attention": False,
            }  # fmt: skip
            said = greedy(**common)[0] if beam == 1 else beam_search(beam_size=beam, alpha=0.6, **common)[0]
        return int((said != 1).sum())

    def forms(batch: int) -> Mapping[str, Translate]:
        return {"": translate} if batch else {"64 at a time": by(64, translate)}

    return Decoder(sum(weight.numel() for weight in model.parameters() if weight.requires_grad), forms)


if __name__ == "__main__":
    serve(build, "joeynmt", "torch")
