"""Compares words regardless of case, punctuation, marks of required fields, and plurals."""

from __future__ import annotations

import re
import unicodedata
from enum import IntEnum
from functools import lru_cache

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NO_WORD = re.compile(r"[\W_\ue000-\uf8ff]+")
_PLURAL_GROWTH = 2
"""Maximum number of letters that a plural adds: categor-y, categor-ies."""
_PREFIX_LENGTH = 3
"""Letters of the prefix by which texts are grouped."""
_SYNONYMS = (("e mail", "email"), ("email address", "email"), ("log in", "login"), ("log out", "logout"))
"""Spellings of the same term. Terms that only sometimes mean the same are not listed, such as sign in and sign up."""


class WordFit(IntEnum):
    """How well a text fits the words. Higher is better."""

    NOT = 0
    BEGINS = 1
    """The text begins with the words."""
    PLURAL = 2
    """Equal except for a plural."""
    EXACT = 3


@lru_cache(maxsize=20_000)
def normalize_words(text: str) -> str:
    """Return the words of a text without case, punctuation and marks; the text itself if it has no words."""
    apart = _CAMEL.sub(" ", unicodedata.normalize("NFKC", text).replace("\u2019", "'").replace("'", ""))
    words = f" {_NO_WORD.sub(' ', apart.casefold()).strip()} "
    for spelling, same in _SYNONYMS:
        words = words.replace(f" {spelling} ", f" {same} ")
    return words.strip() or text.strip()


def compare_words(wanted: str, text: str) -> WordFit:
    """Return how well a text fits the wanted words. Only whole words count, from the start of the text."""
    if not text or not wanted:
        return WordFit.NOT
    words = normalize_words(wanted)
    found = normalize_words(text)
    if words == found or words.replace(" ", "") == found.replace(" ", ""):
        return WordFit.EXACT
    if found.startswith(f"{words} "):
        return WordFit.BEGINS
    alike = abs(len(words) - len(found)) <= _PLURAL_GROWTH and _singular(words) == _singular(found)
    return WordFit.PLURAL if alike else WordFit.NOT


def build_prefix_key(text: str) -> str:
    """Return a prefix that is equal for all texts that can match each other; empty if no prefix is certain."""
    start = text[:_PREFIX_LENGTH]
    plainly = len(start) == _PREFIX_LENGTH and start.isascii() and start.isalpha() and start[1:].islower()
    return start.lower() if plainly else ""


def build_letter_key(words: str) -> str:
    """Return the letters and digits that every matching text contains in this order, singular or plural.

    `words` are normalized. Empty for words with characters other than ASCII letters and digits.
    """
    letters = "".join(_singular(words).split()).removesuffix("y")  # `-y` and `-ies` differ from here on
    for _, same in _SYNONYMS:  # the text may use another, longer spelling
        if same in letters:
            letters = letters[: letters.index(same) + len(same)]
    return letters if letters.isascii() and letters.isalnum() else ""


def _singular(words: str) -> str:
    last = words.rpartition(" ")[2]
    if len(last) > 3 and last.endswith("ies"):
        return words[:-3] + "y"
    return words[:-1] if len(last) > 3 and last.endswith("s") and not last.endswith("ss") else words
