"""Generated English and French whose every word link is known: what alignments can be measured on without people.

Adjectives go behind their noun in the opposite order (*the european economic area*, *la zone économique européenne*),
they and participles agree with it, *was signed* becomes three words, *not* becomes two around the verb, and
*yesterday* moves from the front to the end. Every sentence has one right translation.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from regard.translate.align import Link

# fmt: off
NOUNS = {  # English: French, whether it is feminine
    "area": ("zone", True), "treaty": ("traité", False), "council": ("conseil", False), "bank": ("banque", True),
    "commission": ("commission", True), "town": ("ville", True), "law": ("loi", True), "project": ("projet", False),
    "report": ("rapport", False), "meeting": ("réunion", True), "policy": ("politique", True),
    "region": ("région", True), "museum": ("musée", False), "house": ("maison", True), "market": ("marché", False),
    "journal": ("journal", False), "programme": ("programme", False), "bridge": ("pont", False),
    "river": ("rivière", True), "garden": ("jardin", False),
}
ADJECTIVES = {  # English: French, masculine and feminine
    "european": ("européen", "européenne"), "economic": ("économique", "économique"),
    "national": ("national", "nationale"), "common": ("commun", "commune"), "public": ("public", "publique"),
    "central": ("central", "centrale"), "local": ("local", "locale"), "social": ("social", "sociale"),
    "french": ("français", "française"), "german": ("allemand", "allemande"), "red": ("rouge", "rouge"),
    "financial": ("financier", "financière"), "regional": ("régional", "régionale"),
    "historical": ("historique", "historique"), "industrial": ("industriel", "industrielle"),
    "digital": ("numérique", "numérique"), "rural": ("rural", "rurale"), "green": ("vert", "verte"),
}
VERBS = {
    "supports": ("support", "soutient"), "presents": ("present", "présente"), "visits": ("visit", "visite"),
    "protects": ("protect", "protège"), "finances": ("finance", "finance"), "prepares": ("prepare", "prépare"),
    "changes": ("change", "change"), "shows": ("show", "montre"),
}
PARTICIPLES = {
    "signed": "signé", "published": "publié", "created": "créé", "closed": "fermé", "rejected": "rejeté",
    "sold": "vendu", "lost": "perdu", "finished": "terminé",
}
PREPOSITIONS = {"on": "sur", "with": "avec", "for": "pour", "without": "sans", "behind": "derrière", "under": "sous"}
MONTHS = {
    "january": "janvier", "march": "mars", "april": "avril", "june": "juin", "july": "juillet", "august": "août",
    "october": "octobre", "december": "décembre",
}
# fmt: on


@dataclass(frozen=True)
class Linked:
    """A sentence, its translation, and their links: sure ones, and all that are possible."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    sure: frozenset[Link]
    possible: frozenset[Link]

    @property
    def texts(self) -> tuple[str, str]:
        """Both as plain text."""
        return " ".join(self.source), " ".join(self.target)


@dataclass(frozen=True)
class _Part:
    """A stretch whose links stay within it: target words with the source words they come from, sure and possible."""

    source: tuple[str, ...]
    target: tuple[tuple[str, tuple[int, ...], tuple[int, ...]], ...]


def linked(parts: Sequence[_Part], order: Sequence[int] | None = None) -> Linked:
    """Parts one after the other; their translations in another order, if one is given."""
    starts = [sum(len(part.source) for part in parts[:n]) for n in range(len(parts))]
    source = tuple(word for part in parts for word in part.source)
    target: list[str] = []
    sure, possible = set[Link](), set[Link]()
    for n in order if order is not None else range(len(parts)):
        for word, certain, likely in parts[n].target:
            sure |= {(starts[n] + at, len(target)) for at in certain}
            possible |= {(starts[n] + at, len(target)) for at in (*certain, *likely)}
            target.append(word)
    return Linked(source, tuple(target), frozenset(sure), frozenset(possible))


def noun_phrase(adjectives: Sequence[str], noun: str) -> _Part:
    """The block that is turned round: article, adjectives, noun; then article, noun, adjectives backwards.

    That there is an article comes from *the*, which one it is from the noun: both links are possible, neither sure.
    """
    french, feminine = NOUNS[noun]
    last = len(adjectives) + 1
    target = [("la" if feminine else "le", (), (0, last)), (french, (last,), ())]
    target += [(ADJECTIVES[adjectives[at]][feminine], (at + 1,), ()) for at in reversed(range(len(adjectives)))]
    return _Part(("the", *adjectives, noun), tuple(target))


def passive(participle: str, feminine: bool) -> _Part:
    """`was signed`, `a été signé`: the word in the middle may be said to come from either."""
    said = PARTICIPLES[participle] + "e" * feminine
    return _Part(("was", participle), (("a", (0,), ()), ("été", (), (0, 1)), (said, (1,), ())))


def negated(verb: str) -> _Part:
    """`does not support`, `ne soutient pas`: two words for one, around the verb."""
    plain, french = VERBS[verb]
    return _Part(("does", "not", plain), (("ne", (1,), (0,)), (french, (2,), (0,)), ("pas", (1,), (0,))))


def date(month: str, year: str) -> _Part:
    """`in august 1992`, `en août 1992`."""
    return _Part(("in", month, year), (("en", (0,), (1,)), (MONTHS[month], (1,), ()), (year, (2,), ())))


def word(english: str, french: str) -> _Part:
    """One for one."""
    return _Part((english,), ((french, (0,), ()),))


def famous() -> Linked:
    """The phrase that every picture of an alignment shows (Bahdanau et al. 2015, figure 3)."""
    parts = [
        noun_phrase([], "treaty"), word("on", "sur"), noun_phrase(["european", "economic"], "area"),
        passive("signed", False), date("august", "1992"), word(".", "."),
    ]  # fmt: skip
    return linked(parts)


def sentences(count: int, seed: int) -> Iterator[Linked]:
    """So many sentences, the same for the same seed."""
    rng = random.Random(seed)
    for _ in range(count):
        yield _sentence(rng)


def _sentence(rng: random.Random) -> Linked:
    parts: list[_Part] = []
    if moved := rng.random() < 0.2:
        parts.append(word("yesterday", "hier"))
    noun = _phrases(rng, parts)
    if rng.random() < 0.4:
        parts.append(passive(rng.choice(list(PARTICIPLES)), NOUNS[noun][1]))
        if rng.random() < 0.3:
            parts.append(word("by", "par"))
            _phrases(rng, parts)
    else:
        verb = rng.choice(list(VERBS))
        parts.append(negated(verb) if rng.random() < 0.25 else word(verb, VERBS[verb][1]))
        _phrases(rng, parts)
    if rng.random() < 0.35:
        parts.append(date(rng.choice(list(MONTHS)), str(rng.randint(1900, 2030))))
    parts.append(word(".", "."))
    last = len(parts) - 1
    return linked(parts, [*range(1, last), 0, last] if moved else None)


def _phrases(rng: random.Random, parts: list[_Part]) -> str:
    """A noun with up to three adjectives, sometimes with another behind a preposition; answers the first noun."""
    noun = rng.choice(list(NOUNS))
    parts.append(noun_phrase(rng.sample(list(ADJECTIVES), rng.choices(range(4), (3, 4, 3, 1))[0]), noun))
    if rng.random() < 0.3:
        english = rng.choice(list(PREPOSITIONS))
        parts.append(word(english, PREPOSITIONS[english]))
        other = rng.choice(list(NOUNS))
        parts.append(noun_phrase(rng.sample(list(ADJECTIVES), rng.choices(range(3), (3, 4, 3))[0]), other))
    return noun
