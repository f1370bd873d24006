"""A page as the learner of signatures takes it: what it shows, where it was, and in which run."""

from __future__ import annotations

from dataclasses import dataclass

from kb_schema.pages.sketch import Sketch


@dataclass(frozen=True, slots=True)
class ObservedPage:
    """One look at one page."""

    sketch: Sketch
    path: str
    """Below the site's base URL, with query and fragment."""
    run: str
    """What it was seen in, a trace or a session: pages of one run are no evidence for each other."""
    screen: str | None = None
    """The screen it is known to be of."""
    step: int | None = None
    """The same for pages on which different runs did the same."""
