"""A Marian model from a folder as Hugging Face writes it, made a run. Each claim is checked before it is believed.

Read are config.json, model.safetensors, source.spm, target.spm, vocab.json and, where they are, target_vocab.json,
tokenizer_config.json and generation_config.json. Nothing is downloaded, and nothing in the folder is run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from regard.export.marian_weights import weights_of
from regard.export.whole import appearing, free
from regard.files import BadFile, json_object, leads_out, plain_bytes, plain_text, quoted, shown
from regard.models.settings import WIDEST, MarianModel
from regard.recipe import dump
from regard.search.settings import Search
from regard.systems.translation import TranslationRecipe
from regard.tasks.settings import TextData
from regard.text.numbered import NumberedPieces, is_code
from regard.text.pieces import LARGEST
from regard.train.folder import digest, write
from regard.train.saves import write_model

Say = Callable[[str], None]
WEIGHTS = "model.safetensors"
ACTIVATIONS = {"swish": "swish", "silu": "swish", "relu": "relu", "gelu": "gelu"}
SHOWN = 12  # languages named in a message


@dataclass(frozen=True)
class Vocabulary:
    """The names of our pieces in their order, and the row of the other toolkit's table that each is."""

    names: tuple[str, ...]
    rows: tuple[int, ...]


@dataclass(frozen=True)
class Folder:
    """Files of a stranger's folder; a link that leads out of it, and what is not there, are refused."""

    path: Path

    def file(self, name: str) -> Path:
        """The file itself."""
        path = self.path / name
        if leads_out(self.path, path):
            raise BadFile(
                f"{shown(path)} is a link that leads out of {shown(self.path)}; put the files themselves there, as "
                "`cp -rL` does"
            )
        if not path.is_file():
            raise BadFile(
                f"{shown(path)} is missing or not a plain file; give the folder of a Marian model as a whole"
            )
        return path

    def bytes(self, name: str) -> bytes:
        """All of a file."""
        return plain_bytes(self.file(name), LARGEST)

    def json(self, name: str, needed: bool = True) -> dict[str, Any]:
        """An object of JSON; an empty one where the file may be absent, and is."""
        if not needed and not (self.path / name).is_file():
            return {}
        path = self.file(name)
        try:
            return json_object(plain_text(path, LARGEST))
        except BadFile:
            raise
        except ValueError as error:
            raise BadFile(f"{shown(path)}: not readable as JSON ({shown(str(error))}); get the model again") from None


def import_marian(source: Path, run: Path, language: str | None, say: Say) -> None:
    """Make a run of the folder; it appears when everything in it is written and was read back."""
    free(run)
    folder = _opened(source)
    config = _Config(folder.file("config.json"), folder.json("config.json"))
    model = config.model()
    read, said = _vocabularies(folder, config)
    first = _language(source, read, language)
    weights = weights_of(folder.file(WEIGHTS), model, read.rows, said.rows)
    recipe = _recipe(folder, model, read, said, language)
    with appearing(run) as beside:
        (beside / "pieces").mkdir()
        write(beside / "recipe.toml", dump(recipe, beside))
        pieces = {
            "pieces/source.model": NumberedPieces.written(folder.bytes("source.spm"), read.names, first, ends=True),
            "pieces/target.model": NumberedPieces.written(folder.bytes("target.spm"), said.names),
        }
        for name, content in pieces.items():
            _pieces(source, content)
            write(beside / name, content)
        told = {"from": shown(source.resolve().name), "sha256": digest(folder.file(WEIGHTS))}
        write_model(beside, weights, 0, ["recipe.toml", *pieces], imported=told)
    count = sum(value.numel() for value in weights.values())
    say(f"{count:,} weights, {len(read.names):,} source and {len(said.names):,} target pieces")


def _opened(source: Path) -> Folder:
    if not source.is_dir():
        raise BadFile(f"there is no folder {shown(source)}; give the local folder of a Marian model")
    if not (source / WEIGHTS).is_file():
        if (source / f"{WEIGHTS}.index.json").is_file():
            raise BadFile(
                f"the weights in {shown(source)} are in several files; save the model again as one, with "
                "model.save_pretrained(folder, max_shard_size='100GB')"
            )
        for name in ("pytorch_model.bin", "model.npz", "tf_model.h5"):
            if (source / name).exists():
                raise BadFile(
                    f"{shown(source / name)} is not read, as loading such a file can run code; where you trust it, "
                    f"make a {WEIGHTS} of it with transformers: "
                    "MarianMTModel.from_pretrained(folder).save_pretrained(folder)"
                )
    return Folder(source)


