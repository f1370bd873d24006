"""Which numbers changed since somebody last looked: tickets that writers draw, marks that readers keep.

Every change of a website's numbers bears a *ticket*, a number that grows. A store that writes one
transaction after the other draws it in there. The others let a writer draw it first, write under it,
and hand it back: as long as a ticket is out, what bears it may still become visible, so readers
settle for the tickets below it and read from there again the next time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

TICKET_SECONDS = 120.0
"""After so long, a ticket that was not handed back belonged to a writer that died: no transaction of
any store lives longer."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Up to where somebody has read."""

    settled: int
    """Every change with this ticket or a lower one was visible."""
    forgotten: int
    """How often something was forgotten: numbers that are gone bear no ticket."""
    day: int
    """Decay counts in days: after another one ended every number is different."""

    def __str__(self) -> str:
        return f"{self.settled}.{self.forgotten}@{self.day}"

    def since(self, earlier: str | None) -> int | None:
        """The ticket after which to read for whoever has read up to `earlier`; None: everything."""
        known = _parsed(earlier)
        if known is None or (known.forgotten, known.day) != (self.forgotten, self.day):
            return None
        return known.settled if known.settled <= self.settled else None


def settled(drawn: int, out: Iterable[int]) -> int:
    """The last ticket below those that are out; the last one drawn where none is."""
    return min((ticket - 1 for ticket in out), default=drawn)


def _parsed(text: str | None) -> Mark | None:
    ticket, _, rest = (text or "").partition(".")
    forgotten, _, day = rest.partition("@")
    try:
        return Mark(int(ticket), int(forgotten), int(day))
    except ValueError:
        return None
