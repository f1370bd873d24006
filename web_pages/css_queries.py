"""CSS queries on stored pages: lexbor for the markup, our own code for the rest.

Our own are `:has-text("...")`, the state of fields (`:checked`, `:disabled`, ...; lexbor reads only
attributes) and piercing of shadow roots. `agent/page/js/2_css.js` does the same on a live page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from kb_schema.page_snapshots import RENAMED_PREFIX
from web_pages.element_tree import Element, Root
from web_pages.form_fields import disabled_natively, is_toggle, value_of
from web_pages.html_tags import FIELD_TAGS
from web_pages.page_texts import fold, markup_says
from web_pages.visibility import is_chosen


class SelectorError(ValueError):
    """A selector that is invalid, or that a stored page cannot answer."""


@dataclass(frozen=True, slots=True)
class CssPseudoClass:
    """A part of a compound that our own code evaluates."""

    name: str
    text: str = ""
    parts: tuple[tuple[CssCompound, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class CssCompound:
    """One element's part of a selector, and its relation to the part before."""

    combinator: str
    native: str = ""
    tests: tuple[CssPseudoClass, ...] = ()
    anchor: bool = False


CssComplex = tuple[CssCompound, ...]


def _checked(element: Element) -> bool:
    if element.tag == "option":
        return is_chosen(element)
    return is_toggle(element) and value_of(element) == "true"


def _can_be_disabled(element: Element) -> bool:
    return element.tag in FIELD_TAGS or element.tag in ("option", "optgroup", "fieldset")


def _can_be_required(element: Element) -> bool:
    return element.tag in ("input", "select", "textarea")


_STATES: dict[str, Callable[[Element], bool]] = {
    "checked": _checked,
    "disabled": disabled_natively,
    "enabled": lambda element: _can_be_disabled(element) and not disabled_natively(element),
    "required": lambda element: _can_be_required(element) and "required" in element.attributes,
    "optional": lambda element: _can_be_required(element) and "required" not in element.attributes,
}
"""Pseudo-classes for the state of a field."""

_PSEUDO = re.compile(r":(has-text|has|not|is|where)\(")
_STATE = re.compile(rf":({'|'.join(_STATES)})(?![\w(-])")
_OWN = re.compile(rf":has-text\(|:(?:{'|'.join(_STATES)})(?![\w(-])")


