"""Other transductions: spelling to sound, lemma to form, expression to answer, sentence to tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from regard.systems.text import TextRecipe

if TYPE_CHECKING:
    from regard.tasks.measures import Measure


class TransductionRecipe(TextRecipe):
    """Symbols in, symbols out: a translator that is judged by edits."""

    family: ClassVar[str] = "transduction"
    tag: ClassVar[str] = "text2text-generation"

    task: Literal["transduction"] = "transduction"

    def measure(self) -> Measure:
        from regard.tasks.measures import Edits

        return Edits(by_word=self.spelt == "words")

    @property
    def spelt(self) -> str:
        """What the pieces of an answer are."""
        return self.data.target_spelling or self.data.spelling

    def scored_by(self) -> str:
        """Of each answer against the nearest right one."""
        unit = "word" if self.spelt == "words" else "character"
        return f"Answers exactly right and wrong, errors per {unit}, and edits per answer (Levenshtein)."
