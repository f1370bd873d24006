"""What an updated exploration says about the knowledge of a website: screens and controls that are new, gone or renamed.

A screen of the knowledge is compared by the page on which it was first seen (`metadata.seen_as`), so that it is known
whatever people called it, merged or described.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kb_schema import KnowledgeBase
from kb_schema.exploration_folder import ExplorationFolder
from kb_schema.explorations import ExplorationPage, Offer, PageRevisit, list_asking_pages
from kb_schema.screens import Screen, UIElement
from kb_schema.url_patterns import normalize_url
from loaders.exploration_import import ExploredKnowledge
from loaders.exploration_import.control_elements import kind_of
from loaders.exploration_import.explored_pages import OUTSIDE, ExploredSite
from loaders.map_updates.page_changes import ControlChange, SeenPage, compare_pages, name_of
from web_pages.page_limits import PageRefused
from web_pages.stored_pages import StoredPage

MOST_STATES = 8
"""The most dialogs, menus and panels on one screen that are opened again."""
BAD = 400
"""The least HTTP status of an error."""
MapChangeKind = Literal[
    "screen_new", "screen_added", "screen_gone", "screen_not_found", "not_compared", "link_broken", "title",
    "new", "gone", "not_found", "renamed", "options", "required", "optional", "selector",
]  # fmt: skip
"""Of screens and addresses, then of controls (`ControlChangeKind`).

`screen_added`: a link to it was known and had not been opened, so that it need not be new on the site.
"""


@dataclass(frozen=True, slots=True)
class MapChange:
    """One change of a website since it was mapped."""

    kind: MapChangeKind
    name: str
    """The screen's name, or the control's: the new one if it was renamed."""
    screens: tuple[str, ...] = ()
    """Ids of the screens: the one it is about, or those that have the control."""
    role: str = ""
    """What the control is: button, link, field, ..."""
    before: str = ""
    """The former name or title."""
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    """Options."""
    url: str = ""
    note: str = ""
    """Why, or how it was found."""
    element_id: str = ""
    """The element of the knowledge; empty if it has none."""
    control: ControlChange | None = None
    page_id: str = ""
    still_found: bool = False
    """Whether the element's selector finds the control that it became."""


@dataclass(frozen=True, slots=True)
class MapComparison:
    """All changes, and how much was looked at."""

    changes: tuple[MapChange, ...]
    found: tuple[str, ...]
    """Screens whose page was there."""
    revisited: int
    """How many screens were looked for."""
    new_screens: tuple[str, ...] = ()
    """Ids of the new screens in the knowledge that was built of the updated exploration."""


def list_revisited_pages(knowledge: KnowledgeBase, seen: ExploredSite) -> dict[str, tuple[str, ...]]:
    """Return the pages by which each screen of the knowledge is compared, by screen id.

    The first is that on which it was first seen; the others have a dialog, menu or panel that lies on it and is no
    screen of its own. Dialogs that ask before something is changed are left out: an update presses no control that opens one.
    """
    pages = {page.page_id: page for page in seen.pages()}
    told = {each.screen_id: str(each.metadata.get("seen_as", "")) for each in knowledge.screens.values()}
    of_screens = {*told.values()}
    asked = list_asking_pages(pages.values(), seen.passages())
    states: dict[str, list[str]] = defaultdict(list)
    for page in pages.values():
        if page.layer and page.behind is not None and page.page_id not in of_screens | asked:
            states[page.behind].append(page.page_id)
    return {
        screen_id: (page_id, *states[page_id][:MOST_STATES])
        for screen_id, page_id in told.items()
        if page_id in pages and page_id not in asked
    }


def compare_maps(
    knowledge: KnowledgeBase,
    before: ExploredSite,
    after: ExploredSite,
    revisits: Mapping[str, PageRevisit],
    built: ExploredKnowledge,
) -> MapComparison:
    """Return what changed.

    `knowledge`: that of the website, as people left it. `before`, `after`: the exploration it was made of, and its
    update. `revisits`: by page id. `built`: the knowledge of the updated exploration.
    """
    comparison = _Comparison(knowledge, before, after, revisits)
    screens = list(comparison.screens())
    new_ids = _list_new_screens(built, before)
    changes = [
        *comparison.new_screens(new_ids, built),
        *(each for each in screens if each.kind == "screen_gone"),
        *comparison.broken_links(),
        *_join(comparison.controls()),
        *(each for each in screens if each.kind != "screen_gone"),
    ]
    return MapComparison(tuple(changes), tuple(comparison.found), len(comparison.pages), tuple(new_ids))


