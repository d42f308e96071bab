"""The Transformer: against torch's own layers, its published sizes, and what it can learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attend import watch
from regard.attend.heads import Heads
from regard.attend.mechanism import Attention
from regard.models.build import build_model
from regard.models.settings import TransformerModel
from regard.models.transformer import DecoderLayer, EncoderLayer, Transformer, build_transformer
from regard.recipe import load
from regard.search.beam import search
from regard.search.settings import Search
from regard.tasks.cross_entropy import cross_entropy
from regard.text.ids import END, PAD, START
from regard.train.optimise import optimiser, set_rate
from regard.train.schedule import schedule
from regard.train.settings import Train

SMALL = TransformerModel(encoder_layers=2, decoder_layers=2, width=8, heads=2, feedforward=12, dropout=0.0)
SOURCE, LENGTHS = torch.tensor([[4, 5, 6, 7, 8], [9, 4, 5, PAD, PAD]]), torch.tensor([5, 3])
BEFORE = torch.tensor([[START, 5, 6, 7], [START, 9, 8, 4]])


def build(seed: int = 0, words: int = 11, **changes: Any) -> Transformer:
    torch.manual_seed(seed)
    return build_transformer(SMALL.model_copy(update=changes), words, words).eval()


def parameters(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


def of_recipe(name: str, words: int) -> nn.Module:
    with torch.device("meta"):  # counted, never allocated
        return build_model(cast(Any, load(name)).model, words, words)


@pytest.mark.parametrize(
    ("name", "lowest", "highest"), [("transformer-base", 60e6, 66e6), ("transformer-big", 209e6, 217e6)]
)
def test_as_large_as_the_papers(name: str, lowest: float, highest: float) -> None:
    """65 and 213 million with 37 000 words for source, target and output together (Vaswani et al. 2017, table 3)."""
    assert lowest < parameters(of_recipe(name, 37_000)) < highest


def test_where_the_base_models_parameters_are() -> None:
    model = cast(Any, of_recipe("transformer-base", 37_000))
    width, inner = 512, 2048
    heads, network, norm = 4 * width**2, 2 * width * inner + width + inner, 2 * width
    assert parameters(model.encoder) == 6 * (heads + network + 2 * norm)
    assert parameters(model.decoder) == 6 * (2 * heads + network + 3 * norm)
    assert parameters(model) == parameters(model.encoder) + parameters(model.decoder) + 37_000 * width


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_layers_are_torchs(norm: str, activation: str) -> None:
    """The same weights in torch's own layers give the same answer; theirs have biases at the heads, here 0."""
    model = build(norm=norm, activation=activation)
    first = {"d_model": 8, "nhead": 2, "dim_feedforward": 12, "dropout": 0.0, "activation": activation}
    more = {"batch_first": True, "norm_first": norm == "pre"}
    x, y, hidden = torch.randn(2, 5, 8), torch.randn(2, 4, 8), torch.arange(5) >= LENGTHS[:, None]
    ours = cast(EncoderLayer, model.encoder[0])
    theirs: Any = nn.TransformerEncoderLayer(**first, **more).train()  # type: ignore[arg-type]
    _heads(theirs.self_attn, ours.attention)
    _rest(theirs, ours.feedforward, [ours.around_attention, ours.around_feedforward])
    scope = _scope()
    real = ~hidden[..., None]
    assert torch.allclose(ours(x, scope) * real, theirs(x, src_key_padding_mask=hidden) * real, atol=1e-5)

    writer = cast(DecoderLayer, model.decoder[0])
    theirs = nn.TransformerDecoderLayer(**first, **more)  # type: ignore[arg-type]
    _heads(theirs.self_attn, writer.own)
    _heads(theirs.multihead_attn, writer.cross)
    _rest(theirs, writer.feedforward, [writer.around_own, writer.around_cross, writer.around_feedforward])
    future = torch.ones(4, 4, dtype=torch.bool).triu(1)
    expected = theirs(y, x, tgt_mask=future, memory_key_padding_mask=hidden)
    found, _ = writer(y, _cache(writer, x, scope))
    assert torch.allclose(found, expected, atol=1e-5)


