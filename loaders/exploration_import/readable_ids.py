"""Makes readable ids from labels of the website."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

MOST_CHARACTERS = 36
_COUNT = re.compile(r"\W*\d[\d.,:/]*\W*")
"""A badge, a date, a price: it changes."""
_OTHER = re.compile(r"[^a-z0-9]+")


def to_id_words(text: str, *, numbers: bool = False) -> str:
    """Return a name as a part of an id; empty if it has no ASCII letters.

    Numbers are removed because they change, unless the name is only a number or `numbers` is set.

    >>> to_id_words("Inbox (3)"), to_id_words("Größe ändern"), to_id_words("保存")
    ('inbox', 'grosse_andern', '')
    """
    plain = ("" if numbers else _plain(_COUNT.sub(" ", text))) or _plain(text)
    if len(plain) <= MOST_CHARACTERS:
        return plain
    return plain[:MOST_CHARACTERS].rpartition("_")[0] or plain[:MOST_CHARACTERS]


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKD", text.replace("ß", "ss").casefold())
    return _OTHER.sub("_", folded.encode("ascii", "ignore").decode()).strip("_")


def make_unique_id(wanted: str, taken: Collection[str]) -> str:
    """Return an unused id.

    >>> make_unique_id("save_button", {"save_button"})
    'save_button_2'
    """
    number = 1
    while (found := wanted if number == 1 else f"{wanted}_{number}") in taken:
        number += 1
    return found