def read_revisits(
    exploration: ExplorationFolder, signed_out: ExplorationFolder | None
) -> dict[str, PageRevisit]:
    """Return what became of the pages that were opened again, by page id as in `ExploredSite`."""
    found = {each.page_id: each for each in exploration.revisits()}
    if signed_out is not None:
        found |= {f"{OUTSIDE}{each.page_id}": each for each in signed_out.revisits()}
    return found


def _list_new_screens(built: ExploredKnowledge, before: ExploredSite) -> list[str]:
    """Return the screens of which no page is older than the update."""
    known = {page.page_id for page in before.pages()}
    return [screen_id for screen_id, pages in built.screens.items() if not known & {*pages}]


class _Comparison:
    """The state of one comparison."""

    def __init__(
        self,
        knowledge: KnowledgeBase,
        before: ExploredSite,
        after: ExploredSite,
        revisits: Mapping[str, PageRevisit],
    ) -> None:
        self._knowledge, self._revisits = knowledge, revisits
        self._sites = {"before": before, "after": after}
        self._was = {page.page_id: page for page in before.pages()}
        self._now = {page.page_id: page for page in after.pages()}
        self._after = after
        self.pages = list_revisited_pages(knowledge, before)
        self.found: list[str] = []

    def screens(self) -> Iterator[MapChange]:
        """Yield the screens that are gone, were not found, or have another title."""
        for screen in self._knowledge.screens.values():
            page_ids = self.pages.get(screen.screen_id, ())
            yield from self._missing_states(screen, page_ids[1:])
            page_id = next(iter(page_ids), None)
            if page_id is None:
                why = "the map has no page of it"
                yield MapChange("not_compared", screen.name, (screen.screen_id,), note=why)
                continue
            page, revisit = self._was[page_id], self._revisits.get(page_id)
            if revisit is None:
                why = "the time limit was reached before it was opened"
                yield MapChange("not_compared", screen.name, (screen.screen_id,), url=page.url, note=why)
            elif revisit.outcome == "found":
                self.found.append(screen.screen_id)
                yield from self._titles(screen, page, self._now[page_id])
            else:
                kind: MapChangeKind = "screen_gone" if revisit.outcome == "gone" else "screen_not_found"
                yield MapChange(
                    kind,
                    screen.name,
                    (screen.screen_id,),
                    url=page.url,
                    note=revisit.message,
                    page_id=page_id,
                )

    def _missing_states(self, screen: Screen, page_ids: Sequence[str]) -> Iterator[MapChange]:
        """Yield what lay on a screen and was not found again."""
        for page_id in page_ids:
            page, revisit = self._was[page_id], self._revisits.get(page_id)
            if revisit is None or revisit.outcome != "found":
                why = f"its {page.layer} was not found: {revisit.message if revisit is not None else 'not opened'}"
                yield MapChange("not_compared", screen.name, (screen.screen_id,), url=page.url, note=why)

    def _titles(self, screen: Screen, was: ExplorationPage, now: ExplorationPage) -> Iterator[MapChange]:
        if was.title and now.title and _letters(was.title) != _letters(now.title):
            yield MapChange("title", now.title, (screen.screen_id,), before=was.title, url=now.url)

    def controls(self) -> Iterator[MapChange]:
        """Yield the changes of controls, screen by screen."""
        for screen_id in self.found:
            for page_id in self.pages[screen_id]:
                revisit = self._revisits.get(page_id)
                if revisit is not None and revisit.outcome == "found":
                    yield from self._controls_of(screen_id, page_id)

    def _controls_of(self, screen_id: str, page_id: str) -> Iterator[MapChange]:
        was, now = self._seen("before", self._was[page_id]), self._seen("after", self._now[page_id])
        if was is None or now is None:
            return
        elements = self._elements(screen_id, was)
        for each in compare_pages(was, now):
            element = elements.get(each.before.offer_id) if each.before is not None else None
            if (
                each.before is None or element is not None
            ):  # else people deleted it, or it was on this page only
                yield _control_change(each, screen_id, page_id, element, now)
        yield from self._other_selectors(screen_id, elements, was, now)

    def _other_selectors(
        self, screen_id: str, elements: Mapping[str, UIElement], was: SeenPage, now: SeenPage
    ) -> Iterator[MapChange]:
        """Yield the controls of the same name that the element's selector does not find any more."""
        shown = {offer.offer_id: offer for offer in now.page.offers}
        for offer in was.page.offers:
            element, after = elements.get(offer.offer_id), shown.get(offer.offer_id)
            if element is None or after is None or name_of(offer) != name_of(after):
                continue
            if not _still_finds(element, now, after):
                change = ControlChange("selector", offer, after)
                yield _control_change(change, screen_id, was.page.page_id, element, now)

    def _seen(self, when: str, page: ExplorationPage) -> SeenPage | None:
        try:
            return SeenPage(page, StoredPage(self._sites[when].snapshot(page.page_id)))
        except PageRefused:
            return None

    def _elements(self, screen_id: str, was: SeenPage) -> dict[str, UIElement]:
        """Return the element of each control, by offer id: both lead to one place of the page."""
        at = {
            id(found): element
            for element in self._knowledge.elements(screen_id).values()
            if (found := was.find(element.selector)) is not None
        }
        places = ((offer.offer_id, was.find(offer.selector)) for offer in was.page.offers)
        return {
            offer_id: at[id(found)] for offer_id, found in places if found is not None and id(found) in at
        }

    def new_screens(self, new_ids: Sequence[str], built: ExploredKnowledge) -> Iterator[MapChange]:
        """Yield the screens that the updated exploration found."""
        offers = (offer for page in self._was.values() for offer in page.offers)
        known = {normalize_url(offer.href) for offer in offers if offer.href}
        for screen_id in new_ids:
            page = self._now[built.screens[screen_id][0]]
            if (page.status or 0) < BAD:
                name = built.knowledge.screens[screen_id].name
                kind: MapChangeKind = "screen_added" if normalize_url(page.url) in known else "screen_new"
                yield MapChange(
                    kind,
                    name,
                    (screen_id,),
                    url=page.url,
                    note=self._way_to(page.page_id),
                    page_id=page.page_id,
                )

    def broken_links(self) -> Iterator[MapChange]:
        """Yield the new pages that are errors."""
        for page in self._now.values():
            if (
                page.page_id not in self._was
                and (page.status or 0) >= BAD
                and page.signed_in is self._signed_in
            ):
                way = self._way_to(page.page_id)
                if way:
                    yield MapChange("link_broken", way, url=page.url, note=f"HTTP {page.status}")

    @property
    def _signed_in(self) -> bool:
        return bool(self._after.exploration.signed_in_by)

    def _way_to(self, page_id: str) -> str:
        """Return how a page was reached: `Reports on Start`."""
        for passage in self._after.passages():
            from_page = self._now.get(passage.from_page)
            if passage.to_page != page_id or from_page is None or from_page.page_id == page_id:
                continue
            offer = next((each for each in from_page.offers if each.offer_id == passage.offer_id), None)
            if offer is not None:
                return f"{name_of(offer)} on {from_page.title or from_page.url}"
        return ""


