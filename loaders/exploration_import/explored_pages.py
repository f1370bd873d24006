"""The pages of an exploration as the import uses them: their records and their content."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kb_schema.exploration_folder import ExplorationFolder
from kb_schema.explorations import SHARED, AttemptedTransition, ExplorationPage, Offer
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.url_patterns import relative_path
from loaders.screen_learner.observed_pages import ObservedPage
from web_pages.element_tree import Element
from web_pages.field_words import find_field_words, is_field
from web_pages.page_limits import PageRefused
from web_pages.page_profiles import PageProfile, build_page_profile
from web_pages.page_texts import squeeze, text_of
from web_pages.stored_pages import StoredPage

_NUMBERS = re.compile(r"\d+")
_ICON = re.compile(r"(?:^|[\s_-])(?:icons?|symbols?)(?:$|[\s_-])", re.IGNORECASE)
"""The class of an element whose text a font draws as a picture."""
_LIGATURE = re.compile(r"[a-z][a-z0-9_]+")
_SAID = {"check": "Save", "check_circle": "Save", "done": "Save"}
"""Icons of Google's Material fonts that do not say what their button does."""
OUTSIDE = "out-"
"""The prefix of the ids of pages that were seen signed out, beside those that were seen signed in."""


@dataclass(frozen=True, slots=True, eq=False)
class ExploredPage:
    """One explored page."""

    page: ExplorationPage
    observed: ObservedPage
    """In the form for the screen learner. Its path is below the base URL."""

    @property
    def page_id(self) -> str:
        """The id of the page."""
        return self.page.page_id


class ExploredSite:
    """An exploration, and optionally one of the same site without being signed in."""

    def __init__(self, main: ExplorationFolder, signed_out: ExplorationFolder | None = None) -> None:
        self._parts = {"": main} | ({OUTSIDE: signed_out} if signed_out is not None else {})
        self.exploration = main.exploration

    def pages(self) -> Iterator[ExplorationPage]:
        """Yield the pages in the order in which they were found, without those that are gone since."""
        for prefix, folder in self._parts.items():
            gone = {each.page_id for each in folder.revisits() if each.outcome == "gone"}
            for page in (each for each in folder.pages() if each.page_id not in gone):
                behind = None if page.behind is None else prefix + page.behind
                yield (
                    page.model_copy(update={"page_id": prefix + page.page_id, "behind": behind})
                    if prefix
                    else page
                )

    def passages(self) -> Iterator[AttemptedTransition]:
        """Yield the attempted transitions in order."""
        for prefix, folder in self._parts.items():
            for each in folder.passages():
                to_page = None if each.to_page is None else prefix + each.to_page
                yield each.model_copy(update={"from_page": prefix + each.from_page, "to_page": to_page})

    def snapshot(self, page_id: str) -> PageSnapshot:
        """Return the snapshot of a page."""
        if OUTSIDE in self._parts and page_id.startswith(OUTSIDE):
            return self._parts[OUTSIDE].snapshot(page_id.removeprefix(OUTSIDE))
        return self._parts[""].snapshot(page_id)


def read_explored_pages(seen: ExploredSite) -> tuple[list[ExploredPage], list[str]]:
    """Return the pages in the order in which they were found, and remarks on unreadable ones.

    Each page counts as a run of its own, so that what is learned from others can be tested on it. Raises
    `KnowledgeError`.
    """
    base = seen.exploration.base_url
    looks: dict[str, ExploredPage] = {}
    remarks = []
    for page in seen.pages():
        try:
            stored = StoredPage(seen.snapshot(page.page_id))
            drawn = build_page_profile(stored, layered=bool(page.layer))
        except PageRefused as exc:
            remarks.append(f"page {page.page_id} is left out: {exc}")
            continue
        labelled = page.model_copy(update={"offers": _label_controls(page.offers, stored)})
        below = looks.get(page.behind or "")
        layer = _signs_on_top(labelled, drawn, None if below is None else below.observed.profile)
        path = relative_path(page.url, base)
        looks[page.page_id] = ExploredPage(labelled, ObservedPage(drawn, path, run=page.page_id, layer=layer))
    entries = _find_entries(looks, seen.passages())
    return [
        replace(look, observed=replace(look.observed, entries=frozenset(entries[look.page_id])))
        for look in looks.values()
    ], remarks


