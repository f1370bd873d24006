"""What a look is taken for: so that it reads what could fit some words, instead of a whole large page.

What is left out surely fits none of the words (`js/9_asked.js` reads too much rather than too little),
so every ranking says of such a look what it would say of a whole one.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent.locating.words import Grade, core, grade

LEAST_LETTERS = 3
"""Below so many letters almost anything could fit."""


@dataclass(frozen=True, slots=True)
class Question:
    """The words somebody asks for at once."""

    words: frozenset[str]
    """Plain words of every reading."""
    regions: bool
    """Whether a region is asked for: any may be the one."""

    def covers(self, said: str) -> bool:
        """Whether everything on the page that says the same was read."""
        return any(grade(words, said) is not Grade.NOT for words in self.words)

    @property
    def for_page(self) -> dict[str, object]:
        """As the page is asked."""
        return {"words": sorted({core(words) for words in self.words}), "regions": self.regions}
