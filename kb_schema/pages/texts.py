"""What a stored page says: visible text, all text, and the text of its markup for `:has-text`.

Each root is walked once for each of these; after that the text of an element is a piece of the
root's, so that nested elements with long texts cost nothing more. `kb_schema.probes` says what
*text* means; the live twin is `agent/page/js/1_roots.js`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from enum import Enum

from kb_schema.pages.tags import FIELD_TAGS, INLINE_TAGS, INPUT_BUTTONS, TEXTLESS_TAGS, VISUAL_TAGS
from kb_schema.pages.tree import Element, Root
from kb_schema.pages.visibility import visible

_BLANK = re.compile(r"[ \t\n\r\f\u00a0]+")
_SPEAKING = FIELD_TAGS | VISUAL_TAGS
_SPOKEN_ATTRIBUTES = ("aria-label", "alt", "title", "placeholder")


class Said(Enum):
    """Which text is meant."""

    VISIBLE = "visible"
    ALL = "all"
    """Whether it can be seen or not."""
    MARKUP = "markup"
    """All text nodes as they stand, in lower case, with no space where elements begin."""


def squeeze(text: str) -> str:
    """Runs of white space as one space, none at the ends."""
    return _BLANK.sub(" ", text).strip(" ")


def fold(text: str) -> str:
    """For comparing without case."""
    return squeeze(text).lower()


def text_of(node: Element | Root, *, everything: bool = False) -> str:
    """Visible text below a node, or all of it; words parted where elements other than inline begin."""
    said = Said.ALL if everything else Said.VISIBLE
    return texts_of(node, said).whole if isinstance(node, Root) else texts_of(node.root, said).of(node)


def says(node: Element | Root, words: str, *, everything: bool = False) -> bool:
    """Whether a node's text contains squeezed words; any text at all, where there are none."""
    texts = texts_of(node if isinstance(node, Root) else node.root, Said.ALL if everything else Said.VISIBLE)
    return texts.contains(None if isinstance(node, Root) else node, words)


def markup_says(element: Element, folded: str) -> bool:
    """Whether the text of the markup below an element contains folded words (`:has-text`)."""
    return texts_of(element.root, Said.MARKUP).contains(element, folded)


def texts_of(root: Root, said: Said) -> Texts:
    """A root's texts, made when first asked."""
    if said not in root.texts:
        root.texts[said] = Texts(root, said)
    return root.texts[said]


def button_text(element: Element) -> str:
    """What an input button says; the browser's own words where the page gives none."""
    given = element.get("value")
    if given is not None:
        return given
    return {"submit": "Submit", "reset": "Reset"}.get(element.input_type, "")


class Texts:
    """One root's text of one kind, and where in it the text of each element is."""

    def __init__(self, root: Root, said: Said) -> None:
        self._gather = _GATHERERS[said]
        self._fold = said is Said.MARKUP
        self._parts: list[str] = []
        self._length = 0
        self._blank = True
        """Whether what was added last ends with a space."""
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
        """The text of one element."""
        begin, end = self._span(element)
        return self._buffer[begin:end].strip(" ")

    def contains(self, element: Element | None, words: str) -> bool:
        """Whether the element's text (None: the root's) contains words squeezed as this text is."""
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
        if id(element) not in self._spans:  # below something that does not speak, as in `noscript`
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
"""Says what an element says by itself, and gives what is left of it to walk, last first."""


def _seen(element: Element, say: Callable[[str], None]) -> list[Element | str]:
    return _gather(element, say, shown=visible(element), everything=False)


def _all(element: Element, say: Callable[[str], None]) -> list[Element | str]:
    return _gather(element, say, shown=True, everything=True)


def _gather(
    element: Element, say: Callable[[str], None], *, shown: bool, everything: bool
) -> list[Element | str]:
    tag = element.tag
    apart = tag not in INLINE_TAGS
    if apart:
        say(" ")
    if shown and (tag in _SPEAKING or element.attributes.get("role") == "img"):
        for words in _spoken(element):
            say(words)
    if tag in TEXTLESS_TAGS:
        return []
    rest = element.children[::-1]
    if not everything and (not shown or (tag == "details" and "open" not in element.attributes)):
        rest = [child for child in rest if isinstance(child, Element)]
    if apart:
        rest.insert(0, " ")
    return rest


def _markup(element: Element, say: Callable[[str], None]) -> list[Element | str]:
    if element.tag in TEXTLESS_TAGS:
        return []
    if element.tag == "input" and element.input_type in INPUT_BUTTONS:
        say(button_text(element))
    return element.children[::-1]


_GATHERERS: dict[Said, _Gather] = {Said.VISIBLE: _seen, Said.ALL: _all, Said.MARKUP: _markup}


def _spoken(element: Element) -> Iterator[str]:
    if element.tag == "input" and element.input_type in INPUT_BUTTONS:
        yield f" {button_text(element)}"
    for name in _SPOKEN_ATTRIBUTES:
        if element.attributes.get(name):
            yield f" {element.attributes[name]}"
    yield " "
