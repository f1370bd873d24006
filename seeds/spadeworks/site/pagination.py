"""Splitting a list into numbered pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Page(Generic[T]):
    """One page of a list. Numbers start at 1."""

    items: Sequence[T]
    number: int
    last: int
    total: int
    first_shown: int

    @property
    def numbers(self) -> range:
        """Every page number."""
        return range(1, self.last + 1)


def last_page(total: int, size: int) -> int:
    """Return the number of the last page; an empty list has one page."""
    return max(1, -(-total // size))


def page_of(items: Sequence[T], wanted: str, size: int) -> Page[T]:
    """Return the page a ``?page=`` asks for; anything that is not a page becomes the nearest one."""
    last = last_page(len(items), size)
    asked = int(wanted) if wanted.isascii() and wanted.isdigit() and len(wanted) < 7 else 1
    number = min(max(asked, 1), last)
    start = (number - 1) * size
    shown = items[start : start + size]
    return Page(shown, number, last, len(items), start + 1 if shown else 0)
