"""Builds the fingerprints of the elements of a page index (`PageIndex`).

A fingerprint identifies an element again after the page has changed; see `kb_schema.fingerprints`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property

from agent.locators.page_index import IndexedElement, IndexedRegion, PageIndex, RegionKind
from kb_schema.fingerprints import Fingerprint
from web_pages.page_texts import squeeze

KEPT_ATTRIBUTES = frozenset(
    {
        "id",
        "name",
        "type",
        "href",
        "class",
        "placeholder",
        "title",
        "alt",
        "aria-label",
        "aria-haspopup",
        "value",
        "for",
        "action",
        "autocomplete",
        "accept",
        "rel",
        "role",
    }
)
SAID_LENGTH = 80
"""Characters of an element in words."""
MOST_NEIGHBOURS = 12
MOST_KEYS = 6
_ROW_KINDS = (RegionKind.ROW, RegionKind.ITEM)


def select_attributes(attributes: Mapping[str, str]) -> dict[str, str]:
    """Return the attributes that help to identify an element."""
    return {
        name: value
        for name, value in attributes.items()
        if (name in KEPT_ATTRIBUTES or name.startswith("data-")) and value
    }


def describe_fingerprint(known: Fingerprint) -> str:
    """Return an element in words: its role and name, at most `SAID_LENGTH` characters."""
    name = squeeze(known.name or known.label or known.text or "")
    kind = known.role or known.tag or ""
    return (f"{kind} {name!r}" if name else kind)[:SAID_LENGTH]


class PageFingerprints:
    """The fingerprints of a page index. Each is built at its first use."""

    def __init__(self, index: PageIndex) -> None:
        self.index = index
        self._made: dict[int, Fingerprint] = {}

    def of(self, at: int) -> Fingerprint:
        """Return the fingerprint of the element at this position of the index."""
        if at not in self._made:
            self._made[at] = self._make(self.index.elements[at])
        return self._made[at]

    def _make(self, element: IndexedElement) -> Fingerprint:
        twins = self._twins[_role_and_name(element)] if element.at in self._operable else []
        own = self._context(element.at)
        fellows = {*twins, *self._parallel[self._slot(element)]} - {element.at}
        others = {words for at in fellows for words in self._context(at)}
        near = element.near
        return Fingerprint(
            role=element.role,
            name=element.name or None,
            tag=element.tag,
            text=element.text or None,
            label=element.label or None,
            icon=element.icon or None,
            attributes=select_attributes(element.attributes),
            heading=near.heading or None,
            before=near.before or None,
            after=near.after or None,
            row=self._row(element)[:MOST_NEIGHBOURS],
            column=near.column or None,
            neighbours=self._neighbours(element),
            region=tuple(map(self._region_words, reversed(list(self.index.regions_of(element))))),
            place=self._place(element),
            twins=max(0, len(twins) - 1) if twins else 0,
            key=tuple(words for words in own if words not in others)[:MOST_KEYS] if fellows else (),
            xpath=self._path(element),
            box=element.box,
        )

    def _context(self, at: int) -> tuple[str, ...]:
        """Return the words around an element, the most distinctive first."""
        element = self.index.elements[at]
        near = element.near
        named = [region.name for region in self.index.regions_of(element) if region.name]
        texts = (*self._row(element), near.before, *named, near.heading, near.after, near.column)
        return tuple(dict.fromkeys(words for words in texts if words))

    def _row(self, element: IndexedElement) -> tuple[str, ...]:
        """Return the texts of its row or item, without its own text."""
        own = {element.name, element.text}
        for region in self.index.regions_of(element):
            if region.kind in _ROW_KINDS:
                texts = (element.near.row, *region.texts)
                return tuple(dict.fromkeys(text for text in texts if text and text not in own))
        return (element.near.row,) if element.near.row else ()

    def _region_words(self, region: IndexedRegion) -> str:
        attributes = self.index.elements[region.element].attributes
        named = region.name or attributes.get("action") or attributes.get("aria-label") or ""
        return f"{region.kind} {named}".strip()

    def _neighbours(self, element: IndexedElement) -> tuple[str, ...]:
        """Return the names of the nearest elements of its region, in document order."""
        fellows = self._by_region[element.region]
        at = fellows.index(element.at) if element.at in self._operable else len(fellows)
        near = sorted(range(len(fellows)), key=lambda place: (abs(place - at), place))[: MOST_NEIGHBOURS + 1]
        names = (self.index.elements[fellows[place]] for place in sorted(near))
        return tuple(dict.fromkeys(each.name[:200] for each in names if each.name and each.at != element.at))

    def _place(self, element: IndexedElement) -> int | None:
        if element.at not in self._operable:
            return None
        same = [at for at in self._by_region[element.region] if self.index.elements[at].role == element.role]
        return same.index(element.at)

    def _path(self, element: IndexedElement) -> str:
        tags = [each.tag for each in self.index.ancestors(element)]
        return "/" + "/".join([*reversed(tags), element.tag])

    @cached_property
    def _operable(self) -> frozenset[int]:
        return frozenset(element.at for element in self.index.interactive)

    @cached_property
    def _by_region(self) -> dict[int | None, list[int]]:
        found: defaultdict[int | None, list[int]] = defaultdict(list)
        for element in self.index.interactive:
            found[element.region].append(element.at)
        return found

    @cached_property
    def _twins(self) -> dict[tuple[str | None, str], list[int]]:
        found: defaultdict[tuple[str | None, str], list[int]] = defaultdict(list)
        for element in self.index.interactive:
            found[_role_and_name(element)].append(element.at)
        return found

    @cached_property
    def _parallel(self) -> dict[object, list[int]]:
        found: defaultdict[object, list[int]] = defaultdict(list)
        for element in self.index.interactive:
            found[self._slot(element)].append(element.at)
        return found

    def _slot(self, element: IndexedElement) -> object:
        """Return a key of its position in its row or item, equal for corresponding elements of other rows."""
        for region in self.index.regions_of(element):
            if region.kind in _ROW_KINDS:
                return region.kind, region.parent, element.role, self._place(element)
        return element.at

    def all(self) -> Iterator[tuple[int, Fingerprint]]:
        """Yield the position and the fingerprint of each interactive element."""
        for element in self.index.interactive:
            yield element.at, self.of(element.at)


def _role_and_name(element: IndexedElement) -> tuple[str | None, str]:
    """Return its role and its visible name."""
    return element.role, element.name or element.label or element.text or element.placeholder