def _scope() -> Any:
    from regard.attend.scope import lengths

    return lengths(LENGTHS)


def _cache(layer: DecoderLayer, x: Tensor, scope: Any) -> Any:
    from regard.models.cache import Cache

    return Cache(None, layer.cross.memory(x, scope=scope))


@torch.no_grad()
def _heads(theirs: Any, ours: Any) -> None:
    theirs.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.key.weight, ours.value.weight]))
    theirs.out_proj.weight.copy_(ours.out.weight)
    theirs.in_proj_bias.zero_()
    theirs.out_proj.bias.zero_()


@torch.no_grad()
def _rest(theirs: Any, network: Any, around: list[Any]) -> None:
    for layer in (network.up, network.down, *(part.norm for part in around)):
        nn.init.normal_(layer.bias, std=0.3)
    theirs.linear1.load_state_dict(network.up.state_dict())
    theirs.linear2.load_state_dict(network.down.state_dict())
    for number, part in enumerate(around, 1):
        nn.init.normal_(part.norm.weight)
        getattr(theirs, f"norm{number}").load_state_dict(part.norm.state_dict())


def test_pre_norm_ends_with_a_norm_and_post_norm_with_none() -> None:
    pre, post = build(norm="pre"), build(norm="post")
    assert isinstance(pre.decoder_norm, nn.LayerNorm)
    assert isinstance(post.decoder_norm, nn.Identity)
    for model in (pre, post):  # either way what leaves is normed
        states = model.states(SOURCE, LENGTHS, BEFORE)
        assert torch.allclose(states.mean(-1), torch.zeros(2, 4), atol=1e-5)
        assert torch.allclose(states.var(-1, correction=0), torch.ones(2, 4), atol=1e-2)


def test_no_layer_shares_its_weights_with_another() -> None:
    model = build()
    layers = [p for layer in (*model.encoder, *model.decoder) for p in layer.parameters()]
    assert len({id(p) for p in layers}) == len(layers)
    assert not torch.equal(layers[0], layers[len(list(model.encoder[0].parameters()))])


@pytest.mark.parametrize(("tied", "tables"), [("all", 1), ("output", 2), ("none", 3)])
def test_tied_tables_are_one_tensor(tied: str, tables: int) -> None:
    model = build(tied=tied, positions="none")
    three = (model.source.table.weight, model.target.table.weight, model.output.weight)
    assert len({id(table) for table in three}) == tables
    assert len({table.data_ptr() for table in three}) == tables
    assert sum(p.numel() for p in model.parameters() if p.shape == (11, 8)) == tables * 88
    rule = optimiser(list(model.parameters()), Train())
    model(SOURCE, LENGTHS, BEFORE).square().sum().backward()
    rule.step()
    assert len({table.data_ptr() for table in three}) == tables
    if tied != "none":
        assert torch.equal(model.target.table.weight, model.output.weight)


def test_one_table_wants_one_vocabulary() -> None:
    with pytest.raises(ValueError, match=r"11 source and 12 target pieces; set data\.joint = true or model\.tied"):
        build_transformer(SMALL, 11, 12)
    model = build_transformer(SMALL.model_copy(update={"tied": "output"}), 11, 12)
    assert model(SOURCE, LENGTHS, BEFORE).shape == (2, 4, 12)


@pytest.mark.parametrize("tied", ["all", "output", "none"])
def test_padding_stays_zeros_unless_it_is_an_output_too(tied: str) -> None:
    """Reading padding teaches nothing. Tied to the output it learns not to be said, and no answer depends on it."""
    model = build(tied=tied).train()
    rule = optimiser(list(model.parameters()), Train(rate=0.01))
    words = torch.tensor([[5, 6, 7, END], [9, END, PAD, PAD]])
    states = model.states(SOURCE, LENGTHS, BEFORE)[words != PAD]
    cross_entropy(states, model.output.weight, words[words != PAD], 0.1)[0].backward()
    rule.step()
    assert not (tied != "all" and bool(model.source.table.weight[PAD].any()))
    assert bool(model.target.table.weight[PAD].any()) == (tied != "none")
    answer = model.eval()(SOURCE, LENGTHS, BEFORE)
    with torch.no_grad():
        model.source.table.weight[PAD] += 3.0
    assert torch.allclose(model(SOURCE, LENGTHS, BEFORE)[..., 1:], answer[..., 1:], atol=1e-5)


