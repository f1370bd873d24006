"""The query of a page scan: limits the scan to elements that could match some words.

The scan never omits an element that matches (`js/9_asked.js` reads too much rather than too little).
Therefore a ranking has the same result as after a complete scan.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent.locators.word_comparison import WordFit, build_letter_key, compare_words

LEAST_LETTERS = 3
"""Minimum number of letters; with fewer, almost any text could match."""


@dataclass(frozen=True, slots=True)
class ScanQuery:
    """The words of all descriptions that are searched in one scan."""

    words: frozenset[str]
    """Normalized words of every reading."""
    regions: bool
    """Whether a description names a region; the scan then reads all regions."""

    def covers(self, text: str) -> bool:
        """Return whether the scan read every element with this text."""
        return any(compare_words(words, text) is not WordFit.NOT for words in self.words)

    @property
    def for_page(self) -> dict[str, object]:
        """The query as JSON for the in-page library."""
        return {"words": sorted({build_letter_key(words) for words in self.words}), "regions": self.regions}
