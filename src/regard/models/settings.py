"""The `[model]` section of a recipe: what is built. No torch here, so that `--help` answers at once."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from regard.settings import Section

DEEPEST, WIDEST = 1_000, 65_536  # what a stranger's recipe may ask for; beyond any model there is


class TransformerModel(Section):
    """Vaswani et al. 2017, with the choices made since."""

    wide: ClassVar[int] = 128
    """From which width on bfloat16 pays: 1.6 times as fast as float32 (two cores of an AMD EPYC)."""
    kind: Literal["transformer"] = "transformer"
    encoder_layers: int = Field(4, ge=1, le=DEEPEST)
    """Layers of the encoder."""
    decoder_layers: int = Field(4, ge=1, le=DEEPEST)
    """Layers of the decoder; one is enough for a fast translator with a deep encoder."""
    width: int = Field(128, ge=1, le=WIDEST)
    """Numbers per token (d_model)."""
    heads: int = Field(4, ge=1, le=WIDEST)
    """Heads of each attention."""
    feedforward: int = Field(256, ge=1, le=WIDEST)
    """Width inside the feed-forward network."""
    activation: Literal["relu", "gelu", "swiglu"] = "relu"
    """Between the two feed-forward maps; swiglu is gated."""
    norm: Literal["pre", "post"] = "pre"
    """Where layer normalisation stands: before each sub-layer, or after its residual as in the paper."""
    positions: Literal["sinusoid", "learned", "none"] = "sinusoid"
    """How a token knows its place."""
    longest: int = Field(1024, ge=1, le=WIDEST)
    """Places of a learned table; sinusoids need no limit."""
    tied: Literal["all", "output", "none"] = "all"
    """Which embeddings are one table: source, target and output; target and output; or none."""
    dropout: float = Field(0.3, ge=0, lt=1)
    """Share of residuals and embeddings left out while training."""
    attention_dropout: float = Field(0.0, ge=0, lt=1)
    """Share of attention weights left out while training; above 0 every weight is formed, which is slower."""
    feedforward_dropout: float = Field(0.0, ge=0, lt=1)
    """Share left out inside the feed-forward network."""
    encoder_attention: str = "vaswani"
    """A mechanism of the catalogue, or file.py:function of your own, where the source looks at itself."""
    decoder_attention: str = "vaswani"
    """The same where the target looks at what came before."""
    cross_attention: str = "vaswani"
    """The same where the target looks at the source."""


class RecurrentModel(Section):
    """Sutskever's, Bahdanau's and Luong's models are choices of one engine."""

    kind: Literal["recurrent"] = "recurrent"
    cell: Literal["lstm", "gru", "rnn"] = "gru"
    """The recurrent cell."""
    layers: int = Field(1, ge=1, le=DEEPEST)
    """Layers of encoder and decoder."""
    width: int = Field(256, ge=1, le=WIDEST)
    """Hidden units of the decoder, and of each direction of the encoder."""
    embedding: int = Field(256, ge=1, le=WIDEST)
    """Width of word embeddings."""
    bidirectional: bool = True
    """Read the source both ways."""
    reverse: bool = False
    """Read the source from its end (Sutskever et al. 2014)."""
    attention: str = "bahdanau"
    """A mechanism of the catalogue, file.py:function of your own, or none: then the last state is all there is."""
    select: str | None = None
    """Another selection for that mechanism: softmax, sparsemax, hard, ..."""
    reach: int = Field(10, ge=1, le=WIDEST)
    """Half the window of local attention."""
    wiring: Literal["before", "after"] = "before"
    """Look with the previous state and feed the cell (Bahdanau), or look after the cell with the current (Luong)."""
    input_feeding: bool = False
    """Give the cell the last attentional state too (Luong)."""
    readout: Literal["maxout", "tanh", "plain"] = "tanh"
    """The layer between the states and the words."""
    first_state: Literal["last", "mean", "zeros", "learned"] = "last"
    """Where the decoder starts: from the encoder's last state, its mean, zeros, or a learned state."""
    tied: Literal["all", "output", "none"] = "none"
    """Which embeddings are one table: source, target and output; target and output; or none."""
    dropout: float = Field(0.3, ge=0, lt=1)
    """Share of embeddings and read-outs left out while training."""
    longest: int = Field(256, ge=1, le=WIDEST)
    """Places of location-based attention."""


