"""Tells which controls a search has found: those of one make with different names are each another thing, as in rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from kb_schema.explorations import Offer


def mark_hits(offers: Sequence[Offer]) -> tuple[Offer, ...]:
    """Return the controls that appeared while something was typed, those that it found as in rows."""
    alike: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for each in offers:
        alike[_make_of(each)].add(each.name)
    return tuple(
        each.model_copy(update={"in_row": True})
        if each.action_type == "click" and each.name and len(alike[_make_of(each)]) > 1
        else each
        for each in offers
    )


def _make_of(offer: Offer) -> tuple[str, ...]:
    return offer.action_type, offer.tag, offer.role, offer.first_class
