"""Keys that are equal for controls which are the same, or of one kind, on several pages."""

from __future__ import annotations

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


def name_link(offer: Offer) -> OfferKey:
    """Return a key that is equal for links of one name to one place, on all pages."""
    return (
        offer.role,
        offer.region.partition(":")[0],
        mask_numbers(offer.name),
        build_place(offer.href or ""),
    )
