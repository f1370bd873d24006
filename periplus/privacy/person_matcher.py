"""Finds and replaces a person's name or address in text, in the spellings in which pages and files have it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from html.entities import codepoint2name

from agent.redaction import spellings
from periplus.errors import UserError

ERASED = "ERASED"
"""Stands for an erased text. It is allowed in ids, addresses, HTML and JSON."""
SHORTEST = 3
SHORTEST_ENCODED = 8
"""Characters of an encoded spelling (base64, hexadecimal) that are searched: shorter ones match by chance."""
_BEFORE = (
    r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=%[0-9A-Fa-f]{2})"
    r"|(?<=\\u[0-9A-Fa-f]{4})|(?<=\\x[0-9A-Fa-f]{2}))"
)
"""A whole word begins here; an escape before it may end in a letter."""
_AFTER = r"(?![A-Za-z0-9])"
_SPACE = r"(?:\s|\xa0|&nbsp;|&#160;|&#xa0;|%20|%C2%A0|\+|_|\\u00a0|\\n|\\t)+"
"""What may stand for the space in a name."""


class PersonMatcher:
    """Matches texts of one person: names, e-mail addresses, telephone numbers."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Raises `UserError` for a text that is too short."""
        for text in texts:
            if len("".join(text.split())) < SHORTEST:
                raise UserError(
                    f"{text!r} is too short to search for",
                    fix=f"give a name or an address of at least {SHORTEST} characters",
                )
        parts = [part for text in dict.fromkeys(texts) for part in _list_patterns(" ".join(text.split()))]
        self._pattern = re.compile(
            "|".join(sorted(set(parts), key=lambda part: (-len(part), part))), re.IGNORECASE
        )

    def matches(self, text: str) -> bool:
        """Return whether a text has one of them."""
        return self._pattern.search(text) is not None

    def replace(self, text: str) -> str:
        """Return a text without them."""
        return self._pattern.sub(ERASED, text)


def _list_patterns(text: str) -> list[str]:
    """Return patterns for every spelling. Words are matched as a whole; encodings also inside of other text."""
    words = ("".join(map(_spell_character, word)) for word in text.split())
    found = [_BEFORE + _SPACE.join(words) + _AFTER]
    for spelling in spellings(text):
        if len(spelling) >= SHORTEST_ENCODED and re.fullmatch(found[0], spelling, re.IGNORECASE) is None:
            found.append(re.escape(spelling))
    return found


def _spell_character(character: str) -> str:
    """Return a pattern for a character as addresses, HTML, JSON and Python write it; letters are not escaped."""
    if character.isascii() and character.isalnum():
        return character
    code = ord(character)
    written = [
        character,
        unicodedata.normalize("NFD", character),
        "".join(f"%{byte:02x}" for byte in character.encode("utf-8", "replace")),
        f"&#{code};",
        f"&#x{code:x};",
        f"\\u{code:04x}",
        f"\\x{code:02x}",
    ]
    if code in codepoint2name:
        written.append(f"&{codepoint2name[code]};")
    return f"(?:{'|'.join(map(re.escape, dict.fromkeys(written)))})"
