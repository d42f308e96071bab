"""eole's models with its own cross-entropy, without the statistics it makes for its log. Its attention is SDPA.

Its Transformer drops inner feed-forward units too; here, as for all, only embeddings and what sub-layers add are
dropped. Of its recurrent decoders this is the one with input feeding, as only there attention reaches the next state.
"""

from __future__ import annotations

import torch
from eole.config.data import Dataset
from eole.config.run import TrainConfig
from eole.constants import DefaultTokens
from eole.models.model import EncoderDecoderModel
from eole.modules.transformer_mlp import MLP
from eole.utils.loss import LossCompute
from sizes import PAD, SMOOTHING, RecurrentSize, Size
from torch import Tensor, nn
from worker import Batch, Peer, serve, with_adamw

Ready = tuple[Tensor, Tensor, Tensor, Tensor, int]


def build(size: Size) -> Peer[Ready]:
    config = TrainConfig(
        data={"none": Dataset(path_src=__file__)},  # it asks that the file exists, and does not read it here
        src_vocab="none",
        share_vocab=True,
        model=_recurrent(size) if isinstance(size, RecurrentSize) else _transformer(size),
        training={
            "dropout": [size.dropout],
            "attention_dropout": [0.0],
            "label_smoothing": SMOOTHING,
            "param_init_method": "xavier_uniform",
        },
    )
    words = {DefaultTokens.PAD: PAD} | {str(i): i for i in range(1, size.vocabulary)}
    vocabulary = {"src": words, "tgt": words, "specials": {}}
    model = EncoderDecoderModel.for_training(config.model, vocabulary, config.training)
    for part in model.modules():
        if isinstance(part, MLP):
            part.dropout_1 = nn.Identity()
    criterion = LossCompute.from_config(config, model, vocabulary)

    def loss(ready: Ready) -> Tensor:
        source, lengths, target, flat, count = ready
        found = model(source, target, lengths).dec_out
        return criterion._compute_ce_loss(found, flat)[0] / count

    return with_adamw(model, _prepare, loss)


def _prepare(batch: Batch) -> Ready:
    """START, the words and END in one row, of which the model itself cuts off the last."""
    target = torch.cat([batch.before[:, :1], batch.after], 1)
    return batch.source, batch.lengths, target, batch.after.flatten(), batch.tokens


def _transformer(size: Size) -> dict[str, object]:
    return {
        "architecture": "transformer",
        "layers": size.layers,
        "hidden_size": size.width,
        "heads": size.heads,
        "transformer_ff": size.feedforward,
        "embeddings": {"word_vec_size": size.width, "position_encoding_type": "SinusoidalInterleaved"},
        "share_embeddings": True,
        "share_decoder_embeddings": True,
        "generator_bias": False,
    }


def _recurrent(size: RecurrentSize) -> dict[str, object]:
    """Its encoder gives each direction half of the decoder's width."""
    assert 2 * size.reader == size.writer, "eole knows no other sizes"
    cells = {"rnn_type": "GRU", "layers": 1, "hidden_size": size.writer}
    return {
        "architecture": "rnn",
        "embeddings": {"word_vec_size": size.embedding, "position_encoding_type": None},
        "encoder": {"encoder_type": "brnn"} | cells,
        "decoder": {"decoder_type": "rnn", "global_attention": "mlp"} | cells,
        "input_feed": 1,
        "generator_bias": False,
    }


if __name__ == "__main__":
    serve(build, "eole")
