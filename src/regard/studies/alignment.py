"""Word alignments read from attention, measured where every link is known, and the pictures that papers show.

`regard study alignment --to docs/results` trains a recurrent model (Bahdanau et al. 2015) and a
Transformer on generated English and French, chooses layer and heads on 100 sentences with gold links, and measures
the alignment error rate on 500 others. With `--run RUN` it also draws what a real translator looked at.
"""

from __future__ import annotations

import tempfile
import time
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float

from regard.evaluate.heads import Tables, all_tables, by_gold, links_of, mean, tables
from regard.evaluate.links import Gold, link_score
from regard.models.settings import ModelSettings, RecurrentModel, TransformerModel
from regard.search.settings import Search
from regard.studies import bilingual
from regard.studies.bilingual import Linked
from regard.studies.trial import BLUE, ORANGE, circumstances, figure_of, parser, reached, stepping, table, write
from regard.tasks.parallel_text import TextSource
from regard.tasks.settings import TextData
from regard.tasks.translation import Translation
from regard.train.fit import Fit, seed_of
from regard.train.optimise import optimiser
from regard.train.progress import Progress
from regard.train.settings import Train
from regard.translate.align import Link, by_word
from regard.translate.heads import Heads
from regard.translate.translator import Translator

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PAIRS, CHOSEN_ON, MEASURED_ON = 6000, 100, 500
REAL = (
    "a boy wearing headphones sits on a woman &apos;s shoulders .",
    "a man in a blue shirt is standing on a ladder cleaning a window .",
)
MODELS: dict[str, ModelSettings] = {
    "recurrent": RecurrentModel(width=96, embedding=64, attention="bahdanau", dropout=0.1),
    "transformer": TransformerModel(
        width=64, heads=4, feedforward=128, encoder_layers=2, decoder_layers=3, dropout=0.1
    ),
}
RATES = {"recurrent": 4e-3, "transformer": 3e-3}


@dataclass(frozen=True)
class Found:
    """One model: how well it translates, and how near its links come, read from the usual and the chosen heads."""

    model: str
    seed: int
    parameters: int
    seconds: float
    exact: float
    plain: float
    """AER of the chosen heads where each word is linked with the one that has most of its weight, as papers do."""
    usual: float
    """AER of the heads that are used where nothing was chosen."""
    heads: str
    aer: float
    precision: float
    recall: float


