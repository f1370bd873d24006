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


class _Words(Model):
    deeds: frozenset[str]
    things: frozenset[str]


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


def is_denied(before: str, text: str, after: str) -> bool:
    """Return whether what stands before a text in its clause denies it, or what stands after it: `Not Saved`, `Saved: no`.

    A word that denies and that the text has itself says nothing else. `Saved with no problems` is not denied, nor is `NO Oslo`, where
    the word is a code.
    """
    own = set(_list_words(text))
    head = _CLAUSE_END.split(_CODE.sub("", before) if text != text.upper() else before)[-1]
    tail, *rest = _CLAUSE_END.split("." + after if _CLAUSE_END.search(text[-1:]) else after, maxsplit=2)
    deeds = frozenset().union(*(each.deeds for each in _load().values()))
    if (list_negations() - own) & set(_list_words(head)) or (deeds - own) & set(_list_words(tail)):
        return True
    answers = not tail.strip() and bool(rest) and _ANSWER.match(after) is not None
    said = _list_words(rest[0]) if answers else []
    return bool(said) and list_negations().issuperset(said)


def _list_words(text: str) -> list[str]:
    plain = _CONTRACTED.sub(" not", text).casefold().split()
    return [each.strip(_MARKS + ".,;:!?") for each in plain]
