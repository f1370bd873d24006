"""How the effect of a task is read independently of the action that caused it.

The same reading is taken before and after; the difference is the effect. A matching name alone proves
nothing: something with that name may have existed before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from pydantic import Field, JsonValue, model_validator

from kb_schema.base import Model, ScreenRef, TaskRef, VariableName
from kb_schema.conditions import Condition, ElementVisible
from kb_schema.io_specs import DomExtraction, TableExtraction
from kb_schema.selectors import Selector

Expectation = Literal["one_more", "one_less", "more", "changed", "there", "gone"]


PRESENCE = ("there", "gone")
"""Expectations about an address itself; nothing is read on its page."""


class ReadBack(Model):
    """Where to look for a task's effect, and what it looks like there.

    Either a screen (`screen_id`, with `url` if it shows one of many things) and what to read on it, or a
    reading task and which of its outputs to use. Neither changes anything.
    """

    screen_id: ScreenRef | None = None
    url: str | None = None
    """The screen's URL, with `{x}`; values are percent-encoded."""
    extraction: DomExtraction | TableExtraction | None = None
    task_id: TaskRef | None = None
    inputs: dict[str, JsonValue] = Field(default_factory=dict)
    output: VariableName | None = None
    """The task's output that counts."""
    expect: Expectation
    """What must differ.

    `one_more` or `one_less` row; `more` rows or a larger number; a `changed` value; the address shows the
    screen now (`there`) or no longer (`gone`).
    """
    only_in_doubt: bool = False
    """Use it only if the page gave no answer; success does not require it (there may be nothing new)."""
    key: str | None = None
    """The column that identifies a row; without it, whole rows are compared."""
    where: dict[str, str] = Field(default_factory=dict)
    """Column -> its value (with `{x}`) in the relevant rows; other rows are ignored."""
    gives: dict[VariableName, str] = Field(default_factory=dict)
    """Output of the task -> column of the row that appeared or disappeared.

    Used if the page that would have shown the output was never seen.
    """

    @model_validator(mode="after")
    def _one_place_to_look(self) -> ReadBack:
        on_screen, by_task = self.screen_id is not None, self.task_id is not None
        if on_screen == by_task:
            raise ValueError("a read-back needs either a `screen_id` or a `task_id`")
        if on_screen and self.extraction is None and self.expect not in PRESENCE:
            raise ValueError("a read-back on a screen needs an `extraction`")
        if by_task and self.output is None:
            raise ValueError("a read-back by a task needs an `output`")
        return self


class PageReadBack(Model):
    """An address that shows the effect of a workflow."""

    url: str = Field(min_length=1)
    """A path of the website, or an absolute address."""
    rows: Selector
    """The rows of the list there. While none is visible, the list says nothing: it may not have been drawn yet."""
    conditions: tuple[Condition, ...] = Field(min_length=1)
    """What holds there after the effect, and did not all hold before; about the values of the inputs."""

    @property
    def is_drawn(self) -> ElementVisible:
        """Return the condition that the list shows rows."""
        return ElementVisible(type="element_visible", element=self.rows)


class ReadBackStatus(StrEnum):
    """The result of comparing two readings."""

    HAPPENED = "happened"
    DID_NOT_HAPPEN = "did_not_happen"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class ReadBackResult:
    """The result of comparing two readings, the reason, and the row that appeared or disappeared."""

    status: ReadBackStatus
    reason: str
    row: Mapping[str, Any] | None = None


def compare_readings(
    rule: ReadBack, before: Any, after: Any, where: Mapping[str, str] | None = None
) -> ReadBackResult:
    """Return what happened between two readings. `where` is the rule's own with its `{x}` filled.

    >>> rule = ReadBack(task_id="find", output="boats", expect="one_more", key="id")
    >>> compare_readings(rule, [{"id": "1"}], [{"id": "1"}, {"id": "2"}]).status
    <ReadBackStatus.HAPPENED: 'happened'>
    >>> compare_readings(rule, [{"id": "1"}], [{"id": "1"}]).status
    <ReadBackStatus.DID_NOT_HAPPEN: 'did_not_happen'>
    """
    if rule.expect in PRESENCE:
        return _presence(rule, bool(before), bool(after))
    if rule.expect == "changed":
        if after == before:
            return ReadBackResult(ReadBackStatus.DID_NOT_HAPPEN, f"still {_short(after)}")
        return ReadBackResult(ReadBackStatus.HAPPENED, f"{_short(after)}, before {_short(before)}")
    if rule.expect == "more":
        return _more(before, after)
    if not isinstance(before, list) or not isinstance(after, list):
        return ReadBackResult(ReadBackStatus.UNCLEAR, "no rows were read to compare")
    return _one(rule, before, after, rule.where if where is None else where)


def _presence(rule: ReadBack, before: bool, after: bool) -> ReadBackResult:
    wanted = rule.expect == "there"
    word = "is there" if after else "is not there"
    if before is wanted:
        return ReadBackResult(ReadBackStatus.UNCLEAR, f"{rule.screen_id} {word}, as before")
    status = ReadBackStatus.HAPPENED if after is wanted else ReadBackStatus.DID_NOT_HAPPEN
    return ReadBackResult(status, f"{rule.screen_id} {word}")


def _one(rule: ReadBack, before: list[Any], after: list[Any], where: Mapping[str, str]) -> ReadBackResult:
    one_more = rule.expect == "one_more"
    earlier, later = _rows(before, where), _rows(after, where)
    changed = _missing(later, earlier, rule.key) if one_more else _missing(earlier, later, rule.key)
    word = "more" if one_more else "fewer"
    if len(changed) == 1:
        return ReadBackResult(ReadBackStatus.HAPPENED, f"one row {word}: {_short(changed[0])}", changed[0])
    if changed:
        return ReadBackResult(
            ReadBackStatus.UNCLEAR, f"{len(changed)} rows {word} than before, one was expected"
        )
    if not one_more and not earlier:
        return ReadBackResult(ReadBackStatus.UNCLEAR, "no such row was there before")
    return ReadBackResult(ReadBackStatus.DID_NOT_HAPPEN, f"no row {word} than before ({len(later)} now)")


def _more(before: Any, after: Any) -> ReadBackResult:
    earlier, later = _size(before), _size(after)
    if earlier is None or later is None:
        return ReadBackResult(
            ReadBackStatus.UNCLEAR, f"not to be counted: {_short(before)}, then {_short(after)}"
        )
    status = ReadBackStatus.HAPPENED if later > earlier else ReadBackStatus.DID_NOT_HAPPEN
    if later < earlier:
        status = ReadBackStatus.UNCLEAR
    return ReadBackResult(status, f"{later:g}, before {earlier:g}")


def _size(value: Any) -> float | None:
    if isinstance(value, list):
        return len(value)
    try:
        return float(str(value).replace(",", "").strip())
    except ValueError:
        return None


def _rows(rows: Sequence[Any], where: Mapping[str, str]) -> list[Mapping[str, Any]]:
    """Return the relevant rows, with white space normalised."""
    wanted = {column: " ".join(text.split()) for column, text in where.items()}
    return [
        row
        for row in rows
        if isinstance(row, Mapping)
        and all(" ".join(str(row.get(column) or "").split()) == text for column, text in wanted.items())
    ]


def _missing(
    rows: Sequence[Mapping[str, Any]], others: Sequence[Mapping[str, Any]], key: str | None
) -> list[Mapping[str, Any]]:
    """Return the rows that the other list does not have; duplicates count."""
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
