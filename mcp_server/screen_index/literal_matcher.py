"""A matcher for many literal texts at once (Aho-Corasick): its time depends on the text, not on their number."""

from __future__ import annotations

from collections.abc import Iterable

from ahocorasick_rs import AhoCorasick

_SHORTEST = 3
"""Shorter literals are all over any text: they are looked for one by one."""
_FEW = 8
"""So many are sooner looked for one by one, too."""
_PIECE = 65_536
"""Characters looked through at a time, so that a text full of matches does not fill the memory."""


class LiteralMatcher:
    """A fixed set of literal texts; `within` is the only question."""

    def __init__(self, literals: Iterable[str]) -> None:
        """Without the empty text, which is everywhere."""
        distinct = sorted({literal for literal in literals if literal})
        long = [literal for literal in distinct if len(literal) >= _SHORTEST]
        self._long = long if len(long) > _FEW else []
        self._single = tuple(literal for literal in distinct if len(literal) < _SHORTEST or not self._long)
        self._automaton = AhoCorasick(self._long, store_patterns=False) if self._long else None
        self._overlap = max(map(len, self._long), default=1) - 1

    def within(self, text: str) -> set[str]:
        """Those that the text contains."""
        found = {literal for literal in self._single if literal in text}
        if self._automaton is not None:
            numbers: set[int] = set()
            for begin in range(0, len(text), _PIECE):
                piece = text[begin : begin + _PIECE + self._overlap]
                matches = self._automaton.find_matches_as_indexes(piece, overlapping=True)
                numbers.update(match[0] for match in matches)
            found.update(self._long[number] for number in numbers)
        return found
