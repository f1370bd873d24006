"""Checks whether a field would accept a value, by the field's `validation` (KS 4.1), before anything is
typed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kb_schema.screens import FieldValidation, Option
from kb_schema.templates import as_text
from kb_schema.url_patterns import compile_pattern

_OPTIONS_TOLD = 20
"""Options that a message lists."""


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """Why a field does not accept a value."""

    rule: str
    """The rule as the knowledge states it: `max_length: 100`."""
    fix: str
    """What to do."""


def find_violation(validation: FieldValidation, value: Any) -> FieldViolation | None:
    """Return the first rule that a value breaks; None if the field accepts it.

    >>> find_violation(FieldValidation(max_length=3), "four").fix
    'use at most 3 characters (it has 4)'
    >>> find_violation(FieldValidation(min=1, max=5), "5") is None
    True
    """
    text = as_text(value)
    length = len(text)
    if validation.min_length is not None and length < validation.min_length:
        rule = f"min_length: {validation.min_length}"
        return FieldViolation(rule, f"use at least {_characters(validation.min_length)} (it has {length})")
    if validation.max_length is not None and length > validation.max_length:
        rule = f"max_length: {validation.max_length}"
        return FieldViolation(rule, f"use at most {_characters(validation.max_length)} (it has {length})")
    if validation.pattern is not None and not compile_pattern(validation.pattern).search(text):
        return FieldViolation(
            f"pattern: {validation.pattern}", f"write it so that it matches {validation.pattern}"
        )
    if validation.min is None and validation.max is None:
        return None
    return _out_of_bounds(validation, text)


def find_option_violation(options: Sequence[Option], value: Any) -> FieldViolation | None:
    """Return that a value is none of a list's options; None if it is one by value or label, or is empty.

    Several values of a list with multiple choice are given as a list. Spaces and capital letters of labels do not
    count, as when the page's own list is asked.

    >>> find_option_violation((Option(value="en", label="English"), Option(value="hi")), "fr").fix
    'use one of: en (English), hi'
    >>> find_option_violation((Option(value="en", label="English"),), "english") is None
    True
    """
    if not options:
        return None
    values = {option.value for option in options}
    labels = {" ".join((option.label or option.value).split()).casefold() for option in options}
    for each in value if isinstance(value, list | tuple) else (value,):
        text = as_text(each)
        if text and text not in values and " ".join(text.split()).casefold() not in labels:
            told = [
                option.value + (f" ({option.label})" if option.label and option.label != option.value else "")
                for option in options
            ]
            more = f" and {len(told) - _OPTIONS_TOLD} more" if len(told) > _OPTIONS_TOLD else ""
            return FieldViolation("options", f"use one of: {', '.join(told[:_OPTIONS_TOLD])}{more}")
    return None


def _out_of_bounds(validation: FieldValidation, text: str) -> FieldViolation | None:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        bounds = {"min": validation.min, "max": validation.max}
        rule = ", ".join(f"{name}: {bound:g}" for name, bound in bounds.items() if bound is not None)
        return FieldViolation(rule, "give a number")
    if validation.min is not None and number < validation.min:
        return FieldViolation(f"min: {validation.min:g}", f"use {validation.min:g} or more")
    if validation.max is not None and number > validation.max:
        return FieldViolation(f"max: {validation.max:g}", f"use {validation.max:g} or less")
    return None


def _characters(count: int) -> str:
    return "1 character" if count == 1 else f"{count} characters"
