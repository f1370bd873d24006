"""The index: everything one in-page pass saw, as frozen models.

One `PageIndex` is one synchronous look of `agent/page/js/9_index.js` at a page with its open shadow
roots and same-origin frames. Discovery, selectors, fingerprints and healing read it and never ask
the page again. Positions in `elements`, `regions` and `roots` are the only references between the
parts. Reading the page's JSON is in `agent/locating/looking.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from agent.locating.asking import Question

TEST_ID_ATTRIBUTES = ("data-testid", "data-test-id", "data-test", "data-qa", "data-cy", "data-pw")
"""Attributes that exist to be found by, in the order in which they are asked."""


class RootKind(StrEnum):
    """What an element's tree is."""

    DOCUMENT = "document"
    """The page's own document."""
    SHADOW = "shadow"
    """An open shadow root."""
    FRAME = "frame"
    """The document of a same-origin frame."""


class RegionKind(StrEnum):
    """What a part of the page is to a person."""

    FORM = "form"
    DIALOG = "dialog"
    LANDMARK = "landmark"
    """`main`, `nav`, `aside`, `header`, `footer`, `search`, a named `section`."""
    SECTION = "section"
    """What stands below a heading, up to the next one of its level, within the heading's container."""
    GROUP = "group"
    """A `fieldset`, a radio group, a toolbar, a tab panel, a card (`article`)."""
    FIELD = "field"
    """What stands beside a label that labels no control of its own: date and time, choices."""
    TABLE = "table"
    ROW = "row"
    ITEM = "item"
    """An item of a list, a tree or a menu."""


class Box(NamedTuple):
    """Where an element is painted: CSS pixels from the top left of the page's view, whatever its frame."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class IndexedRoot:
    """A tree of the page: roots contain each other through their hosts."""

    kind: RootKind
    parent: int | None
    """The root its host stands in; None for the page's document."""
    host: int | None
    """Position of the frame or shadow host among `elements`; None for the page's document."""
    host_css: str | None
    """A CSS selector of the host that is unique within its own root."""
    url: str | None
    """The document's address; None for a shadow root."""


@dataclass(frozen=True, slots=True)
class IndexedRegion:
    """A part of the page that a person would name."""

    kind: RegionKind
    element: int
    """Position of its element; of the heading for a `SECTION`, of the label for a `FIELD`."""
    parent: int | None
    """The region around it."""
    name: str
    """Its accessible name, else its heading, legend or caption."""
    texts: tuple[str, ...]
    """What else it could be called: the texts of a row's cells or of an item's parts."""


class Neighbours(NamedTuple):
    """The words next to an element. Empty strings where there are none."""

    heading: str = ""
    """The nearest heading before it in its containers."""
    before: str = ""
    """The text just before it in its own line, cell or field: what a sighted person reads as its label."""
    after: str = ""
    """The text just behind it."""
    row: str = ""
    """The first cell of its table row that says something, other than its own."""
    column: str = ""
    """The header cell of its table column."""