class _Config:
    """config.json: each value asked for by name and kind."""

    def __init__(self, path: Path, values: dict[str, Any]) -> None:
        self.path, self.values = path, values
        kind = values.get("model_type")
        if kind != "marian":
            raise BadFile(f"{shown(path)} is of a model of type {quoted(kind)}; only marian models can be imported")

    def whole(self, name: str) -> int:
        """A number."""
        value = self.values.get(name)
        if type(value) is not int or not 0 <= value < 2**31:
            raise BadFile(f"{shown(self.path)}: {name} is {quoted(value)}, not a whole number; get the model again")
        return value

    def flag(self, name: str, default: bool) -> bool:
        """Yes or no."""
        value = self.values.get(name, default)
        if type(value) is not bool:
            raise BadFile(f"{shown(self.path)}: {name} is {quoted(value)}, not true or false; get the model again")
        return value

    def model(self) -> MarianModel:
        """The settings of our model."""
        told = str(self.values.get("activation_function"))
        if told not in ACTIVATIONS:
            raise BadFile(
                f"{shown(self.path)}: activation_function is {quoted(told)}; there are {', '.join(ACTIVATIONS)}"
            )
        tied = "all" if self.flag("share_encoder_decoder_embeddings", True) else "output"
        if not self.flag("tie_word_embeddings", True):
            tied = "none"
        dropout = self.values.get("dropout", 0.1)
        values = {
            "encoder_layers": self.whole("encoder_layers"),
            "decoder_layers": self.whole("decoder_layers"),
            "width": self.whole("d_model"),
            "encoder_heads": self.whole("encoder_attention_heads"),
            "decoder_heads": self.whole("decoder_attention_heads"),
            "encoder_feedforward": self.whole("encoder_ffn_dim"),
            "decoder_feedforward": self.whole("decoder_ffn_dim"),
            "activation": ACTIVATIONS[told],
            "scale": "root" if self.flag("scale_embedding", False) else "none",
            "tied": tied,
            "longest": min(WIDEST, self.whole("max_position_embeddings")),
            "dropout": dropout,
        }
        try:
            return MarianModel.model_validate(values)
        except ValidationError as error:
            first = error.errors()[0]
            what = f"{first['loc'][0]}: {first['msg'][0].lower()}{first['msg'][1:]}, not {quoted(first['input'])}"
            raise BadFile(f"{shown(self.path)}: {what}; get the model again") from None


def _vocabularies(folder: Folder, config: _Config) -> tuple[Vocabulary, Vocabulary]:
    """Of what is read and of what is said: often one."""
    told = folder.json("tokenizer_config.json", needed=False)
    shared = config.flag("share_encoder_decoder_embeddings", True)
    size = config.whole("vocab_size")
    read = _vocabulary(folder.file("vocab.json"), folder.json("vocab.json"), config, size)
    size = size if shared else config.whole("decoder_vocab_size")
    if told.get("separate_vocabs") is not True:
        if size != len(read.names) - 1:
            raise BadFile(f"{shown(config.path)}: the decoder has {size:,} words, and vocab.json another number")
        return read, read
    if shared:
        raise BadFile(f"{shown(config.path)} has one table of words, and tokenizer_config.json two vocabularies")
    name = "target_vocab.json"
    return read, _vocabulary(folder.file(name), folder.json(name), config, size)


def _vocabulary(path: Path, numbers: dict[str, Any], config: _Config, size: int) -> Vocabulary:
    """Our order: padding, the unknown, START, END, then all others as they came. START is a row of its own."""
    by_number = {number: name for name, number in numbers.items() if type(number) is int}
    if sorted(by_number) != list(range(size)) or len(numbers) != size:
        raise BadFile(
            f"{shown(path)} does not number its {len(numbers):,} pieces from 0 to {size - 1:,}, as the model has "
            "them; get the model again"
        )
    special = {name: config.whole(name) for name in ("pad_token_id", "eos_token_id", "decoder_start_token_id")}
    for name, number in special.items():
        if number >= size:
            raise BadFile(
                f"{shown(config.path)}: {name} is {number}, and there are {size:,} words; get the model again"
            )
    if "<unk>" not in numbers:
        raise BadFile(f"{shown(path)} has no <unk>; get the model again")
    pad, unknown, end = special["pad_token_id"], numbers["<unk>"], special["eos_token_id"]
    if len({pad, unknown, end}) < 3:
        raise BadFile(
            f"{shown(config.path)}: padding, the unknown and the end are not three words; get the model again"
        )
    start = next(name for n in range(size + 2) if (name := f"<s{n or ''}>") not in numbers)
    others = [row for row in range(size) if row not in (pad, unknown, end)]
    rows = (pad, unknown, special["decoder_start_token_id"], end, *others)
    named = (by_number[pad], by_number[unknown], start, by_number[end], *(by_number[row] for row in others))
    return Vocabulary(named, rows)


def _language(source: Path, read: Vocabulary, language: str | None) -> int | None:
    """The number of the sign that says which language to say, for a model that knows several."""
    known = {name[2:-2]: number for number, name in enumerate(read.names) if number > 3 and is_code(name)}
    some = ", ".join([*sorted(known)[:SHOWN], *(["..."] if len(known) > SHOWN else [])])
    if language is None:
        if known:
            raise ValueError(f"{shown(source)} can say several languages; choose one with --language: {shown(some)}")
        return None
    if language not in known:
        there = f"it has {some}" if known else "it has only one: leave --language out"
        raise ValueError(f"{shown(source)} has no language {quoted(language)}; {shown(there)}")
    return known[language]


def _recipe(
    folder: Folder, model: MarianModel, read: Vocabulary, said: Vocabulary, language: str | None
) -> TranslationRecipe:
    """What the run says of itself."""
    told = folder.json("tokenizer_config.json", needed=False)
    config = {**folder.json("config.json"), **folder.json("generation_config.json", needed=False)}
    languages = [value if isinstance(value, str) and 0 < len(value) <= 16 and value.isprintable() else None
                 for value in (told.get("source_lang"), language or told.get("target_lang"))]  # fmt: skip
    beam = config.get("num_beams")
    data = TextData(
        source_language=languages[0],
        target_language=languages[1],
        pieces=max(300, len(read.names)),
        joint=read is said,
        longest=model.longest,
    )
    return TranslationRecipe(
        about=f"Imported from {shown(folder.path.resolve().name)}, a Marian model of Hugging Face's form.",
        data=data,
        model=model,
        search=Search(beam=beam if type(beam) is int and 1 <= beam <= 100 else 4, length_penalty=1.0),
    )


def _pieces(source: Path, content: bytes) -> None:
    try:
        NumberedPieces(content)
    except ValueError as error:
        raise BadFile(f"{shown(source)}: {error}") from None
