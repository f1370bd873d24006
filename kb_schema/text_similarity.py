"""Similarity of names as people and programs write them: words, identifiers, addresses.

All functions are symmetric and return 0 to 1, and 1 for equal arguments.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from urllib.parse import parse_qsl, urlsplit

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W\d_]+|\d+")
_GLYPH = re.compile(r"[\ue000-\uf8ff\U000f0000-\U0010ffff]")
_CONTRACTED = re.compile(r"n['\u2019]t\b")
_NUMBERED = re.compile(r"^(?:\d+|[0-9a-f]{8,}|[0-9a-f-]{32,36})$", re.IGNORECASE)

VERBS: tuple[frozenset[str], ...] = tuple(
    frozenset(group.split())
    for group in (
        "delete remove erase discard trash destroy drop",
        "edit change modify update alter rename",
        "save store apply update submit",
        "keep retain",
        "cancel abort dismiss back discard",
        "close dismiss hide exit",
        "create add new insert make register",
        "search find lookup filter query",
        "send submit post publish dispatch share",
        "login signin enter logon",
        "logout signout logoff",
        "signup register join subscribe",
        "next continue proceed forward",
        "previous back prior",
        "accept allow agree approve confirm ok yes",
        "refuse decline reject deny disagree no",
        "open view show display see expand",
        "start begin launch run play",
        "stop end halt finish terminate",
        "pause suspend hold",
        "upload import attach load",
        "download export fetch",
        "enable activate on",
        "disable deactivate off",
        "copy duplicate clone",
        "move transfer relocate",
        "buy purchase checkout order pay",
        "archive",
        "restore undo recover",
        "reset clear empty",
        "select choose pick",
        "verify check validate confirm",
        "print",
        "block ban",
        "unblock unban",
        "follow",
        "unfollow",
        "lock",
        "unlock",
        "mute",
        "unmute",
        "pin",
        "unpin",
        "up",
        "down",
        "left",
        "right",
        "first",
        "last",
        "increase more plus",
        "decrease less minus",
        "refresh reload",
        "help",
        "install",
        "uninstall",
    )
)
"""Synonyms for what a control does. A word may be in two groups."""
OPPOSITES: tuple[tuple[str, str], ...] = (
    ("create", "delete"),
    ("save", "cancel"),
    ("keep", "delete"),
    ("close", "open"),
    ("login", "logout"),
    ("next", "previous"),
    ("accept", "refuse"),
    ("start", "stop"),
    ("start", "pause"),
    ("upload", "download"),
    ("enable", "disable"),
    ("archive", "restore"),
    ("buy", "cancel"),
    ("send", "cancel"),
    ("accept", "cancel"),
    ("next", "cancel"),
    ("block", "unblock"),
    ("follow", "unfollow"),
    ("signup", "cancel"),
    ("lock", "unlock"),
    ("mute", "unmute"),
    ("pin", "unpin"),
    ("up", "down"),
    ("left", "right"),
    ("first", "last"),
    ("increase", "decrease"),
    ("install", "uninstall"),
)
"""Words of groups of `VERBS` that undo or contradict each other."""
DESTRUCTIVE = frozenset(
    {
        "delete",
        "remove",
        "erase",
        "destroy",
        "trash",
        "drop",
        "discard",
        "clear",
        "reset",
        "uninstall",
        "terminate",
        "wipe",
        "purge",
    }
)
"""Words on controls whose effect cannot be undone."""
UNDOING = frozenset(
    [
        "cancel",
        "abort",
        "dismiss",
        "discard",
        "close",
        "exit",
        "quit",
        "leave",
        "logout",
        "signout",
        "logoff",
        "refuse",
        "decline",
        "reject",
        "deny",
        "disagree",
        "no",
        "stop",
        "halt",
        "terminate",
        "disable",
        "deactivate",
        "revoke",
        "revert",
        "undo",
    ]
)
"""Words on controls that end, refuse or undo something."""
_NEGATIONS = ("un", "de", "dis")
_NOT = frozenset({"not", "never", "don", "without"})
_PARTICLES = (("on", "off"), ("in", "out"), ("up", "down"), ("with", "without"))
"""Words by which alone two acts are opposites: `check in` and `check out`."""
_SPELLINGS = (
    ("sign in", "signin"),
    ("sign out", "signout"),
    ("sign up", "signup"),
    ("log in", "login"),
    ("log out", "logout"),
    ("log on", "logon"),
    ("look up", "lookup"),
    ("e mail", "email"),
    ("check out", "checkout"),
)
SMALL_WORDS = frozenset(
    {
        "a",
        "an",
        "the",
        "of",
        "to",
        "in",
        "on",
        "at",
        "for",
        "and",
        "or",
        "this",
        "that",
        "your",
        "my",
        "with",
        "is",
    }
)
"""Words that tell nothing."""


@lru_cache(maxsize=50_000)
def words(text: str) -> tuple[str, ...]:
    """Return the words of a text in lower case; camelCase and separators are split."""
    plain = " ".join(_plain(text))
    for spelling, one in _SPELLINGS:
        plain = plain.replace(spelling, one) if spelling in plain else plain
    return tuple(plain.split())


TITLE_SIGNS = r"|\u2013\u2014\u00b7\u2022\u203a\u2039\u00bb\u00ab-"
"""What stands between the parts of a title, for a class of a regular expression: `Flows \u2022 Prefect`."""


def without_glyphs(text: str) -> str:
    """Return a text without the signs by which fonts draw icons (private-use characters)."""
    return " ".join(_GLYPH.sub(" ", text).split())


def _plain(text: str) -> tuple[str, ...]:
    return tuple(word.casefold() for word in _WORD.findall(_CAMEL.sub(" ", text)))


@lru_cache(maxsize=50_000)
def words_likeness(ours: str, theirs: str) -> float:
    """Return the similarity of two texts for people: shared words, short ones count less, plurals are equal."""
    mine, its = _stems(words(ours)), _stems(words(theirs))
    if not mine or not its:
        return float(ours.strip().casefold() == theirs.strip().casefold())
    if mine == its:
        return 1.0
    return max(_dice(mine, its), _dice(_stems(_plain(ours)), _stems(_plain(theirs))))


def _dice(mine: frozenset[str], its: frozenset[str]) -> float:
    shared = sum(_word_weight(word) for word in mine & its)
    total = sum(map(_word_weight, mine)) + sum(map(_word_weight, its))
    return 2 * shared / total


@lru_cache(maxsize=50_000)
def identifier_likeness(ours: str, theirs: str) -> float:
    """Return the similarity of two identifiers: `agent-name` and `agentNameField` share two words.

    Identifiers with different numbers are different.
    """
    if ours.casefold() == theirs.casefold():
        return 1.0
    mine, its = set(words(ours)), set(words(theirs))
    if not mine or not its:
        return 0.0
    if {w for w in mine if w.isdecimal()} != {w for w in its if w.isdecimal()}:
        return 0.0
    return 2 * len(mine & its) / (len(mine) + len(its))


@lru_cache(maxsize=50_000)
def address_likeness(ours: str, theirs: str) -> float:
    """Return the similarity of two addresses, ignoring the origin.

    Addresses with different numbers or keys are different.
    """
    mine, its = _steps(ours), _steps(theirs)
    if mine == its:
        return 1.0
    numbers = [tuple(step for step in steps if _NUMBERED.match(step)) for steps in (mine, its)]
    if numbers[0] != numbers[1] or not mine or not its:
        return 0.0
    return 2 * len(set(mine) & set(its)) / (len(set(mine)) + len(set(its))) * 0.8


def set_likeness(ours: Collection[str], theirs: Collection[str]) -> float:
    """Return Dice's coefficient."""
    mine, its = set(ours), set(theirs)
    return 2 * len(mine & its) / (len(mine) + len(its)) if mine or its else 1.0


