"""Sets of pages as the bits of one number: bit n stands for page n."""

from __future__ import annotations

from collections.abc import Iterable


def page_mask(numbers: Iterable[int]) -> int:
    """Return the number whose bits are these page numbers."""
    mask = 0
    for number in numbers:
        mask |= 1 << number
    return mask


def page_numbers(mask: int) -> list[int]:
    """Return the page numbers of a mask, lowest first."""
    numbers: list[int] = []
    while mask:
        low = mask & -mask
        numbers.append(low.bit_length() - 1)
        mask ^= low
    return numbers
