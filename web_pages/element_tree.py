"""The model of a stored page: a tree for the document, each shadow root and each frame document.

`html_parser` builds it, `visibility` decides what can be seen, `page_texts` collects its text and
`form_fields` reads its fields.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from web_pages.html_tags import INPUT_TYPES


@dataclass(eq=False, slots=True, repr=False)
class Element:
    """An element of a stored page."""

    tag: str
    attributes: dict[str, str]
    root: Root
    parent: Element | None
    order: int
    children: list[Element | str] = field(default_factory=list)
    shadow: Root | None = None
    frame_document: Root | None = None
    seen: bool | None = None
    """Visibility, cached by `visibility`; None: not computed yet."""

    def get(self, name: str) -> str | None:
        """An attribute's value, or None."""
        return self.attributes.get(name)

    def elements(self) -> Iterator[Element]:
        """Child elements."""
        return (child for child in self.children if isinstance(child, Element))

    def ancestors(self) -> Iterator[Element]:
        """Parents up to the root's outermost element."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def descendants(self) -> Iterator[Element]:
        """Everything below, in document order, within the same root."""
        stack = [*self.elements()][::-1]
        while stack:
            node = stack.pop()
            yield node
            stack.extend([*node.elements()][::-1])

    @property
    def input_type(self) -> str:
        """The type of an `input`; `text` if the attribute is missing or unknown."""
        given = (self.attributes.get("type") or "").lower()
        return given if given in INPUT_TYPES else "text"

    def closest(self, *tags: str) -> Element | None:
        """The nearest ancestor with one of these tags."""
        return next((node for node in self.ancestors() if node.tag in tags), None)


@dataclass(eq=False, slots=True, repr=False)
class Root:
    """A document, shadow root or frame document. `kind` is `document`, `shadow` or `frame`."""

    kind: str
    host: Element | None
    annotated: bool
    parser: LexborHTMLParser
    elements: list[Element] = field(default_factory=list)
    top: list[Element | str] = field(default_factory=list)
    by_node: dict[int, Element] = field(default_factory=dict)
    ids: dict[str, Element] = field(default_factory=dict)
    renamed: set[str] = field(default_factory=set)
    """The tags that some elements have under another name in the parser (`RENAMED_PREFIX`)."""
    holder: object = None
    """The object of the page: it lives as long as one of its elements."""

    labels: dict[int, list[Element]] | None = None
    """Label elements by the control they label, cached by `accessible_names.labels_of`."""
    standing: dict[int, Element | None] = field(default_factory=dict)
    """The option that each closed list without a selected option shows, cached by `visibility`."""
    choosers: dict[int, Element | None] = field(default_factory=dict)
    """The list around each ancestor of an option, cached by `visibility`."""
    texts: dict[Enum, Any] = field(default_factory=dict)
    """Its `RootText` by `TextKind`, cached by `page_texts`."""

    def by_id(self, wanted: str) -> Element | None:
        """The first element with this id."""
        return self.ids.get(wanted)
