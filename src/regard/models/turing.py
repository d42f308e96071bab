"""Neural Turing machines: a controller with heads on a tape that it reads and writes. Graves et al. 2014.

Heads find their place on the tape as the step before left it, M_{t-1}; then all read and all write, or the other way
round. Beside it a plain LSTM, which has to keep everything in its state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attend.addressing import Turing
from regard.attend.memory import Memory
from regard.attend.papers.recurrent import graves
from regard.attend.select import masked_softmax
from regard.models.recurrence.along import along
from regard.models.recurrence.cells import Cell, Lstm
from regard.models.settings import LstmModel, TuringModel

Rows = Float[Tensor, "b _"]
Tape = Float[Tensor, "b n m"]
Weights = Float[Tensor, "b h t k"]


@dataclass(frozen=True)
class Trail:
    """What a machine did: its outputs, where each head stood at each step, and what the tape held at the end."""

    outputs: Float[Tensor, "b t o"]
    read: Float[Tensor, "b t h k"] | None = None
    wrote: Float[Tensor, "b t h k"] | None = None
    tape: Tape | None = None


class Machine(nn.Module, ABC):
    """Vectors in, vectors out, step by step."""

    @abstractmethod
    def trail(self, inputs: Float[Tensor, "b t d"]) -> Trail:
        """All steps, and what was done on the way."""

    def forward(self, inputs: Float[Tensor, "b t d"]) -> Float[Tensor, "b t o"]:
        """The outputs of all steps."""
        return self.trail(inputs).outputs


class Head(nn.Module):
    """A place on the tape that moves: by content, from where it stood, by a shift, sharpened. Eq. 5-9.

    `keeps` says what the next step's interpolation starts from: the `final` weighting (eq. 7), or, as some
    transcriptions have it, the weighting by `content` alone, with which a head cannot walk along the tape.
    """

    def __init__(self, d_controller: int, d_tape: int, keeps: str = "final") -> None:
        super().__init__()
        self.attention, self.keeps = graves(d_controller, d_tape), keeps

    def forward(self, state: Rows, tape: Tape, before: Weights | None) -> tuple[Rows, Weights, Weights]:
        """What is read, the weighting, and what the next step starts from."""
        query, memory = state.unsqueeze(1), self.attention.memory(tape)
        look = self.attention.look(query, memory, past=before)
        kept = look.weights if self.keeps == "final" else self.by_content(query, memory)
        return look.context.squeeze(1), look.weights, kept

    def by_content(self, query: Float[Tensor, "b 1 d"], memory: Memory) -> Weights:
        """Where the head would stand if it looked at content alone."""
        select = self.attention.select
        assert isinstance(select, Turing)
        asked = query.unsqueeze(1)
        return masked_softmax(F.softplus(select.strength(asked)) * self.attention.score(asked, memory.keys), None)


class Writing(nn.Module):
    """What a head does where it stands: erase some of each number there, then add. Eq. 3-4."""

    def __init__(self, d_controller: int, d_tape: int) -> None:
        super().__init__()
        self.erase, self.add = nn.Linear(d_controller, d_tape), nn.Linear(d_controller, d_tape)

    def forward(self, state: Rows, tape: Tape, weights: Weights) -> Tape:
        """The tape after it."""
        return written(tape, weights[:, 0, 0], self.erase(state).sigmoid(), self.add(state))


def written(tape: Tape, weights: Float[Tensor, "b n"], erase: Rows, add: Rows) -> Tape:
    """M(i) ∘ (1 - w(i) e) + w(i) a, element by element."""
    where = weights.unsqueeze(-1)
    return tape * (1 - where * erase.unsqueeze(1)) + where * add.unsqueeze(1)


class Forward(nn.Module):
    """A controller without a memory of its own: all it knows of the past is on the tape."""

    def __init__(self, d_input: int, width: int) -> None:
        super().__init__()
        self.layer, self.width, self.size = nn.Linear(d_input, width), width, width

    def forward(self, x: Rows, before: Rows) -> Rows:
        return self.layer(x).tanh()  # type: ignore[no-any-return]

    def shown(self, state: Rows) -> Rows:
        """All of it."""
        return state


class TuringMachine(Machine):
    """Controller, heads and tape; a head's first place is the first of the tape."""

    def __init__(
        self, controller: Forward | Cell, readers: list[Head], writers: list[tuple[Head, Writing]], places: int,
        d_tape: int, d_output: int, reads_first: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.controller, self.reads_first, self.places, self.d_tape = controller, reads_first, places, d_tape
        self.readers = nn.ModuleList(readers)
        self.writers = nn.ModuleList(head for head, _ in writers)
        self.pens = nn.ModuleList(pen for _, pen in writers)
        self.first = nn.Parameter(torch.zeros(len(readers) * d_tape))
        self.output = nn.Linear(controller.width + len(readers) * d_tape, d_output)

    def trail(self, inputs: Float[Tensor, "b t d"]) -> Trail:
        rows = len(inputs)
        tape = inputs.new_full((rows, self.places, self.d_tape), 1e-6)  # the same everywhere: no place is special
        state, seen = inputs.new_zeros(rows, self.controller.size), self.first.expand(rows, -1)
        kept: list[Weights | None] = [None] * (len(self.readers) + len(self.writers))
        outputs, stood = [], []
        for x in inputs.unbind(1):
            state = self.controller(torch.cat((x, seen), -1), state)
            shown = self.controller.shown(state)
            seen, tape, places, kept = self._step(shown, tape, kept)
            outputs.append(self.output(torch.cat((shown, seen), -1)))
            stood.append(places)
        where = torch.stack(stood, 1)  # b t h k
        count = len(self.readers)
        return Trail(torch.stack(outputs, 1), where[:, :, :count], where[:, :, count:], tape)

    def _step(
        self, shown: Rows, tape: Tape, kept: list[Weights | None]
    ) -> tuple[Rows, Tape, Float[Tensor, "b h k"], list[Weights | None]]:
        heads = [*self.readers, *self.writers]
        looks = [head(shown, tape, before) for head, before in zip(heads, kept, strict=True)]
        new = tape
        for pen, (_, weights, _) in zip(self.pens, looks[len(self.readers) :], strict=True):
            new = pen(shown, new, weights)
        reading = looks[: len(self.readers)]
        seen = [found if self.reads_first else (weights[:, 0] @ new).squeeze(1) for found, weights, _ in reading]
        places = torch.stack([weights[:, 0, 0] for _, weights, _ in looks], 1)
        return torch.cat(seen, -1), new, places, [after for _, _, after in looks]


class PlainLstm(Machine):
    """Layers of LSTM and a map: what a machine without a tape can do."""

    def __init__(self, d_input: int, width: int, layers: int, d_output: int) -> None:
        super().__init__()
        self.cells = nn.ModuleList(Lstm(width if layer else d_input, width) for layer in range(layers))
        self.output = nn.Linear(width, d_output)

    def trail(self, inputs: Float[Tensor, "b t d"]) -> Trail:
        for cell in self.cells:
            inputs, _ = along(cell, inputs)  # type: ignore[arg-type]
        return Trail(self.output(inputs))


def build_machine(settings: TuringModel | LstmModel, d_input: int, d_output: int) -> Machine:
    """The model a recipe describes."""
    if isinstance(settings, LstmModel):
        return PlainLstm(d_input, settings.width, settings.layers, d_output)
    width, d_tape = settings.width, settings.cells
    d_controller = d_input + settings.readers * d_tape
    controller = Lstm(d_controller, width) if settings.controller == "lstm" else Forward(d_controller, width)
    readers = [Head(width, d_tape, settings.keeps) for _ in range(settings.readers)]
    writers = [(Head(width, d_tape, settings.keeps), Writing(width, d_tape)) for _ in range(settings.writers)]
    return TuringMachine(
        controller, readers, writers, settings.places, d_tape, d_output, settings.order == "read-write"
    )
