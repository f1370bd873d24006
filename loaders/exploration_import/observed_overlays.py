"""Finds overlays that cover pages until they are closed, and the control that closed them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from kb_schema.action_calls import ActionCall
from kb_schema.conditions import ElementVisible
from kb_schema.explorations import AttemptedTransition, Offer
from kb_schema.websites import Overlay
from loaders.exploration_import.explored_pages import ExploredPage
from loaders.exploration_import.readable_ids import make_unique_id, to_id_words

LEAST_SCREENS = 2
"""The least number of screens: an overlay on one screen only is a part of it."""
_OVER = frozenset({"region", "dialog", "alertdialog"})


def overlays_of(
    looks: Sequence[ExploredPage], passages: Sequence[AttemptedTransition], screen_of: Mapping[str, str]
) -> list[Overlay]:
    """Return regions of several screens that disappeared, on the same address, after one of their controls
    was used.
    """
    by_id = {look.page_id: look for look in looks}
    on: dict[str, set[str]] = defaultdict(set)
    for look in looks:
        for region in _regions(look):
            on[region].add(screen_of.get(look.page_id, look.page_id))
    found: dict[str, Overlay] = {}
    for passage in passages:
        before, after = by_id.get(passage.from_page), by_id.get(passage.to_page or "")
        offer = _used(before, passage)
        if before is None or after is None or offer is None or offer.region in found:
            continue
        if len(on[offer.region]) >= LEAST_SCREENS and _gone(offer.region, before, after):
            taken = {each.overlay_id for each in found.values()}
            found[offer.region] = _overlay(offer, taken)
    return list(found.values())


def _used(before: ExploredPage | None, passage: AttemptedTransition) -> Offer | None:
    """Return the control of an overlay that was used, if it was one."""
    offers = () if before is None or passage.way != "offer" else before.page.offers
    offer = next((each for each in offers if each.offer_id == passage.offer_id), None)
    over = offer is not None and offer.region.split(":")[0] in _OVER
    return offer if over and offer is not None and offer.selector is not None and offer.href is None else None


def _gone(region: str, before: ExploredPage, after: ExploredPage) -> bool:
    """Return whether the pages are equal except for the region."""
    own, other = urlsplit(before.page.url), urlsplit(after.page.url)
    return (own.path, own.query) == (other.path, other.query) and region not in _regions(after)


def _regions(look: ExploredPage) -> set[str]:
    return {offer.region for offer in look.page.offers if offer.region.split(":")[0] in _OVER}


def _overlay(offer: Offer, taken: set[str]) -> Overlay:
    kind, _, name = offer.region.partition(":")
    return Overlay(
        overlay_id=make_unique_id(to_id_words(name) or kind, taken),
        present_when=ElementVisible.model_validate({"type": "element_visible", "element": offer.selector}),
        dismiss=ActionCall.model_validate({"action_type": "click", "target": offer.selector}),
    )