@lru_cache(maxsize=50_000)
def meanings(text: str) -> frozenset[int]:
    """Return the groups of `VERBS` that the words of a text belong to."""
    found = set(words(text))
    return frozenset(at for at, group in enumerate(VERBS) if found & group)


@lru_cache(maxsize=50_000)
def meaning_likeness(ours: str, theirs: str) -> float:
    """Like `words_likeness`, but synonyms (`VERBS`) count as one word."""
    shared = meanings(ours) & meanings(theirs)
    if not shared:
        return words_likeness(ours, theirs)
    same = frozenset().union(*(VERBS[at] for at in shared))
    mine, its = (" ".join("verb" if w in same else w for w in words(text)) for text in (ours, theirs))
    return words_likeness(mine, its)


@lru_cache(maxsize=50_000)
def in_base_form(text: str) -> str:
    """Return the words of a text with known verbs out of their past tense, and without contractions: `it couldn't be added`
    is `it could not be add`.
    """
    known = frozenset().union(*VERBS)

    def base(word: str) -> str:
        cut = (word[:-1], word[:-2], word[:-3]) if word.endswith("ed") else ()
        return next((each for each in cut if each in known), word)

    return " ".join(map(base, words(_CONTRACTED.sub(" not", text))))


def are_opposite(ours: str, theirs: str) -> bool:
    """Return whether one text names an act that undoes or contradicts that of the other."""
    negated = _negates(ours, theirs) or _negates(theirs, ours) or _differ_by_not(ours, theirs)
    if negated or _differ_by_particle(ours, theirs):
        return True
    mine, its = meanings(ours), meanings(theirs)
    if mine & its:
        return False
    return any(
        (mine & meanings(one) and its & meanings(other)) or (mine & meanings(other) and its & meanings(one))
        for one, other in OPPOSITES
    )


