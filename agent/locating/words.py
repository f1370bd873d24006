"""Plain words as people write them, made comparable: case, punctuation, required marks, plurals."""

from __future__ import annotations

import re
import unicodedata
from enum import IntEnum
from functools import lru_cache

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NO_WORD = re.compile(r"[\W_\ue000-\uf8ff]+")
_PLURAL_GROWTH = 2
"""Letters by which a plural is longer, at most: categor-y, categor-ies."""
_START = 3
"""Letters by which texts are sorted."""
_SYNONYMS = (("e mail", "email"), ("email address", "email"), ("log in", "login"), ("log out", "logout"))
"""Spellings of one thing. Not among them: what only often means the same, as signing in and up."""


class Grade(IntEnum):
    """How well words fit. Higher is better; equal grades are equally good."""

    NOT = 0
    BEGINS = 1
    """A text begins with the words."""
    PLURAL = 2
    """The same but for a plural."""
    EXACT = 3


@lru_cache(maxsize=20_000)
def plain(text: str) -> str:
    """The words of a text without case, punctuation and marks; the text itself where it has no words."""
    apart = _CAMEL.sub(" ", unicodedata.normalize("NFKC", text).replace("\u2019", "'").replace("'", ""))
    words = f" {_NO_WORD.sub(' ', apart.casefold()).strip()} "
    for spelling, same in _SYNONYMS:
        words = words.replace(f" {spelling} ", f" {same} ")
    return words.strip() or text.strip()


def grade(wanted: str, said: str) -> Grade:
    """How well `said` fits the words. Only whole words count, and only from the beginning."""
    if not said or not wanted:
        return Grade.NOT
    asked = plain(wanted)
    told = plain(said)
    if asked == told or asked.replace(" ", "") == told.replace(" ", ""):
        return Grade.EXACT
    if told.startswith(f"{asked} "):
        return Grade.BEGINS
    alike = abs(len(asked) - len(told)) <= _PLURAL_GROWTH and _singular(asked) == _singular(told)
    return Grade.PLURAL if alike else Grade.NOT


def begins(text: str) -> str:
    """How the words of a text begin, the same for all texts that can fit each other; empty where only
    a closer look can tell.
    """
    start = text[:_START]
    plainly = len(start) == _START and start.isascii() and start.isalpha() and start[1:].islower()
    return start.lower() if plainly else ""


def core(words: str) -> str:
    """The letters and digits that every text has, in this order, that words of one or many could fit;
    empty where letters of other scripts leave nothing to go by. `words` are plain already.
    """
    letters = "".join(_singular(words).split()).removesuffix("y")  # of `-ies` only this much is the same
    for _, same in _SYNONYMS:  # the other spelling may be longer
        if same in letters:
            letters = letters[: letters.index(same) + len(same)]
    return letters if letters.isascii() and letters.isalnum() else ""


def _singular(words: str) -> str:
    last = words.rpartition(" ")[2]
    if len(last) > 3 and last.endswith("ies"):
        return words[:-3] + "y"
    return words[:-1] if len(last) > 3 and last.endswith("s") and not last.endswith("ss") else words
