"""The text of a stored page: visible text, all text, and the markup's text for `:has-text`.

Each root is traversed once per kind of text. The text of an element is then a slice of the root's
text, so nested elements with long texts cost nothing more. `kb_schema.probes` defines
*text*; `agent/page/js/1_roots.js` does the same on a live page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import Literal

from web_pages.element_tree import Element, Root
from web_pages.html_tags import FIELD_TAGS, INLINE_TAGS, INPUT_BUTTONS, TEXTLESS_TAGS, VISUAL_TAGS
from web_pages.visibility import visible

_BLANK = re.compile(r"[ \t\n\r\f\u00a0]+")
_UNSEEN = re.compile("[\u00ad\u200b]")
_TAGS_WITH_TEXT_ATTRIBUTES = FIELD_TAGS | VISUAL_TAGS
_TEXT_ATTRIBUTES = ("aria-label", "alt", "title", "placeholder")


class TextKind(Enum):
    """The kind of text."""

    VISIBLE = "visible"
    ALL = "all"
    """Text that can be seen, and text that cannot."""
    MARKUP = "markup"
    """All text nodes unchanged, in lower case, without spaces between elements."""


def squeeze(text: str) -> str:
    """Return text with each run of white space as one space, none at the ends, and without soft hyphens and zero-width spaces.

    Playwright compares texts and names without them, too.
    """
    return _BLANK.sub(" ", _UNSEEN.sub("", text)).strip(" ")


def fold(text: str) -> str:
    """Return squeezed text in lower case, for comparison."""
    return squeeze(text).lower()


def text_of(node: Element | Root, *, everything: bool = False) -> str:
    """Return the visible text below a node, or all of it. Elements that are not inline separate words."""
    kind = TextKind.ALL if everything else TextKind.VISIBLE
    return texts_of(node, kind).whole if isinstance(node, Root) else texts_of(node.root, kind).of(node)


def own_texts(element: Element) -> list[str]:
    """Return the text nodes of an element itself, squeezed; empty ones are left out."""
    return [said for child in element.children if isinstance(child, str) and (said := squeeze(child))]


def matches(text: str, wanted: str, match: Literal["part", "number", "whole"]) -> bool:
    """Return whether a text has a squeezed text as `TextProbe.match` says; for live pages: `5_probes.js`.

    >>> matches("of $500.00", "$500", "part"), matches("of $500.00", "$500", "number"), matches("$500.", "$500", "number")
    (True, False, True)
    """
    if match == "whole":
        return squeeze(text) == wanted
    if match == "number":
        return re.search(rf"(?<![\d.,]){re.escape(wanted)}(?!\d|[.,]\d)", text) is not None
    return wanted in text if wanted else bool(text)


def says(node: Element | Root, words: str, *, everything: bool = False) -> bool:
    """Return whether a node's text contains squeezed words; without words, whether it has any text."""
    texts = texts_of(
        node if isinstance(node, Root) else node.root, TextKind.ALL if everything else TextKind.VISIBLE
    )
    return texts.contains(None if isinstance(node, Root) else node, words)


def markup_says(element: Element, folded: str) -> bool:
    """Return whether the text of the markup below an element contains folded words (`:has-text`)."""
    return texts_of(element.root, TextKind.MARKUP).contains(element, folded)


def texts_of(root: Root, kind: TextKind) -> RootText:
    """Return a root's text of one kind, computed at the first call."""
    texts: dict[Enum, RootText] = root.texts
    if kind not in texts:
        texts[kind] = RootText(root, kind)
    return texts[kind]


def button_text(element: Element) -> str:
    """Return the label of an input button; the browser's default if the page gives none."""
    given = element.get("value")
    if given is not None:
        return given
    return {"submit": "Submit", "reset": "Reset"}.get(element.input_type, "")


