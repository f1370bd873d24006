"""Finds the numbers that changed since a reader last read: writers take tickets, readers keep marks.

Every change of a website's numbers has a *ticket*, an increasing number. A store that runs one write
transaction at a time takes it inside the transaction. In the others a writer takes it first, writes under it,
and returns it. While a ticket is out, its changes may still become visible; readers therefore read only below
it, and continue there the next time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

TICKET_SECONDS = 120.0
"""The seconds after which a ticket that was not returned belongs to a dead writer: no transaction lives
longer.
"""


@dataclass(frozen=True, slots=True)
class ChangeCursor:
    """How far a reader has read."""

    settled: int
    """Every change with this ticket or a lower one was visible."""
    forgotten: int
    """How often numbers were deleted: deleted numbers have no ticket."""
    day: int
    """The day of the reading: decay counts in days, so on the next day every number differs."""

    def __str__(self) -> str:
        return f"{self.settled}.{self.forgotten}@{self.day}"

    def since(self, earlier: str | None) -> int | None:
        """Return the ticket after which to read for a reader at `earlier`; None: everything."""
        known = _parse_cursor(earlier)
        if known is None or (known.forgotten, known.day) != (self.forgotten, self.day):
            return None
        return known.settled if known.settled <= self.settled else None


def find_settled_ticket(drawn: int, out: Iterable[int]) -> int:
    """Return the last ticket below those that are out; without any, the last one taken."""
    return min((ticket - 1 for ticket in out), default=drawn)


def _parse_cursor(text: str | None) -> ChangeCursor | None:
    ticket, _, rest = (text or "").partition(".")
    forgotten, _, day = rest.partition("@")
    try:
        return ChangeCursor(int(ticket), int(forgotten), int(day))
    except ValueError:
        return None
