"""How to tell that one is signed in: by what all pages show that were seen so, and none of the others."""

from __future__ import annotations

from collections.abc import Sequence

from kb_schema.conditions import Condition
from kb_schema.pages.candidates import SketchBook
from loaders.cartography.looks import Look


def authenticated_when(looks: Sequence[Look]) -> tuple[Condition, ...]:
    """Nothing where only pages of one kind were seen, or nothing tells them apart."""
    usual = [look for look in looks if (look.page.status or 200) < 400]
    inside = [at for at, look in enumerate(usual) if look.page.signed_in]
    outside = [at for at, look in enumerate(usual) if not look.page.signed_in]
    if not inside or not outside:
        return ()
    best = SketchBook([look.observed.sketch for look in usual]).separator(inside, outside)
    return () if best is None else (best.condition,)