class IndexedElement(NamedTuple):
    """One element as it was seen. A tuple, since a large page has thousands of them."""

    at: int
    """Its position in `PageIndex.elements`, which are in document order, frames where they stand."""
    root: int
    """Position in `roots`."""
    parent: int | None
    """The nearest indexed element around it in the painted tree, across shadow roots and frames."""
    region: int | None
    """The innermost region it stands in; a region's own element stands in its parent region."""
    tag: str
    role: str | None
    """ARIA role, as Chromium computes it; None for elements without one."""
    name: str
    """Accessible name (W3C accname), as Chromium computes it."""
    label: str
    """What labels a control: `aria-labelledby`, `aria-label` and label elements."""
    text: str
    """Visible text, at most 200 characters; empty for large containers. Never what a field holds."""
    attributes: dict[str, str]
    """id, class, name, type, href, placeholder, title, alt, aria-label, test ids, short `data-*`, ...

    At most 200 characters each. `value` only of buttons, checkboxes and radio buttons.
    """
    near: Neighbours
    box: Box
    visible: bool
    interactive: bool
    """A person can operate it."""
    enabled: bool
    required: bool
    checked: bool | None
    """Of what can be ticked; None for anything else."""
    clickable: bool
    """Not interactive by its markup, but it shows a hand or has an `onclick`."""
    by_label: bool
    """A hidden checkbox, radio button or file field that its visible label or trigger stands for."""

    @property
    def id(self) -> str | None:
        """The `id` attribute, whatever it looks like."""
        return self.attributes.get("id")

    @property
    def placeholder(self) -> str:
        """The placeholder; empty where there is none."""
        return self.attributes.get("placeholder", "")

    @property
    def test_ids(self) -> dict[str, str]:
        """Attributes that exist to be found by."""
        return {name: self.attributes[name] for name in TEST_ID_ATTRIBUTES if name in self.attributes}

    @property
    def identities(self) -> tuple[str, ...]:
        """What its author calls it: test ids, id and field name."""
        get = self.attributes.get
        return tuple(said for name in (*TEST_ID_ATTRIBUTES, "id", "name") if (said := get(name)))

    @property
    def classes(self) -> tuple[str, ...]:
        """Class names in their order."""
        return tuple(self.attributes.get("class", "").split())


@dataclass(frozen=True)
class PageIndex:
    """One look at a page."""

    token: str
    """Names the look to the page, which can give the elements themselves while it remembers it."""
    url: str
    title: str
    ready_state: str
    viewport: tuple[int, int]
    """Width and height of the view in CSS pixels."""
    elements: tuple[IndexedElement, ...]
    regions: tuple[IndexedRegion, ...]
    roots: tuple[IndexedRoot, ...]
    truncated: bool = field(default=False)
    """The page has more elements than one look takes; what is missing is its end."""
    asked: Question | None = None
    """What the look was taken for; elements that cannot fit keep their places and say nothing. None: a
    look at everything."""

    @cached_property
    def interactive(self) -> tuple[IndexedElement, ...]:
        """What a person can see and operate, in document order."""
        return tuple(e for e in self.elements if e.by_label or (e.visible and (e.interactive or e.clickable)))

    @cached_property
    def _children(self) -> dict[int, list[int]]:
        below: dict[int, list[int]] = {}
        for element in self.elements:
            if element.parent is not None:
                below.setdefault(element.parent, []).append(element.at)
        return below

    def ancestors(self, element: IndexedElement) -> Iterator[IndexedElement]:
        """Indexed elements around it, from the nearest to the outermost."""
        at = element.parent
        while at is not None:
            yield self.elements[at]
            at = self.elements[at].parent

    def descendants(self, element: IndexedElement) -> Iterator[IndexedElement]:
        """Indexed elements inside it, in document order."""
        stack = list(reversed(self._children.get(element.at, [])))
        while stack:
            at = stack.pop()
            yield self.elements[at]
            stack.extend(reversed(self._children.get(at, [])))

    def regions_of(self, element: IndexedElement) -> Iterator[IndexedRegion]:
        """The regions it stands in, from the innermost to the outermost."""
        at = element.region
        while at is not None:
            yield self.regions[at]
            at = self.regions[at].parent

    @cached_property
    def documents(self) -> tuple[int, ...]:
        """For each root, the root of the document it belongs to: itself, or what its hosts stand in."""
        owners: list[int] = []
        for at, root in enumerate(self.roots):  # outermost first
            inside = root.kind is RootKind.SHADOW and root.parent is not None
            owners.append(owners[root.parent] if inside and root.parent is not None else at)
        return tuple(owners)

    def path_of_root(self, root: int) -> tuple[IndexedRoot, ...]:
        """The roots one passes from the page's document to this one, both included."""
        path: list[IndexedRoot] = []
        at: int | None = root
        while at is not None:
            path.append(self.roots[at])
            at = self.roots[at].parent
        return tuple(reversed(path))
