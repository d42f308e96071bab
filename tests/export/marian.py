"""A tiny Marian model with random weights, in a folder as Hugging Face writes it; made by transformers, offline."""

from __future__ import annotations

import io
import json
import random
import warnings
from pathlib import Path
from typing import Any

import sentencepiece

ENGLISH = ("one", "two", "three", "four", "five", "red", "blue", "dog", "cat", "house", "the", "a", "runs", "sleeps")
GERMAN = (
    "eins",
    "zwei",
    "drei",
    "vier",
    "fünf",
    "rot",
    "blau",
    "Hund",
    "Katze",
    "Haus",
    "der",
    "ein",
    "läuft",
    "ruht",
)


def spm(words: tuple[str, ...], size: int) -> bytes:
    """Pieces as Marian's are made: a unigram model, no bytes, text normalised."""
    rng, model = random.Random(1), io.BytesIO()
    lines = (" ".join(rng.choices(words, k=6)) + "." for _ in range(200))
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=lines, model_writer=model, vocab_size=size, minloglevel=2, hard_vocab_limit=False
    )
    return model.getvalue()


def pieces_of(model: bytes) -> list[str]:
    processor = sentencepiece.SentencePieceProcessor()
    processor.load_from_serialized_proto(model)
    return [processor.id_to_piece(i) for i in range(len(processor))]


def make(folder: Path, codes: tuple[str, ...] = (), separate: bool = False, **changes: Any) -> Any:
    """The folder; answers the model as transformers has it."""
    import torch

    folder.mkdir(parents=True)
    source, target = spm(ENGLISH, 60), spm(GERMAN, 70)
    (folder / "source.spm").write_bytes(source)
    (folder / "target.spm").write_bytes(target)
    sides = [pieces_of(source), pieces_of(target)] if separate else [[*pieces_of(source), *pieces_of(target)]] * 2
    vocabularies = [_numbers([*side, *codes]) for side in sides]
    sizes = [len(numbers) for numbers in vocabularies]
    if separate:  # padding has one number in both
        most = max(sizes)
        for numbers in vocabularies:
            numbers.pop("<pad>")
            numbers |= {f"<extra {n}>": n for n in range(len(numbers), most - 1)} | {"<pad>": most - 1}
    names = ["vocab.json", "target_vocab.json"] if separate else ["vocab.json"]
    for name, numbers in zip(names, vocabularies, strict=False):
        (folder / name).write_text(json.dumps(numbers), encoding="utf-8")
    told = {"source_lang": "en", "target_lang": "de", "separate_vocabs": separate}
    (folder / "tokenizer_config.json").write_text(json.dumps(told), encoding="utf-8")
    torch.manual_seed(1)
    model = _model(len(vocabularies[0]), share_encoder_decoder_embeddings=not separate, **changes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.save_pretrained(folder)
    return model


def _numbers(pieces: list[str]) -> dict[str, int]:
    """As in Marian's vocabularies: the end, the unknown, all others in an order of their own, padding last."""
    others = sorted(set(pieces) - {"<unk>", "<s>", "</s>"}, key=lambda piece: piece[::-1])
    return {piece: n for n, piece in enumerate(["</s>", "<unk>", *others, "<pad>"])}


def _model(size: int, **changes: Any) -> Any:
    import torch
    from transformers import MarianConfig, MarianMTModel
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    settings = {
        "vocab_size": size, "decoder_vocab_size": size, "d_model": 16, "encoder_layers": 2, "decoder_layers": 1,
        "encoder_attention_heads": 2, "decoder_attention_heads": 4, "encoder_ffn_dim": 32, "decoder_ffn_dim": 24,
        "pad_token_id": size - 1, "decoder_start_token_id": size - 1, "eos_token_id": 0, "forced_eos_token_id": 0,
        "activation_function": "swish", "scale_embedding": True, "max_position_embeddings": 64, "init_std": 0.4,
    }  # fmt: skip
    model = MarianMTModel(MarianConfig(**{**settings, **changes})).eval()
    with torch.no_grad():
        for name, value in model.named_parameters():
            if name.endswith("bias"):
                value.normal_(0, 0.1)
        model.final_logits_bias.normal_(0, 0.5)
        model.final_logits_bias[0, 0] += 3.0  # so that translations end
    return model
