"""Measures the similarity of spoken words, tolerating endings and typing errors.

Pure. Across two languages (`across`), words with similar spelling count a little, too: `Kampagne`,
`campaign`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import takewhile

from rapidfuzz.distance import OSA, JaroWinkler

from agent.presentation.visitor.languages import fold_words, list_languages, load_language

SAME_STEM = 0.9
"""`creating` and `create`: the same word with another ending."""
MISTYPED = 0.8
SIMILAR = 0.75
"""Similar words of two languages."""
SHORTEST_MISTYPED, SHORTEST_SIMILAR, SHORTEST_STEM = 5, 5, 4

_SIMILARITY = 0.86
_WORD = re.compile(r"[^\W_]{2,}|\d")


@lru_cache(maxsize=20_000)
def split_words(text: str) -> tuple[str, ...]:
    """Return the words of a text, folded. `create_agent` is two words; single letters are left out."""
    return tuple(fold_words(word) for word in _WORD.findall(text))


def same_stem(a: str, b: str) -> bool:
    """Return whether two words differ only in their endings.

    >>> same_stem("creating", "creation"), same_stem("form", "format"), same_stem("set", "sets")
    (True, False, True)
    """
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))
    endings = _undoubled(a, common), _undoubled(b, common)
    if common < SHORTEST_STEM:
        return set(endings) == {"", "s"} and common > 1
    return _endings().issuperset(endings) and common > max(map(len, endings))


def _undoubled(word: str, common: int) -> str:
    """Return the ending of a word without a consonant that only the ending doubled: `skip`, `skipped`."""
    rest = word[common:]
    doubled = len(rest) > 1 and common > 0 and rest[0] == word[common - 1]
    return rest[1:] if doubled else rest


@cache
def _endings() -> frozenset[str]:
    return frozenset({""}).union(*(load_language(name).endings for name in list_languages()))


@lru_cache(maxsize=200_000)
def compute_word_similarity(a: str, b: str, *, across: bool = False) -> float:
    """Return the similarity of two folded words, 0 to 1."""
    if a == b:
        return 1.0
    if a.isdigit() or b.isdigit():
        return 0.0
    if same_stem(a, b):
        return SAME_STEM
    shorter = min(len(a), len(b))
    if shorter >= SHORTEST_MISTYPED and a[0] == b[0] and OSA.distance(a, b) <= (1 if shorter < 8 else 2):
        return MISTYPED
    if across and shorter >= SHORTEST_SIMILAR:
        x, y = _sound(a), _sound(b)
        return SIMILAR if x[0] == y[0] and JaroWinkler.similarity(x, y) >= _SIMILARITY else 0.0
    return 0.0


def _sound(word: str) -> str:
    return word.replace("k", "c").replace("z", "c").replace("ph", "f")


def best_word_similarity(word: str, among: Iterable[str], *, across: bool = False) -> float:
    """Return the similarity of a word to the most similar one of them."""
    return max((compute_word_similarity(word, each, across=across) for each in among), default=0.0)


def measure_word_recall(asked: Sequence[str], said: Sequence[str], *, across: bool = False) -> float:
    """Return the share of the wanted words that the text contains, 0 to 1."""
    return (
        sum(best_word_similarity(word, said, across=across) for word in asked) / len(asked) if asked else 0.0
    )


def score_name_match(asked: Sequence[str], named: Sequence[str], *, across: bool = False) -> float:
    """Return how well a name matches the wanted words, 0 to 1: mostly the share of the wanted words in the
    name, and a little the share of the name in the wanted words.
    """
    if not asked or not named:
        return 0.0
    return 0.8 * measure_word_recall(asked, named, across=across) + 0.2 * measure_word_recall(
        named, asked, across=across
    )
