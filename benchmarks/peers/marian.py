"""Hugging Face's Marian, with SDPA.

Its Trainer smooths labels over a second full table of log-probabilities; torch's own smoothing on its logits is
faster, so it gets that. Target padding comes after all words, so the causal mask is enough and is its fast way.
"""

from __future__ import annotations

from sizes import END, PAD, SMOOTHING, START, RecurrentSize, Size
from torch import Tensor
from torch.nn import functional as F
from transformers import MarianConfig, MarianMTModel
from worker import Batch, Peer, serve, with_adamw


def build(size: Size) -> Peer[tuple[Batch, Tensor]]:
    if isinstance(size, RecurrentSize):
        raise ValueError("has no recurrent model")
    model = MarianMTModel._from_config(
        MarianConfig(
            vocab_size=size.vocabulary,
            d_model=size.width,
            encoder_layers=size.layers,
            decoder_layers=size.layers,
            encoder_ffn_dim=size.feedforward,
            decoder_ffn_dim=size.feedforward,
            encoder_attention_heads=size.heads,
            decoder_attention_heads=size.heads,
            activation_function="relu",
            dropout=size.dropout,
            attention_dropout=0.0,
            activation_dropout=0.0,
            scale_embedding=True,
            pad_token_id=PAD,
            eos_token_id=END,
            forced_eos_token_id=END,
            decoder_start_token_id=START,
        ),
        attn_implementation="sdpa",
    )

    def loss(ready: tuple[Batch, Tensor]) -> Tensor:
        batch, mask = ready
        found = model(
            input_ids=batch.source, attention_mask=mask, decoder_input_ids=batch.before, use_cache=False
        ).logits.flatten(0, 1)
        return F.cross_entropy(found, batch.after.flatten(), ignore_index=PAD, label_smoothing=SMOOTHING)

    return with_adamw(model, lambda batch: (batch, (batch.source != PAD).long()), loss)


if __name__ == "__main__":
    serve(build, "transformers")
