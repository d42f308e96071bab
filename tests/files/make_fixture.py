"""Makes a run folder that is kept for ever, one for each format: `python -m tests.files.make_fixture [KIND ...]`.

The toys are trained until they are sure of every word, so that no machine's rounding changes what they say.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from regard.cli import main
from regard.translate.translator import Translator

WORDS = {
    "one": "eins", "two": "zwei", "three": "drei", "four": "vier", "five": "fünf", "red": "rot", "blue": "blau",
    "dog": "Hund", "cat": "Katze", "house": "Haus",
}  # fmt: skip
SAID = ("one red dog", "two blue cat", "house three four", "five five cat", "blue house one dog")
MODELS = {
    "transformer": ["transformer-mini", "--model.width", "16", "--model.heads", "2", "--model.feedforward", "16",
                    "--model.encoder-layers", "1", "--model.decoder-layers", "1"],
    "recurrent": ["rnnsearch", "--model.width", "16", "--model.embedding", "16", "--model.tied", "output"],
}  # fmt: skip
SETTINGS = [
    "--data.pieces", "300", "--train.threads", "1", "--train.batch-tokens", "400",
    "--train.steps", "400", "--train.save-every", "100", "--train.warmup", "20", "--train.rate", "0.01",
    "--train.schedule", "linear", "--train.smoothing", "0", "--train.average", "1", "--model.dropout", "0",
    "--search.beam", "2",
]  # fmt: skip
KEPT = ("manifest.json", "scores.json", "log.jsonl")  # beside what the manifest lists


def right(text: str) -> str:
    return " ".join(WORDS[word] for word in text.split())


def make(to: Path, kinds: Sequence[str]) -> None:
    """One run folder for each of these kinds of model, and what they say."""
    rng = random.Random(1)
    texts = [*SAID, *(" ".join(rng.choices(list(WORDS), k=rng.randint(2, 3))) for _ in range(20))]
    with tempfile.TemporaryDirectory() as place:
        files = {"--data.pairs": 20 * texts, "--data.valid-pairs": SAID}
        for option, some in files.items():
            lines = "".join(f"{text}\t{right(text)}\n" for text in some)
            Path(place, f"{option[7:]}.tsv").write_text(lines, encoding="utf-8")
        given = [word for option in files for word in (option, str(Path(place, f"{option[7:]}.tsv")))]
        for kind in kinds:
            run = Path(place, kind)
            assert main(["train", *MODELS[kind], *SETTINGS, *given, "--run", str(run)]) == 0
            said = [result.text for result in Translator.load(run)(list(SAID))]
            assert said == [right(text) for text in SAID], said
            keep(run, to / kind)
    (to / "said.json").write_text(json.dumps({text: right(text) for text in SAID}, ensure_ascii=False, indent=1))


def keep(run: Path, to: Path) -> None:
    shutil.rmtree(to, ignore_errors=True)
    listed = json.loads((run / "manifest.json").read_text(encoding="utf-8"))["files"]
    for name in (*KEPT, *listed):
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(run / name, to / name)


if __name__ == "__main__":
    from regard.train.folder import FORMAT

    make(Path(__file__).parent / f"format-{FORMAT}", sys.argv[1:] or list(MODELS))
