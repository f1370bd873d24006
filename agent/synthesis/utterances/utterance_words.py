"""The words of a sentence: punctuation marks are separate, and a quoted text is one word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kb_schema.base import Model
from kb_schema.sentence_quotes import QUOTED_TEXT

_SAME_WORDS = {
    **dict.fromkeys(("he", "she", "they", "him", "her", "them", "his", "hers", "their", "theirs"), "they"),
    "an": "a",
}
_WORD = re.compile(
    QUOTED_TEXT + r"""|(?<!\S)\d{1,2}:\d{2} [AaPp][Mm]\b"""
    r"""|\S+"""
)
"""A quoted text, a time of day, or a word."""
_BEFORE, BEHIND = "([{'\u2018", ".,;:!?)]}'\u2019"


class UtteranceWord(Model):
    """A word, a punctuation mark, or a quoted text."""

    text: str
    quoted: bool = False
    begin: int = 0
    end: int = 0

    @property
    def key(self) -> tuple[str, bool]:
        """The key by which words are compared; `his` and `her` are one word, and so are `a` and `an`."""
        said = self.text.casefold()
        return said if self.quoted else _SAME_WORDS.get(said, said), self.quoted


def split_words(utterance: str) -> list[UtteranceWord]:
    """Return the words of a sentence; punctuation marks are separate, and a quoted text is one word.

    >>> [word.text for word in split_words('Find "the cat", now.')]
    ['Find', 'the cat', ',', 'now', '.']
    >>> [word.text for word in split_words("Revoke 'Ruth's phone' of the users' list")]
    ['Revoke', "Ruth's phone", 'of', 'the', 'users', "'", 'list']
    """
    found: list[UtteranceWord] = []
    for match in _WORD.finditer(utterance):
        quoted = match["single"] if match["double"] is None else match["double"]
        if quoted is not None:
            found.append(UtteranceWord(text=quoted, quoted=True, begin=match.start(), end=match.end()))
        else:
            found += _peeled(match[0], match.start())
    return found


def _peeled(text: str, begin: int) -> Iterator[UtteranceWord]:
    """Yield a word without the punctuation around it, and the punctuation marks separately."""
    front = len(text) - len(text.lstrip(_BEFORE)) if text.strip(_BEFORE + BEHIND) else 0
    core = text[front:].rstrip(BEHIND) or text[front:]
    for at, mark in enumerate(text[:front]):
        yield UtteranceWord(text=mark, begin=begin + at, end=begin + at + 1)
    yield UtteranceWord(text=core, begin=begin + front, end=begin + front + len(core))
    for at, mark in enumerate(text[front + len(core) :], front + len(core)):
        yield UtteranceWord(text=mark, begin=begin + at, end=begin + at + 1)


def text_of_words(utterance: str, words: Sequence[UtteranceWord]) -> str:
    """Return what stands in a sentence from the first of these words to the last; a quoted text without its quotes."""
    if not words:
        return ""
    if len(words) == 1:
        return words[0].text
    return utterance[words[0].begin : words[-1].end]
