"""The state of an exploration, derived from its folder alone, so that it can be resumed at any time.

`frontier` decides what to try next.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from agent.exploration.followed_controls import FollowedControls
from agent.exploration.offer_keys import OfferKey, contents_of, kind_of, name_anywhere
from agent.exploration.pages.page_addresses import (
    build_address_kind,
    build_parent_path,
    build_place,
    build_place_path,
    names_one_of_many,
    normalize_address,
)
from agent.exploration.pages.page_digests import PageDigests, mask_numbers
from agent.exploration.pages.page_observation import is_anchor, leads_to_other_address
from agent.exploration.tried_exits import TriedExits
from kb_schema.explorations import FAMILY, SHARED, AttemptedTransition, ExplorationPage, MapLimits, Offer
from kb_schema.url_patterns import find_site_root, origin_of, path_of

BEGINNING = 3
"""Letters that are typed of a word, to see what a search finds."""
COMMONEST_LETTER = "a"
_WORD = re.compile(rf"[^\W\d_]{{{BEGINNING},}}")
STATES_PER_ADDRESS = 4
"""Number of states that are kept per address, for each page kept of a place."""


class PageNovelty(Enum):
    """Whether an observed page is known, new, or one too many of its kind."""

    KNOWN = "known"
    KEEP = "keep"
    LIKE = "like"
    """Enough pages of its kind are kept."""


@dataclass(frozen=True, slots=True)
class PageNoveltyResult:
    """The judgement of an observed page, with the known page that it is or resembles."""

    verdict: PageNovelty
    page_id: str | None = None


class ExplorationState:
    """Pages and attempted transitions of one exploration, with indexes for the queries of each step."""

    repeats: bool = True
    """Whether links to places of which a page is kept are tried, too."""
    _known_root: str | None = None

    def __init__(
        self,
        limits: MapLimits,
        pages: Iterable[ExplorationPage] = (),
        passages: Iterable[AttemptedTransition] = (),
    ) -> None:
        self.limits = limits
        self.pages: dict[str, ExplorationPage] = {}
        self._highest = 0
        """The highest number of a page, those that are gone included."""
        self.passages = 0
        self.tried: set[tuple[str, str]] = set()
        """Pairs of page id and offer id."""
        self.exits = TriedExits()
        self.tries: Counter[OfferKey] = Counter()
        self.vain: Counter[OfferKey] = Counter()
        """How often a control had no effect, on any page."""
        self.closed: set[tuple[str, str]] = set()
        """Pairs of page id and offer id that will not be tried, whatever is found later."""
        self.sticky: set[OfferKey] = set()
        """Controls whose effect the website keeps on all pages: used only once."""
        self.confirmations = False
        """Whether controls that may ask before they change something are pressed where nothing can be sent."""
        self._asked: set[str] = set()
        """Pages to which such a control led."""
        self._asking: set[OfferKey] = set()
        """Kinds of such controls that were pressed."""
        self.covered: set[str] = set()
        """Pages whose controls another page has: their overlay was dismissed, or their route shows the start."""
        self.led: defaultdict[OfferKey, set[str]] = defaultdict(set)
        self.from_: defaultdict[str, list[AttemptedTransition]] = defaultdict(list)
        """Transitions to other pages by control and destination page."""
        self.fruitless: Counter[OfferKey] = Counter()
        """How many controls of a kind led to no new page since one did."""
        self.chosen: Counter[OfferKey] = Counter()
        """How many options of a kind were chosen that led to no other address."""
        self.followed = FollowedControls()
        self._reached: set[str] = set()
        """Pages to which a control led."""
        self.more: Counter[str] = Counter()
        """Number of further pages that resemble kept pages, by kind of address."""
        self._paths: set[str] = set()
        self._built: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._at: defaultdict[str, list[tuple[PageDigests, str]]] = defaultdict(list)
        self._addresses: defaultdict[str, dict[str, int]] = defaultdict(dict)
        self._layers: Counter[str] = Counter()
        """Number of kept dialogs and menus, by the page on which they lie."""
        self._alike: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        self._keys: dict[tuple[str, str], OfferKey] = {}
        self._under: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._listed: defaultdict[OfferKey, Counter[str]] = defaultdict(Counter)
        """Structures of the kept pages to which a list led."""
        self._linked: defaultdict[str, set[str]] = defaultdict(set)
        """Places of the links outside of menus, by parent path."""
        for page in pages:
            self.note_page(page)
        for passage in passages:
            self.note_passage(passage)

    def new_id(self) -> str:
        """Return the id for the next page."""
        return f"p{self._highest + 1:04d}"

    def note_page(self, page: ExplorationPage) -> None:
        """Add or update a kept page."""
        known = self.pages.get(page.page_id)
        self.followed.note_acting(page)
        self._highest = max(self._highest, _number_of(page.page_id), len(self.pages) + (known is None))
        self.pages[page.page_id] = page
        address, digests = normalize_address(page.url), PageDigests.of(page.state)
        if known is not None:
            if known.state != page.state:  # it was opened again, and has changed
                others = [each for each in self._at[address] if each[1] != page.page_id]
                self._at[address] = [*others, (digests, page.page_id)]
            return
        self._paths.add(build_place_path(page.url))
        self._known_root = None
        self._at[address].append((digests, page.page_id))
        states = self._addresses[build_place(page.url)]
        lies = bool(page.layer and page.behind)
        states[address] = states.get(address, 0) + (not lies)
        self._layers[page.behind or ""] += lies
        self._alike[build_place_path(page.url), digests.shape].append(page.page_id)
        self._built[build_place_path(page.url)][digests.bones] += 1
        self._under[build_parent_path(page.url)][digests.bones] += 1
        if self.shows_start(page):
            self.covered.add(page.page_id)
        self.followed.note_page(page)
        for offer in page.offers:
            if offer.href and offer.region.partition(":")[0] not in SHARED:
                self._linked[build_parent_path(offer.href)].add(build_place_path(offer.href))

    def note_passage(self, passage: AttemptedTransition) -> None:
        """Add an attempted transition."""
        self.passages += 1
        self._highest = max(self._highest, _number_of(passage.from_page), _number_of(passage.to_page or ""))
        page = self.pages.get(passage.from_page)
        if page is None:
            return
        if passage.offer_id is None:
            self.exits.note(page, passage, self.pages.get(passage.to_page or ""))
            return
        self.tried.add((passage.from_page, passage.offer_id))
        offer = next((each for each in page.offers if each.offer_id == passage.offer_id), None)
        if offer is None:
            return
        key = self.key_of(page, offer)
        self.tries[key] += 1
        if offer.danger is not None and not offer.allowed_by:
            self._asking.add(self._kind_of_asking(page, offer))
        self.followed.note(
            page,
            offer,
            self.pages.get(passage.to_page or ""),
            passage.outcome,
        )
        if passage.to_page in (None, passage.from_page, *self._reached):
            self.fruitless[kind_of(page, offer)] += 1
        else:
            self.fruitless[kind_of(page, offer)] = 0
            self._reached.add(passage.to_page or "")
        onward = self.pages.get(passage.to_page or "")
        if offer.role == "option" and (onward is None or build_place(onward.url) == build_place(page.url)):
            self.chosen[kind_of(page, offer)] += 1
        if passage.outcome in ("stayed", "refused", "vanished"):
            self.vain[name_anywhere(offer)] += 1
        if passage.to_page is not None and passage.to_page != passage.from_page:
            arrived = self.pages.get(passage.to_page)
            if offer.in_row and offer.href and arrived is not None and passage.to_page not in self.led[key]:
                self._listed[_list_of(page, offer)][PageDigests.of(arrived.state).bones] += 1
            self.led[key].add(passage.to_page)
            if (
                passage.outcome == "arrived"
                and passage.way == "offer"
                and not offer.allowed_by
                and offer.danger is None
            ):  # actions that may change data are performed once
                self.from_[passage.to_page].append(passage)
            elif offer.danger is not None and not offer.allowed_by:
                self._asked.add(passage.to_page)

    def judge(self, url: str, state: str, behind: str | None = None) -> PageNoveltyResult:
        """Return whether a page is known, new, or resembles a kept page. `behind`: the page on which it lies."""
        address, digests = normalize_address(url), PageDigests.of(state)
        known = self._known(url, digests)
        if known is not None:
            return PageNoveltyResult(PageNovelty.KNOWN, known)
        alike = self._alike[build_place_path(url), digests.shape]
        states = self._addresses[build_place(url)]
        most = self.limits.pages_per_place
        if behind is not None:
            full = self._layers[behind] >= most * STATES_PER_ADDRESS
        elif address in states:
            full = states[address] >= most * STATES_PER_ADDRESS
        else:
            full = len(states) >= most
        if len(alike) >= most or full:
            return PageNoveltyResult(PageNovelty.LIKE, alike[0] if alike else None)
        return PageNoveltyResult(PageNovelty.KEEP)

    def _known(self, url: str, digests: PageDigests) -> str | None:
        there = self._at.get(normalize_address(url), [])
        same = (page_id for each, page_id in there if each == digests)
        like = (page_id for each, page_id in there if each.like(digests))
        of_one = names_one_of_many(url)  # the headings of such a page are its content
        bones = (page_id for each, page_id in there if of_one and each.bones == digests.bones)
        return next(same, None) or next(like, None) or next(bones, None)

    def shows_start(self, page: ExplorationPage) -> bool:
        """Whether a page with a client-side route is what its document shows without one: `/#/inbox` and `/`."""
        document, _, route = normalize_address(page.url).partition("#")
        shown = PageDigests.of(page.state).shape
        return bool(route) and any(
            each.shape == shown and self.pages[known].start for each, known in self._at.get(document, [])
        )

    def full(self, url: str) -> bool:
        """Whether no further address of its place would be kept."""
        states = self._addresses[build_place(url)]
        return normalize_address(url) not in states and len(states) >= self.limits.pages_per_place

    def seen_path(self, url: str) -> bool:
        """Whether a page with its path is kept, with any query."""
        return build_place_path(url) in self._paths

    def seen_place(self, url: str) -> bool:
        """Whether a page of its place is kept."""
        return bool(self._addresses.get(build_place(url)))

    def seen_address(self, url: str) -> bool:
        """Whether a page with its address is kept."""
        return normalize_address(url) in self._addresses.get(build_place(url), ())

    def names_alone(self, page: ExplorationPage) -> bool:
        """Whether no page of another place has the title of this one."""
        others = (each for each in self.pages.values() if build_place(each.url) != build_place(page.url))
        return bool(page.title) and all(each.title != page.title for each in others)

    def settle(self) -> None:
        """Note that nothing more is to be tried on the pages so far: only what is new from now on is."""
        for page in self.pages.values():
            self.closed |= {(page.page_id, offer.offer_id) for offer in page.offers}
            self.exits.settle(page)

    def has_asked(self, page: ExplorationPage, offer: Offer, most: int) -> bool:
        """Whether a control of its kind was pressed to see what it asks, or `most` of its name on pages of this place."""
        key = self.key_of(page, offer)
        return self._kind_of_asking(page, offer) in self._asking or self.tries[key] >= most

    def _kind_of_asking(self, page: ExplorationPage, offer: Offer) -> OfferKey:
        """Return a key that is equal for the buttons of one list: `Revoke` of the sessions and `Revoke` of the applications differ."""
        known = offer.fingerprint
        where: tuple[str, ...] = ()
        if known is not None:
            named = (each if each.startswith("section ") else each.partition(" ")[0] for each in known.region)
            where = (*named, known.xpath or "", offer.first_class)
        return (*self.key_of(page, offer), *where)

    def is_guarded(self, page_id: str) -> bool:
        """Whether only controls that would change something lead to a page: its own controls are not used."""
        return page_id in self._asked and not self.from_[page_id] and not self.pages[page_id].openable

    def note_sticky(self, offer: Offer) -> None:
        """Note that the website keeps the effect of a control."""
        self.sticky.add(name_anywhere(offer))

    def has_no_effect(self, offer: Offer, most: int) -> bool:
        """Whether the control is known to have no effect, on this page or others."""
        key = name_anywhere(offer)
        return key in self.sticky or self.vain[key] >= most

    def alike_on(self, url: str) -> int:
        """Return the number of kept pages with its path and equal structure, with any query."""
        return max(self._built[build_place_path(url)].values(), default=0)

    def note_more(self, url: str) -> None:
        """Count a further page that resembles kept pages."""
        self.more[build_address_kind(url)] += 1

    def alike_under(self, url: str) -> int:
        """Return the number of kept sibling pages with equal structure."""
        return max(self._under[build_parent_path(url)].values(), default=0)

    def kept_under(self, url: str) -> int:
        """Return the number of kept sibling pages."""
        return self._under[build_parent_path(url)].total()

    def alike_in_list(self, page: ExplorationPage, offer: Offer) -> int:
        """Return the number of kept pages with equal structure to which the list of an offer led."""
        return max(self._listed[_list_of(page, offer)].values(), default=0)

    def is_family(self, url: str) -> bool:
        """Whether links lead to many pages beside this one, not at the site's root: articles, whatever they contain."""
        parent = build_parent_path(url)
        return len(self._linked[parent]) >= FAMILY and parent != f"{origin_of(url)}{self._root()}"

    def _root(self) -> str:
        """Return the folder below which all kept pages lie."""
        if self._known_root is None:
            self._known_root = find_site_root(map(path_of, self._paths))
        return self._known_root

    def list_search_texts(self, page: ExplorationPage) -> list[str]:
        """Return what to type into a field of a page that searches: beginnings of the names in its rows and in those of all pages,
        and the commonest letter.
        """
        own, all_rows = (Counter(_list_beginnings(each)) for each in ([page], self.pages.values()))
        likely = (
            *(text for text, _ in own.most_common(1)),
            COMMONEST_LETTER,
            *(text for text, _ in all_rows.most_common(1)),
        )
        return list(dict.fromkeys(likely))

    def key_of(self, page: ExplorationPage, offer: Offer) -> OfferKey:
        """Return a key that is equal for the same control on this and other pages."""
        known = self._keys.get((page.page_id, offer.offer_id))
        if known is None:
            known = self._keys[page.page_id, offer.offer_id] = _key(page, offer)
        return known


