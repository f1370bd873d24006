"""Counts which links and controls were used, so that more of the same are not: those of one name, of one make, and those that lead
to pages of equal structure.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from agent.exploration.offer_keys import (
    OfferKey,
    contents_of,
    kind_of,
    kind_of_link,
    name_anywhere,
    name_at_spot,
    name_link,
)
from agent.exploration.pages.page_addresses import build_place, build_place_path, normalize_address
from agent.exploration.pages.page_digests import PageDigests
from agent.exploration.thing_parts import ThingParts
from kb_schema.explorations import SHARED, WENT_BACK, AttemptOutcome, ExplorationPage, Offer

_FAILED = frozenset[AttemptOutcome](("error", "external"))
_FILE = "a file"
"""Stands for the structure of a page where a control led to a file."""


class FollowedControls:
    """What the links and controls that were used led to, by their keys."""

    def __init__(self) -> None:
        self._names: Counter[OfferKey] = Counter()
        """How often a link of one name to one place was used."""
        self._kinds: set[OfferKey] = set()
        """Makes of links of which one was used."""
        self._loading: set[OfferKey] = set()
        """Kinds of links of which one loaded the document at its address."""
        self._built: defaultdict[OfferKey, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        """From which pages controls of one name led to pages of one structure, or to files."""
        self._opened: defaultdict[OfferKey, defaultdict[str, set[str]]] = defaultdict(
            lambda: defaultdict(set)
        )
        """On which pages controls of one name at one spot opened what: dialogs and menus by their controls."""
        self._nearest: dict[str, int] = {}
        """The least depth of the pages with a link to an address."""
        self._nearest_entry: dict[OfferKey, int] = {}
        """The least depth of the pages with an entry of a menu."""
        self._acting: set[str] = set()
        """Places of links from which the application went back."""
        self._failed: Counter[str] = Counter()
        """How often an address could not be opened by a link."""
        self._things = ThingParts()

    def note_page(self, page: ExplorationPage) -> None:
        """Note a kept page and its links."""
        self._things.note_page(page)
        for offer in page.offers:
            if offer.href:
                address = normalize_address(offer.href)
                self._nearest[address] = min(page.depth, self._nearest.get(address, page.depth))
            if offer.region.partition(":")[0] in SHARED:
                entry = name_anywhere(offer)
                self._nearest_entry[entry] = min(page.depth, self._nearest_entry.get(entry, page.depth))

    def note(
        self, page: ExplorationPage, offer: Offer, arrived: ExplorationPage | None, outcome: AttemptOutcome
    ) -> None:
        """Note a control that was used on a page, and the page to which it led, if it did."""
        if offer.href and outcome in _FAILED:
            self._failed[normalize_address(offer.href)] += 1
        if offer.href:
            self._kinds.add(_make_of(page, offer))
            loaded = arrived is not None and arrived is not page and arrived.openable is True
            if (
                loaded
                and arrived is not None
                and normalize_address(offer.href) == normalize_address(arrived.url)
            ):
                self._loading.add(kind_of_link(page, offer))
        if offer.href and not offer.in_row:
            self._names[name_link(offer)] += 1
        if outcome == "download":
            self._built[_name_on(page, offer)][_FILE].add(page.page_id)
        if arrived is None or arrived.page_id == page.page_id:
            return
        if arrived.layer:
            self._opened[name_at_spot(offer)][contents_of(arrived)].add(page.page_id)
        else:
            self._built[_name_on(page, offer)][PageDigests.of(arrived.state).bones].add(page.page_id)

    def note_acting(self, page: ExplorationPage) -> None:
        """Note the links of a page from which the application went back."""
        self._acting |= {
            build_place(each.href) for each in page.offers if each.href and each.why == WENT_BACK
        }

    def acts(self, offer: Offer) -> bool:
        """Whether the application went back from a link to its place: it may have changed something."""
        return offer.href is not None and build_place(offer.href) in self._acting

    def fails(self, offer: Offer, most: int) -> bool:
        """Whether the address of a link could not be opened so many times: it leads to an error, or out of the website."""
        return offer.href is not None and self._failed[normalize_address(offer.href)] >= most

    def knows_part(self, url: str) -> bool:
        """Whether an address is that of a part of a thing, and the same part of another thing is kept."""
        return self._things.knows(url)

    def is_usual(self, offer: Offer, most: int) -> bool:
        """Whether it is a link that all pages seem to have."""
        return self._names[name_link(offer)] >= most

    def has_used(self, page: ExplorationPage, offer: Offer) -> bool:
        """Whether a link of its make was used: in the same landmark of any page, or in the rows of the same list."""
        return _make_of(page, offer) in self._kinds

    def loads(self, page: ExplorationPage, offer: Offer) -> bool:
        """Whether a link of its kind loaded the document at its address: opening the address does the same."""
        return kind_of_link(page, offer) in self._loading

    def leads_to_more(self, page: ExplorationPage, offer: Offer, most: int) -> bool:
        """Whether controls of its name, its number among those of one name and the depth of its address led from `most` pages to pages of
        equal structure, or to files: on other pages it leads to one more. `Search` of a project is another than that of the site.
        """
        if not offer.name or offer.in_row:
            return False
        return any(len(pages) >= most for pages in self._built.get(_name_on(page, offer), {}).values())

    def opens_the_same(self, page: ExplorationPage, offer: Offer, most: int) -> bool:
        """Whether the control at its spot opened the same dialog or menu on `most` other pages, and never another one: it is one of the
        frame that all pages have, though no landmark says so.
        """
        opened = self._opened.get(name_at_spot(offer))
        if page.layer or offer.in_row or opened is None or len(opened) != 1:
            return False
        return any(len(pages - {page.page_id}) >= most for pages in opened.values())

    def find_depth(self, url: str, most: int, by: Offer | None = None) -> int:
        """Return the least transitions to an address by links and entries of menus that were seen, `most` if there are none or more.

        `by`: the control that led there. An entry of a menu is used on the page that is shown, though the first page has it, too.
        """
        depths = [most, 1 + self._nearest.get(normalize_address(url), most)]
        if by is not None and by.region.partition(":")[0] in SHARED:
            depths.append(1 + self._nearest_entry.get(name_anywhere(by), most))
        return min(depths)


def _name_on(page: ExplorationPage, offer: Offer) -> OfferKey:
    """Return the name of a control on any page, with its number among those of its page that have this name (`Edit` of each field is
    another), and the number of parts of the address to which it leads.
    """
    name = name_anywhere(offer)
    alike = [each.offer_id for each in page.offers if name_anywhere(each) == name]
    depth = str(build_place_path(offer.href).count("/")) if offer.href else ""
    return (*name, str(alike.index(offer.offer_id)) if offer.offer_id in alike else "", depth)


def _make_of(page: ExplorationPage, offer: Offer) -> OfferKey:
    """Return what a link is made of; of one in a row with its place: tasks need the list that leads to a thing."""
    made = kind_of(page, offer)
    return made if offer.in_row else made[2:]
