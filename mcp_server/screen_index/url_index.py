"""From a URL to the screens whose patterns match it, without trying every pattern.

Each pattern is filed under the literal text with which every match begins. A URL is looked up once per length of such
a text. Where many patterns share a prefix, or have none, one automaton of all of them (an RE2 set) says which can
match. `kb_schema.url_patterns.matches_pattern` confirms each candidate; it alone defines what a pattern means.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import re2

from kb_schema import url_patterns

_QUANTIFIERS = frozenset("*?{")
_META = frozenset(".[(|)^$*+?{\\")
_MANY = 16
"""Patterns of one place that are sooner asked all at once."""
_SET_SIZE = 500
_SET_MEMORY = 64 << 20
"""Bytes RE2 may use for one automaton of so many patterns."""


@dataclass(frozen=True, slots=True)
class _UrlPatternEntry:
    """A pattern, the part of it that is searched, and whose it is."""

    pattern: str
    searched: str
    screens: frozenset[str]


class UrlIndex:
    """Built once per view; `matching` is the only question."""

    def __init__(self, patterns: Mapping[str, Iterable[str]], authored_base: str) -> None:
        """`patterns`: screen id -> its URL patterns (any of them)."""
        self._authored_base = authored_base
        owners: dict[str, set[str]] = defaultdict(set)
        for screen_id, each in patterns.items():
            for pattern in each:
                owners[pattern].add(screen_id)
        places: dict[tuple[str, str], list[_UrlPatternEntry]] = defaultdict(list)
        for pattern, screens in owners.items():
            place, searched = self._place(pattern)
            places[place].append(_UrlPatternEntry(pattern, searched, frozenset(screens)))
        self._places = {place: _UrlPatternSet(filed) for place, filed in places.items()}
        lengths: dict[str, set[int]] = defaultdict(set)
        for about, prefix in places:
            lengths[about].add(len(prefix))
        self._lengths = {about: sorted(each) for about, each in lengths.items()}

    def matching(self, url: str, base: str) -> tuple[frozenset[str], ...]:
        """For each pattern that matches `url` under the base URL in force, the screens that have it."""
        url, base = url_patterns.normalize_url(url), url_patterns.normalize_url(base)
        in_force = (base or url_patterns.normalize_url(self._authored_base)).rstrip("/")
        subjects = {"url": url, "path": url_patterns.relative_path(url, base)}
        if url.startswith(in_force):
            subjects["tail"] = url[len(in_force) :]
        return tuple(
            filed.screens
            for about, subject in subjects.items()
            for filed in self._beginning(about, subject)
            if url_patterns.matches_pattern(filed.pattern, url, authored_base=self._authored_base, base=base)
        )

    def _beginning(self, about: str, subject: str) -> Iterator[_UrlPatternEntry]:
        """The patterns about something that begins like this."""
        for length in self._lengths.get(about, ()):
            patterns = self._places.get((about, subject[:length]))
            if patterns is not None and length <= len(subject):
                yield from patterns.searching(subject)

    def candidates(self, url: str, base: str) -> set[str]:
        """The screens with a pattern that matches."""
        return set[str]().union(*self.matching(url, base))

    def _place(self, pattern: str) -> tuple[tuple[str, str], str]:
        """What the pattern is about and the text such a thing begins with; and what is searched in it."""
        rest = url_patterns.rebase_pattern(pattern, self._authored_base)
        if rest == "$":  # the site's root, with or without its slash
            return ("tail", ""), "^/?$"
        if rest is not None:
            return ("tail", literal_prefix(rest)), f"^(?:{rest})"
        if pattern.startswith("^/"):
            return ("path", literal_prefix(pattern[1:])), pattern
        return ("url", ""), pattern


class _UrlPatternSet:
    """The patterns of one place; `searching` leaves out those that cannot match."""

    def __init__(self, filed: Sequence[_UrlPatternEntry]) -> None:
        self._filed = sorted(filed, key=lambda each: each.pattern)
        self._sets: list[tuple[re2.Set, list[_UrlPatternEntry]]] = []
        if len(filed) > _MANY:
            for begin in range(0, len(filed), _SET_SIZE):
                part = self._filed[begin : begin + _SET_SIZE]
                self._sets.append((_set_of(each.searched for each in part), part))

    def searching(self, subject: str) -> Iterable[_UrlPatternEntry]:
        """Those that may match."""
        if not self._sets:
            return self._filed
        return [part[number] for automaton, part in self._sets for number in automaton.Match(subject) or ()]


def _set_of(patterns: Iterable[str]) -> re2.Set:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _SET_MEMORY
    automaton = re2.Set.SearchSet(options)
    for pattern in patterns:
        automaton.Add(pattern)
    automaton.Compile()
    return automaton


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
