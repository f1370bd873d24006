"""`ObservedPage`: a page as the screen learner uses it: its features, its address, and its run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from web_pages.page_profiles import PageProfile


@dataclass(frozen=True, slots=True)
class ObservedPage:
    """One observation of a page."""

    profile: PageProfile
    path: str
    """Below the site's base URL, with query and fragment."""
    run: str
    """The trace or session that contains it: pages of one run are not independent evidence."""
    screen: str | None = None
    """The screen that it is known to belong to."""
    step: int | None = None
    """Equal for pages on which different runs performed the same action."""
    layer: frozenset[str] = frozenset()
    """The signs of what lies on it, such as a dialog; empty if nothing does."""
    entries: frozenset[str] = frozenset()
    """The entries of menus that lead to it without another address, by name."""


def deduplicate_pages(pages: Iterable[ObservedPage], *, in_each_run: bool = False) -> list[ObservedPage]:
    """Return the pages without duplicates, in a stable order."""
    found: dict[object, ObservedPage] = {}
    for page in pages:
        run = page.run if in_each_run else ""
        key = (page.path, page.screen, page.profile.signs, page.profile.passing, page.profile.states, run)
        if key not in found or page.run < found[key].run:
            found[key] = page
    return sorted(found.values(), key=_order)


def _order(page: ObservedPage) -> tuple[str, str, int, list[str]]:
    shown = sorted(f"{sign.kind} {sign.where} {sign.text}" for sign in page.profile.signs)
    return page.path, page.run, len(shown), shown