class MarianModel(Section):
    """A Transformer as Marian trains it (Junczys-Dowmunt et al. 2018): `regard import` makes these."""

    kind: Literal["marian"] = "marian"
    encoder_layers: int = Field(6, ge=1, le=DEEPEST)
    """Layers of the encoder."""
    decoder_layers: int = Field(6, ge=1, le=DEEPEST)
    """Layers of the decoder."""
    width: int = Field(512, ge=1, le=WIDEST)
    """Numbers per token (d_model)."""
    encoder_heads: int = Field(8, ge=1, le=WIDEST)
    """Heads of each attention of the encoder."""
    decoder_heads: int = Field(8, ge=1, le=WIDEST)
    """Heads of each attention of the decoder."""
    encoder_feedforward: int = Field(2048, ge=1, le=WIDEST)
    """Width inside the encoder's feed-forward networks."""
    decoder_feedforward: int = Field(2048, ge=1, le=WIDEST)
    """Width inside the decoder's."""
    activation: Literal["swish", "relu", "gelu"] = "swish"
    """Between the two feed-forward maps."""
    scale: Literal["root", "none"] = "root"
    """What embeddings are multiplied by: the root of their width, or nothing."""
    tied: Literal["all", "output", "none"] = "all"
    """Which embeddings are one table: source, target and output; target and output; or none."""
    longest: int = Field(512, ge=1, le=WIDEST)
    """The most pieces it was trained on; its places are sinusoids and have no limit of their own."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Share of residuals and embeddings left out while training further."""


class PointerModel(Section):
    """Vinyals, Fortunato & Jaitly 2015: one LSTM reads, another points."""

    width: int = Field(128, ge=1, le=WIDEST)
    """Hidden units; the paper has 256 or 512."""
    constrained: bool = True
    """Search among answers that can be right: no point twice, and all of them where all are asked for."""


class TuringModel(Section):
    """Graves, Wayne & Danihelka 2014: a controller with heads on a tape."""

    kind: Literal["turing"] = "turing"
    controller: Literal["forward", "lstm"] = "lstm"
    """What moves the heads: one layer without a memory of its own, or an LSTM."""
    width: int = Field(100, ge=1, le=WIDEST)
    """Units of the controller."""
    places: int = Field(128, ge=2, le=WIDEST)
    """Places on the tape ..."""
    cells: int = Field(20, ge=1, le=WIDEST)
    """... and numbers at each."""
    readers: int = Field(1, ge=1, le=64)
    """Heads that read."""
    writers: int = Field(1, ge=1, le=64)
    """Heads that write."""
    order: Literal["read-write", "write-read"] = "read-write"
    """What comes first in a step; heads always find their place on the tape as the step before left it."""
    keeps: Literal["final", "content"] = "final"
    """Where a head's next step starts: from its weighting, or, wrongly, from that by content alone."""


class LstmModel(Section):
    """Layers of LSTM: a machine without a tape."""

    kind: Literal["lstm"] = "lstm"
    width: int = Field(256, ge=1, le=WIDEST)
    """Units of each layer."""
    layers: int = Field(3, ge=1, le=DEEPEST)
    """Layers."""


class CopyingModel(Section):
    """See, Liu & Manning 2017: a summary's words are the model's own, or copied from the text."""

    width: int = Field(256, ge=1, le=WIDEST)
    """Hidden units of the decoder, and of each direction of the encoder."""
    embedding: int = Field(128, ge=1, le=WIDEST)
    """Width of word embeddings."""
    says: Literal["both", "own"] = "both"
    """Own words and copied ones, or, as plain attention does, its own alone."""
    attention: str = "see"
    """A mechanism of the catalogue: see minds what was looked at already (coverage), bahdanau does not."""
    coverage: float = Field(1.0, ge=0)
    """What looking at a place twice costs beside the likelihood, where the attention minds coverage (λ)."""
    tied: Literal["all", "none"] = "none"
    """Whether embeddings and the output's weights are one table."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """Share of embeddings and read-outs left out while training; the paper has none."""


ModelSettings = TransformerModel | RecurrentModel | MarianModel
