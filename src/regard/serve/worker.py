"""The process that decodes: batches in, answers out, one after the other. It ends when the server is gone."""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import select
import socket
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from regard.search.wishes import Wanted
from regard.serve.wire import Message, receive, send
from regard.show.ask import NothingThere
from regard.translate.glossary import Glossary
from regard.translate.result import Result
from regard.translate.translator import Translator
from regard.translate.writers import as_json

Views = Mapping[str, Callable[[Translator, Mapping[str, Any]], dict[str, Any]]]
MOST_WEIGHTS = 64 * 2**20
"""Numbers of attention that a text may need; a base Transformer's for 10 000 characters are half of it."""
VIEW_NBEST = 5
"""Translations that a view looks into, unless it is told how many."""
MOST_WISHED = 256
"""Bytes of the terms that one text must hold: each piece of them widens its beam ..."""
WISHING = 8
"""... and so many texts with terms are searched together."""
IDLE = 0.5
"""Seconds without work after which memory is given back."""


@dataclass(frozen=True)
class Answer:
    """JSON for one text or view; or why there is none: `refused` is the asker's fault, `failed` is ours."""

    content: bytes = b""
    refused: str | None = None
    failed: str | None = None
    pieces: tuple[int, int] = (0, 0)
    """Of the source and of the translation."""
    status: int = 422
    """Of what is refused: 404 where the request is good, and what it asks for is not there."""

    def about(self) -> dict[str, Any]:
        """Its part of the message; the content follows behind."""
        return {
            "size": len(self.content),
            "refused": self.refused,
            "failed": self.failed,
            "pieces": self.pieces,
            "status": self.status,
        }


class Worker:
    """Answers batches with models that are loaded already."""

    def __init__(self, models: Mapping[str, Translator], views: Views, gone: mmap.mmap | bytearray) -> None:
        self.models, self.views, self.gone = models, views, gone
        self.maps = dict.fromkeys(models, 0)

    def warm(self) -> None:
        """A real translation with each model: the first is slow, and shows whether it can be done at all."""
        for name, model in self.models.items():
            result = model(["1 2 3"], attention=True)[0]
            seen = result.attention
            self.maps[name] = 0 if seen is None else seen.shape[0] * seen.shape[1]

    def answers(self, asked: Mapping[str, Any]) -> list[Answer]:
        """One for each text of a batch, or one for a view."""
        model = self.models[asked["model"]]
        if "view" in asked:
            return [self._view(model, asked)]
        count = len(asked["texts"])
        some = WISHING if asked["options"].get("glossary") else max(1, count)
        groups = (list(range(at, min(count, at + some))) for at in range(0, count, some))
        return [answer for which in groups for answer in self._translated(model, asked, which)]

    def _view(self, model: Translator, asked: Mapping[str, Any]) -> Answer:
        body = asked["body"]
        why = self._too_many_weights(model, asked["model"], body["text"], body.get("nbest") or VIEW_NBEST)
        if why is not None:
            return Answer(refused=why)
        try:
            found = self.views[asked["view"]](model, body)
            return Answer(json.dumps(found, allow_nan=False).encode())
        except NothingThere as nothing:
            return Answer(refused=str(nothing), status=404)
        except ValueError as error:
            return Answer(refused=str(error))
        except Exception as error:
            return Answer(failed=where(error))

    def _translated(self, model: Translator, asked: Mapping[str, Any], which: Sequence[int]) -> list[Answer]:
        """All together; where that fails, each alone, so that one text does not take others with it."""
        texts = [asked["texts"][n] for n in which]
        options = dict(asked["options"])
        terms = Glossary(options.pop("glossary")) if options.get("glossary") else None
        refused = [self._too_much(model, asked["model"], text, options, terms) for text in texts]
        good = [n for n, why in zip(which, refused, strict=True) if why is None]
        prefix = [options.pop("prefix", "")] * len(good)
        try:
            found = model(
                [asked["texts"][n] for n in good], prefix=prefix, glossary=terms,
                wanted=[self._wanted(n) for n in good], **options,
            )  # fmt: skip
            said = iter([answer(result) for result in found])
        except Exception as error:
            if len(good) > 1:
                said = iter([one for n in good for one in self._translated(model, asked, [n])])
            else:
                said = iter([Answer(failed=where(error))])
        return [next(said) if why is None else Answer(refused=why) for why in refused]

    def _wanted(self, place: int) -> Wanted:
        gone = self.gone
        return lambda: gone[place] == 0

    def _too_much(
        self, model: Translator, name: str, text: str, options: Mapping[str, Any], terms: Glossary | None
    ) -> str | None:
        """What a few characters can ask of a machine with room for many."""
        if terms is not None:
            wished = sum(len(target.encode()) for _, target in terms.found(text))
            if wished > MOST_WISHED:
                return (
                    f"a text holds terms of the glossary whose translations have {wished} bytes, and "
                    f"{MOST_WISHED} are possible; send it in parts, or with fewer terms"
                )
        if options["attention"] or options["alignment"]:
            return self._too_many_weights(model, name, text, options["nbest"])
        return None

    def _too_many_weights(self, model: Translator, name: str, text: str, nbest: int) -> str | None:
        pieces = len(model.speaker.source.encode([text])[0])
        weights = self.maps[name] * nbest * pieces * min(pieces, model.longest)
        if weights <= MOST_WEIGHTS:
            return None
        return (
            f"the attention of a text would be {weights:,} numbers, and {MOST_WEIGHTS:,} are possible; "
            "send it in parts, or ask for fewer translations"
        )


