"""What lies over any page until it is put away, and the control that was seen to do so."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from kb_schema.calls import ActionCall
from kb_schema.conditions import ElementVisible
from kb_schema.mapping import Offer, Passage
from kb_schema.websites import Overlay
from loaders.cartography.looks import Look
from loaders.cartography.wording import free, words_of

LEAST_SCREENS = 2
"""What lies over one screen only is a part of it."""
_OVER = frozenset({"region", "dialog", "alertdialog"})


def overlays_of(
    looks: Sequence[Look], passages: Sequence[Passage], screen_of: Mapping[str, str]
) -> list[Overlay]:
    """Regions of several screens that were gone, on the same address, once a control of theirs was used."""
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


def _used(before: Look | None, passage: Passage) -> Offer | None:
    """The control of an overlay that was used, where it was one."""
    offers = () if before is None or passage.way != "offer" else before.page.offers
    offer = next((each for each in offers if each.offer_id == passage.offer_id), None)
    over = offer is not None and offer.region.split(":")[0] in _OVER
    return offer if over and offer is not None and offer.selector is not None and offer.href is None else None


def _gone(region: str, before: Look, after: Look) -> bool:
    """Whether the page is the same but for the region."""
    own, other = urlsplit(before.page.url), urlsplit(after.page.url)
    return (own.path, own.query) == (other.path, other.query) and region not in _regions(after)


def _regions(look: Look) -> set[str]:
    return {offer.region for offer in look.page.offers if offer.region.split(":")[0] in _OVER}


def _overlay(offer: Offer, taken: set[str]) -> Overlay:
    kind, _, name = offer.region.partition(":")
    return Overlay(
        overlay_id=free(words_of(name) or kind, taken),
        present_when=ElementVisible.model_validate({"type": "element_visible", "element": offer.selector}),
        dismiss=ActionCall.model_validate({"action_type": "click", "target": offer.selector}),
    )
