"""Matches CSS selectors against an accessibility snapshot, as far as possible.

A snapshot has no tags, ids or classes and few attributes. A tag is inferred from the role. If a selector
requires more than roles, names, levels, states and link targets, the match is a *maybe*.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import IntEnum

from web_pages.aria_snapshots import SAID_BY_NAME, AriaMatch, AriaNode, AriaSnapshot
from web_pages.css_queries import CssComplex, CssCompound, parse_list


class MatchCertainty(IntEnum):
    """Whether an element matches."""

    NO = 0
    MAYBE = 1
    YES = 2


_ALWAYS = {f"h{n}": ("heading",) for n in range(1, 7)} | {
    "main": ("main",),
    "nav": ("navigation",),
    "table": ("table",),
}
"""Tags that have their role on any page; an element without the role does not have the tag."""
_USUALLY = {
    "a": ("link",),
    "aside": ("complementary",),
    "blockquote": ("blockquote",),
    "button": ("button",),
    "code": ("code",),
    "dd": ("definition",),
    "dialog": ("dialog",),
    "dt": ("term",),
    "em": ("emphasis",),
    "li": ("listitem",),
    "option": ("option",),
    "p": ("paragraph",),
    "strong": ("strong",),
    "td": ("cell", "gridcell"),
    "th": ("columnheader", "rowheader"),
    "tr": ("row",),
    "iframe": ("iframe",),
}
"""Tags that almost exclusively have this role, but may also occur without it."""
_PERHAPS = {
    "fieldset": ("group",),
    "footer": ("contentinfo",),
    "form": ("form", "search"),
    "header": ("banner",),
    "img": ("img",),
    "ol": ("list",),
    "section": ("region",),
    "svg": ("img",),
    "textarea": ("textbox",),
    "select": ("combobox", "listbox"),
    "ul": ("list",),
    "input": (
        "textbox",
        "searchbox",
        "spinbutton",
        "slider",
        "checkbox",
        "radio",
        "switch",
        "button",
        "combobox",
    ),
}
"""Tags that share their role with others."""

_SIMPLE = re.compile(
    r"(?P<tag>^[a-zA-Z][\w-]*|^\*)"
    r"|\[\s*(?P<attribute>[\w-]+)\s*(?:(?P<how>[*^$~|]?=)\s*(?P<value>\"[^\"\\]*\"|'[^'\\]*'|[\w-]+)\s*)?\]"
)
_AriaCheck = Callable[[AriaNode, AriaSnapshot], MatchCertainty]


def match_css(selector: str, outline: AriaSnapshot) -> AriaMatch:
    """Return the elements that a selector matches, computed once per snapshot.

    Raises `SelectorError` for an invalid selector.
    """
    if selector not in outline.matches:
        outline.matches[selector] = _match(selector, outline)
    return outline.matches[selector]


def _match(selector: str, outline: AriaSnapshot) -> AriaMatch:
    readings = [_AriaSelector(each) for each in parse_list(selector, relative=False)]
    found: list[AriaNode] = []
    maybe: list[AriaNode] = []
    for node in outline.nodes:
        fit = max(reading.fit(node, outline) for reading in readings)
        if fit is not MatchCertainty.NO:
            (found if fit is MatchCertainty.YES else maybe).append(node)
    return AriaMatch(tuple(found), tuple(maybe), any(reading.hides for reading in readings))


def can_be_found(selector: str) -> bool:
    """Return whether some snapshot exists in which the selector certainly matches an element.

    Raises `SelectorError` for an invalid selector.
    """
    return any(
        _AriaSelector(each).best is MatchCertainty.YES for each in parse_list(selector, relative=False)
    )


class _AriaSelector:
    """One selector of a list, and how certain each of its parts can be."""

    def __init__(self, parts: CssComplex) -> None:
        self._parts = [_AriaCompound(part) for part in parts]
        # `>`, `+` and `~` require neighbours; a snapshot omits elements in between.
        self._loose = any(part.combinator not in ("", " ") for part in parts[1:])
        self.hides = any(part.hides for part in self._parts)
        loosest = min(part.best for part in self._parts)
        self.best = min(loosest, MatchCertainty.MAYBE) if self._loose else loosest

    def fit(self, node: AriaNode, outline: AriaSnapshot) -> MatchCertainty:
        """Return how certainly an element matches."""
        if not self._loose and self._fits(node, outline, MatchCertainty.YES):
            return MatchCertainty.YES
        return MatchCertainty.MAYBE if self._fits(node, outline, MatchCertainty.MAYBE) else MatchCertainty.NO

    def _fits(self, node: AriaNode, outline: AriaSnapshot, least: MatchCertainty) -> bool:
        """Return whether every part has a matching ancestor, in order, with at least this certainty."""
        if self._parts[-1].fit(node, outline) < least:
            return False
        around = node.ancestors()
        return all(
            any(part.fit(each, outline) >= least for each in around) for part in reversed(self._parts[:-1])
        )


class _AriaCompound:
    """One compound's requirements on an element."""

    def __init__(self, compound: CssCompound) -> None:
        self._checks: list[_AriaCheck] = []
        self.best = MatchCertainty.YES
        self.hides = False
        """Whether a snapshot may omit such elements, or give them a different role."""
        at = 0
        while at < len(compound.native):
            simple = _SIMPLE.match(compound.native, at)
            if simple is None:
                self._doubt()
                break
            self._read(simple)
            at = simple.end()
        for test in compound.tests:
            if test.name == "has-text":
                self._checks.append(_saying(test.text))
            elif test.name in ("checked", "disabled"):
                self._checks.append(_in_state(test.name))
            else:
                self._doubt()

    def fit(self, node: AriaNode, outline: AriaSnapshot) -> MatchCertainty:
        """Return how certainly an element meets the requirements."""
        answer = self.best
        for check in self._checks:
            answer = min(answer, check(node, outline))
            if answer is MatchCertainty.NO:
                break
        return answer

    def _doubt(self) -> None:
        """Note that a requirement cannot be checked in a snapshot."""
        self.best = MatchCertainty.MAYBE
        self.hides = self.hides or not self._checks

    def _read(self, simple: re.Match[str]) -> None:
        if simple["tag"]:
            self._read_tag(simple["tag"].lower())
            return
        name, how, value = simple["attribute"].lower(), simple["how"], (simple["value"] or "").strip("\"'")
        if name == "role" and how == "=":
            self._checks.append(_of_roles((value,)))
        elif name == "href" and how in _COMPARISONS:
            self._checks.append(_leading(how, value))
        elif name == "aria-label" and how == "=":
            self._checks.append(_labelled(value))
        else:
            self._doubt()

    def _read_tag(self, tag: str) -> None:
        if tag == "*":
            return
        if tag in _ALWAYS:
            self._checks.append(_of_roles(_ALWAYS[tag]))
            if tag[1:].isdigit():
                self._checks.append(_of_level(tag[1:]))
            return
        self.hides = True
        if tag in _USUALLY:
            self._checks.append(_of_roles(_USUALLY[tag]))
        elif tag in _PERHAPS:
            self._checks.append(_of_roles(_PERHAPS[tag]))
            self._doubt()
        else:
            self._doubt()


