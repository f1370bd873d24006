"""The page index: the elements of a live page from one in-page pass, as frozen models.

One `PageIndex` is the result of one synchronous pass of `agent/page/js/9_index.js` over a page with its
open shadow roots and same-origin frames. Discovery, selectors, fingerprints and healing read it without
further calls to the page. The parts refer to each other only by positions in `elements`, `regions` and
`roots`. `agent/locators/page_scan.py` parses the page's JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from agent.locators.scan_query import ScanQuery

TEST_ID_ATTRIBUTES = ("data-testid", "data-test-id", "data-test", "data-qa", "data-cy", "data-pw")
"""Test id attributes, in the order in which they are tried."""


class RootKind(StrEnum):
    """The kind of tree that an element belongs to."""

    DOCUMENT = "document"
    """The page's own document."""
    SHADOW = "shadow"
    """An open shadow root."""
    FRAME = "frame"
    """The document of a same-origin frame."""


class RegionKind(StrEnum):
    """The kind of a region, as a user perceives it."""

    FORM = "form"
    DIALOG = "dialog"
    LANDMARK = "landmark"
    """`main`, `nav`, `aside`, `header`, `footer`, `search`, a named `section`."""
    SECTION = "section"
    """The content from a heading to the next heading of its level, within the heading's container."""
    GROUP = "group"
    """A `fieldset`, a radio group, a toolbar, a tab panel, a card (`article`)."""
    FIELD = "field"
    """The controls beside a label that labels no single control, such as date and time, or choices."""
    TABLE = "table"
    ROW = "row"
    ITEM = "item"
    """An item of a list, a tree or a menu."""


class ElementBox(NamedTuple):
    """An element's rectangle in CSS pixels from the top left of the page's viewport, also for elements in frames."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class IndexedRoot:
    """A tree of the page. A root lies within another one through its host element."""

    kind: RootKind
    parent: int | None
    """Position of the root that contains its host; None for the page's document."""
    host: int | None
    """Position of the frame or shadow host among `elements`; None for the page's document."""
    host_css: str | None
    """A CSS selector of the host that is unique within its own root."""
    url: str | None
    """The document's URL; None for a shadow root."""


@dataclass(frozen=True, slots=True)
class IndexedRegion:
    """A part of the page that a user would name."""

    kind: RegionKind
    element: int
    """Position of its element; of the heading for a `SECTION`, of the label for a `FIELD`."""
    parent: int | None
    """Position of the region around it; None if there is none."""
    name: str
    """Its accessible name, else its heading, legend or caption."""
    texts: tuple[str, ...]
    """Further texts that identify it: those of a row's cells or of an item's parts."""


class Neighbours(NamedTuple):
    """The texts next to an element; empty strings if there are none."""

    heading: str = ""
    """The nearest heading before it in its containers."""
    before: str = ""
    """The text just before it in its own line, cell or field, which a sighted user reads as its label."""
    after: str = ""
    """The text just after it."""
    row: str = ""
    """The text of the first non-empty cell of its table row other than its own cell."""
    column: str = ""
    """The header cell of its table column."""


class IndexedElement(NamedTuple):
    """One element at the time of the scan. A tuple, because a large page has thousands of them."""

    at: int
    """Its position in `PageIndex.elements`, which is in document order, with frames in place."""
    root: int
    """Position in `roots`."""
    parent: int | None
    """Position of its nearest indexed ancestor in the flat tree, across shadow roots and frames."""
    region: int | None
    """Position of its innermost region. A region's own element belongs to the parent region."""
    tag: str
    role: str | None
    """ARIA role, as Chromium computes it; None for elements without one."""
    name: str
    """Accessible name (W3C accname), as Chromium computes it."""
    label: str
    """The label of a control, from `aria-labelledby`, `aria-label` and label elements."""
    text: str
    """Visible text, at most 200 characters; empty for large containers. Never the value of a field."""
    attributes: dict[str, str]
    """id, class, name, type, href, placeholder, title, alt, aria-label, test ids, short `data-*`, ...

    At most 200 characters each. `value` is only read from buttons, checkboxes and radio buttons.
    """
    near: Neighbours
    box: ElementBox
    icon: str
    """What the first picture in it is called, such as `arrow up`; empty if there is none, or if it is not operated."""
    visible: bool
    interactive: bool
    """A user can operate it."""
    enabled: bool
    required: bool
    checked: bool | None
    """State of a checkbox, radio button or switch; None for other elements."""
    clickable: bool
    """Not interactive by its markup, but it has a pointer cursor or an `onclick`, or is a link without an address that has attributes of a script."""
    by_label: bool
    """A hidden checkbox, radio button or file field that is operated through its visible label or trigger."""
    behind: bool = False
    """Something lies over the whole page, such as a dialog with its backdrop, and the element is behind it."""

    @property
    def id(self) -> str | None:
        """The `id` attribute, even if it looks generated."""
        return self.attributes.get("id")

    @property
    def placeholder(self) -> str:
        """The placeholder; empty if there is none."""
        return self.attributes.get("placeholder", "")

    @property
    def test_ids(self) -> dict[str, str]:
        """The test id attributes and their values."""
        return {name: self.attributes[name] for name in TEST_ID_ATTRIBUTES if name in self.attributes}

    @property
    def identities(self) -> tuple[str, ...]:
        """The names its developer gave it: test ids, id and field name."""
        get = self.attributes.get
        return tuple(value for name in (*TEST_ID_ATTRIBUTES, "id", "name") if (value := get(name)))

    @property
    def classes(self) -> tuple[str, ...]:
        """The class names in document order."""
        return tuple(self.attributes.get("class", "").split())


