"""What an exploration knows so far, derived from its folder alone: so it can be resumed after any end.

Not here: what to try next (`frontier`), and the browser.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from agent.mapping.digesting import Digests, without_numbers
from agent.mapping.looking import is_anchor, leads_elsewhere
from agent.mapping.places import address_of, is_of_many, kind_of, parent_of, path_of_place, place_of
from kb_schema.mapping import MapLimits, Offer, Passage, SeenPage

SHARED = frozenset({"navigation", "banner", "contentinfo", "complementary", "menu", "menubar", "tablist"})
"""Landmarks whose controls are the same on many pages."""
STATES_PER_ADDRESS = 4
"""States of one address that are kept, for each page that is kept of a place."""

OfferKey = tuple[str, ...]


class Verdict(Enum):
    """What becomes of a page that was seen."""

    KNOWN = "known"
    KEEP = "keep"
    LIKE = "like"
    """As many of its kind are kept as are wanted."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """Of a page that was seen: known, to be kept, or like one that is kept."""

    verdict: Verdict
    page_id: str | None = None


class Book:
    """Pages and passages of one exploration, with what is asked of them at each step."""

    def __init__(
        self, limits: MapLimits, pages: Iterable[SeenPage] = (), passages: Iterable[Passage] = ()
    ) -> None:
        self.limits = limits
        self.pages: dict[str, SeenPage] = {}
        self.passages = 0
        self.tried: set[tuple[str, str]] = set()
        """Page and offer."""
        self.ways: set[tuple[str, str]] = set()
        """Path of a place, and the way out that was tried there."""
        self.tries: Counter[OfferKey] = Counter()
        self.vain: Counter[OfferKey] = Counter()
        """How often a control did nothing, wherever it stood."""
        self.usual: Counter[OfferKey] = Counter()
        """How often a link of one name to one place was tried, wherever it stood."""
        self.closed: set[tuple[str, str]] = set()
        """Page and offer: not to be tried any more, whatever is found later."""
        self.sticky: set[OfferKey] = set()
        """Controls whose effect the site remembers on all pages: used once, wherever they stand."""
        self.covered: set[str] = set()
        """Pages something lay over that was put away: what they offer, the page that came offers."""
        self.led: defaultdict[OfferKey, set[str]] = defaultdict(set)
        self.from_: defaultdict[str, list[Passage]] = defaultdict(list)
        """Passages to other pages by the control that was used, by the page they lead to."""
        self.more: Counter[str] = Counter()
        """How often another page like those that are kept was seen, by kind of address."""
        self._paths: set[str] = set()
        self._built: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._at: defaultdict[str, list[tuple[Digests, str]]] = defaultdict(list)
        self._addresses: defaultdict[str, dict[str, int]] = defaultdict(dict)
        self._alike: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        self._keys: dict[tuple[str, str], OfferKey] = {}
        self._under: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for page in pages:
            self.note_page(page)
        for passage in passages:
            self.note_passage(passage)

    def new_id(self) -> str:
        """For the next page."""
        return f"p{len(self.pages) + 1:04d}"

    def note_page(self, page: SeenPage) -> None:
        """A page that is kept, or what is newly known of one."""
        known = page.page_id in self.pages
        self.pages[page.page_id] = page
        if known:
            return
        address, digests = address_of(page.url), Digests.of(page.state)
        self._paths.add(path_of_place(page.url))
        self._at[address].append((digests, page.page_id))
        states = self._addresses[place_of(page.url)]
        states[address] = states.get(address, 0) + 1
        self._alike[path_of_place(page.url), digests.shape].append(page.page_id)
        self._built[path_of_place(page.url)][digests.bones] += 1
        self._under[parent_of(page.url)][digests.bones] += 1

    def note_passage(self, passage: Passage) -> None:
        """Something that was tried."""
        self.passages += 1
        page = self.pages.get(passage.from_page)
        if page is None:
            return
        if passage.offer_id is None:
            self.ways.add((path_of_place(page.url), passage.way))
            return
        self.tried.add((passage.from_page, passage.offer_id))
        offer = next((each for each in page.offers if each.offer_id == passage.offer_id), None)
        if offer is None:
            return
        key = self.key_of(page, offer)
        self.tries[key] += 1
        if offer.href and not offer.in_row:
            self.usual[_led_by(offer)] += 1
        if passage.outcome in ("stayed", "refused", "vanished"):
            self.vain[_anywhere(offer)] += 1
        if passage.to_page is not None and passage.to_page != passage.from_page:
            self.led[key].add(passage.to_page)
            if passage.outcome == "arrived" and not offer.allowed_by:  # what changes something is done once
                self.from_[passage.to_page].append(passage)

    def judge(self, url: str, state: str) -> Judgement:
        """Whether a page is known, is to be kept, or like one that is."""
        address, digests = address_of(url), Digests.of(state)
        known = self._known(url, digests)
        if known is not None:
            return Judgement(Verdict.KNOWN, known)
        alike = self._alike[path_of_place(url), digests.shape]
        states = self._addresses[place_of(url)]
        most = self.limits.pages_per_place
        full = (
            states.get(address, 0) >= most * STATES_PER_ADDRESS if address in states else len(states) >= most
        )
        if len(alike) >= most or full:
            return Judgement(Verdict.LIKE, alike[0] if alike else None)
        return Judgement(Verdict.KEEP)

    def _known(self, url: str, digests: Digests) -> str | None:
        there = self._at.get(address_of(url), [])
        same = (page_id for each, page_id in there if each == digests)
        like = (page_id for each, page_id in there if each.like(digests))
        of_one = is_of_many(url)  # its headings are its content
        bones = (page_id for each, page_id in there if of_one and each.bones == digests.bones)
        return next(same, None) or next(like, None) or next(bones, None)

    def full(self, url: str) -> bool:
        """Whether another address of its place would not be kept."""
        states = self._addresses[place_of(url)]
        return address_of(url) not in states and len(states) >= self.limits.pages_per_place

    def seen_path(self, url: str) -> bool:
        """Whether a page of its path is kept, whatever its query."""
        return path_of_place(url) in self._paths

    def seen_place(self, url: str) -> bool:
        """Whether a page of the place is kept."""
        return bool(self._addresses.get(place_of(url)))

    def seen_address(self, url: str) -> bool:
        """Whether a page of the address is kept."""
        return address_of(url) in self._addresses.get(place_of(url), ())

    def note_sticky(self, offer: Offer) -> None:
        """The site remembers what the control did."""
        self.sticky.add(_anywhere(offer))

    def in_vain(self, offer: Offer, most: int) -> bool:
        """Whether using it, here or on other pages, is known to lead nowhere."""
        key = _anywhere(offer)
        return key in self.sticky or self.vain[key] >= most

    def is_usual(self, offer: Offer, most: int) -> bool:
        """Whether it is one of the links that stand on every page, as far as is known."""
        return self.usual[_led_by(offer)] >= most

    def alike_on(self, url: str) -> int:
        """How many pages of its path are kept that are all built alike, whatever their queries."""
        return max(self._built[path_of_place(url)].values(), default=0)

    def note_more(self, url: str) -> None:
        """Another page like those that are kept was seen at an address."""
        self.more[kind_of(url)] += 1

    def alike_under(self, url: str) -> int:
        """How many pages beside an address are kept that are all built alike."""
        return max(self._under[parent_of(url)].values(), default=0)

    def key_of(self, page: SeenPage, offer: Offer) -> OfferKey:
        """Offers with the same key are the same control, on this page and on others."""
        known = self._keys.get((page.page_id, offer.offer_id))
        if known is None:
            known = self._keys[page.page_id, offer.offer_id] = _key(page, offer)
        return known


def _anywhere(offer: Offer) -> OfferKey:
    return (offer.role, offer.region.partition(":")[0], without_numbers(offer.name))


def _led_by(offer: Offer) -> OfferKey:
    return (
        offer.role,
        offer.region.partition(":")[0],
        without_numbers(offer.name),
        place_of(offer.href or ""),
    )


def _key(page: SeenPage, offer: Offer) -> OfferKey:
    landmark = offer.region.partition(":")[0]
    scope = "" if landmark in SHARED else path_of_place(page.url)
    name = "" if offer.in_row else without_numbers(offer.name)
    if is_anchor(offer, page.url):
        return ("anchor", name, (offer.href or "").partition("#")[2])
    if leads_elsewhere(offer, page.url) and offer.href:
        return ("link", scope, landmark, name, place_of(offer.href))
    return ("control", scope, offer.region, offer.role, name)