def _negates(plain: str, negated: str) -> bool:
    """Return whether a word of one text is a word of the other with a negating prefix: `Watch` and `Unwatch`."""
    its = set(words(negated))
    return any(prefix + word in its for word in words(plain) for prefix in _NEGATIONS)


def says_undone(text: str, act: str) -> bool:
    """Return whether a text says of an act that it was undone, with a negating prefix: `unfollowed` of `Follow`.

    `Unfollow` itself names an act that can be done, as a control does.
    """
    said = words(text)
    undone = {prefix + word for word in words(act) for prefix in _NEGATIONS}
    return any(word.startswith(each) and word != each for word in said for each in undone)


def _differ_by_not(ours: str, theirs: str) -> bool:
    """Return whether one text denies what the other says: `Remove` and `Do not remove`."""
    mine, its = set(_plain(ours)), set(_plain(theirs))
    shared = (mine & its) - SMALL_WORDS - _NOT
    return bool(shared) and bool(mine & _NOT) != bool(its & _NOT)


def _differ_by_particle(ours: str, theirs: str) -> bool:
    mine, its = set(_plain(ours)), set(_plain(theirs))
    return any({*(mine - its)} | {*(its - mine)} == {*pair} for pair in _PARTICLES)


def undoes(text: str) -> bool:
    """Return whether a text names an act that ends, refuses or undoes: `cancel`, or a known verb with a negating
    prefix (`unsubscribe`).
    """
    if set(words(text)) & UNDOING:
        return True
    return any(
        word.startswith(prefix) and any(word.removeprefix(prefix) in group for group in VERBS)
        for word in words(text)
        for prefix in _NEGATIONS
    )


def is_destructive(text: str) -> bool:
    """Return whether a control with that name has an effect that cannot be undone."""
    return any(word in DESTRUCTIVE for word in words(text))


@lru_cache(maxsize=50_000)
def _stems(tokens: tuple[str, ...]) -> frozenset[str]:
    return frozenset(w[:-1] if len(w) > 3 and w.endswith("s") and not w.endswith("ss") else w for w in tokens)


def _word_weight(word: str) -> float:
    return 0.2 if word in SMALL_WORDS else 1.0


def _steps(address: str) -> tuple[str, ...]:
    try:
        parts = urlsplit(address)
    except ValueError:
        return (address,)
    path = tuple(step for step in parts.path.split("/") if step)
    query = tuple(sorted(f"{key}={value}" for key, value in parse_qsl(parts.query, keep_blank_values=True)))
    return (*path, *query, *((f"#{parts.fragment}",) if parts.fragment else ()))
