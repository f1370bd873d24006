"""The words of a sentence that are not values: verbs, small words, and forms of politeness."""

from __future__ import annotations

from collections.abc import Sequence

from agent.synthesis.utterances.utterance_words import UtteranceWord

_VERBS: dict[str, str] = {
    "create": "create, add, make, new, set up, compose",
    "delete": "delete, remove, erase",
    "edit": "edit, change, update, modify, set",
    "choose": "choose, select, pick, switch, set, change",
    "search": "search, search for, find, look for, look up",
    "show": "show, open, view, go to, see",
    "sign in": "sign in, log in, login",
    "sign out": "sign out, log out, logout",
    "browse": "browse, page through",
    "import": "import",
}
"""What is done -> the verbs that say it. A verb that is missing here only equals itself."""
_SAYING: dict[str, frozenset[str]] = {}
for _meaning, _listed in _VERBS.items():
    for _verb in _listed.split(", "):
        _SAYING[_verb] = _SAYING.get(_verb, frozenset()) | {_meaning}

SMALL = frozenset(
    [
        "a",
        "an",
        "the",
        "with",
        "from",
        "by",
        "for",
        "of",
        "to",
        "in",
        "into",
        "on",
        "at",
        "as",
        "its",
        "their",
        "his",
        "her",
        "my",
        "our",
        "it",
        "this",
        "that",
        "is",
        ":",
        ",",
        ";",
        "=",
        "named",
        "called",
        "titled",
        "please",
        "and",
    ]
)
"""Words and marks that change nothing."""
NAMING = frozenset(["named", "called", "titled"])
QUANTIFIERS = frozenset(
    [
        "all",
        "every",
        "each",
        "any",
        "one",
        "single",
        "several",
        "both",
        "multiple",
        "only",
        "first",
        "last",
        "newest",
        "oldest",
        "latest",
        "next",
    ]
)
"""Words that say how many or which are meant: the task must have the same one in its name."""
CHANGING = QUANTIFIERS | frozenset(
    [
        "ago", "again", "another", "current", "currently", "now", "other", "others", "recent", "recently",
        "remaining", "this", "today", "today's", "tomorrow", "tomorrow's", "tonight", "yesterday", "yesterday's",
    ]
)  # fmt: skip
"""Words that mean another thing at another time. Those that rank (`cheapest`) are in `kb_schema.ranked_values`."""
_POLITE = (
    ("please",), ("kindly",), ("could", "you"), ("can", "you"), ("would", "you"), ("i", "want", "to"),
    ("i", "need", "to"), ("i", "would", "like", "to"), ("let's",),
)  # fmt: skip
_ENDING = frozenset([".", "!", "?", "please", "now", "thanks"])


def is_verb(word: str) -> bool:
    """Whether a word is one of the verbs that say the same as others."""
    return word.casefold() in _SAYING


def stem(word: str) -> str:
    """Return the word in lower case without the plural's ending.

    >>> stem("Agents"), stem("Address")
    ('agent', 'address')
    """
    said = word.casefold()
    return said[:-1] if len(said) > 3 and said.endswith("s") and not said.endswith("ss") else said


def drop_politeness(words: Sequence[UtteranceWord]) -> list[UtteranceWord]:
    """Return the words without "please", "could you" and the full stop around them."""
    left = list(words)
    while found := next((each for each in _POLITE if _begins(left, each)), None):
        left = left[len(found) :]
    while left and not left[-1].quoted and left[-1].text.casefold() in _ENDING:
        left.pop()
    return left


def _begins(words: Sequence[UtteranceWord], said: Sequence[str]) -> bool:
    return [each.text.casefold() for each in words[: len(said)] if not each.quoted] == list(said)


def split_verb(words: Sequence[str]) -> tuple[frozenset[str], list[str]]:
    """Return what the first word, or the first two, say that is done, and the words after them.

    >>> split_verb(["Look", "for", "agents"])
    (frozenset({'search'}), ['agents'])
    """
    lower = [each.casefold() for each in words]
    pair = " ".join(lower[:2])
    if len(lower) > 1 and pair in _SAYING:
        return _SAYING[pair], list(words[2:])
    if not lower:
        return frozenset(), []
    return _SAYING.get(lower[0], frozenset({lower[0]})), list(words[1:])
