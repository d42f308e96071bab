"""x-transformers with flash attention, all words in one table.

Its own loss smooths no labels, so torch's is taken on its logits; its wrapper would also compute one step more than
is trained.
"""

from __future__ import annotations

from sizes import PAD, SMOOTHING, RecurrentSize, Size
from torch import Tensor, nn
from torch.nn import functional as F
from worker import Batch, Peer, serve, with_adamw
from x_transformers import Decoder, Encoder, TransformerWrapper

LONGEST = 256


def build(size: Size) -> Peer[tuple[Batch, Tensor]]:
    if isinstance(size, RecurrentSize):
        raise ValueError("has no recurrent model")
    layers = {
        "dim": size.width,
        "depth": size.layers,
        "heads": size.heads,
        "attn_dim_head": size.width // size.heads,
        "attn_flash": True,
        "attn_sublayer_dropout": size.dropout,
        "ff_mult": size.feedforward / size.width,
        "ff_custom_activation": nn.ReLU(),
        "ff_sublayer_dropout": size.dropout,
    }
    words = {
        "num_tokens": size.vocabulary,
        "max_seq_len": LONGEST,
        "emb_dropout": size.dropout,
        "scaled_sinu_pos_emb": True,
    }
    encoder = TransformerWrapper(attn_layers=Encoder(**layers), return_only_embed=True, **words)
    decoder = TransformerWrapper(attn_layers=Decoder(cross_attend=True, **layers), tie_embedding=True, **words)
    decoder.token_emb = encoder.token_emb

    def loss(ready: tuple[Batch, Tensor]) -> Tensor:
        batch, mask = ready
        read = encoder(batch.source, mask=mask)
        found = decoder(batch.before, context=read, context_mask=mask).flatten(0, 1)
        return F.cross_entropy(found, batch.after.flatten(), ignore_index=PAD, label_smoothing=SMOOTHING)

    return with_adamw(nn.ModuleList([encoder, decoder]), lambda batch: (batch, batch.source != PAD), loss)


if __name__ == "__main__":
    serve(build, "x-transformers")
