"""How long the bench waits, and for what. Nothing here is a pause: every wait ends with what it waits for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BenchPolicy:
    """Bounds of one page under verification, in seconds unless the name says otherwise."""

    find_s: float = 5.0
    """How long an element may take to appear after what the step before it did (KS 4.7's 5 s)."""
    gate_s: float = 5.0
    """The gate's time for an action (PACTS 6; the page layer's own)."""
    rest_s: float = 0.4
    """A page that rested so long, with nothing under way, is the one to look for the element on: what is
    surely elsewhere on it is healed at once, instead of after the gate's whole time."""
    outcome_s: float = 5.0
    """How long an expected outcome may take to hold (Playwright's `expect` takes as long)."""
    max_heal_rounds: int = 3
    """`PERIPLUS_MAX_HEAL_ROUNDS` (PACTS 4.5); 0 heals nothing."""
    healed_gate_s: float = 1.0
    """The gate's time for what was found again, and as much more every round (PACTS: base + 1 s a round)."""
    heal_s: float = 60.0
    """All healing of one step (PACTS 12's timeout of healing)."""
    same_page_s: float = 1.0
    """A page that was there before the action already may be the one that is expected; another one that
    says so is waited for so long."""
    late_s: float = 1.5
    """The second look, after giving up, whether it came after all."""
    late_pending_s: float = 15.0
    """The same where the site has not answered yet: as long as its answer takes, at most this."""
    tab_s: float = 5.0
    """How long a tab that is to open may take to have a document."""
    download_s: float = 30.0
    """How long a download may take to begin."""
    reach_s: float = 2.0
    """How long a site that did not answer may take to show that it is there at all."""
    key_delay_s: float = 0.01
    """Between two keys of PACTS's `type`: real keys, one by one, not a person's pace."""
    most_nearest: int = 5
    """Names that are offered where one was not found."""
