"""Stories of one, two or three facts that an answer rests on, among others that it does not. NumPy only.

After bAbI's first three tasks (Weston et al. 2016). A fact is one item, of its words together, as the Universal
Transformer reads them: who did what to what. The last item is the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.tasks.labels import Drawn, LabelProblem, everywhere

PEOPLE = ["Mary", "John", "Sandra", "Daniel", "Julie", "Bill", "Fred", "Jeff"]
THINGS = ["apple", "ball", "book", "cup", "hat", "key", "lamp", "milk"]
ROOMS = ["kitchen", "garden", "hallway", "bedroom", "office", "bathroom", "cellar", "attic"]
ASKS = ("where is", "what is north of")
SAYS = ("went to the", "took the", "is north of the")
WORDS = ["", *SAYS, *ASKS, *PEOPLE, *THINGS, *ROOMS, *(f"({room})" for room in ROOMS)]
"""A room that is north of another is a word of its own, as are who did it and what it was done to."""
NUMBER = {word: number for number, word in enumerate(WORDS)}
FIRST_PERSON, FIRST_THING, FIRST_ROOM = NUMBER[PEOPLE[0]], NUMBER[THINGS[0]], NUMBER[ROOMS[0]]
FIRST_NORTH = FIRST_ROOM + len(ROOMS)
MOST = 3


@dataclass(frozen=True)
class Story(LabelProblem):
    """Everybody is somewhere and may have taken something; rooms lie north of rooms; all in any order.

    Where is Mary, what is north of the kitchen (one fact); where is the apple (who has it, and where she is); what is
    north of the apple (and what is north of there). How hard a question is, is how many facts it takes.
    """

    words = len(WORDS)
    classes = len(ROOMS)
    hardness = "facts"
    most = 8

    def draw(self, rng: np.random.Generator, count: int, size: int) -> Drawn:
        """`size` people, each with a room of their own and a thing, and a fact for what is north of each."""
        some = [np.argsort(rng.random((count, 8)), 1)[:, :size] for _ in range(3)]
        people, things, rooms = some[0] + FIRST_PERSON, some[1] + FIRST_THING, some[2]
        north = (rooms + rng.integers(1, len(ROOMS), rooms.shape)) % len(ROOMS)  # of no room itself
        facts = np.concatenate(
            [
                np.stack((people, np.full_like(people, NUMBER[SAYS[0]]), rooms + FIRST_ROOM), -1),
                np.stack((people, np.full_like(people, NUMBER[SAYS[1]]), things), -1),
                np.stack((north + FIRST_NORTH, np.full_like(people, NUMBER[SAYS[2]]), rooms + FIRST_ROOM), -1),
            ],
            1,
        )
        facts = np.take_along_axis(facts, np.argsort(rng.random(facts.shape[:2]), 1)[..., None], 1)
        rows, whom, needed = np.arange(count), rng.integers(0, size, count), rng.integers(1, MOST + 1, count)
        either = rng.integers(0, 2, count)
        beyond = np.select([needed == 1, needed == 2], [either, 0], 1)  # asked is not where it is, but what is north
        known = np.stack((rooms + FIRST_ROOM, people, things))
        asked = np.stack((known[needed - beyond, rows, whom], NUMBER[ASKS[0]] + beyond, np.zeros(count, int)), -1)
        right = np.where(beyond == 1, north[rows, whom], rooms[rows, whom])
        items = np.concatenate((facts, asked[:, None]), 1)
        return Drawn(items, everywhere(count, [3 * size]), right[:, None], needed[:, None])

    def told(self, items: np.ndarray) -> Sequence[str]:
        return [_said(fact) for fact in items.tolist()]

    def answer(self, label: int) -> str:
        return ROOMS[label]


def _said(fact: Sequence[int]) -> str:
    who, says, what = (WORDS[word].strip("()") for word in fact)
    named = who if who in PEOPLE else f"the {who}"
    return f"{says} {named}?" if says in ASKS else f"{named} {says} {what}"
