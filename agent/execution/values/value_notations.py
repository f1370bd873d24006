"""Writes a value in the notation a field expects: dates, numbers, choices, spaces.

The meaning never changes: a date whose day and month could be confused stays as it is, and no text is
shortened.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime

from agent.page.page_problems import FieldOption, RefusedField
from kb_schema.transforms import FormatDate, ungroup_number

_NOTATIONS = re.compile(r"\b(?:MM([/.-])DD\1YYYY|DD([/.-])MM\2YYYY|YYYY([/.-])MM\3DD)\b", re.IGNORECASE)
_DATES = re.compile(r"(\d{1,4})([/.-])(\d{1,2})\2(\d{1,4})")
_WHOLE = re.compile(r"(\d+)\.0+")
_NUMBERS = ("number", "range")
_MONTHS = 12


def list_notations(value: str, field: RefusedField) -> Iterator[str]:
    """Return other notations of the value for this field, the likeliest first; never the value itself."""
    plain = " ".join(value.split())
    seen = {value}
    for candidate in (
        *_choices(plain, field.options),
        *_as_date(plain, field),
        *_as_number(plain, field),
        plain,
    ):
        if candidate not in seen:
            seen.add(candidate)
            yield candidate


def _choices(value: str, options: Sequence[FieldOption]) -> Iterator[str]:
    wanted = value.casefold()
    found = {each.value for each in options if wanted in (each.value.casefold(), each.label.casefold())}
    if len(found) == 1:
        yield found.pop()


def _as_date(value: str, field: RefusedField) -> Iterator[str]:
    moment = _date(value)
    if moment is None:
        return
    if field.kind == "date":
        yield moment.isoformat()
    for hint in (field.message, field.placeholder):
        for notation in _NOTATIONS.finditer(hint):
            yield FormatDate(type="format_date", format=notation[0].upper()).apply(moment)


def _date(value: str) -> date | None:
    """Return the only day a text can mean; None if it is no date or ambiguous."""
    match = _DATES.fullmatch(value)
    if match is None:
        return _written_out(value)
    first, second, third = int(match[1]), int(match[3]), int(match[4])
    if len(match[1]) == 4:
        return _day(first, second, third)
    if len(match[4]) != 4:
        return None
    readings = {_day(third, first, second), _day(third, second, first)} - {None}
    return readings.pop() if len(readings) == 1 else None


def _written_out(value: str) -> date | None:
    for notation in ("%d %B %Y", "%B %d, %Y", "%d %b %Y", "%b %d, %Y"):
        try:
            return datetime.strptime(value, notation).date()  # noqa: DTZ007 - a calendar day has no zone
        except ValueError:
            continue
    return None


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _as_number(value: str, field: RefusedField) -> Iterator[str]:
    if field.kind not in _NUMBERS and "number" not in field.message.casefold():
        return
    if ungroup_number(value) != value:
        yield ungroup_number(value)
    whole = _WHOLE.fullmatch(value)
    if whole is not None:
        yield whole[1]
