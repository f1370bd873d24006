"""What the elements of one look say, sorted by how it begins.

Discovery asks for the texts that could fit some words; whatever fits begins alike, so a question
touches a few texts of a large page instead of all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from agent.locating.index import IndexedElement, PageIndex
from agent.locating.words import Grade, begins, grade

KINDS: dict[str, Callable[[IndexedElement], tuple[str, ...]]] = {
    "label": lambda e: (e.label,),
    "placeholder": lambda e: (e.placeholder,),
    "own": lambda e: (e.name, e.text) if e.text != e.name else (e.name,),
    "title": lambda e: (e.attributes.get("title", ""),),
    "beside": lambda e: (e.near.column, e.near.before, e.near.after if e.checked is not None else ""),
    "identity": lambda e: e.identities,
}
"""Kinds of texts a strategy may ask for."""


class Texts:
    """The texts of a look's operable elements, each kind sorted when it is first asked for."""

    def __init__(self, index: PageIndex) -> None:
        self._elements = index.interactive
        self._sorted: dict[str, dict[str, list[tuple[IndexedElement, str]]]] = {}

    def fitting(
        self, kind: str, words: str, among: frozenset[int] | None
    ) -> Iterator[tuple[IndexedElement, str, Grade]]:
        """Elements with a text of the kind that fits the words, how well, in document order per text.

        `among` are the places of the elements that count; None: all of them.
        """
        if not words:
            return
        sorted_ = self._of(kind)
        start = begins(words)
        near = (sorted_.get(start, ()), sorted_.get("", ())) if start else tuple(sorted_.values())
        for texts in near:
            for element, text in texts:
                if among is None or element.at in among:
                    said = grade(words, text)
                    if said is not Grade.NOT:
                        yield element, text, said

    def _of(self, kind: str) -> dict[str, list[tuple[IndexedElement, str]]]:
        known = self._sorted.get(kind)
        if known is None:
            known = self._sorted[kind] = {}
            say = KINDS[kind]
            for element in self._elements:
                for text in say(element):
                    if text:
                        known.setdefault(begins(text), []).append((element, text))
        return known
