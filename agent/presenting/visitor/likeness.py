"""How alike words are when people say them: endings and slips of the pen are forgiven.

Pure. Across two languages (`across`), words that merely look alike count a little, too: `Kampagne`, `campaign`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import takewhile

from rapidfuzz.distance import OSA, JaroWinkler

from agent.presenting.visitor.languages import fold, language, languages

SAME_STEM = 0.9
"""`creating` and `create`: the same word with another ending."""
MISTYPED = 0.8
SIMILAR = 0.75
"""One word of two languages."""
SHORTEST_MISTYPED, SHORTEST_SIMILAR, SHORTEST_STEM = 5, 5, 4

_SIMILARITY = 0.86
_WORD = re.compile(r"[^\W_]{2,}|\d")


@lru_cache(maxsize=20_000)
def words_of(text: str) -> tuple[str, ...]:
    """The words of a text, folded: `create_agent` is two; single letters are none."""
    return tuple(fold(word) for word in _WORD.findall(text))


def same_stem(a: str, b: str) -> bool:
    """Whether two words differ only in their endings.

    >>> same_stem("creating", "creation"), same_stem("form", "format"), same_stem("set", "sets")
    (True, False, True)
    """
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))
    endings = a[common:], b[common:]
    if common < SHORTEST_STEM:
        return set(endings) == {"", "s"} and common > 1
    return _endings().issuperset(endings) and common > max(map(len, endings))


@cache
def _endings() -> frozenset[str]:
    return frozenset({""}).union(*(language(name).endings for name in languages()))


@lru_cache(maxsize=200_000)
def alike(a: str, b: str, *, across: bool = False) -> float:
    """How alike two folded words are, 0 to 1."""
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


def best(word: str, among: Iterable[str], *, across: bool = False) -> float:
    """How alike a word is to the one of them that is most like it."""
    return max((alike(word, each, across=across) for each in among), default=0.0)


def found(asked: Sequence[str], said: Sequence[str], *, across: bool = False) -> float:
    """How much of what was asked is said, 0 to 1."""
    return sum(best(word, said, across=across) for word in asked) / len(asked) if asked else 0.0


def covered(asked: Sequence[str], named: Sequence[str], *, across: bool = False) -> float:
    """How well a name is what was asked for, 0 to 1: most by how much of what was asked is in it, a little by
    how much of it was asked.
    """
    if not asked or not named:
        return 0.0
    return 0.8 * found(asked, named, across=across) + 0.2 * found(named, asked, across=across)
