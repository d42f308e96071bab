"""Hugging Face's Marian by its own `generate`, with SDPA or eager attention and a cache that grows or is static.

All that there is at one go is given to it sorted, 64 or 128 sentences at a time.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import torch
from decode_worker import WORDS, Decoder, Rows, Translate, by, serve
from sizes import END, PAD, START, TransformerSize
from torch.nn.utils.rnn import pad_sequence
from transformers import MarianConfig, MarianMTModel

WAYS: dict[str, dict[str, Any]] = {
    "sdpa": {},
    "eager": {},
    "sdpa, static cache": {"cache_implementation": "static"},
}


def build(size: TransformerSize) -> Decoder:
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    torch.manual_seed(1)
    config = MarianConfig(
        vocab_size=size.vocabulary, d_model=size.width, encoder_layers=size.layers, decoder_layers=size.layers,
        encoder_ffn_dim=size.feedforward, decoder_ffn_dim=size.feedforward, encoder_attention_heads=size.heads,
        decoder_attention_heads=size.heads, activation_function="relu", scale_embedding=True, pad_token_id=PAD,
        eos_token_id=END, forced_eos_token_id=None, decoder_start_token_id=START,
    )  # fmt: skip
    model = MarianMTModel._from_config(config, attn_implementation="sdpa").eval()

    def way(name: str) -> Translate:
        def translate(rows: Rows, beam: int) -> int:
            model.set_attn_implementation(name.split(",")[0])
            ids = pad_sequence([torch.from_numpy(row) for row in rows], batch_first=True, padding_value=PAD)
            search = {"length_penalty": 0.6} if beam > 1 else {}
            with torch.inference_mode():
                said = model.generate(
                    input_ids=ids, attention_mask=(ids != PAD).long(), num_beams=beam, do_sample=False,
                    min_new_tokens=WORDS, max_new_tokens=WORDS, **search, **WAYS[name],
                )  # fmt: skip
            return int((said[:, 1:] != PAD).sum()) if said.shape[1] == WORDS + 1 else 0

        return translate

    def forms(batch: int) -> Mapping[str, Translate]:
        ways = {name: way(name) for name in WAYS}
        if batch:
            return ways
        return {f"sdpa, {count} at a time": by(count, ways["sdpa"]) for count in (64, 128)}

    return Decoder(sum(weight.numel() for weight in model.parameters() if weight.requires_grad), forms)


if __name__ == "__main__":
    serve(build, "transformers", "torch")
