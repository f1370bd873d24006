"""From a URL to the screens whose patterns match it, without trying every pattern.

Each pattern is filed under the literal text every match of it begins with. A URL is looked up once
per length of such a text; what is found is confirmed by `kb_schema.urls.matches`, which alone says
what a pattern means.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

from kb_schema import urls

_QUANTIFIERS = frozenset("*?{")
_META = frozenset(".[(|)^$*+?{\\")


class UrlIndex:
    """Built once per view; `candidates` is the only question."""

    def __init__(self, patterns: Mapping[str, Iterable[str]], authored_base: str) -> None:
        """`patterns`: screen id -> its URL patterns (any of them)."""
        self._authored_base = authored_base
        self._filed: dict[tuple[bool, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for screen_id, each in patterns.items():
            for pattern in each:
                self._filed[self._place(pattern)][pattern].add(screen_id)
        self._lengths = sorted({len(prefix) for _, prefix in self._filed})

    def candidates(self, url: str, base: str) -> set[str]:
        """The screens with a pattern that matches `url` under the base URL in force."""
        path = urls.relative_path(url, base)
        found: set[str] = set()
        for pattern, screens in self._filed.get((False, ""), {}).items():
            if self._matches(pattern, url, base):
                found |= screens
        for length in self._lengths:
            if length > len(path):
                break
            for pattern, screens in self._filed.get((True, path[:length]), {}).items():
                if not screens <= found and self._matches(pattern, url, base):
                    found |= screens
        return found

    def _matches(self, pattern: str, url: str, base: str) -> bool:
        return urls.matches(pattern, url, authored_base=self._authored_base, base=base)

    def _place(self, pattern: str) -> tuple[bool, str]:
        """Whether the pattern is about the path below the base, and the text such a path begins with."""
        rest = urls.rebase_pattern(pattern, self._authored_base)
        if rest is None and pattern.startswith("^/"):
            rest = pattern[1:]
        prefix = "" if rest is None else literal_prefix(rest)
        return (True, prefix) if prefix.startswith("/") else (False, "")


def literal_prefix(pattern: str) -> str:
    r"""The text with which every match of an anchored pattern begins: `/agents/\d+` -> `/agents/`."""
    if _alternates(pattern):
        return ""
    found: list[str] = []
    position = 0
    while position < len(pattern):
        char = pattern[position]
        if char == "\\" and position + 1 < len(pattern) and not pattern[position + 1].isalnum():
            found.append(pattern[position + 1])
            position += 2
            continue
        if char in _META:
            if char in _QUANTIFIERS and found:
                found.pop()
            break
        found.append(char)
        position += 1
    return "".join(found)


def _alternates(pattern: str) -> bool:
    """Whether there is a `|` outside every group; when in doubt, yes."""
    plain = re.sub(r"\\.", "", pattern)
    depth = 0
    for char in plain:
        depth += (char == "(") - (char == ")")
        if char == "|" and depth <= 0:
            return True
    return False