def _of_roles(roles: tuple[str, ...]) -> _AriaCheck:
    return lambda node, _: MatchCertainty.YES if node.role in roles else MatchCertainty.NO


def _of_level(level: str) -> _AriaCheck:
    return lambda node, _: MatchCertainty.YES if node.states.get("level") == level else MatchCertainty.NO


def _in_state(state: str) -> _AriaCheck:
    return lambda node, _: MatchCertainty.YES if state in node.states else MatchCertainty.NO


def _labelled(label: str) -> _AriaCheck:
    def check(node: AriaNode, _: AriaSnapshot) -> MatchCertainty:
        if node.name != label:
            return MatchCertainty.NO
        # The content names these elements if no attribute does.
        return MatchCertainty.MAYBE if node.role in SAID_BY_NAME else MatchCertainty.YES

    return check


_COMPARISONS: dict[str, Callable[[str, str], bool]] = {
    "=": str.__eq__,
    "^=": str.startswith,
    "$=": str.endswith,
    "*=": str.__contains__,
}


def _leading(how: str, target: str) -> _AriaCheck:
    def check(node: AriaNode, _: AriaSnapshot) -> MatchCertainty:
        given = node.properties.get("url")
        if given is None:
            return MatchCertainty.NO
        return MatchCertainty.YES if target and _COMPARISONS[how](given, target) else MatchCertainty.NO

    return check


def _saying(folded: str) -> _AriaCheck:
    def check(node: AriaNode, outline: AriaSnapshot) -> MatchCertainty:
        says = outline.folded.says(folded, node)
        return MatchCertainty.MAYBE if says is None else MatchCertainty(2 * says)

    return check