@dataclass(slots=True)
class CssQueries:
    """CSS queries on one page. Each distinct selector and each native part is evaluated once per root."""

    _answers: dict[tuple[int, str, bool], tuple[Element, ...]] = field(default_factory=dict)
    _sets: dict[tuple[int, str], frozenset[int]] = field(default_factory=dict)
    _families: dict[int, tuple[list[Element], dict[int, int]]] = field(default_factory=dict)
    """The children of a parent and their positions, for `+` and `~`."""
    _below: dict[tuple[object, ...], bool] = field(default_factory=dict)
    """Whether an ancestor of an element matches the preceding part of a selector."""
    _first: dict[tuple[object, ...], int] = field(default_factory=dict)
    """The position of a parent's first child that matches the part before a `~`."""
    _holders: dict[tuple[int, bool, int], frozenset[int]] = field(default_factory=dict)
    """The elements of a root that contain a match, for `:has(x)`."""
    _parsed: dict[str, tuple[CssComplex, ...]] = field(default_factory=dict)
    """Parsed selectors. They are kept because the caches use the identity of their parts."""

    def select(self, root: Root, selector: str, *, pierce: bool = False) -> tuple[Element, ...]:
        """Return the matching elements in document order. Raises `SelectorError`."""
        key = (id(root), selector, pierce)
        if key not in self._answers:
            self._answers[key] = tuple(self._select(root, selector, pierce=pierce))
        return self._answers[key]

    def _select(self, root: Root, selector: str, *, pierce: bool) -> Iterable[Element]:
        if not selector.strip():
            raise SelectorError("an empty selector")
        if not pierce and not _OWN.search(selector):
            return sorted(_query(root, selector), key=lambda element: element.order)
        if selector not in self._parsed:
            self._parsed[selector] = parse_list(selector, relative=False)
        parsed = self._parsed[selector]
        return (element for element in root.elements if self._any(element, parsed, pierce))

    def _native(self, root: Root, selector: str) -> frozenset[int]:
        key = (id(root), selector)
        if key not in self._sets:
            self._sets[key] = frozenset(map(id, _query(root, selector)))
        return self._sets[key]

    def _any(
        self, element: Element, parts: Iterable[CssComplex], pierce: bool, anchor: Element | None = None
    ) -> bool:
        return any(self._complex(element, each, len(each) - 1, pierce, anchor) for each in parts)

    def _complex(
        self, element: Element, parts: CssComplex, at: int, pierce: bool, anchor: Element | None
    ) -> bool:
        part = parts[at]
        fits = element is anchor if part.anchor else self._compound(element, part, pierce)
        if not fits or at == 0:
            return fits
        if part.combinator == " ":
            return self._above(element, parts, at - 1, pierce, anchor)
        if part.combinator == "~":
            return self._before(element, parts, at - 1, pierce, anchor)
        nearest = self._brother(element) if part.combinator == "+" else _parent(element, pierce)
        return nearest is not None and self._complex(nearest, parts, at - 1, pierce, anchor)

    def _above(
        self, element: Element, parts: CssComplex, at: int, pierce: bool, anchor: Element | None
    ) -> bool:
        """Return whether an ancestor of the element matches."""
        if anchor is not None:  # every anchor would be cached separately
            return any(self._complex(node, parts, at, pierce, anchor) for node in _outward(element, pierce))
        passed: list[tuple[object, ...]] = []
        found = False
        node: Element | None = element
        while node is not None and not found:
            key = (id(node), id(parts), at, pierce, id(anchor))
            if key in self._below:
                found = self._below[key]
                break
            passed.append(key)
            node = _parent(node, pierce)
            found = node is not None and self._complex(node, parts, at, pierce, anchor)
        self._below.update(dict.fromkeys(passed, found))
        return found

    def _before(
        self, element: Element, parts: CssComplex, at: int, pierce: bool, anchor: Element | None
    ) -> bool:
        """Return whether an earlier child of the same parent matches."""
        if element.parent is None:
            return False
        children, places = self._family(element.parent)
        key = (id(element.parent), id(parts), at, pierce, id(anchor))
        if key not in self._first:
            matching = (
                n for n, child in enumerate(children) if self._complex(child, parts, at, pierce, anchor)
            )
            self._first[key] = next(matching, len(children))
        return self._first[key] < places[id(element)]

    def _brother(self, element: Element) -> Element | None:
        """Return the child just before the element."""
        if element.parent is None:
            return None
        children, places = self._family(element.parent)
        place = places[id(element)]
        return children[place - 1] if place else None

    def _family(self, parent: Element) -> tuple[list[Element], dict[int, int]]:
        if id(parent) not in self._families:
            children = [*parent.elements()]
            self._families[id(parent)] = (children, {id(child): n for n, child in enumerate(children)})
        return self._families[id(parent)]

    def _compound(self, element: Element, part: CssCompound, pierce: bool) -> bool:
        if part.native and id(element) not in self._native(element.root, part.native):
            return False
        return all(self._test(element, test, pierce) for test in part.tests)

    def _test(self, element: Element, test: CssPseudoClass, pierce: bool) -> bool:
        if test.name == "has-text":
            return markup_says(element, test.text)
        if test.name in _STATES:
            return _STATES[test.name](element)
        if test.name == "has":
            return any(self._has(element, each, pierce) for each in test.parts)
        return self._any(element, test.parts, pierce) is (test.name != "not")

    def _has(self, element: Element, parts: CssComplex, pierce: bool) -> bool:
        if len(parts) == 2 and parts[1].combinator == " ":
            return id(element) in self._holding(element.root, parts, pierce)
        beside = parts[1].combinator in ("+", "~")
        scope = element.parent if beside else element
        if scope is None:
            return False
        last = len(parts) - 1
        return any(self._complex(node, parts, last, pierce, element) for node in scope.descendants())

    def _holding(self, root: Root, parts: CssComplex, pierce: bool) -> frozenset[int]:
        key = (id(parts), pierce, id(root))
        if key not in self._holders:
            held: set[int] = set()
            for element in root.elements:
                if self._compound(element, parts[1], pierce):
                    node = element.parent
                    while node is not None and id(node) not in held:
                        held.add(id(node))
                        node = node.parent
            self._holders[key] = frozenset(held)
        return self._holders[key]


def _outward(element: Element, pierce: bool) -> Iterator[Element]:
    node = _parent(element, pierce)
    while node is not None:
        yield node
        node = _parent(node, pierce)


def _parent(element: Element, pierce: bool) -> Element | None:
    return element.parent or (element.root.host if pierce and element.root.kind == "shadow" else None)


_TOKEN = re.compile(r"""\"[^\"]*\"|'[^']*'|\[[^\]]*\]|[#.:]+(?:[\w-]|\\.)+|(?P<tag>[a-zA-Z][\w-]*)""")


def _with_renamed(found: re.Match[str], renamed: Collection[str]) -> str:
    """Return a token of a selector; a tag also under the name that it may have in the parser."""
    tag = (found["tag"] or "").lower()
    return f":is({tag}, {RENAMED_PREFIX}{tag})" if tag in renamed else found[0]


def _query(root: Root, selector: str) -> set[Element]:
    """Return the matches of the parser itself. Raises `SelectorError`."""
    if root.renamed:
        selector = _TOKEN.sub(lambda found: _with_renamed(found, root.renamed), selector)
    found = (root.by_node.get(node.mem_id) for node in _query_native(root.parser, selector))
    return {element for element in found if element is not None}


