"""Checks whether a field would accept a value, by the field's `validation` (KS 4.1), before anything is
typed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from kb_schema.screens import FieldValidation
from kb_schema.templates import as_text
from kb_schema.url_patterns import compile_pattern


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
