"""Words that deny, in the languages of `negations.yaml`: whether a text is denied by what is said beside it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import yaml

from kb_schema.base import Model

_FILE = Path(__file__).with_name("negations.yaml")
_APOSTROPHES = "'\u2018\u2019\u02bc\u00b4`\u2032\uff07"
_CONTRACTED = re.compile(rf"n[{_APOSTROPHES}]t\b", re.IGNORECASE)
_ELIDED = re.compile(rf"\bn[{_APOSTROPHES}](?=[^\W\d_]{{2}})", re.IGNORECASE)
"""The French `n'` of `n'est pas`."""
_CLAUSE_END = re.compile(r"(?<!\d)[.,:]|[.,:](?!\d)|[;!?\u2013\u2014|()\u0964\n]|\s-\s")
_ANSWER = re.compile(r"\s*[:=?\u2013\u2014-]\s*")
"""Signs after which a word alone answers what stands before them: `Saved: no`."""
_CODE = re.compile(r"\b(?:NO|NE|NIC)\b")
_MARKS = "\"'\u00b4`\u201c\u201d\u2018\u2019\u00ab\u00bb*[]"


_NONE_OF = re.compile(r"(?<![\d.,])0\s*(?:/|of|out of|von|de|\u092e\u0947\u0902 \u0938\u0947)\s*[1-9]")
"""`0 of 3`."""
_NUMBER = re.compile(r"\d[\d.,]*")
_DONE = re.compile(
    r"\w{2,}ed|sent|made|done|sold|paid|written|\w*ge\w{2,}(?:t|en)|\w+iert|\w+[ai]d[oa]s?|\w+ée?s?"
)
"""What a deed that was done is called: before `0 rows` it is the deed that was done to none, after `rule 0` it is no thing that is counted."""


class _Words(Model):
    deeds: frozenset[str] = frozenset()
    things: frozenset[str] = frozenset()
    failures: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()
    articles: frozenset[str] = frozenset()
    links: frozenset[str] = frozenset()
    faults: frozenset[str] = frozenset()
    zeros: frozenset[str] = frozenset()


@cache
def _load() -> dict[str, _Words]:
    said = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return {language: _Words.model_validate(each) for language, each in said.items()}


@cache
def list_negations(language: str | None = None) -> frozenset[str]:
    """Return the words of a language that deny, or those of all of them."""
    known = [each for name, each in _load().items() if language in (None, name)]
    return frozenset().union(*(each.deeds | each.things for each in known))


@cache
def list_deed_negations() -> frozenset[str]:
    """Return the words that deny the deed of their sentence (`not`), without those that deny a thing (`no`)."""
    return _list("deeds")


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
    the word is a code. Words that say that it failed deny, too (`Save failed`, `Saved: failed`, `saved 0 of 3`), but not as a number
    (`3 passed, 1 failed`), nor as the beginning of a name before the text (`Failed login rule saved`). So does a count of nothing
    (`0 rows saved`, `imported 0 rows`).
    """
    own = set(_list_words(text))
    head = _CLAUSE_END.split(_CODE.sub("", before) if text != text.upper() else before)[-1]
    tail, *rest = _CLAUSE_END.split("." + after if _CLAUSE_END.search(text[-1:]) else after, maxsplit=2)
    if (list_negations() - own) & set(_list_words(head)) or (_list("deeds") - own) & set(_list_words(tail)):
        return True
    if (
        _has_failed(head, own, f"{text} {tail}")
        or _has_failed(tail, own)
        or any(map(_NONE_OF.search, (head, tail)))
        or _counts_nothing(head, text, tail)
    ):
        return True
    answers = not tail.strip() and bool(rest) and _ANSWER.match(after) is not None
    return answers and _is_no(rest[0])


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


def _is_no(value: str) -> bool:
    """Return whether the value of a label says that what it names is not so: `no`, `failed`, `0 of 3`."""
    said = _list_words(value)
    denying = list_negations() | _list("failures") | _list("faults")
    return bool(_NONE_OF.search(value)) or (bool(said) and denying.issuperset(said))


def _has_failed(clause: str, own: set[str], rest: str | None = None) -> bool:
    """Return whether a clause has a word of failure that is said of a text, with `rest`: that goes on with the text."""
    words = _list_words(clause)
    for at, word in enumerate(words):
        last = rest is None and at == len(words) - 1 and word in _list("faults")
        if word in own or not (last or word in _list("failures")):
            continue
        if rest is not None and _begins_name(words, at, rest):
            continue
        if not (at and _NUMBER.fullmatch(words[at - 1])) and list_negations().isdisjoint(words[:at]):
            return True
    return False


def _begins_name(words: list[str], at: int, rest: str) -> bool:
    """Return whether a word of failure is the first one of a name of what something was done to: `Failed login rule saved`.

    `Failed to save`, `Failed saving`, `Denied access to it`, `Failed upload photo.png` are none.
    """
    name = words[at + 1 :]
    return (
        words[at] in _list("attributes")
        and _list("articles").issuperset(words[:at])
        and bool(name)
        and not name[0].endswith("ing")
        and _list("links").isdisjoint(name)
        and any(map(_is_done, (*name, *_list_words(rest))))
    )


def _counts_nothing(head: str, text: str, tail: str) -> bool:
    """Return whether what is counted in a clause is none: `0 rows saved`, `imported 0 rows`.

    `Rule 0 saved` has a name, `Saved 0 seconds ago` a time, and `0 failed, 3 saved` counts something else.
    """
    after = tail.split()
    if len(after) > 1 and _is_zero(after[0]) and _is_done(text.rsplit(maxsplit=1)[-1]):
        return not _is_other_count(after[1]) and "ago" not in _list_words(tail)
    before = head.split()
    for at, word in enumerate(before):
        counted = [*before[at + 1 :], *text.split()]
        if not _is_zero(word) or _is_other_count(counted[0]) or any(map(_NUMBER.match, counted)):
            continue
        previous = before[at - 1] if at else ""
        if not at or ((previous.islower() or _is_done(previous)) and not _is_done(counted[0])):
            return True
    return False


def _is_zero(word: str) -> bool:
    return word in ("0", "\u0966") or word.casefold() in _list("zeros")


def _is_done(word: str) -> bool:
    return _DONE.fullmatch(word.casefold()) is not None


def _is_other_count(word: str) -> bool:
    """Return whether what is counted are failures (`0 errors`): none of them denies nothing."""
    said = word.casefold().strip(_MARKS + ".,;:!?")
    return {said, said.removesuffix("s")} & (_list("failures") | _list("faults") | {"warning"}) != set()


def _list_words(text: str) -> list[str]:
    plain = _ELIDED.sub("ne ", _CONTRACTED.sub(" not", text)).casefold().split()
    return [each.strip(_MARKS + ".,;:!?") for each in plain]
