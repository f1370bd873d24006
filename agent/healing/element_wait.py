"""How long the attempts at one step may wait for its element, all alternatives and replans together."""

from __future__ import annotations

from dataclasses import dataclass

from agent import retry_limits

FIRST_SHARE = 0.5
"""Share of the time that one pass of the gate may take; the rest is left for other ways to the element."""
GLANCE_S = 0.3
"""What is left of a time that is used up: enough to see an element that is there."""


@dataclass(slots=True)
class ElementWait:
    """The time of one step, in seconds."""

    limit_s: float = retry_limits.STEP_TIMEOUT_S
    spent_s: float = 0.0

    def begin(self, limit_s: float) -> None:
        """Another step begins."""
        self.limit_s, self.spent_s = limit_s, 0.0

    def restart(self) -> None:
        """The same step begins for another item of a loop."""
        self.spent_s = 0.0

    @property
    def gate_s(self) -> float:
        """The time of the next pass of the gate."""
        return max(GLANCE_S, min(self.limit_s * FIRST_SHARE, self.limit_s - self.spent_s))

    def note(self, waited_s: float) -> None:
        """A pass of the gate failed after so long."""
        self.spent_s += waited_s
