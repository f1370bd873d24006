"""Finds sign-in conditions: what nearly all signed-in pages show, and no other page."""

from __future__ import annotations

from collections.abc import Sequence

from kb_schema.conditions import Condition
from loaders.exploration_import.explored_pages import ExploredPage
from web_pages.indicator_candidates import PageProfileIndex

NEARLY_ALL = 0.8
"""The share of signed-in pages."""


def authenticated_when(looks: Sequence[ExploredPage]) -> tuple[Condition, ...]:
    """Return the conditions; empty if only one kind of page was seen, or nothing distinguishes them."""
    usual = [look for look in looks if (look.page.status or 200) < 400]
    inside = [at for at, look in enumerate(usual) if look.page.signed_in]
    outside = [at for at, look in enumerate(usual) if not look.page.signed_in]
    if not inside or not outside:
        return ()
    book = PageProfileIndex([look.observed.profile for look in usual])
    public = {usual[at].observed.path for at in outside}
    asking = [at for at in inside if usual[at].observed.path not in public]
    # A public page may show nothing of who is signed in.
    found = _separate(book, inside, outside) or (_separate(book, asking, outside) if asking else None)
    return () if found is None else (found,)


def _separate(book: PageProfileIndex, inside: Sequence[int], outside: Sequence[int]) -> Condition | None:
    # Popups and frames lack what every page has: one feature of nearly all is better than one for each of them.
    best = next((each for each in book.rank(inside, outside, limit=1) if not each.elsewhere), None)
    if best is None or best.holds < NEARLY_ALL * best.of:
        best = book.separator(inside, outside) or book.separator(inside, outside, least=NEARLY_ALL)
    return None if best is None else best.condition
