"""Words by which a page says that what it shows is no record that it keeps, in the languages of `record_words.yaml`."""

from __future__ import annotations

import re
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
    return is_failure(text) or not doubts.isdisjoint(said)


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


def tells_success(text: str) -> bool:
    """Return whether a message says that what was sent is kept: `The boat was added`."""
    said = _list_words(text)
    return not _list("successes").isdisjoint(said) and not is_no_heading(text) and not tells_a_condition(text)


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