def trained(name: str, steps: int, seed: int, folder: Path) -> tuple[Translator, float]:
    """A translator of the generated language, and the seconds of processor time that it took."""
    pairs = [one.texts for one in bilingual.sentences(PAIRS + 100, seed)]
    for side, suffix in enumerate(("en", "fr")):
        for part, some in {"train": pairs[:PAIRS], "valid": pairs[PAIRS:]}.items():
            (folder / f"{part}.{suffix}").write_text("".join(f"{pair[side]}\n" for pair in some), encoding="utf-8")
    data = TextData(
        source=folder / "train.en", target=folder / "train.fr", valid_source=folder / "valid.en",
        valid_target=folder / "valid.fr", pieces=700,
    )  # fmt: skip
    task = Translation(TextSource(data, seed, 1, lambda line: None), MODELS[name], Search(beam=1), 1500, 0.0)
    task.prepare(folder / name)
    torch.manual_seed(seed_of(seed))
    model = task.build()
    settings = Train(rate=RATES[name], schedule="linear", steps=steps, warmup=steps // 10, seed=seed)
    fit = Fit(task, model, {"model": optimiser(list(model.parameters()), settings)}, settings, Progress())
    began = time.process_time()
    for _ in stepping(fit, steps, f"{name}, seed {seed}"):
        pass
    seconds = time.process_time() - began
    return Translator(model.eval(), task.text.source, task.text.target, Search(beam=1)), seconds


def measured(name: str, translator: Translator, seconds: float, seed: int) -> Found:
    """Heads chosen on some sentences, links measured on others; none of them was trained on."""
    some = list(bilingual.sentences(CHOSEN_ON + MEASURED_ON, 10_000 + seed))
    few, many = some[:CHOSEN_ON], some[CHOSEN_ON:]
    chosen = by_gold(_seen(translator, few), _gold(few)).heads
    seen, gold = _seen(translator, many), _gold(many)
    score = link_score(links_of(seen, chosen), gold)
    said = [result.text for result in translator([one.texts[0] for one in many])]
    return Found(
        name,
        seed,
        sum(weights.numel() for weights in translator.model.parameters()),
        seconds,
        float(np.mean([text == one.texts[1] for text, one in zip(said, many, strict=True)])),
        link_score([_largest(mean(one, chosen)) for one in seen if one is not None], gold).aer,
        link_score(links_of(seen, Heads()), gold).aer,
        str(chosen),
        score.aer,
        score.precision,
        score.recall,
    )


def _seen(translator: Translator, some: Sequence[Linked]) -> list[Tables | None]:
    return all_tables(translator, [one.texts[0] for one in some], [one.texts[1] for one in some])


def _largest(weights: Float[np.ndarray, "w v"]) -> list[Link]:
    return [(int(row.argmax()), word) for word, row in enumerate(weights)]


def _gold(some: Sequence[Linked]) -> list[Gold]:
    return [Gold(one.sure, one.possible) for one in some]


def matrix(
    axes: Axes, weights: Float[np.ndarray, "w v"], source: Sequence[str], target: Sequence[str],
    sure: Sequence[Link], possible: Sequence[Link] = (), title: str = "",
) -> None:  # fmt: skip
    """Source across, target down, the darker the more was looked; links boxed, those only possible with dashes."""
    from matplotlib.patches import Rectangle

    axes.imshow(weights, cmap="Greys", vmin=0, vmax=1, aspect="equal")
    for links, colour, style in ((possible, ORANGE, ":"), (sure, BLUE, "-")):
        for across, down in links:
            box = Rectangle((across - 0.5, down - 0.5), 1, 1, fill=False, ec=colour, ls=style, clip_on=False)
            axes.add_patch(box)
    axes.set_xticks(
        range(len(source)), labels=list(source), rotation=55, ha="left", rotation_mode="anchor", fontsize=8
    )
    axes.set_yticks(range(len(target)), labels=list(target), fontsize=8)
    axes.tick_params(length=0, top=False, labeltop=True, labelbottom=False)
    axes.spines[:].set_color("#c8c8c8")
    axes.set_xlabel(title, fontsize=9)


def draw(translators: dict[str, Translator], chosen: dict[str, Heads], path: Path) -> None:
    """The famous phrase as each model sees it, gold links boxed."""
    figure = figure_of(4.9 * len(translators), 5.2)
    one = bilingual.famous()
    for axes, (name, translator) in zip(figure.subplots(1, len(translators)), translators.items(), strict=True):
        seen = tables(translator.speaker, *one.texts, translator.longest)
        assert seen is not None
        possible = sorted(one.possible - one.sure)
        title = f"{name}: {chosen[name]}"
        matrix(axes, mean(seen, chosen[name]), one.source, one.target, sorted(one.sure), possible, title)
    figure.savefig(path, dpi=130)


def draw_real(translator: Translator, texts: Sequence[str], path: Path) -> None:
    """What a real translator looked at while it said its own translations; the links it is read to mean are boxed."""
    results = translator(texts, attention=True)
    figure = figure_of(5.4 * len(results), 5.8)
    for axes, result in zip(figure.subplots(1, len(results), squeeze=False)[0], results, strict=True):
        assert result.attention is not None
        heads = Heads(translator.layer, translator.heads)
        seen = mean(result.attention.numpy(), heads)
        words = by_word(seen, result.source_word_of, result.word_of)
        matrix(axes, words, result.source_words, result.words, result.alignment or (), title=str(heads))
    figure.savefig(path, dpi=130)


def page(found: Sequence[Found], steps: int, real: bool) -> str:
    """What was done, what was found, in Markdown."""
    head = [
        "model",
        "seed",
        "weights",
        "seconds",
        "exact, %",
        "AER, usual heads",
        "heads chosen",
        "AER, largest weight",
    ]
    head += ["**AER**", "precision", "recall"]
    rows = [
        [
            one.model, one.seed, f"{one.parameters:,}", f"{one.seconds:.0f}", 100 * one.exact, f"{one.usual:.3f}",
            one.heads, f"{one.plain:.3f}", f"**{one.aer:.3f}**", f"{one.precision:.3f}", f"{one.recall:.3f}",
        ]
        for one in found
    ]  # fmt: skip
    goals = [
        reached(f"AER of the {name}, worst seed", max(one.aer for one in found if one.model == name), 0.05, False)
        for name in dict.fromkeys(one.model for one in found)
    ]
    more = [
        "",
        "What a translator trained on Multi30k (English to German) looked at while it translated two sentences by "
        "itself; boxed are the links that `--alignments` would write:",
        "",
        "![Attention of a real translator](alignment-multi30k.png)",
    ]
    return "\n".join(
        [
            "# Alignments from attention",
            "",
            f"Generated English and French with known links (`regard.studies.bilingual`), {PAIRS:,} pairs to train "
            f"on for {steps:,} updates. Each model is made to say the reference and watched. Links are read from the "
            f"layer and heads with the lowest alignment error rate on {CHOSEN_ON} sentences, and measured on "
            f"{MEASURED_ON} others; the usual heads are all of the last layer but one. A word is linked with the "
            "source word that it looks at most in proportion to how much all words look there; the column before "
            "that has plainly the largest weight. Seconds are of processor time, for training.",
            "",
            *goals,
            "",
            table(head, rows),
            "The phrase of Bahdanau et al. 2015, figure 3: *european economic area* is said backwards, and the block "
            "is seen turned round. Solid boxes are sure links, dotted ones possible.",
            "",
            "![The attention of both models](alignment.png)",
            *(more if real else []),
            "",
        ]
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, measure, draw."""
    asked = parser(str(__doc__), steps=1000)
    asked.add_argument("--run", type=Path, default=None)
    given = asked.parse_args(arguments)
    about = circumstances("alignment", Namespace(**{key: v for key, v in vars(given).items() if v is not None}))
    found: list[Found] = []
    translators: dict[str, Translator] = {}
    chosen: dict[str, Heads] = {}
    for seed in range(1, given.seeds + 1):
        for name in MODELS:
            with tempfile.TemporaryDirectory() as place:
                translator, seconds = trained(name, given.steps, seed, Path(place))
            found.append(measured(name, translator, seconds, seed))
            print(found[-1], flush=True)
            if seed == 1:
                few = list(bilingual.sentences(CHOSEN_ON, 10_000 + seed))
                translators[name], chosen[name] = translator, by_gold(_seen(translator, few), _gold(few)).heads
    given.to.mkdir(parents=True, exist_ok=True)
    draw(translators, chosen, given.to / "alignment.png")
    if given.run is not None:
        draw_real(Translator.load(given.run), REAL, given.to / "alignment-multi30k.png")
    write(
        given.to,
        "alignment",
        about,
        {"models": [asdict(one) for one in found]},
        page(found, given.steps, bool(given.run)),
    )


if __name__ == "__main__":
    main()
