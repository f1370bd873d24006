"""The elements of some roots, indexed by tag, attribute, class and text. Each index is built at first use."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from web_pages.element_tree import Element, Root
from web_pages.selectors.stable_attributes import LONGEST

_LONGEST_RAW = 5 * LONGEST
"""Characters before white space is normalised; longer texts are content and not indexed."""


UNINDEXED_TAGS = frozenset(
    {
        "script",
        "style",
        "noscript",
        "template",
        "iframe",
        "noembed",
        "noframes",
        "textarea",
        "xmp",
    }
)
"""Their text is in the page but not in a snapshot of it, so the text around them is not used."""


class ElementIndex:
    """The elements of some roots in document order, and indexes of them."""

    def __init__(self, roots: Iterable[Root]) -> None:
        self.elements: list[Element] = []
        self.place: dict[int, int] = {}
        """The position of each element in `elements`, by its `id`."""
        self.end: list[int] = []
        """By position: that of the last element below the element there."""
        self._attributes: dict[str, dict[str, list[Element]]] = {}
        self._holders: dict[tuple[str, str, bool], dict[int, Element]] = {}
        for root in roots:
            self._number_all(root)

    def _number_all(self, root: Root) -> None:
        begin = len(self.elements)
        self.elements.extend(root.elements)
        for place in range(begin, len(self.elements)):
            self.place[id(self.elements[place])] = place
            self.end.append(place)
        for place in range(len(self.elements) - 1, begin - 1, -1):
            parent = self.elements[place].parent
            if parent is not None:
                above = self.place[id(parent)]
                self.end[above] = max(self.end[above], self.end[place])

    @cached_property
    def by_tag(self) -> Mapping[str, Sequence[Element]]:
        """Elements by tag."""
        found: defaultdict[str, list[Element]] = defaultdict(list)
        for element in self.elements:
            found[element.tag].append(element)
        return found

    def by_attribute(self, name: str) -> Mapping[str, Sequence[Element]]:
        """Return the elements by the value of an attribute."""
        if name not in self._attributes:
            found: defaultdict[str, list[Element]] = defaultdict(list)
            for element in self.elements:
                value = element.attributes.get(name)
                if value is not None:
                    found[value].append(element)
            self._attributes[name] = found
        return self._attributes[name]

    @cached_property
    def by_class(self) -> Mapping[str, Sequence[Element]]:
        """Elements by each of their classes."""
        found: defaultdict[str, list[Element]] = defaultdict(list)
        for element in self.elements:
            for name in set((element.attributes.get("class") or "").split()):
                found[name].append(element)
        return found

    @cached_property
    def _texts(self) -> dict[int, str]:
        """XPath's `normalize-space()` of each element, without long texts and texts with unindexed parts."""
        raw: dict[int, str] = {}
        for element in reversed(self.elements):  # children before parents
            if (
                element.tag in UNINDEXED_TAGS
                or element.shadow is not None
                or "data-pp-secret" in element.attributes
            ):
                continue
            parts: list[str] = []
            for child in element.children:
                text = child if isinstance(child, str) else raw.get(id(child))
                if text is None or sum(map(len, parts)) + len(text) > _LONGEST_RAW:
                    break
                parts.append(text)
            else:
                raw[id(element)] = "".join(parts)
        return {key: normalized(text) for key, text in raw.items()}

    def text(self, element: Element) -> str | None:
        """Return an element's text, white space normalised as XPath does; None if it is too long."""
        return self._texts.get(id(element))

    @cached_property
    def by_text(self) -> Mapping[str, Sequence[Element]]:
        """Elements by their whole text."""
        found: defaultdict[str, list[Element]] = defaultdict(list)
        texts = self._texts
        for element in self.elements:
            text = texts.get(id(element))
            if text:
                found[text].append(element)
        return found

    @cached_property
    def by_own_text(self) -> Mapping[str, Sequence[Element]]:
        """Elements by each piece of text outside of their parts."""
        found: defaultdict[str, list[Element]] = defaultdict(list)
        for element in self.elements:
            if element.tag not in UNINDEXED_TAGS and "data-pp-secret" not in element.attributes:
                pieces = {normalized(child) for child in element.children if isinstance(child, str)}
                for piece in pieces - {""}:
                    found[piece].append(element)
        return found

    def holders(self, tag: str, text: str, *, deep: bool) -> Mapping[int, Element]:
        """Return the elements that contain one with this tag and text, by `id`.

        `deep` is false if it must be a child.
        """
        key = (tag, text, deep)
        if key not in self._holders:
            found: dict[int, Element] = {}
            for element in self.by_text.get(text, ()):
                if element.tag != tag:
                    continue
                node = element.parent
                while node is not None and id(node) not in found:
                    found[id(node)] = node
                    node = node.parent if deep else None
            self._holders[key] = found
        return self._holders[key]

    @cached_property
    def _numbers(self) -> dict[int, int]:
        numbers: dict[int, int] = {}
        for element in self.elements:
            counted: Counter[str] = Counter()
            for child in element.elements():
                counted[child.tag] += 1
                numbers[id(child)] = counted[child.tag]
        return numbers

    def number(self, element: Element) -> int:
        """Return an element's position among the siblings with its tag, from 1."""
        return self._numbers.get(id(element), 1)


_TO_SPACE = {ord(char): " " for char in "\t\r\n"}


def normalized(text: str) -> str:
    """Return text as XPath's `normalize-space()` does: only blanks, tabs and line breaks are white space."""
    if "\n" in text or "\t" in text or "\r" in text:
        text = text.translate(_TO_SPACE)
    return " ".join(part for part in text.split(" ") if part)
