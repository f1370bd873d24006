"""Tells which fields search: by their role and type, and by their words in many languages."""

from __future__ import annotations

import re
from collections.abc import Iterable

_WORDS = re.compile(
    r"(?<!re)search|\bfind\b|\bfilter|look ?up|such(?:e|en)\b|finden|filtern|recherch|cherch|trouver|\bfiltr(?!at)|busca|\bprocurar|pesquis"
    r"|\bcerca|ricerca|trova|zoek|szuk|wyszuk|hled|keres|\bsök|\bsøk|\bsøg|etsi|hae\b|\bara\b|căut|поиск|найти|искать|пошук"
    r"|αναζήτηση|חיפוש|بحث|खोज|ค้นหา|tìm|搜索|搜尋|查找|検索|검색",
    re.IGNORECASE,
)


def is_search_field(role: str, kind: str, texts: Iterable[str | None]) -> bool:
    """Return whether a field says that it searches: by its role, its type or its words.

    `texts`: its name, label, placeholder and the name under which it is sent, as far as there are any.
    """
    return role == "searchbox" or kind == "search" or any(each and _WORDS.search(each) for each in texts)
