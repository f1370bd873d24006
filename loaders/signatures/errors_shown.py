"""Whether a page says that something is not there or went wrong: such a page may be at any address.

By the words that sites of several languages use in their headings and titles. Only where a page was seen at one
address is this asked; of pages at several addresses these tell more.
"""

from __future__ import annotations

import re

from kb_schema.pages.sketch import Sketch

# ruff: noqa: RUF001 - words of other alphabets are meant
_WORDS = re.compile(
    r"""(?:^\W*|(?:error|status|http|code|fehler|erreur|errore?)\W*)(?:40[0134]|410|429|50[0234])\b | not\ found | (?:cannot|could\ not|can.t|couldn.t)\ be\ found
      | does(?:n.t|\ not)\ exist | no\ longer\ (?:here|exists|available) | page\ (?:is\ )?(?:missing|unavailable)
      | went\ wrong | server\ error | internal\ error | access\ denied | forbidden | no\ permission
      | too\ many\ requests | service\ unavailable
      | nicht\ gefunden | existiert\ nicht | fehler\ aufgetreten | zugriff\ verweigert | schiefgelaufen
      | introuvable | n.existe\ (?:pas|plus) | une\ erreur | acc[eè]s\ (?:refus[eé]|interdit)
      | no\ encontrad[ao] | no\ existe | algo\ sali[oó]\ mal | acceso\ denegado
      | non\ trovat[ao] | non\ esiste | accesso\ negato | n[aã]o\ encontrad[ao] | n[aã]o\ existe
      | niet\ gevonden | bestaat\ niet | nie\ znalezion[oay] | nie\ istnieje | ikke\ funnet | hittades\ inte
      | не\ найден[ао]? | не\ существует | 見つかりません | 未找到 | 找不到 | 찾을\ 수\ 없""",
    re.VERBOSE | re.IGNORECASE,
)


def is_an_error(sketch: Sketch) -> bool:
    """Whether the title or the chief heading says so.

    >>> from kb_schema.pages.sketch import Sign
    >>> is_an_error(Sketch(frozenset({Sign("heading", "h1", "Page not found")})))
    True
    """
    return any(
        _WORDS.search(sign.text) for sign in sketch.signs - sketch.passing if _is_chief(sign.kind, sign.where)
    )


def _is_chief(kind: str, where: str) -> bool:
    return kind == "title" or (kind == "heading" and where == "h1")
