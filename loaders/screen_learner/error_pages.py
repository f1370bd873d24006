"""Detects error pages, which may be at any address.

It looks for words of several languages in headings and titles, and is used only for pages seen at one
address: several addresses say more.
"""

from __future__ import annotations

import re

from web_pages.page_profiles import PageProfile

# ruff: noqa: RUF001 - words of other alphabets are meant
_WORDS = re.compile(
    r"""(?:^\W*|(?:error|status|http|code|fehler|erreur|errore?)\W*)(?:40[0134]|410|429|50[0234])\b | not\ found | (?:cannot|could\ not|can.t|couldn.t)\ be\ found
      | does(?:n.t|\ not)\ exist | no\ longer\ (?:here|exists|available) | page\ (?:is\ )?(?:missing|unavailable)
      | went\ wrong | server\ error | internal\ error | access\ denied | forbidden | no\ permission | permission\ (?:error|denied) | not\ (?:allowed|permitted)
      | too\ many\ requests | service\ unavailable
      | nicht\ gefunden | existiert\ nicht | fehler\ aufgetreten | zugriff\ verweigert | schiefgelaufen
      | introuvable | n.existe\ (?:pas|plus) | une\ erreur | acc[eè]s\ (?:refus[eé]|interdit)
      | no\ encontrad[ao] | no\ existe | algo\ sali[oó]\ mal | acceso\ denegado
      | non\ trovat[ao] | non\ esiste | accesso\ negato | n[aã]o\ encontrad[ao] | n[aã]o\ existe
      | niet\ gevonden | bestaat\ niet | nie\ znalezion[oay] | nie\ istnieje | ikke\ funnet | hittades\ inte
      | не\ найден[ао]? | не\ существует | 見つかりません | 未找到 | 找不到 | 찾을\ 수\ 없""",
    re.VERBOSE | re.IGNORECASE,
)


def is_error_page(profile: PageProfile) -> bool:
    """Return whether the title or the main heading reports an error.

    >>> from web_pages.page_profiles import PageFeature
    >>> is_error_page(PageProfile(frozenset({PageFeature("heading", "h1", "Page not found")})))
    True
    """
    return any(
        _WORDS.search(sign.text)
        for sign in profile.signs - profile.passing
        if _is_chief(sign.kind, sign.where)
    )


def _is_chief(kind: str, where: str) -> bool:
    return kind == "title" or (kind == "heading" and where == "h1")
