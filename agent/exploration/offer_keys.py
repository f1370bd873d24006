"""Keys that are equal for controls which are the same, or of one kind, on several pages."""

from __future__ import annotations

import hashlib
from functools import lru_cache

from agent.exploration.pages.page_addresses import build_place, build_place_path
from agent.exploration.pages.page_digests import mask_numbers
from kb_schema.explorations import SHARED, ExplorationPage, Offer

OfferKey = tuple[str, ...]


def kind_of(page: ExplorationPage, offer: Offer) -> OfferKey:
    """Return a key that is equal for controls of one make at one place: the entries of a menu, the buttons of a bar."""
    return (build_place_path(page.url), page.layer, offer.region, offer.tag, offer.role, offer.first_class)


def kind_of_link(page: ExplorationPage, offer: Offer) -> OfferKey:
    """Return a key that is equal for links of one make at one place, or in the same menu on any page."""
    place, *make = kind_of(page, offer)
    return ("" if offer.region.partition(":")[0] in SHARED else place, *make)


def name_anywhere(offer: Offer) -> OfferKey:
    """Return a key that is equal for controls of one name and role, in the contents of all pages or in all menus of a kind."""
    return (offer.role, offer.region.partition(":")[0], mask_numbers(offer.name))


def name_at_spot(offer: Offer) -> OfferKey:
    """Return a key that is equal for controls of one name and role at one spot of the document, on all pages."""
    known = offer.fingerprint
    spot = () if known is None else (*known.region, known.xpath or "")
    return (offer.role, offer.region, mask_numbers(offer.name), offer.tag, offer.first_class, *spot)


def name_link(offer: Offer) -> OfferKey:
    """Return a key that is equal for links of one name to one place, on all pages."""
    return (
        offer.role,
        offer.region.partition(":")[0],
        mask_numbers(offer.name),
        build_place(offer.href or ""),
    )


@lru_cache(maxsize=1_000)
def _digest_of(names: frozenset[str]) -> str:
    return hashlib.sha256("\n".join(sorted(names)).encode("utf-8", "replace")).hexdigest()[:12]


def contents_of(page: ExplorationPage) -> str:
    """Return what lies on a page, by its controls: the same dialog on other pages is the same."""
    names = (
        f"{each.role} {mask_numbers(each.label or each.name)}" for each in page.offers if not each.in_row
    )
    return _digest_of(frozenset((page.layer, *names)))