def answer(result: Result) -> Answer:
    """All that is known of a translation; its weights part by part, if they were asked for."""
    found = as_json(result)
    if any(part.attention is not None for part in result.parts):
        found["parts"] = [
            {
                "start": part.start,
                "end": part.end,
                "text": part.text,
                "source_tokens": part.source_tokens,
                "tokens": part.tokens,
                "attention": None if part.attention is None else _rounded(part.attention),
            }
            for part in result.parts
        ]
    else:
        found["parts"] = [{"start": part.start, "end": part.end, "text": part.text} for part in result.parts]
    content = json.dumps(found, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Answer(content.encode(), pieces=(len(result.source_tokens), len(result.tokens)))


def _rounded(weights: torch.Tensor) -> Any:
    """Numbers to seven places: enough for 1e-6, and half as long."""
    return weights.double().mul(1e7).round().div(1e7).tolist()


def where(error: BaseException) -> str:
    """What went wrong and where, without the message: it may hold somebody's text."""
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    return f"{type(error).__name__} at {' < '.join(f'{frame.name}:{frame.lineno}' for frame in reversed(frames))}"


def work(
    server: socket.socket, gone: mmap.mmap, models: Mapping[str, Translator], views: Views, threads: int
) -> None:
    """Until there is nobody to work for."""
    torch.set_num_threads(threads)
    worker = Worker(models, views, gone)
    try:
        worker.warm()
    except Exception as error:
        send(server, {"failed": f"{error}"})
        return
    send(server, {"pid": os.getpid()})
    while (message := next_message(server)) is not None:
        found = worker.answers(message[0])
        try:
            send(server, {"answers": [one.about() for one in found]}, b"".join(one.content for one in found))
        except BrokenPipeError:
            return
    sys.stderr.flush()


def next_message(server: socket.socket) -> Message | None:
    """The next message; whoever waits for it long gives back what large batches needed."""
    if not select.select([server], [], [], IDLE)[0]:
        give_back_memory()
    return receive(server)


def give_back_memory() -> None:
    """What was freed, to the system: the C library keeps it otherwise, in case it is needed again."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's; others have nothing like it
    if trim is not None:
        trim(0)