def test_the_decoder_reads_the_top_of_the_encoder() -> None:
    model = build()
    tops: list[Tensor] = []
    model.encoder_norm.register_forward_hook(lambda *given: tops.append(given[2]))
    state = model.start(SOURCE, LENGTHS)
    for cache, layer in zip(state.layers, model.decoder, strict=True):
        expected = cast(DecoderLayer, layer).cross.memory(tops[0], scope=_scope())
        assert torch.equal(cache.source.keys, expected.keys)
        assert torch.equal(cache.source.values, expected.values)


def test_no_gradient_comes_from_the_future() -> None:
    model = build()
    rows: list[Tensor] = []

    def note(module: nn.Module, given: Any, found: Tensor) -> Tensor:
        rows.append(found.detach().requires_grad_())
        return rows[-1]

    model.target.register_forward_hook(note)
    states = model.states(SOURCE, LENGTHS, BEFORE)
    for place in range(4):
        (grad,) = torch.autograd.grad(states[:, place].square().sum(), rows[0], retain_graph=True)
        assert not grad[:, place + 1 :].any()
        assert bool((grad[:, : place + 1].abs().amax(-1) > 0).all())


def test_what_is_watched_is_who_looks_where() -> None:
    model = build()
    with watch(model) as seen:
        model(SOURCE, LENGTHS, BEFORE)
    assert [look.name for look in seen] == [
        "encoder.0.attention", "encoder.1.attention",
        "decoder.0.own", "decoder.0.cross", "decoder.1.own", "decoder.1.cross",
    ]  # fmt: skip
    for look in seen:
        square = {"attention": (5, 5), "own": (4, 4), "cross": (4, 5)}[look.name.rsplit(".", 1)[1]]
        assert look.weights.shape == (2, 2, *square)
        assert torch.allclose(look.weights.sum(-1), torch.ones(2, 2, square[0]))
        if square[1] == 5:
            assert not look.weights[1, ..., 3:].any()  # padding
        if look.name.endswith("own"):
            assert not look.weights.triu(1).any()
    assert model.sights() == [model.decoder[0].cross, model.decoder[1].cross]


def test_without_places_order_is_nothing() -> None:
    """Without positions the encoder is equivariant: a permuted source gives permuted rows, and the same answer."""
    order = torch.tensor([3, 0, 4, 1, 2])
    source, lengths = SOURCE[:1], LENGTHS[:1]
    for positions, same in (("none", True), ("sinusoid", False), ("learned", False)):
        model = build(positions=positions)
        apart = (model(source, lengths, BEFORE[:1]) - model(source[:, order], lengths, BEFORE[:1])).abs().max().item()
        assert (apart < 1e-5) == same
        assert same or apart > 1e-3


@pytest.mark.parametrize("kind", ["vaswani", "shaw", "press", "bahdanau"])
def test_attention_dropout_reaches_every_mechanism(kind: str) -> None:
    places = dict.fromkeys(("encoder_attention", "decoder_attention", "cross_attention"), kind)
    model = build(attention_dropout=0.25, **places)
    shares = [part.dropout for part in model.modules() if isinstance(part, Attention)]
    assert shares == [0.25] * 6
    assert {part.dropout for part in build(**places).modules() if isinstance(part, Attention)} == {0.0}


def test_dropout_is_where_the_paper_has_it() -> None:
    """On every sub-layer's output, and on embeddings with their places; in the feed-forward network if asked."""
    model = build(dropout=0.2, feedforward_dropout=0.4)
    shares = {name: part.share for name, part in model.named_modules() if type(part).__name__.endswith("Dropout")}
    assert {name for name, share in shares.items() if share == 0.4} == {
        f"{side}.{layer}.feedforward.dropout" for side in ("encoder", "decoder") for layer in (0, 1)
    }
    rest = [name for name, share in shares.items() if share == 0.2]
    assert len(rest) == len(shares) - 4 == 2 + 2 * 2 + 2 * 3
    model.train()
    torch.manual_seed(0)
    one, other = (model(SOURCE, LENGTHS, BEFORE) for _ in range(2))
    assert not torch.allclose(one, other)