def _control_change(
    change: ControlChange, screen_id: str, page_id: str, element: UIElement | None, now: SeenPage
) -> MapChange:
    offer = change.after or change.before
    assert offer is not None  # noqa: S101 - a change has one of them
    return MapChange(
        change.kind,
        change.name,
        (screen_id,),
        role="field" if offer.action_type != "click" else kind_of(offer).ending,
        before=name_of(change.before) if change.before is not None else "",
        added=change.added,
        removed=change.removed,
        element_id="" if element is None else element.element_id,
        control=change,
        page_id=page_id,
        still_found=element is not None
        and change.after is not None
        and _still_finds(element, now, change.after),
    )


def _still_finds(element: UIElement, now: SeenPage, offer: Offer) -> bool:
    """Return whether the element's selector leads to the control on the new page."""
    found = now.find(element.selector)
    return found is not None and found is now.find(offer.selector)


def _join(changes: Iterable[MapChange]) -> list[MapChange]:
    """Return the changes; the same one on several screens is one."""
    found: dict[tuple[object, ...], MapChange] = {}
    for each in changes:
        key = (each.kind, each.name, each.role, each.before, each.added, each.removed, each.element_id)
        known = found.get(key)
        found[key] = each if known is None else replace(known, screens=(*known.screens, *each.screens))
    return list(found.values())


def _letters(text: str) -> str:
    """Return a title without what changes by itself: numbers."""
    return " ".join("".join(char for char in text if not char.isdecimal()).casefold().split())
