"""CSS on stored pages: lexbor for what the markup says, our own for the rest.

Our own are `:has-text("...")`, the state of fields (`:checked`, `:disabled`, ...; lexbor reads
only attributes) and piercing of shadow roots. The live twin is `agent/page/js/2_css.js`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from selectolax.lexbor import SelectolaxError

from kb_schema.pages.tree import (
    FIELD_TAGS,
    Element,
    Root,
    disabled_natively,
    fold,
    is_chosen,
    is_toggle,
    raw_text,
    value_of,
)


class SelectorError(ValueError):
    """A selector that cannot be parsed, or not be answered from a stored page."""


@dataclass(frozen=True, slots=True)
class _Test:
    """A part of a compound that lexbor is not asked about."""

    name: str
    text: str = ""
    parts: tuple[tuple[_Compound, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class _Compound:
    combinator: str
    native: str = ""
    tests: tuple[_Test, ...] = ()
    anchor: bool = False


_Complex = tuple[_Compound, ...]


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
"""Pseudo-classes whose truth is the state of a field."""

_PSEUDO = re.compile(r":(has-text|has|not|is|where)\(")
_STATE = re.compile(rf":({'|'.join(_STATES)})(?![\w(-])")
_OWN = re.compile(rf":has-text\(|:(?:{'|'.join(_STATES)})(?![\w(-])")


@dataclass(slots=True)
class CssQueries:
    """CSS answers on one page; each distinct native part is asked once per root."""

    _sets: dict[tuple[int, str], frozenset[int]] = field(default_factory=dict)

    def select(self, root: Root, selector: str, *, pierce: bool = False) -> list[Element]:
        """Matching elements in document order. Raises `SelectorError`."""
        if not selector.strip():
            raise SelectorError("an empty selector")
        if not pierce and not _OWN.search(selector):
            matched = self._native(root, selector)
            return [element for element in root.elements if id(element) in matched]
        parsed = _parse_list(selector, relative=False)
        return [element for element in root.elements if self._any(element, parsed, pierce)]

    def _native(self, root: Root, selector: str) -> frozenset[int]:
        key = (id(root), selector)
        if key not in self._sets:
            try:
                nodes = root.parser.css(selector)
            except SelectolaxError as error:
                raise SelectorError(f"{selector!r} is not a selector a stored page can answer") from error
            found = (root.by_node.get(node.mem_id) for node in nodes)
            self._sets[key] = frozenset(id(element) for element in found if element is not None)
        return self._sets[key]

    def _any(
        self, element: Element, parts: Iterable[_Complex], pierce: bool, anchor: Element | None = None
    ) -> bool:
        return any(self._complex(element, each, len(each) - 1, pierce, anchor) for each in parts)

    def _complex(
        self, element: Element, parts: _Complex, at: int, pierce: bool, anchor: Element | None
    ) -> bool:
        part = parts[at]
        fits = element is anchor if part.anchor else self._compound(element, part, pierce)
        if not fits or at == 0:
            return fits
        related = _related(element, part.combinator, pierce)
        return any(self._complex(node, parts, at - 1, pierce, anchor) for node in related)

    def _compound(self, element: Element, part: _Compound, pierce: bool) -> bool:
        if part.native and id(element) not in self._native(element.root, part.native):
            return False
        return all(self._test(element, test, pierce) for test in part.tests)

    def _test(self, element: Element, test: _Test, pierce: bool) -> bool:
        if test.name == "has-text":
            return test.text in raw_text(element).lower()
        if test.name in _STATES:
            return _STATES[test.name](element)
        if test.name == "has":
            return any(self._has(element, each, pierce) for each in test.parts)
        return self._any(element, test.parts, pierce) is (test.name != "not")

    def _has(self, element: Element, parts: _Complex, pierce: bool) -> bool:
        beside = parts[1].combinator in ("+", "~")
        scope = element.parent if beside else element
        if scope is None:
            return False
        last = len(parts) - 1
        return any(self._complex(node, parts, last, pierce, element) for node in scope.descendants())


def _related(element: Element, combinator: str, pierce: bool) -> Iterator[Element]:
    if combinator in ("+", "~"):
        siblings = [*element.parent.elements()] if element.parent else []
        before = siblings[: siblings.index(element)][::-1] if siblings else []
        yield from before[:1] if combinator == "+" else before
        return
    node: Element | None = element
    while node is not None:
        node = node.parent or (node.root.host if pierce and node.root.kind == "shadow" else None)
        if node is not None:
            yield node
        if combinator == ">":
            return


# -- reading -------------------------------------------------------------------------------------

_CLOSING = {"(": ")", "[": "]"}
_OPENING = "\"'(["
_COMBINATORS = ">+~"


def _skip_group(text: str, start: int) -> int:
    """Index just behind the string or bracket that begins at `start`, without recursion."""
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
    """Index behind the character, escape, string or bracket at `i`."""
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


def _parse_list(text: str, *, relative: bool) -> tuple[_Complex, ...]:
    return tuple(_parse_complex(piece.strip(), relative=relative) for piece in _split(text))


def _parse_complex(text: str, *, relative: bool) -> _Complex:
    if not text:
        raise SelectorError("an empty selector")
    parts = [_Compound(combinator="", anchor=True)] if relative else []
    combinator = ""
    i = 0
    while i < len(text):
        if text[i].isspace():
            combinator = combinator or " "
            i += 1
        elif text[i] in _COMBINATORS:
            if combinator.strip() or not parts:
                raise SelectorError(f"a combinator too many in {text!r}")
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


def _parse_compound(text: str, combinator: str) -> _Compound:
    native: list[str] = []
    tests: list[_Test] = []
    i = 0
    while i < len(text):
        function, state = _PSEUDO.match(text, i), _STATE.match(text, i)
        if state is not None:
            tests.append(_Test(state[1]))
            i = state.end()
        elif function is not None:
            end = _skip_group(text, function.end() - 1)
            inside = text[function.end() : end - 1]
            if function[1] == "has-text":
                tests.append(_Test("has-text", text=fold(_unquoted(inside))))
            elif _OWN.search(inside):
                tests.append(_Test(function[1], parts=_parse_list(inside, relative=function[1] == "has")))
            else:
                native.append(text[i:end])
            i = end
        else:
            end = _next(text, i)
            native.append(text[i:end])
            i = end
    return _Compound(combinator, "".join(native), tuple(tests))


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
