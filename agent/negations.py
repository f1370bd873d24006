"""Words that deny, in the languages of `negations.yaml`: whether a text is denied by what is said beside it.

A clause is read as what stands before the text in it and what stands after it. Words that deny are of kinds; a kind says on which side
of the text its words deny it, and when such a word says something else (`No 12`, `3 failed`). A new word is a line of the list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from kb_schema.base import Model

_FILE = Path(__file__).with_name("negations.yaml")
_APOSTROPHES = "'\u2018\u2019\u02bc\u00b4`\u2032\uff07"
_CONTRACTED = re.compile(rf"n[{_APOSTROPHES}]t\b", re.IGNORECASE)
_ELIDED = re.compile(rf"\bn[{_APOSTROPHES}](?=[^\W\d_]{{2}}|[aày]\b)", re.IGNORECASE)
"""The French `n'` of `n'est pas`."""
_CLAUSE_END = re.compile(r"(?<!\d)[.,:]|[.,:](?!\d)|[;!?\u2013\u2014|()\u0964\n]|\s-\s")
_ANSWER = re.compile(r"\s*[:=?(\u2013\u2014-]\s*")
"""Signs after which words alone answer what stands before them: `Saved: no`, `Saved (failed)`."""
_MARKS = "\"'\u00b4`\u201c\u201d\u2018\u2019\u00ab\u00bb*[].,;:!?"
_NONE_OF = re.compile(r"(?<![\d.,])0\s*(?:/|of|out of|von|de|\u092e\u0947\u0902 \u0938\u0947)\s*[1-9]")
"""`0 of 3`."""
_NUMBER = re.compile(r"\d[\d.,]*")
_MOST_COUNTED = 3
"""Words of what an answer counts."""
_MOST_CLAUSES = 3
"""Clauses after a text that are read for what takes it back."""
_DONE = re.compile(
    r"\w{2,}ed|sent|made|done|sold|paid|written|\w*ge\w{2,}(?:t|en)|\w+iert|\w+[ai]d[oa]s?|\w+ée?s?"
)
"""What a deed that was done is called: before `0 rows` it is the deed that was done to none, after `rule 0` it is no thing that is counted."""


_HARMLESS_AS_NONE = frozenset({"warning", "problem", "issue", "conflict", "loss"})
"""What is good to have none of, beside failures."""


class _Words(Model):
    """The words of a language; see `negations.yaml`."""

    deeds: frozenset[str] = frozenset()
    things: frozenset[str] = frozenset()
    unreal: frozenset[str] = frozenset()
    failures: frozenset[str] = frozenset()
    faults: frozenset[str] = frozenset()
    undone: frozenset[str] = frozenset()
    limits: frozenset[str] = frozenset()
    zeros: frozenset[str] = frozenset()
    answers: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()
    articles: frozenset[str] = frozenset()
    links: frozenset[str] = frozenset()
    hedges: frozenset[str] = frozenset()
    sequels: frozenset[str] = frozenset()
    over: frozenset[str] = frozenset()


@cache
def _load() -> dict[str, _Words]:
    said = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return {language: _Words.model_validate(each) for language, each in said.items()}


@cache
def _list(kind: str) -> frozenset[str]:
    return frozenset().union(*(getattr(each, kind) for each in _load().values()))


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
    return not list_negations().isdisjoint(_list_folded(text))


def is_failure(text: str) -> bool:
    """Return whether a text has a word that says that something failed."""
    return not (_list("failures") | _list("faults")).isdisjoint(_list_folded(text))


def is_over(text: str) -> bool:
    """Return whether a text says of a deed that it ended, failed, was refused, or is only asked for: `You stopped following Eve`."""
    ended = _list("over") | _list("undone") | _list("failures") | _list("faults")
    return not ended.isdisjoint(_list_folded(text))


def says_deed(text: str) -> bool:
    """Return whether a text says that something was done: `Saved`, `3 files sent`."""
    return any(map(_is_done, _list_words(text)))


def is_denied(before: str, text: str, after: str) -> bool:
    """Return whether what stands before a text in its clause denies it, or what stands after it: `Not Saved`, `Saved: no`.

    A word that denies and that the text has itself says nothing else.
    """
    clause = _Clause.read(before, text, after)
    reached = any(map(clause.is_reached_by, clause.list_signs()))
    return reached or _answers_no(text, after) or _is_undone_later(text, after)


def is_denied_beside(left: str, before: str, text: str, after: str, right: str) -> bool:
    """Return whether what stands on the line of a text in boxes of their own denies it: `Not` beside `saved`.

    What a box begins with a capital is a text of its own, unless a word that denies stands right before it: `Never expires` says
    nothing about the `Saved` beside it. A `No` alone before such a text is a value of its own. The box after it is read
    with it if it goes on in lower case, or answers (`Saved:` beside `no`).
    """
    if left.strip() and not _CLAUSE_END.search(before):
        said = _list_folded(_CLAUSE_END.split(left)[-1])
        denies = bool(said) and said[-1] in list_negations().difference(_list_folded(text))
        alone = len(said) == 1 and said[0] not in _list("deeds")
        if _goes_on(before + text) and is_denied(f"{left} {before}", text, after):
            return True
        if denies and not before.strip() and not alone:
            return True
    if not right.strip():
        return False
    answers = _ANSWER.search((text + after).rstrip()[-1:]) is not None
    return (answers or not right.lstrip()[:1].isupper()) and is_denied("", text, f"{after} {right}")


@dataclass(frozen=True, slots=True)
class _Sign:
    """A word or a phrase that denies."""

    kind: str
    words: tuple[str, ...]
    at: int
    """Its place among the words of its side."""
    follows: bool
    """It stands after the text."""

    @property
    def end(self) -> int:
        return self.at + len(self.words)


@dataclass(frozen=True, slots=True)
class _Clause:
    """The words around a text up to the ends of its clause."""

    head: tuple[str, ...]
    text: tuple[str, ...]
    tail: tuple[str, ...]

    @classmethod
    def read(cls, before: str, text: str, after: str) -> _Clause:
        tail = "" if _CLAUSE_END.search(text[-1:]) else _CLAUSE_END.split(after, maxsplit=1)[0]
        head = _CLAUSE_END.split(before)[-1]
        return cls(*(tuple(_list_words(each)) for each in (head, text, tail)))

    def list_signs(self) -> Iterator[_Sign]:
        """Yield the words that may deny the text; those that it has itself say nothing else."""
        own = {each.casefold() for each in self.text}
        for side, follows in ((self.head, False), (self.tail, True)):
            folded = [each.casefold() for each in side]
            for at in range(len(side)):
                for kind, phrase in _phrases().get(folded[at], ()):
                    if tuple(folded[at : at + len(phrase)]) == phrase and not own.issuperset(phrase):
                        yield _Sign(kind, phrase, at, follows)
            if found := _NONE_OF.search(" ".join(side)):
                yield _Sign("none_of", (found.group(),), 0, follows)

    def is_reached_by(self, sign: _Sign) -> bool:
        """Return whether a sign denies the text."""
        kind = _KINDS[sign.kind]
        if not (kind.after if sign.follows else kind.before):
            return False
        if kind.last and sign.end != len(self.tail):
            return False
        return not any(unless(self, sign) for unless in kind.unless)

    def side_of(self, sign: _Sign) -> tuple[str, ...]:
        """Return the words of the side on which a sign stands."""
        return self.tail if sign.follows else self.head


# -- when such a word says something else ---------------------------------------------------------


def _is_code(clause: _Clause, sign: _Sign) -> bool:
    """Return whether it is a code: `NO Oslo`."""
    shouted = "".join(clause.text).isupper()
    return not sign.follows and not shouted and clause.head[sign.at] in {"NO", "NE", "NIC"}


def _is_before_number(clause: _Clause, sign: _Sign) -> bool:
    """Return whether it is said of a number: `Invoice No 12 saved`, `Almost 30 rows saved`."""
    rest = (*clause.side_of(sign)[sign.end :], *(() if sign.follows else clause.text))
    return bool(rest) and _NUMBER.match(rest[0]) is not None and rest[0] != "0"


def _is_counted(clause: _Clause, sign: _Sign) -> bool:
    """Return whether it counts what failed, which is told beside the text: `3 passed, 1 failed`."""
    before = clause.side_of(sign)[: sign.at]
    return bool(before) and _NUMBER.fullmatch(before[-1]) is not None


def _is_negated_itself(clause: _Clause, sign: _Sign) -> bool:
    """Return whether it is denied: `with no failures`, `instead of discarded`."""
    return any(
        each.kind in {"deeds", "things", "unreal"} and each.follows == sign.follows and each.end <= sign.at
        for each in clause.list_signs()
    )


def _begins_name(clause: _Clause, sign: _Sign) -> bool:
    """Return whether it begins the name of what something was done to: `Failed login rule saved`, `Failure report saved`.

    `Failed to save`, `Failed saving`, `Denied access to it`, `Failed upload photo.png` are none.
    """
    if sign.follows or sign.words[0] not in _list("attributes"):
        return False
    before = {each.casefold() for each in clause.head[: sign.at]}
    inside = [each.casefold() for each in clause.head[sign.end :]]
    name = [*inside, *(each.casefold() for each in clause.text)]
    after = [*name[1:], *(each.casefold() for each in clause.tail)]
    return (
        before <= _list("articles")
        and not _is_done(name[0])
        and not name[0].endswith("ing")
        and _list("links").isdisjoint(inside)
        and any(map(_is_done, after))
    )


def _says_no_deed(clause: _Clause, _: _Sign) -> bool:
    """Return whether the text says nothing that can be undone: `Draft discarded` says what was done to a draft."""
    return not any(map(_is_done, clause.text))


def _counts_other(clause: _Clause, sign: _Sign) -> bool:
    """Return whether a count of nothing is none of what the text says: `0 errors`, `Rule 0 saved`, `Saved 0 seconds ago`."""
    if sign.follows:
        counted = clause.tail[sign.end :]
        done = sign.at == 0 and bool(counted) and _is_done(clause.text[-1])
        return not done or _is_failure(counted[0]) or "ago" in map(str.casefold, clause.tail)
    counted = (*clause.head[sign.end :], *clause.text)
    if not counted or _is_failure(counted[0]) or any(map(_NUMBER.match, counted)):
        return True
    previous = clause.head[sign.at - 1] if sign.at else None
    named = previous is not None and not (previous.islower() or _is_done(previous))
    return named or (previous is not None and _is_done(counted[0]))


_Exception = Callable[[_Clause, _Sign], bool]


@dataclass(frozen=True, slots=True)
class _Kind:
    """Where words of a kind deny a text, and when they say something else."""

    before: bool = False
    """They deny what follows them."""
    after: bool = False
    """They deny what stands before them."""
    last: bool = False
    """Only as the last words of their clause."""
    unless: tuple[_Exception, ...] = ()


_KINDS = {
    "deeds": _Kind(before=True, after=True, unless=(_is_code,)),
    "things": _Kind(before=True, unless=(_is_code, _is_before_number)),
    "unreal": _Kind(before=True, unless=(_is_before_number,)),
    "failures": _Kind(before=True, after=True, unless=(_is_counted, _is_negated_itself, _begins_name)),
    "faults": _Kind(after=True, last=True, unless=(_is_counted, _is_negated_itself)),
    "undone": _Kind(after=True, last=True, unless=(_is_counted, _is_negated_itself, _says_no_deed)),
    "limits": _Kind(after=True),
    "zeros": _Kind(before=True, after=True, unless=(_counts_other,)),
    "none_of": _Kind(before=True, after=True),
}
_ALONE = ("deeds", "things", "failures", "faults", "undone", "answers")
"""Kinds whose words alone answer that something is not so."""


@cache
def _phrases() -> dict[str, tuple[tuple[str, tuple[str, ...]], ...]]:
    """Return the kind and the words of each phrase, by its first word."""
    found: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for kind in _KINDS.keys() & _Words.model_fields.keys():
        for said in _list(kind):
            phrase = tuple(said.split())
            found.setdefault(phrase[0], []).append((kind, phrase))
    return {first: tuple(each) for first, each in found.items()}


def _answers_no(text: str, after: str) -> bool:
    """Return whether what stands behind a text as its value says that it is not so: `Saved: no`, `Saved (failed)`, `Saved: 0 of 3`."""
    following = "." + after if _CLAUSE_END.search(text[-1:]) else after
    tail, *rest = _CLAUSE_END.split(following, maxsplit=2)
    if tail.strip() or not rest or _ANSWER.match(after) is None:
        return False
    said = _list_folded(rest[0])
    denied = not _no().isdisjoint(said) and (_no() | _list("hedges")).issuperset(said)
    return bool(_NONE_OF.search(rest[0])) or denied or (says_deed(text) and _counts_nothing(said))


def _counts_nothing(said: Sequence[str]) -> bool:
    """Return whether an answer is a count of nothing that is no failure: `Uploaded: 0 files`, `Uploaded: no files`."""
    counted = said[1:]
    none = bool(counted) and said[0] in _list("zeros") | _list("things")
    return (
        none and len(counted) <= _MOST_COUNTED and not any(map(_is_failure, counted)) and "ago" not in counted
    )


def _is_undone_later(text: str, after: str) -> bool:
    """Return whether a later clause takes back what a text says was done, and says nothing else: `Saved, then rolled back`."""
    if not says_deed(text) or not (found := _CLAUSE_END.search(text[-1:] + after)):
        return False
    for clause in _CLAUSE_END.split((text[-1:] + after)[found.end() :])[:_MOST_CLAUSES]:
        said = " ".join(_list_folded(clause))
        cut = (re.subn(rf"(?<!\w){re.escape(each)}(?!\w)", " ", said) for each in _list("undone"))
        if any(found and _list("sequels").issuperset(rest.split()) for rest, found in cut):
            return True
    return False


@cache
def _no() -> frozenset[str]:
    return frozenset().union(*map(_list, _ALONE))


def _goes_on(text: str) -> bool:
    return next((each for each in text if each.isalpha()), "").islower()


def _is_done(word: str) -> bool:
    return _DONE.fullmatch(word.casefold()) is not None


def _is_failure(word: str) -> bool:
    """Return whether what is counted are failures: none of them denies nothing."""
    said = word.casefold()
    return {said, said.removesuffix("s")} & (_list("failures") | _list("faults") | _HARMLESS_AS_NONE) != set()


def _list_words(text: str) -> list[str]:
    plain = _ELIDED.sub("ne ", _CONTRACTED.sub(" not", text)).split()
    return [word for each in plain if (word := each.strip(_MARKS))]


def _list_folded(text: str) -> list[str]:
    return [each.casefold() for each in _list_words(text)]
