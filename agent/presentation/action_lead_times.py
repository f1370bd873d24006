"""Learns how long actions take to become visible, so that they start early enough to coincide with a spoken
word.

The values are learned during the presentation, per kind of action: machines and pages differ.
"""

from __future__ import annotations

LONGEST_S = 0.6
"""Longer observations are ignored: something delayed the action that will not delay the next one."""
FIRST_GUESS_S = 0.06
NEWEST = 0.4
"""Weight of the newest observation in the moving average."""
PRESS_S, KEY_S = 0.06, 0.2
"""At most this part of an action's own duration counts as lead time. A click shows its effect early and then
waits for the page; typing shows its first key after the field was cleared.
"""


class ActionLeadTimes:
    """Moving average of the lead time per kind of action."""

    def __init__(self) -> None:
        self._leads: dict[str, float] = {}

    def __getitem__(self, kind: str) -> float:
        """Return the seconds from the decision to act until the effect is visible."""
        return self._leads.get(kind, FIRST_GUESS_S)

    def note(self, kind: str, before_s: float, took_s: float, *, typing: bool) -> None:
        """Add an observation: the action started `before_s` seconds after its release and took `took_s`
        seconds, without the time for typing characters.
        """
        own = min(max(0.0, took_s) / 2, KEY_S if typing else PRESS_S)
        seen = min(LONGEST_S, max(0.0, before_s) + own)
        self._leads[kind] = (1 - NEWEST) * self[kind] + NEWEST * seen