@dataclass(frozen=True)
class PageIndex:
    """The elements, regions and roots of a page at one moment."""

    token: str
    """Identifies the scan in the page, which returns its elements as long as it remembers the scan."""
    url: str
    title: str
    ready_state: str
    viewport: tuple[int, int]
    """Width and height in CSS pixels."""
    elements: tuple[IndexedElement, ...]
    regions: tuple[IndexedRegion, ...]
    roots: tuple[IndexedRoot, ...]
    truncated: bool = field(default=False)
    """The page has more elements than one scan reads; the elements at its end are missing."""
    further: Mapping[int, int] = field(default_factory=dict)
    """Position of the next element -> controls in rows of a list that were not read before it."""
    form_rows: frozenset[int] = frozenset()
    """Positions of the regions that are rows which lay out a form: they have a field or button that no row before has."""
    values: Mapping[int, str] = field(default_factory=dict)
    """Position of a field -> what it shows, at most 200 characters; neither secrets nor states of check boxes. Empty if not read."""
    query: ScanQuery | None = None
    """The query of the scan: elements that cannot match keep their positions but have no content. None: the
    scan read everything."""

    @cached_property
    def interactive(self) -> tuple[IndexedElement, ...]:
        """The elements that a user can see and operate, in document order."""
        return tuple(e for e in self.elements if e.by_label or (e.visible and (e.interactive or e.clickable)))

    @cached_property
    def _children(self) -> dict[int, list[int]]:
        below: dict[int, list[int]] = {}
        for element in self.elements:
            if element.parent is not None:
                below.setdefault(element.parent, []).append(element.at)
        return below

    def ancestors(self, element: IndexedElement) -> Iterator[IndexedElement]:
        """Yield the indexed elements around it, from the nearest to the outermost."""
        at = element.parent
        while at is not None:
            yield self.elements[at]
            at = self.elements[at].parent

    def descendants(self, element: IndexedElement) -> Iterator[IndexedElement]:
        """Yield the indexed elements inside it, in document order."""
        stack = list(reversed(self._children.get(element.at, [])))
        while stack:
            at = stack.pop()
            yield self.elements[at]
            stack.extend(reversed(self._children.get(at, [])))

    def regions_of(self, element: IndexedElement) -> Iterator[IndexedRegion]:
        """Yield the regions that contain it, from the innermost to the outermost."""
        at = element.region
        while at is not None:
            yield self.regions[at]
            at = self.regions[at].parent

    @cached_property
    def documents(self) -> tuple[int, ...]:
        """For each root, the position of the document root that contains it; a document contains itself."""
        owners: list[int] = []
        for at, root in enumerate(self.roots):  # outermost first
            inside = root.kind is RootKind.SHADOW and root.parent is not None
            owners.append(owners[root.parent] if inside and root.parent is not None else at)
        return tuple(owners)

    def path_of_root(self, root: int) -> tuple[IndexedRoot, ...]:
        """Return the roots from the page's document to this one, both included."""
        path: list[IndexedRoot] = []
        at: int | None = root
        while at is not None:
            path.append(self.roots[at])
            at = self.roots[at].parent
        return tuple(reversed(path))
