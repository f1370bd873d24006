"""The texts of a page index's elements, grouped by prefix.

Matching texts share a prefix, so that a search compares a few texts of a large page instead of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from agent.locators.page_index import IndexedElement, PageIndex
from agent.locators.word_comparison import WordFit, build_prefix_key, compare_words

KINDS: dict[str, Callable[[IndexedElement], tuple[str, ...]]] = {
    "label": lambda e: (e.label,),
    "placeholder": lambda e: (e.placeholder,),
    "own": lambda e: (e.name, e.text) if e.text != e.name else (e.name,),
    "title": lambda e: (e.attributes.get("title", ""),),
    "beside": lambda e: (e.near.column, e.near.before, e.near.after if e.checked is not None else ""),
    "identity": lambda e: e.identities,
}
"""Kinds of texts, and the function that returns them for an element."""


class ElementTexts:
    """The texts of a page index's interactive elements. Each kind is grouped at its first use."""

    def __init__(self, index: PageIndex) -> None:
        self._elements = index.interactive
        self._by_prefix: dict[str, dict[str, list[tuple[IndexedElement, str]]]] = {}

    def find(
        self, kind: str, words: str, among: frozenset[int] | None
    ) -> Iterator[tuple[IndexedElement, str, WordFit]]:
        """Yield the elements with a text of the kind that matches the words, the text, and how well it fits.

        `among` holds the positions of the elements to search; None: all.
        """
        if not words:
            return
        groups = self._group_by_prefix(kind)
        prefix = build_prefix_key(words)
        searched = (groups.get(prefix, ()), groups.get("", ())) if prefix else tuple(groups.values())
        for texts in searched:
            for element, text in texts:
                if among is None or element.at in among:
                    fit = compare_words(words, text)
                    if fit is not WordFit.NOT:
                        yield element, text, fit

    def _group_by_prefix(self, kind: str) -> dict[str, list[tuple[IndexedElement, str]]]:
        known = self._by_prefix.get(kind)
        if known is None:
            known = self._by_prefix[kind] = {}
            list_texts = KINDS[kind]
            for element in self._elements:
                for text in list_texts(element):
                    if text:
                        known.setdefault(build_prefix_key(text), []).append((element, text))
        return known
