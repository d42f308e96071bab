"""The heart: a query looks at a memory. Tensors in, tensors out; knows no text and no training."""

from regard.attend import laws, papers
from regard.attend.addressing import ShiftBy, ShiftChoice, Turing
from regard.attend.bias import AdaptiveSpan, Alibi, Bias, Relative, RelativeKeys, SelfLast, TransformerXL
from regard.attend.efficient import (
    Compression,
    EluPlusOne,
    Favor,
    Hashing,
    Linformer,
    Recurrence,
    Routing,
    StridedPool,
)
from regard.attend.heads import Heads, Pooling, Rotary
from regard.attend.mechanism import Attention, Look, Mechanism
from regard.attend.memory import Memory, Tokens
from regard.attend.scope import (
    Scope,
    Scoping,
    adjacency,
    block,
    buckets,
    causal,
    dilated,
    edges,
    everything,
    first,
    itself,
    lengths,
    mask,
    strided,
    tree,
    window,
)
from regard.attend.score import (
    Additive,
    Concat,
    Cosine,
    Dot,
    Features,
    General,
    Kernel,
    Leaky,
    LinearConcat,
    Location,
    Mapped,
    ScaledDot,
    Score,
    Unit,
)
from regard.attend.select import (
    Competition,
    Gumbel,
    Hard,
    LocalP,
    Select,
    Selection,
    Softmax,
    Sparsemax,
    StraightThrough,
    TopK,
)
from regard.attend.watch import Seen, watch
