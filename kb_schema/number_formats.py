"""Numbers in the notations in which pages show them."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal
from typing import Literal

NumberFormat = Literal["1,234.50", "1234.50", "1,234", "1234"]
"""An example: with or without grouped thousands, with two decimals or those that the number has."""
NUMBER_FORMATS: tuple[NumberFormat, ...] = ("1,234.50", "1234.50", "1,234", "1234")

_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
LONGEST_COUNTER = 60
"""Characters of a text that shows a counter."""
_LONGEST = 30
"""Longer digit strings are no amounts."""


def format_numbers(text: str, number_format: NumberFormat) -> str:
    """Return a text with each of its numbers in a notation.

    >>> format_numbers("$2000", "1,234.50"), format_numbers("2,000.5", "1234"), format_numbers("Ann", "1,234")
    ('$2,000.00', '2000.5', 'Ann')
    """

    def write(match: re.Match[str]) -> str:
        plain = match[0].replace(",", "")
        if len(plain) > _LONGEST:
            return match[0]
        number = Decimal(plain)
        if number_format.endswith(".50"):
            number = number.quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)
        elif number == number.to_integral_value():
            number = number.to_integral_value()
        return f"{number:,f}" if "," in number_format else f"{number:f}"

    return _NUMBER.sub(write, text)


def read_only_number(text: str) -> int | None:
    """Return the whole number of a short text; None if it has none, or several.

    >>> [read_only_number(text) for text in ("Issues 1,204", "(13)", "3 of 7", "4.5 stars")]
    [1204, 13, None, None]
    """
    found = _NUMBER.findall(text) if len(text) <= LONGEST_COUNTER else []
    plain = found[0].replace(",", "") if len(found) == 1 else ""
    return int(plain) if plain.isdecimal() else None
