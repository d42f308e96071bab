"""CTranslate2 in float32 and in int8, by workers of one thread each or one worker of all threads.

Its model is made here of random numbers. Which instructions it takes is told by CT2_FORCE_CPU_ISA, before it starts.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

import ctranslate2
import numpy as np
from ctranslate2.specs import TransformerSpec, common_spec
from decode_worker import WORDS, Decoder, Rows, Translate, serve
from sizes import TransformerSize

MARKS = ["<pad>", "<unk>", "<s>", "</s>"]
AT_ONCE = 64  # sentences, of all that there are


def build(size: TransformerSize) -> Decoder:
    threads = int(os.environ["OMP_NUM_THREADS"])
    words = [*MARKS, *(f"w{i}" for i in range(len(MARKS), size.vocabulary))]
    folder = tempfile.TemporaryDirectory()
    count = _write(size, words, folder.name)
    table = np.array(words)
    crews = {"1 x 1": (1, 1), f"{threads} x 1": (threads, 1), f"1 x {threads}": (1, threads)}
    built: dict[str, ctranslate2.Translator] = {}

    def way(kind: str, crew: str, batch: int) -> Translate:
        def translate(rows: Rows, beam: int) -> int:
            name = f"{kind} {crew}"
            if name not in built:
                inter, intra = crews[crew]
                built[name] = ctranslate2.Translator(
                    folder.name, device="cpu", compute_type=kind, inter_threads=inter, intra_threads=intra
                )
            found = built[name].translate_batch(
                [table[row].tolist() for row in rows], beam_size=beam, length_penalty=0.6,
                min_decoding_length=WORDS, max_decoding_length=WORDS,
                max_batch_size=-(-batch // crews[crew][0]) if batch else AT_ONCE,
            )  # fmt: skip
            return sum(len(one.hypotheses[0]) for one in found)

        return translate

    def forms(batch: int) -> Mapping[str, Translate]:
        which = [crew for crew in crews if batch != 1 or crew.startswith("1 x")]
        if batch != 1:
            which.remove("1 x 1")
        return {f"{kind}: {crew}": way(kind, crew, batch) for kind in ("float32", "int8") for crew in which}

    return Decoder(count, forms)


def _write(size: TransformerSize, words: list[str], folder: str) -> int:
    """A model of this size in CTranslate2's form; how many parameters it has."""
    spec = TransformerSpec.from_config(
        (size.layers, size.layers), size.heads, pre_norm=True, activation=common_spec.Activation.RELU
    )
    chance = np.random.default_rng(1)

    def numbers(*shape: int) -> np.ndarray:
        return (chance.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)

    table, waves = numbers(size.vocabulary, size.width), numbers(512, size.width)
    count = table.size
    for side, embeddings in ((spec.encoder, spec.encoder.embeddings[0]), (spec.decoder, spec.decoder.embeddings)):
        embeddings.weight, side.scale_embeddings, side.position_encodings.encodings = table, True, waves
        _norm(side.layer_norm, size.width)
        count += 2 * size.width
    spec.decoder.projection.weight = table
    for part, shapes in _parts(spec, size):
        _norm(part.layer_norm, size.width)
        for layer, shape in zip(_maps(part), shapes, strict=True):
            layer.weight = numbers(*shape)
            count += layer.weight.size
            if hasattr(part, "linear_0"):
                layer.bias = np.zeros(shape[0], np.float32)
                count += shape[0]
        count += 2 * size.width
    spec.register_source_vocabulary(words)
    spec.register_target_vocabulary(words)
    spec.config.unk_token, spec.config.bos_token, spec.config.eos_token = MARKS[1], MARKS[2], MARKS[3]
    spec.config.decoder_start_token = MARKS[2]
    spec.validate()
    spec.optimize(quantization="float32")
    spec.save(folder)
    return count


def _parts(spec: Any, size: TransformerSize) -> Iterator[tuple[Any, list[tuple[int, int]]]]:
    """Every part of every layer, with the shapes of its maps."""
    wide, inner = size.width, size.feedforward
    for layer in [*spec.encoder.layer, *spec.decoder.layer]:
        yield layer.self_attention, [(3 * wide, wide), (wide, wide)]
        yield layer.ffn, [(inner, wide), (wide, inner)]
    for layer in spec.decoder.layer:
        yield layer.attention, [(wide, wide), (2 * wide, wide), (wide, wide)]


def _maps(part: Any) -> list[Any]:
    return [part.linear_0, part.linear_1] if hasattr(part, "linear_0") else list(part.linear)


def _norm(norm: Any, width: int) -> None:
    norm.gamma, norm.beta = np.ones(width, np.float32), np.zeros(width, np.float32)


if __name__ == "__main__":
    serve(build, "ctranslate2")