def _find_entries(
    looks: Mapping[str, ExploredPage], passages: Iterable[AttemptedTransition]
) -> Mapping[str, set[str]]:
    """Return the entries of menus that led to each page at the address of the page before, which both pages have."""
    found: dict[str, set[str]] = defaultdict(set)
    menus = {page_id: _menu_entries(look.page) for page_id, look in looks.items()}
    for each in passages:
        before, after = looks.get(each.from_page), looks.get(each.to_page or "")
        if (
            before is None
            or after is None
            or before is after
            or each.outcome != "arrived"
            or before.page.layer
        ):
            continue
        entry = menus[before.page_id].get(each.offer_id or "")
        if entry and before.page.url == after.page.url and entry in menus[after.page_id].values():
            found[after.page_id].add(entry)
    return found


def _menu_entries(page: ExplorationPage) -> dict[str, str]:
    """Return the names of the controls in menus of a page, by offer."""
    return {
        offer.offer_id: name
        for offer in page.offers
        if offer.region.partition(":")[0] in SHARED and not offer.in_row and offer.action_type == "click"
        if any(map(str.isalpha, name := _mask(" ".join((offer.label or offer.name).split()))))
    }


def _label_controls(offers: Sequence[Offer], stored: StoredPage) -> tuple[Offer, ...]:
    """Return the offers with the words beside each field, if nothing else says what it is, and without the words of icons."""
    return tuple(
        offer
        if offer.label or not (label := _find_label(offer, stored))
        else offer.model_copy(update={"label": label})
        for offer in offers
    )


def _find_label(offer: Offer, stored: StoredPage) -> str:
    element = None if offer.selector is None else stored.resolve(offer.selector).element
    if element is None:
        return ""
    if not is_field(element):
        return _drop_icon_words(offer.name, element)
    sent = " ".join(re.findall(r"[^\W\d_]+", element.get("name") or ""))
    words = find_field_words(element, headings=True) or ("" if offer.name else sent)
    return words.rstrip(" :*")


def _drop_icon_words(name: str, element: Element) -> str:
    """Return a name without the words that a font draws as icons, `add` in `add Add money`; empty if it has none.

    If icons are all that it has, they are said in words: `arrow_back`, "Arrow back".
    """
    icons = [
        squeeze(each.get("data-icon") or text_of(each))  # some draw the word of an attribute
        for each in element.descendants()
        if each.get("data-icon") or _ICON.search(each.get("class") or "")
    ]
    told = " ".join(name.split())
    if told in icons and _LIGATURE.fullmatch(told):
        return _SAID.get(told) or told.replace("_", " ").capitalize()
    for icon in filter(_LIGATURE.fullmatch, icons):
        if told.startswith(icon):
            told = told[len(icon) :].lstrip()
        elif told.endswith(icon):
            told = told[: -len(icon)].rstrip()
    return "" if told == " ".join(name.split()) else told


def _signs_on_top(page: ExplorationPage, shown: PageProfile, below: PageProfile | None) -> frozenset[str]:
    """Return what lies on a page: its controls, of those in rows only the role, and its headings."""
    if not page.layer:
        return frozenset()
    controls = {
        f"{each.action_type} {each.role or each.tag} {'' if each.in_row else _mask(each.label or each.name)}"
        for each in page.offers
    }
    new = shown.signs - (frozenset() if below is None else below.signs)
    headings = {f"heading {_mask(each.text)}" for each in new if each.kind == "heading"}
    return frozenset({page.layer, *controls, *headings})


def _mask(text: str) -> str:
    return _NUMBERS.sub("#", text)
