"""How long an action takes to be seen: begun that much before its word, it happens on the word.

Learned in the show itself, by kind of action: machines differ, and so do pages.
"""

from __future__ import annotations

LONGEST_S = 0.6
"""An action that took longer was held up by something that will not be there the next time."""
FIRST_GUESS_S = 0.06
NEWEST = 0.4
"""How much the newest observation counts."""
PRESS_S, KEY_S = 0.06, 0.2
"""Of an action's own time, at most so much comes before it is seen: a press soon, and what follows it takes
the longer; a first key after the field was emptied."""


class Leads:
    """What was observed, as a moving average for each kind of action."""

    def __init__(self) -> None:
        self._leads: dict[str, float] = {}

    def __getitem__(self, kind: str) -> float:
        """Seconds from the decision until something is seen."""
        return self._leads.get(kind, FIRST_GUESS_S)

    def note(self, kind: str, before_s: float, took_s: float, *, typing: bool) -> None:
        """An action of that kind was begun so long after it was let go, and took so long itself; what was
        typed in it is left out of that.
        """
        own = min(max(0.0, took_s) / 2, KEY_S if typing else PRESS_S)
        seen = min(LONGEST_S, max(0.0, before_s) + own)
        self._leads[kind] = (1 - NEWEST) * self[kind] + NEWEST * seen
