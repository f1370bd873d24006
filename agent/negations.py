"""Words that deny, in the languages of `negations.yaml`: whether a text is denied by what is said beside it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import yaml

from kb_schema.base import Model

_FILE = Path(__file__).with_name("negations.yaml")
_CONTRACTED = re.compile(r"n['\u2019]t\b", re.IGNORECASE)
_CLAUSE_END = re.compile(r"[.,;:!?\u2013\u2014|()\u0964\n]|\s-\s")
_ANSWER = re.compile(r"\s*[:=?\u2013\u2014-]\s*")
"""Signs after which a word alone answers what stands before them: `Saved: no`."""
_CODE = re.compile(r"\bNO\b")
_MARKS = "\"'\u201c\u201d\u2018\u2019\u00ab\u00bb*[]"


_NONE_OF = re.compile(r"(?<![\d.,])0\s*(?:/|of|out of|von|de|\u092e\u0947\u0902 \u0938\u0947)\s*[1-9]")
"""`0 of 3`."""
_NUMBER = re.compile(r"\d[\d.,]*")


class _Words(Model):
    deeds: frozenset[str]
    things: frozenset[str]
    failures: frozenset[str]
    faults: frozenset[str]


@cache
def _load() -> dict[str, _Words]:
    said = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return {language: _Words.model_validate(each) for language, each in said.items()}


@cache
def list_negations(language: str | None = None) -> frozenset[str]:
    """Return the words of a language that deny, or those of all of them."""
    known = [each for name, each in _load().items() if language in (None, name)]
    return frozenset().union(*(each.deeds | each.things for each in known))


def is_negated(text: str) -> bool:
    """Return whether a text has a word that denies."""
    return not list_negations().isdisjoint(_list_words(text))


@cache
def _list(kind: str) -> frozenset[str]:
    return frozenset().union(*(getattr(each, kind) for each in _load().values()))


def is_failure(text: str) -> bool:
    """Return whether a text has a word that says that something failed."""
    return not (_list("failures") | _list("faults")).isdisjoint(_list_words(text))


def is_denied(before: str, text: str, after: str) -> bool:
    """Return whether what stands before a text in its clause denies it, or what stands after it: `Not Saved`, `Saved: no`.

    A word that denies and that the text has itself says nothing else. `Saved with no problems` is not denied, nor is `NO Oslo`, where
    the word is a code. Words that say that it failed deny, too (`Save failed`, `saved 0 of 3`), but not as a number (`3 passed, 1 failed`).
    """
    own = set(_list_words(text))
    head = _CLAUSE_END.split(_CODE.sub("", before) if text != text.upper() else before)[-1]
    tail, *rest = _CLAUSE_END.split("." + after if _CLAUSE_END.search(text[-1:]) else after, maxsplit=2)
    if (list_negations() - own) & set(_list_words(head)) or (_list("deeds") - own) & set(_list_words(tail)):
        return True
    if (
        _has_failed(head, own)
        or _has_failed(tail, own, faults=True)
        or any(map(_NONE_OF.search, (head, tail)))
    ):
        return True
    answers = not tail.strip() and bool(rest) and _ANSWER.match(after) is not None
    said = _list_words(rest[0]) if answers else []
    return bool(said) and list_negations().issuperset(said)


def is_denied_beside(left: str, before: str, text: str, after: str, right: str) -> bool:
    """Return whether what stands on the line of a text in boxes of their own denies it: `Not` beside `saved`.

    What a box begins with a capital is a text of its own, unless a word that denies stands right before it: `Never expires` says
    nothing about the `Saved` beside it. A `No` alone before such a text is a value of its own. The box after it is read
    with it if it goes on in lower case, or answers (`Saved:` beside `no`).
    """
    own = set(_list_words(text))
    if left.strip() and not _CLAUSE_END.search(before):
        said = _list_words(_CLAUSE_END.split(left)[-1])
        denies = bool(said) and said[-1] in list_negations() - own
        alone = len(said) == 1 and said[0] not in _list("deeds")
        if _goes_on(before + text) and is_denied(f"{left} {before}", text, after):
            return True
        if denies and not before.strip() and not alone:
            return True
    if not right.strip():
        return False
    answers = _ANSWER.search((text + after).rstrip()[-1:]) is not None
    return (answers or not right.lstrip()[:1].isupper()) and is_denied("", text, f"{after} {right}")


def _goes_on(text: str) -> bool:
    return next((each for each in text if each.isalpha()), "").islower()


def _has_failed(clause: str, own: set[str], *, faults: bool = False) -> bool:
    words = _list_words(clause)
    for at, word in enumerate(words):
        last = faults and at == len(words) - 1 and word in _list("faults")
        if word in own or not (last or word in _list("failures")):
            continue
        if not (at and _NUMBER.fullmatch(words[at - 1])) and list_negations().isdisjoint(words[:at]):
            return True
    return False


def _list_words(text: str) -> list[str]:
    plain = _CONTRACTED.sub(" not", text).casefold().split()
    return [each.strip(_MARKS + ".,;:!?") for each in plain]
