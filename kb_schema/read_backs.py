"""What a task changes, and how that is seen apart from the click that did it (DESIGN 6).

The same reading is taken before and after; what differs between the two is what happened. Names
alone prove nothing: something of that name may have been there before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from pydantic import Field, JsonValue, model_validator

from kb_schema.base import Model, ScreenRef, TaskRef
from kb_schema.values import DomExtraction, TableExtraction, VariableName

Expectation = Literal["one_more", "one_less", "more", "changed", "there", "gone"]


PRESENCE = ("there", "gone")
"""What is expected of an address itself: then nothing is read on it."""


class ReadBack(Model):
    """Where to look for a task's effect, and what it looks like there.

    Either a screen (`screen_id`, with `url` where it shows one thing of many) and what to read on
    it, or a task that reads, and which of its outputs counts. Both only read.
    """

    screen_id: ScreenRef | None = None
    url: str | None = None
    """Of the screen, with `{x}`; values are quoted for a URL."""
    extraction: DomExtraction | TableExtraction | None = None
    task_id: TaskRef | None = None
    inputs: dict[str, JsonValue] = Field(default_factory=dict)
    output: VariableName | None = None
    """Of the task: what it found."""
    expect: Expectation
    """`one_more` or `one_less` row; `more` rows or a larger number; another value than before
    (`changed`); the address shows the screen now (`there`) or does no longer (`gone`)."""
    only_in_doubt: bool = False
    """It decides where the page did not tell; success does not need it (nothing may have been new)."""
    key: str | None = None
    """Column that tells one row from another; without it whole rows are compared."""
    where: dict[str, str] = Field(default_factory=dict)
    """Column -> what it says (with `{x}`) in the rows that are meant; the others are not looked at."""
    gives: dict[VariableName, str] = Field(default_factory=dict)
    """Output of the task -> column of the row that came or went, for when the page that would
    have said it was never seen."""

    @model_validator(mode="after")
    def _one_place_to_look(self) -> ReadBack:
        on_screen, by_task = self.screen_id is not None, self.task_id is not None
        if on_screen == by_task:
            raise ValueError("a read-back looks at a `screen_id` or runs a `task_id`: give one of them")
        if on_screen and self.extraction is None and self.expect not in PRESENCE:
            raise ValueError("a read-back on a screen says what it reads there: give `extraction`")
        if by_task and self.output is None:
            raise ValueError("a read-back by a task says which of its outputs counts: give `output`")
        return self


class Happened(StrEnum):
    """What two readings say."""

    HAPPENED = "happened"
    DID_NOT_HAPPEN = "did_not_happen"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Finding:
    """What two readings say, why, and what the row that came or went says."""

    status: Happened
    reason: str
    row: Mapping[str, Any] | None = None


def compare(rule: ReadBack, before: Any, after: Any, where: Mapping[str, str] | None = None) -> Finding:
    """What happened between two readings. `where` is the rule's own with its `{x}` filled.

    >>> rule = ReadBack(task_id="find", output="boats", expect="one_more", key="id")
    >>> compare(rule, [{"id": "1"}], [{"id": "1"}, {"id": "2"}]).status
    <Happened.HAPPENED: 'happened'>
    >>> compare(rule, [{"id": "1"}], [{"id": "1"}]).status
    <Happened.DID_NOT_HAPPEN: 'did_not_happen'>
    """
    if rule.expect in PRESENCE:
        return _presence(rule, bool(before), bool(after))
    if rule.expect == "changed":
        if after == before:
            return Finding(Happened.DID_NOT_HAPPEN, f"still {_short(after)}")
        return Finding(Happened.HAPPENED, f"{_short(after)}, before {_short(before)}")
    if rule.expect == "more":
        return _more(before, after)
    if not isinstance(before, list) or not isinstance(after, list):
        return Finding(Happened.UNCLEAR, "no rows to compare were read")
    return _one(rule, before, after, rule.where if where is None else where)


def _presence(rule: ReadBack, before: bool, after: bool) -> Finding:
    wanted = rule.expect == "there"
    word = "is there" if after else "is not there"
    if before is wanted:
        return Finding(Happened.UNCLEAR, f"{rule.screen_id} {word}, as before")
    status = Happened.HAPPENED if after is wanted else Happened.DID_NOT_HAPPEN
    return Finding(status, f"{rule.screen_id} {word}")


def _one(rule: ReadBack, before: list[Any], after: list[Any], where: Mapping[str, str]) -> Finding:
    one_more = rule.expect == "one_more"
    earlier, later = _rows(before, where), _rows(after, where)
    changed = _missing(later, earlier, rule.key) if one_more else _missing(earlier, later, rule.key)
    word = "more" if one_more else "fewer"
    if len(changed) == 1:
        return Finding(Happened.HAPPENED, f"one row {word}: {_short(changed[0])}", changed[0])
    if changed:
        return Finding(Happened.UNCLEAR, f"{len(changed)} rows {word} than before, one was expected")
    if not one_more and not earlier:
        return Finding(Happened.UNCLEAR, "no such row was there before")
    return Finding(Happened.DID_NOT_HAPPEN, f"no row {word} than before ({len(later)} now)")


def _more(before: Any, after: Any) -> Finding:
    earlier, later = _size(before), _size(after)
    if earlier is None or later is None:
        return Finding(Happened.UNCLEAR, f"not to be counted: {_short(before)}, then {_short(after)}")
    status = Happened.HAPPENED if later > earlier else Happened.DID_NOT_HAPPEN
    if later < earlier:
        status = Happened.UNCLEAR
    return Finding(status, f"{later:g}, before {earlier:g}")


def _size(value: Any) -> float | None:
    if isinstance(value, list):
        return len(value)
    try:
        return float(str(value).replace(",", "").strip())
    except ValueError:
        return None


def _rows(rows: Sequence[Any], where: Mapping[str, str]) -> list[Mapping[str, Any]]:
    """The rows that are meant; what people see alike is alike (spaces are folded)."""
    wanted = {column: " ".join(text.split()) for column, text in where.items()}
    return [
        row for row in rows
        if isinstance(row, Mapping)
        and all(" ".join(str(row.get(column) or "").split()) == text for column, text in wanted.items())
    ]  # fmt: skip


def _missing(
    rows: Sequence[Mapping[str, Any]], others: Sequence[Mapping[str, Any]], key: str | None
) -> list[Mapping[str, Any]]:
    """The rows that the others do not have, each counted as often as it is there."""
    left = [_identity(row, key) for row in others]
    found = []
    for row in rows:
        identity = _identity(row, key)
        if identity in left:
            left.remove(identity)
        else:
            found.append(row)
    return found


def _identity(row: Mapping[str, Any], key: str | None) -> Any:
    return row.get(key) if key is not None else dict(row)


def _short(value: Any) -> str:
    text = str(dict(value) if isinstance(value, Mapping) else value)
    return text if len(text) <= 120 else f"{text[:119]}…"