class RootText:
    """The text of a root, of one kind, and the position of each element's text in it."""

    def __init__(self, root: Root, kind: TextKind) -> None:
        self._gather = _GATHERERS[kind]
        self._fold = kind is TextKind.MARKUP
        self._parts: list[str] = []
        self._length = 0
        self._blank = True
        """Whether the text so far ends with a space."""
        self._spans: dict[int, tuple[int, int]] = {}
        self._walk(root.top)
        self._buffer = "".join(self._parts)
        self._end = self._length
        self._missing: set[str] = set()

    @property
    def whole(self) -> str:
        """The text of the root."""
        return self._buffer[: self._end].strip(" ")

    def of(self, element: Element) -> str:
        """Return the text of one element."""
        begin, end = self._span(element)
        return self._buffer[begin:end].strip(" ")

    def contains(self, element: Element | None, words: str) -> bool:
        """Return whether the text of the element (None: of the root) contains squeezed words."""
        begin, end = (0, self._end) if element is None else self._span(element)
        if not words:
            return bool(self._buffer[begin:end].strip(" "))
        if words in self._missing:
            return False
        if self._buffer.find(words, begin, end) >= 0:
            return True
        if words not in self._buffer:
            self._missing.add(words)
        return False

    def _span(self, element: Element) -> tuple[int, int]:
        if id(element) not in self._spans:  # below an element without text, such as `noscript`
            self._add(" ")
            self._walk([element])
            self._buffer = "".join(self._parts)
            self._missing.clear()
        return self._spans[id(element)]

    def _walk(self, nodes: Iterable[Element | str]) -> None:
        gather, add, spans = self._gather, self._add, self._spans
        stack: list[Element | str | tuple[int, int]] = list(nodes)
        stack.reverse()
        while stack:
            at = stack.pop()
            if isinstance(at, str):
                add(at)
            elif isinstance(at, tuple):
                spans[at[0]] = (at[1], self._length)
            else:
                begin = self._length
                rest = gather(at, add)
                if rest:
                    stack.append((id(at), begin))
                    stack += rest
                else:
                    spans[id(at)] = (begin, self._length)

    def _add(self, text: str) -> None:
        if text == " ":
            if not self._blank:
                self._parts.append(text)
                self._length += 1
                self._blank = True
            return
        squeezed = _BLANK.sub(" ", text)
        if self._blank and squeezed.startswith(" "):
            squeezed = squeezed[1:]
        if not squeezed:
            return
        if self._fold:
            squeezed = squeezed.lower()
        self._parts.append(squeezed)
        self._length += len(squeezed)
        self._blank = squeezed[-1] == " "


_Gather = Callable[[Element, Callable[[str], None]], list[Element | str]]
"""Adds the text of an element itself; returns its content that is still to visit, last first."""


def _seen(element: Element, add: Callable[[str], None]) -> list[Element | str]:
    return _gather(element, add, shown=visible(element), everything=False)


def _all(element: Element, add: Callable[[str], None]) -> list[Element | str]:
    return _gather(element, add, shown=True, everything=True)


def _gather(
    element: Element, add: Callable[[str], None], *, shown: bool, everything: bool
) -> list[Element | str]:
    tag = element.tag
    apart = tag not in INLINE_TAGS
    if apart:
        add(" ")
    if shown and (tag in _TAGS_WITH_TEXT_ATTRIBUTES or element.attributes.get("role") == "img"):
        for words in _attribute_texts(element):
            add(words)
    if tag in TEXTLESS_TAGS:
        return []
    rest = element.children[::-1]
    if not everything and (not shown or (tag == "details" and "open" not in element.attributes)):
        rest = [child for child in rest if isinstance(child, Element)]
    if apart:
        rest.insert(0, " ")
    return rest


def _markup(element: Element, add: Callable[[str], None]) -> list[Element | str]:
    if element.tag in TEXTLESS_TAGS:
        return []
    if element.tag == "input" and element.input_type in INPUT_BUTTONS:
        add(button_text(element))
    return element.children[::-1]


_GATHERERS: dict[TextKind, _Gather] = {TextKind.VISIBLE: _seen, TextKind.ALL: _all, TextKind.MARKUP: _markup}


def _attribute_texts(element: Element) -> Iterator[str]:
    if element.tag == "input" and element.input_type in INPUT_BUTTONS:
        yield f" {button_text(element)}"
    for name in _TEXT_ATTRIBUTES:
        if element.attributes.get(name):
            yield f" {element.attributes[name]}"
    yield " "
