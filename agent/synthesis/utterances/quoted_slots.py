"""Reads quoted texts that have quotes of their own: `to 'Old friends' letters'.`, `'We'd say "yes".'`.

A sentence is split into words without knowing a template, so the first mark that may end a quoted text ends it. With
a template, the words around a slot tell where it ends.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_QUOTED = "(?:{})".format(
    "|".join(
        rf"{begin}(?P<{{0}}{name}>.+{{1}}){end}"
        for name, begin, end in (
            ("d", '"', '"'),
            ("s", "'", "'"),
            ("e", "\u201c", "\u201d"),
            ("t", "\u2018", "\u2019"),
        )
    )
)
_PLAIN = r"(?P<{0}p>\S(?:.*{1}\S)?{1})"


def read_quoted_slots(parts: Sequence[str | bool], utterance: str) -> list[str] | None:
    """Return the text of each slot of a sentence, in order; None if it does not fit, or fits in several ways.

    `parts`: fixed words and punctuation marks in order, and for a slot whether its text is quoted. It fits in several
    ways if slots as short as possible have other texts than slots as long as possible.
    """
    if True not in parts:
        return None
    found = []
    for lazy in ("?", ""):
        fits = re.fullmatch(_expression(parts, lazy), utterance.strip(), re.IGNORECASE | re.DOTALL)
        if fits is None:
            return None
        found.append([text for text in fits.groups() if text is not None])
    return found[0] if found[0] == found[1] else None


def _expression(parts: Sequence[str | bool], lazy: str) -> str:
    written = ""
    for number, part in enumerate(parts):
        if isinstance(part, bool):
            each = (_QUOTED if part else _PLAIN).format(f"slot{number}", lazy)
        else:
            each = re.escape(part)
            each = rf"(?<!\w){each}(?!\w)" if part[:1].isalnum() and part[-1:].isalnum() else each
        written += rf"\s*{each}" if number else each
    return written