_NOTHING = LexborHTMLParser("")
"""An empty page, to test whether a selector is valid."""


def _query_native(parser: LexborHTMLParser, selector: str) -> list[LexborNode]:
    try:
        return parser.css(selector)
    except SelectolaxError as error:
        raise SelectorError(f"{selector!r} is not a selector a stored page can answer") from error


def check_selector(selector: str) -> None:
    """Raise `SelectorError` if no stored page can answer a selector or a part of it."""
    if not selector.strip():
        raise SelectorError("an empty selector")
    if not _OWN.search(selector):
        _query_native(_NOTHING, selector)
        return
    waiting = [*parse_list(selector, relative=False)]
    while waiting:
        for part in waiting.pop():
            if part.native:
                _query_native(_NOTHING, part.native)
            waiting.extend(each for test in part.tests for each in test.parts)


# -- parsing -------------------------------------------------------------------------------------

_CLOSING = {"(": ")", "[": "]"}
_OPENING = "\"'(["
_COMBINATORS = ">+~"


def _skip_group(text: str, start: int) -> int:
    """Return the index after the string or bracket that begins at `start`, without recursion."""
    expected: list[str] = []
    i = start
    while i < len(text):
        char = text[i]
        if char == "\\":
            i += 2
            continue
        if char in "\"'":
            i = _string_end(text, i)
        else:
            if char in _CLOSING:
                expected.append(_CLOSING[char])
            elif expected and char == expected[-1]:
                expected.pop()
            i += 1
        if not expected:
            return i
    raise SelectorError(f"{text[start]} is not closed in {text!r}")


def _string_end(text: str, start: int) -> int:
    i = start + 1
    while i < len(text):
        if text[i] == "\\":
            i += 2
        elif text[i] == text[start]:
            return i + 1
        else:
            i += 1
    raise SelectorError(f"a quote is not closed in {text!r}")


def _next(text: str, i: int) -> int:
    """Return the index after the character, escape, string or bracket at `i`."""
    if text[i] == "\\":
        return i + 2
    return _skip_group(text, i) if text[i] in _OPENING else i + 1


def _split(text: str) -> list[str]:
    pieces, start, i = [], 0, 0
    while i < len(text):
        if text[i] == ",":
            pieces.append(text[start:i])
            start = i + 1
        i = _next(text, i)
    return [*pieces, text[start:]]


def parse_list(text: str, *, relative: bool) -> tuple[CssComplex, ...]:
    """Return the selectors of a list, each as its parts from left to right. Raises `SelectorError`."""
    return tuple(_parse_complex(piece.strip(), relative=relative) for piece in _split(text))


def _parse_complex(text: str, *, relative: bool) -> CssComplex:
    if not text:
        raise SelectorError("an empty selector")
    parts = [CssCompound(combinator="", anchor=True)] if relative else []
    combinator = ""
    i = 0
    while i < len(text):
        if text[i].isspace():
            combinator = combinator or " "
            i += 1
        elif text[i] in _COMBINATORS:
            if combinator.strip() or not parts:
                raise SelectorError(f"an extra combinator in {text!r}")
            combinator = text[i]
            i += 1
        else:
            end = i
            while end < len(text) and not text[end].isspace() and text[end] not in _COMBINATORS:
                end = _next(text, end)
            parts.append(_parse_compound(text[i:end], combinator or " "))
            combinator, i = "", end
    if combinator.strip():
        raise SelectorError(f"{text!r} ends with {combinator}")
    return tuple(parts)


def _parse_compound(text: str, combinator: str) -> CssCompound:
    native: list[str] = []
    tests: list[CssPseudoClass] = []
    i = 0
    while i < len(text):
        function, state = _PSEUDO.match(text, i), _STATE.match(text, i)
        if state is not None:
            tests.append(CssPseudoClass(state[1]))
            i = state.end()
        elif function is not None:
            end = _skip_group(text, function.end() - 1)
            inside = text[function.end() : end - 1]
            if function[1] == "has-text":
                tests.append(CssPseudoClass("has-text", text=fold(_unquoted(inside))))
            elif _OWN.search(inside):
                tests.append(
                    CssPseudoClass(function[1], parts=parse_list(inside, relative=function[1] == "has"))
                )
            else:
                native.append(text[i:end])
            i = end
        else:
            end = _next(text, i)
            native.append(text[i:end])
            i = end
    return CssCompound(combinator, "".join(native), tuple(tests))


def _unquoted(text: str) -> str:
    text = text.strip()
    if len(text) < 2 or text[0] not in "\"'" or text[-1] != text[0]:
        return text

    def char(match: re.Match[str]) -> str:
        if not match[1]:
            return match[2]
        code = int(match[1], 16)
        return chr(code) if 0 < code <= 0x10FFFF else "\ufffd"

    return re.sub(r"\\(?:([0-9a-fA-F]{1,6})[ \t\n]?|(.))", char, text[1:-1], flags=re.DOTALL)
