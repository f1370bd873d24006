"""A value that was told one way and typed or clicked another: dates, ordinals, capitals.

A form is one registered function; it gives nothing where a text has no such form.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime

Form = Callable[[str], str | None]
FORMS: dict[str, Form] = {}
"""What a form is called -> how a text is written in it."""

_DATES = ("%Y-%m-%d", "%m/%d/%Y", "%d.%m.%Y", "%B %d, %Y", "%d %B %Y", "%b %d, %Y", "%d %b %Y")
"""How dates are told. Slashes are read the American way, as `<input type=date>` shows them there."""
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)", re.IGNORECASE)
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def form(name: str) -> Callable[[Form], Form]:
    """Register a form under a name."""

    def register(function: Form) -> Form:
        FORMS[name] = function
        return function

    return register


def forms_of(text: str) -> dict[str, str]:
    """Every form that differs from the text itself.

    >>> forms_of("12/05/2016")["day"], forms_of("3rd")["number"]
    ('5', '3')
    """
    made = {name: function(text) for name, function in FORMS.items()}
    return {name: told for name, told in made.items() if told is not None and told != text}


@form("lower")
def _lower(text: str) -> str:
    return text.lower()


@form("upper")
def _upper(text: str) -> str:
    return text.upper()


@form("title")
def _title(text: str) -> str:
    return text[:1].upper() + text[1:].lower()


@form("number")
def _number(text: str) -> str | None:
    match = _ORDINAL.fullmatch(text)
    if match is not None:
        return match[1]
    said = text.casefold()
    return str(_ORDINALS.index(said) + 1) if said in _ORDINALS else None


def _dated(pattern: str) -> Form:
    def write(text: str) -> str | None:
        day = _day(text)
        return None if day is None else pattern.format(day=day, month=_MONTHS[day.month - 1])

    return write


_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December")  # fmt: skip
for _name, _pattern in {
    "iso": "{day:%Y-%m-%d}",
    "american": "{day:%m/%d/%Y}",
    "german": "{day:%d.%m.%Y}",
    "day": "{day.day}",
    "day_of_two_digits": "{day:%d}",
    "month": "{day.month}",
    "month_of_two_digits": "{day:%m}",
    "month_name": "{month}",
    "month_short": "{month:.3}",
    "month_and_year": "{month} {day.year}",
    "year": "{day.year}",
}.items():
    FORMS[_name] = _dated(_pattern)


def _day(text: str) -> date | None:
    for pattern in _DATES:
        try:
            return datetime.strptime(text, pattern).date()  # noqa: DTZ007 - a day has no time zone
        except ValueError:
            continue
    return None
