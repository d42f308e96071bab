"""From the `[model]` section of a recipe to a model."""

from __future__ import annotations

from regard.models.marian import build_marian
from regard.models.recurrent import build_recurrent
from regard.models.seq2seq import Seq2Seq
from regard.models.settings import MarianModel, ModelSettings, TransformerModel
from regard.models.transformer import build_transformer


def build_model(settings: ModelSettings, source_words: int, target_words: int) -> Seq2Seq:
    """The model that these settings describe, for vocabularies of this size."""
    if isinstance(settings, TransformerModel):
        return build_transformer(settings, source_words, target_words)
    if isinstance(settings, MarianModel):
        return build_marian(settings, source_words, target_words)
    return build_recurrent(settings, source_words, target_words)
