"""Words by which a page says that what it shows is no record that it keeps, in the languages of `record_words.yaml`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import yaml

from agent.dangers.danger_words import find_danger_in_words
from agent.negations import is_failure, is_negated, list_deed_negations
from kb_schema.base import Model

_FILE = Path(__file__).with_name("record_words.yaml")
_WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
_STEP = re.compile(
    r"(?<![\d.,])[1-9]\d*\s*(?:/|of|out of|von|de|di|van|z|ze|sur|\u092e\u0947\u0902 \u0938\u0947)\s*\d+"
)
"""`Step 2 of 3`; none is `0 of 3 selected`, which stands above lists."""
_CROSSES = re.compile("[\u2717\u2718\u274c\u26d4\U0001f6ab]")
"""Signs that are drawn for what was refused."""
_NOTHING = re.compile("(?:0|[-\u2013\u2014\u2717\u2718\u274c]|)")
"""What a cell says if there is nothing of what its column is about."""
_SENTENCE = re.compile(r"[.!?\u2026;]+(?:\s+|$)|\n")
_NAMED = re.compile(r"#[1-9]\d*")
"""The number of a record."""
_LEAST_STEM = 4
_LONGEST_ENDING = 3


class _Words(Model):
    rejections: frozenset[str] = frozenset()
    unfinished: frozenset[str] = frozenset()
    reports: frozenset[str] = frozenset()
    continues: frozenset[str] = frozenset()
    finishes: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()
    mails: frozenset[str] = frozenset()
    opens: frozenset[str] = frozenset()
    conditions: frozenset[str] = frozenset()
    successes: frozenset[str] = frozenset()
    besides: frozenset[str] = frozenset()
    afterwards: frozenset[str] = frozenset()
    gestures: frozenset[str] = frozenset()
    keys: frozenset[str] = frozenset()


@cache
def _list(kind: str) -> frozenset[str]:
    said = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return frozenset().union(*(getattr(_Words.model_validate(each), kind) for each in said.values()))


def _list_words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold().replace("\u2019", "'")))


def is_doubted(text: str) -> bool:
    """Return whether a text beside what was entered says that it is not kept: refused, failed, gone, or still being saved.

    A word that denies a thing (`no due date`) says nothing about the record.
    """
    said = _list_words(text)
    doubts = _list("rejections") | _list("unfinished") | list_deed_negations()
    return is_failure(text) or not doubts.isdisjoint(said) or _CROSSES.search(text) is not None


def denies_by_value(column: str, value: str) -> bool:
    """Return whether a cell says that what its row shows is not kept: `Rejected: Yes`, `Rejected on: 1 December`, `Stored: No`.

    `value`: "" if the cell is empty.
    """
    is_no = _NOTHING.fullmatch(value.strip()) is not None or is_negated(value)
    if is_doubted(column):
        return not is_no
    return is_no and not _list("successes").isdisjoint(_list_words(column))


def is_no_heading(text: str) -> bool:
    """Return whether a heading says that what is below it is not kept, or not yet: `Names that nobody may use`, `Step 2 of 3`."""
    return is_doubted(text) or is_negated(text) or _STEP.search(text.casefold()) is not None


def find_report_words(text: str) -> frozenset[str]:
    """Return the words of a heading that say that what is below it tells what happened: `Activity`."""
    return _list("reports") & _list_words(text)


def asks_for_more(name: str, *, fields: bool) -> bool:
    """Return whether a button goes on with what was entered. `fields`: its form has fields, which may be about something else."""
    said = _list_words(name)
    asks = _list("continues") if fields else _list("continues") | _list("finishes")
    return bool(said) and not asks.isdisjoint(said)


def sends_elsewhere(text: str) -> bool:
    """Return whether a line asks to go on elsewhere: `Open the link in the mail that we sent you`."""
    said = _list_words(text)
    return not _list("mails").isdisjoint(said) and not _list("opens").isdisjoint(said)


def tells_a_condition(text: str) -> bool:
    """Return whether a line says what must come before: `It is listed when the fee is paid`."""
    return not _list("conditions").isdisjoint(_list_words(text))


def tells_success(text: str, about: Iterable[str] = ()) -> bool:
    """Return whether a message says that what was sent is kept, and nothing else: `The boat was added`.

    `text`: without what was typed. `about`: the words of the task. Each other word must be one of `besides`: a sentence with further
    words can be a tip, an offer, or about another thing or another person (`Cookie settings saved`, `The boat was created by Ada`).
    """
    if is_no_heading(text) or tells_a_condition(text):
        return False
    subject = frozenset(about)
    first, *rest = [
        said for each in _SENTENCE.split(text) if (said := _list_words(_NAMED.sub(" ", each)))
    ] or [set()]
    return not _list("successes").isdisjoint(first) and all(
        word in known or share_a_word((word,), subject)
        for said, known in (
            (first, _only_success()),
            *((each, _only_success() | _list("afterwards")) for each in rest),
        )
        for word in said
    )


def _only_success() -> frozenset[str]:
    return _list("successes") | _list("besides")


def share_a_word(ours: Iterable[str], theirs: Iterable[str]) -> bool:
    """Return whether two lists of words have one in common, up to its ending."""
    return any(are_alike(one, other) for one in ours for other in theirs)


def are_alike(one: str, other: str) -> bool:
    """Return whether two words are the same up to the ending: `boat` and `boats`."""
    short, long = sorted((one, other), key=len)
    return one == other or (
        len(short) >= _LEAST_STEM
        and long.startswith(short[:-1] if short[-1] in "ey" else short)
        and len(long) - len(short) <= _LONGEST_ENDING
    )


def asks_by_hand(text: str) -> bool:
    """Return whether a line asks for something that no control of the page shows: `Press Enter to finish`, `Scan the code to confirm`."""
    said = _list_words(text)
    then = ("keys", "finishes", "continues", "unfinished")
    asked = not _list("gestures").isdisjoint(said) and any(not _list(each).isdisjoint(said) for each in then)
    return asked and not is_another_deed(text)  # `Press Enter to search`


def is_another_deed(name: str) -> bool:
    """Return whether a button does something with a record that is kept: edit it, delete it, sign out beside it."""
    harm = find_danger_in_words(name, pressed=True)
    return (harm is not None and harm[0] in ("deletes", "signs_out")) or not _list("others").isdisjoint(
        _list_words(name)
    )
