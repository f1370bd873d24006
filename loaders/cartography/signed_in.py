"""How to tell that one is signed in: by what all pages show that were seen so, and none of the others."""

from __future__ import annotations

from collections.abc import Sequence

from kb_schema.conditions import Condition
from kb_schema.pages.candidates import SketchBook
from loaders.cartography.looks import Look

NEARLY_ALL = 0.8
"""Of the pages that were seen signed in."""


def authenticated_when(looks: Sequence[Look]) -> tuple[Condition, ...]:
    """Nothing where only pages of one kind were seen, or nothing tells them apart."""
    usual = [look for look in looks if (look.page.status or 200) < 400]
    inside = [at for at, look in enumerate(usual) if look.page.signed_in]
    outside = [at for at, look in enumerate(usual) if not look.page.signed_in]
    if not inside or not outside:
        return ()
    book = SketchBook([look.observed.sketch for look in usual])
    # Popups and frames lack what every page has: one sign of nearly all says more than one for each of them.
    best = next((each for each in book.rank(inside, outside, limit=1) if not each.elsewhere), None)
    if best is None or best.holds < NEARLY_ALL * best.of:
        best = book.separator(inside, outside)
    return () if best is None else (best.condition,)
