"""Texts of a page that are like a value which nothing on it has: what a person may have meant by it."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from kb_schema.templates import list_telling_words

if TYPE_CHECKING:
    from agent.locators.page_index import PageIndex

MOST = 3
LONGEST = 80
"""Longer texts are not called what they say."""
LEAST_LIKE = 0.75
"""Similarity of letters (difflib's ratio) from which a text may be a value that was written wrongly."""


def find_alike_texts(value: str, index: PageIndex) -> list[str]:
    """Return at most three texts that have all words of a value and more; else texts that are written almost as it is.

    Empty if there are none.
    """
    said = dict.fromkeys(
        text
        for each in index.elements
        if each.visible
        for text in (each.text, each.name)
        if text and len(text) <= LONGEST and text != value
    )
    words = {*list_telling_words(value)}
    longer = [text for text in said if words and words.issubset(list_telling_words(text))]
    if longer:
        return sorted(longer, key=len)[:MOST]
    by_letters = {text.casefold(): text for text in said}
    near = difflib.get_close_matches(value.casefold(), by_letters, n=MOST, cutoff=LEAST_LIKE)
    return [by_letters[each] for each in near]
