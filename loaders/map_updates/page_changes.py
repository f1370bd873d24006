"""Compares two records of one page, control by control: renamed, gone, new, other options.

Controls that are the same have the same ids in both (`agent.exploration.pages.matching_offers`). What rows repeat, and
links to one of many things, are contents of the site and no change of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from kb_schema.explorations import ExplorationPage, Offer
from kb_schema.selectors import Selector
from kb_schema.url_patterns import path_of
from loaders.screen_learner.url_patterns import is_open, place
from web_pages.accessible_names import role_of
from web_pages.element_tree import Element
from web_pages.page_texts import text_of
from web_pages.stored_pages import StoredPage
from web_pages.visibility import visible

ControlChangeKind = Literal[
    "new", "gone", "not_found", "renamed", "options", "required", "optional", "selector"
]
MOST_WORDS = 0.5
"""The share of a region's words from which it is there again: else it may not have been loaded."""
_NUMBERS = re.compile(r"\d+(?:[.,:/\-\s]*\d+)*")


@dataclass(frozen=True, slots=True)
class SeenPage:
    """A page as it was seen at one time."""

    page: ExplorationPage
    stored: StoredPage

    def find(self, selector: Selector | None) -> Element | None:
        """Return the element to which a selector leads, or None."""
        return None if selector is None else self.stored.resolve(selector).element


@dataclass(frozen=True, slots=True)
class ControlChange:
    """A change of one control of a page. `before` or `after` is None if it was or is not there.

    `selector`: it is there, but the element's selector does not find it.
    """

    kind: ControlChangeKind
    before: Offer | None
    after: Offer | None
    added: tuple[str, ...] = ()
    """Options that are new."""
    removed: tuple[str, ...] = ()
    """Options that are gone."""

    @property
    def name(self) -> str:
        """The name of the control now; of one that is gone, what it was."""
        offer = self.after or self.before
        return name_of(offer) if offer is not None else ""


def name_of(offer: Offer) -> str:
    """Return the name of a control for people: its label, accessible name, or what it is."""
    said = " ".join((offer.label or offer.name).split()).rstrip(" :*")
    sent = offer.fingerprint.attributes.get("name", "") if offer.fingerprint is not None else ""
    return said or sent or offer.role or offer.tag


def compare_pages(before: SeenPage, after: SeenPage) -> Iterator[ControlChange]:
    """Yield what changed of a page's controls, in the order of the page.

    A control is gone if others of its form or region are there without it; else it was not found.
    """
    now = {offer.offer_id: offer for offer in after.page.offers}
    known = {offer.offer_id for offer in before.page.offers}
    for offer in before.page.offers:
        shown = now.get(offer.offer_id)
        if shown is not None:
            yield from _compare_controls(offer, shown)
        elif not _is_content(offer) and not _is_shown(after, offer):
            there = not after.page.left_out and _has_place_of(before, after, offer, known)
            yield ControlChange("gone" if there else "not_found", offer, None)
    for offer in after.page.offers:
        if offer.offer_id not in known and not _is_content(offer) and not _is_shown(before, offer):
            yield ControlChange("new", None, offer)


def _compare_controls(before: Offer, after: Offer) -> Iterator[ControlChange]:
    if _is_content(before) or _is_content(after):
        return
    if _are_other_words(name_of(before), name_of(after)):
        yield ControlChange("renamed", before, after)
    was, now = _options(before), _options(after)
    added, removed = (
        tuple(each for each in now if each not in was),
        tuple(each for each in was if each not in now),
    )
    if was and now and (added or removed):
        yield ControlChange("options", before, after, added, removed)
    if before.required != after.required and before.action_type != "click":
        yield ControlChange("required" if after.required else "optional", before, after)


def _options(offer: Offer) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(each.label or each.value for each in offer.options if each.label or each.value)
    )


def _are_other_words(before: str, after: str) -> bool:
    """Return whether two names differ in more than data: a count, or how long ago something was.

    >>> _are_other_words("Save", "Store"), _are_other_words("8 seconds ago", "6 minutes ago")
    (True, False)
    """
    numbers = _NUMBERS.findall(before), _NUMBERS.findall(after)
    return before.casefold() != after.casefold() and (numbers[0] == numbers[1] or not all(numbers))


def _is_content(offer: Offer) -> bool:
    """Return whether it is data: in a row, or a link to one of many things."""
    return offer.in_row or (offer.href is not None and is_open(place(path_of(offer.href))))


def _is_shown(page: SeenPage, offer: Offer) -> bool:
    """Return whether the page has a control although its record has none: a page has at most sixty in it."""
    found = page.find(offer.selector)
    return found is not None and visible(found)


def _has_place_of(before: SeenPage, after: SeenPage, offer: Offer, known: set[str]) -> bool:
    """Return whether the place of a control is there without it.

    That is: other known controls of its form or its region are, or most words of its region.
    """
    others = [each for each in after.page.offers if each.offer_id in known]
    if any(each.form == offer.form and each.region == offer.region and not each.in_row for each in others):
        return True
    landmark = offer.region.partition(":")[0]
    own = Counter(name_of(offer).casefold().split())
    was, now = _words(before, landmark) - own, _words(after, landmark)
    return was.total() > 0 and (was & now).total() > MOST_WORDS * was.total()


def _words(page: SeenPage, landmark: str) -> Counter[str]:
    """Return the visible words of a landmark, or of the page."""
    if not landmark:
        return Counter(page.stored.text.casefold().split())
    parts = [each for root in page.stored.roots for each in root.elements if role_of(each) == landmark]
    return Counter(" ".join(text_of(each) for each in parts).casefold().split())
