"""A page as the learner of signatures takes it: what it shows, where it was, and in which run."""

from __future__ import annotations

from collections.abc import Iterable
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


def once_each(pages: Iterable[ObservedPage], *, in_each_run: bool = False) -> list[ObservedPage]:
    """The same pages without those that say what another one says, in an order that is always the same."""
    found: dict[object, ObservedPage] = {}
    for page in pages:
        run = page.run if in_each_run else ""
        key = (page.path, page.screen, page.sketch.signs, page.sketch.passing, run)
        if key not in found or page.run < found[key].run:
            found[key] = page
    return sorted(found.values(), key=_order)


def _order(page: ObservedPage) -> tuple[str, str, int, list[str]]:
    shown = sorted(f"{sign.kind} {sign.where} {sign.text}" for sign in page.sketch.signs)
    return page.path, page.run, len(shown), shown
