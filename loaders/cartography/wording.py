"""Ids that people can read, formed from what they see. What a website calls something is only ever words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

MOST_CHARACTERS = 36
_COUNT = re.compile(r"\W*\d[\d.,:/]*\W*")
"""A badge, a date, a price: it is another one tomorrow."""
_OTHER = re.compile(r"[^a-z0-9]+")


def words_of(text: str, *, numbers: bool = False) -> str:
    """A name as a part of an id; nothing where it has no letters that could be in one. Without its numbers,
    which are others tomorrow, unless it is nothing but a number, or `numbers` are asked for.

    >>> words_of("Inbox (3)"), words_of("Größe ändern"), words_of("保存")
    ('inbox', 'grosse_andern', '')
    """
    plain = ("" if numbers else _plain(_COUNT.sub(" ", text))) or _plain(text)
    if len(plain) <= MOST_CHARACTERS:
        return plain
    return plain[:MOST_CHARACTERS].rpartition("_")[0] or plain[:MOST_CHARACTERS]


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKD", text.replace("ß", "ss").casefold())
    return _OTHER.sub("_", folded.encode("ascii", "ignore").decode()).strip("_")


def free(wanted: str, taken: Collection[str]) -> str:
    """An id that nothing else has.

    >>> free("save_button", {"save_button"})
    'save_button_2'
    """
    number = 1
    while (found := wanted if number == 1 else f"{wanted}_{number}") in taken:
        number += 1
    return found