def _list_beginnings(pages: Iterable[ExplorationPage]) -> Iterator[str]:
    """Yield the first letters of the words in rows: so many that a search which needs several finds something."""
    for page in pages:
        for offer in page.offers:
            if offer.in_row and offer.action_type == "click":
                yield from (each[:BEGINNING].casefold() for each in _WORD.findall(offer.name))


def _number_of(page_id: str) -> int:
    return int(page_id[1:]) if page_id[:1] == "p" and page_id[1:].isdecimal() else 0


def _list_of(page: ExplorationPage, offer: Offer) -> OfferKey:
    """Return a key that is equal for the links in one column of a list to pages below one path."""
    known = offer.fingerprint
    where = () if known is None else (*(each.partition(" ")[0] for each in known.region), known.xpath or "")
    return (build_place_path(page.url), offer.region, *where, build_parent_path(offer.href or ""))


def _key(page: ExplorationPage, offer: Offer) -> OfferKey:
    landmark = offer.region.partition(":")[0]
    scope = contents_of(page) if page.layer else "" if landmark in SHARED else build_place_path(page.url)
    name = "" if offer.in_row else mask_numbers(offer.name)
    if is_anchor(offer, page.url):
        return ("anchor", name, (offer.href or "").partition("#")[2])
    if leads_to_other_address(offer, page.url) and offer.href:
        return ("link", scope, landmark, name, build_place(offer.href))
    return ("control", scope, offer.region, offer.role, name)
