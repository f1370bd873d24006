"""How long the attempts at one step may wait for its element, all alternatives and replans together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent import retry_limits
from agent.locators.page_index import IndexedElement

FIRST_SHARE = 0.5
"""Share of the time left that one pass of the gate may take; the rest is left for other ways to the element."""
GLANCE_S = 0.3
"""What is left of a time that is used up: enough to see an element that is there."""


@dataclass(slots=True)
class ElementWait:
    """The time of one step, in seconds."""

    limit_s: float = retry_limits.STEP_TIMEOUT_S
    spent_s: float = 0.0
    searched: tuple[str, Sequence[IndexedElement]] | None = None
    """What was searched without success, and the elements of the page: another search of it would find nothing."""

    def begin(self, limit_s: float) -> None:
        """Another step begins."""
        self.limit_s = limit_s
        self.restart()

    def restart(self) -> None:
        """The same step begins for another item of a loop."""
        self.spent_s, self.searched = 0.0, None

    @property
    def gate_s(self) -> float:
        """The time of the next pass of the gate: a share of what is left."""
        return max(GLANCE_S, (self.limit_s - self.spent_s) * FIRST_SHARE)

    def note(self, waited_s: float) -> None:
        """A pass of the gate failed after so long."""
        self.spent_s += waited_s