@pytest.mark.parametrize(
    ("place", "name", "message"),
    [
        ("cross_attention", "yang", "asks questions of its own"),
        ("encoder_attention", "locatello", "queries of 'locatello' compete"),
        ("decoder_attention", "liu", r"words not yet said; use it as model\.encoder_attention"),
        ("decoder_attention", "wang-linformer", "words not yet said"),
        ("cross_attention", "vaswini", "perhaps you meant vaswani"),
        ("encoder_attention", "nowhere.py:mine", "no file nowhere.py"),
    ],
)
def test_what_cannot_stand_there_is_refused(place: str, name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build(**{place: name})


def test_heads_must_fit_the_width() -> None:
    with pytest.raises(ValueError, match=r"d_model=8 cannot be split evenly over heads=3; try 6 or 9"):
        build(heads=3)


OWN = '''
from torch import Tensor
from regard.attend import Attention, Score

class Restless(Score):
    """Looks less where it has looked: asks for the weights of earlier steps."""

    def forward(self, query, keys, past=None):
        rows = []
        for t in range(query.shape[2]):
            scores = query[:, :, t : t + 1] @ keys.transpose(-2, -1)
            seen = 0.0 if past is None else past.sum(2, keepdim=True)
            rows.append(scores - 5 * seen)
            now = rows[-1].softmax(-1)
            past = now if past is None else __import__("torch").cat((past, now), 2)
        return __import__("torch").cat(rows, 2)

def restless() -> Attention:
    return Attention(Restless())
'''


def test_a_mechanism_of_ones_own_is_told_what_it_saw(tmp_path: Path) -> None:
    """A part the package does not know is given all earlier weights when words come one by one."""
    (tmp_path / "mine.py").write_text(OWN, encoding="utf-8")
    model = build(cross_attention=f"{tmp_path}/mine.py:restless")
    source, lengths = SOURCE[:, :3], torch.tensor([3, 3])
    whole, state = model(source, lengths, BEFORE), model.start(source, lengths)
    for place in range(4):
        scores, state = model.step(state, BEFORE[:, place])
        assert torch.allclose(scores, whole[:, place], atol=1e-5)


def test_groups_divide_the_heads() -> None:
    for heads in (1, 2, 3, 5, 6):
        model = build(width=60, heads=heads, decoder_attention="ainslie")
        own = cast(Heads, model.decoder[0].own)
        assert heads % own.groups == 0
        assert own.groups < heads or heads == 1


def test_it_learns_to_copy() -> None:
    """The Annotated Transformer's first example, smaller: ten symbols, ten long, read and said again."""
    torch.manual_seed(0)
    settings = TransformerModel(encoder_layers=1, decoder_layers=1, width=32, heads=4, feedforward=64, dropout=0.0)
    model, train = build_model(settings, 14, 14), Train(rate=5e-3, warmup=40)
    rule, factor, lengths = optimiser(list(model.parameters()), train), schedule(train), torch.full((32,), 10)
    for step in range(1, 376):
        words = torch.randint(4, 14, (32, 10))
        states = model.states(words, lengths, F.pad(words, (1, 0), value=START))
        after = F.pad(words, (0, 1), value=END).flatten()
        loss, _ = cross_entropy(states.flatten(0, 1), model.output.weight, after, 0.1)
        rule.zero_grad()
        (loss / len(after)).backward()  # type: ignore[no-untyped-call]
        set_rate(rule, train.rate * factor(step))
        rule.step()
    words = torch.cat((torch.arange(4, 14)[None], torch.randint(4, 14, (31, 10))))
    found = [hypotheses[0].words for hypotheses in search(model.eval(), words, lengths, Search(beam=1))]
    assert found[0] == tuple(range(4, 14))
    assert sum(said == tuple(row) for said, row in zip(found, words.tolist(), strict=True)) >= 29
