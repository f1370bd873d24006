"""Which elements of an accessibility snapshot a CSS selector means, as far as that can be told.

A snapshot has no tags, ids, classes and few attributes. A tag is told by the role it has; what a
selector asks beyond roles, names, levels, states and link targets makes it a *maybe*.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from kb_schema.pages.css import Complex, Compound, parse_list
from kb_schema.pages.outline import SAID_BY_NAME, Node, Outline


class Fit(IntEnum):
    """Whether an element is one that is meant."""

    NO = 0
    MAYBE = 1
    YES = 2


@dataclass(frozen=True, slots=True)
class Match:
    """What a selector means in a snapshot."""

    found: tuple[Node, ...] = ()
    maybe: tuple[Node, ...] = ()
    """Elements that may be meant, too."""
    hidden: bool = False
    """Whether elements may be meant that the snapshot does not tell apart from others at all."""


_ALWAYS = {f"h{n}": ("heading",) for n in range(1, 7)} | {
    "main": ("main",), "nav": ("navigation",), "table": ("table",),
}  # fmt: skip
"""Tags that have their role on any page; one without such an element does not have the tag."""
_USUALLY = {
    "a": ("link",), "aside": ("complementary",), "blockquote": ("blockquote",), "button": ("button",),
    "code": ("code",), "dd": ("definition",), "dialog": ("dialog",), "dt": ("term",), "em": ("emphasis",),
    "li": ("listitem",), "option": ("option",), "p": ("paragraph",), "strong": ("strong",),
    "td": ("cell", "gridcell"), "th": ("columnheader", "rowheader"), "tr": ("row",), "iframe": ("iframe",),
}  # fmt: skip
"""Tags whose role hardly any other tag has; they may be there without it."""
_PERHAPS = {
    "fieldset": ("group",), "footer": ("contentinfo",), "form": ("form", "search"), "header": ("banner",),
    "img": ("img",), "ol": ("list",), "section": ("region",), "svg": ("img",), "textarea": ("textbox",),
    "select": ("combobox", "listbox"), "ul": ("list",),
    "input": ("textbox", "searchbox", "spinbutton", "slider", "checkbox", "radio", "switch", "button",
              "combobox"),
}  # fmt: skip
"""Tags that share their role with others."""

_SIMPLE = re.compile(
    r"(?P<tag>^[a-zA-Z][\w-]*|^\*)"
    r"|\[\s*(?P<attribute>[\w-]+)\s*(?:(?P<how>[*^$~|]?=)\s*(?P<value>\"[^\"\\]*\"|'[^'\\]*'|[\w-]+)\s*)?\]"
)
_Check = Callable[[Node, Outline], Fit]


def match_css(selector: str, outline: Outline) -> Match:
    """What a selector means, found once per snapshot. Raises `SelectorError` for one that cannot be read."""
    if selector not in outline.matches:
        outline.matches[selector] = _match(selector, outline)
    return outline.matches[selector]


def _match(selector: str, outline: Outline) -> Match:
    readings = [_Reading(each) for each in parse_list(selector, relative=False)]
    found: list[Node] = []
    maybe: list[Node] = []
    for node in outline.nodes:
        fit = max(reading.fit(node, outline) for reading in readings)
        if fit is not Fit.NO:
            (found if fit is Fit.YES else maybe).append(node)
    return Match(tuple(found), tuple(maybe), any(reading.hides for reading in readings))


def can_be_found(selector: str) -> bool:
    """Whether there is a snapshot in which the selector surely means an element.

    Raises `SelectorError` for one that cannot be read.
    """
    return any(_Reading(each).best is Fit.YES for each in parse_list(selector, relative=False))


class _Reading:
    """One selector of a list, with what can be said of each of its parts."""

    def __init__(self, parts: Complex) -> None:
        self._parts = [_Part(part) for part in parts]
        # `>`, `+` and `~` ask for neighbours; a snapshot leaves elements out in between.
        self._loose = any(part.combinator not in ("", " ") for part in parts[1:])
        self.hides = any(part.hides for part in self._parts)
        loosest = min(part.best for part in self._parts)
        self.best = min(loosest, Fit.MAYBE) if self._loose else loosest

    def fit(self, node: Node, outline: Outline) -> Fit:
        """Whether an element is meant."""
        if not self._loose and self._fits(node, outline, Fit.YES):
            return Fit.YES
        return Fit.MAYBE if self._fits(node, outline, Fit.MAYBE) else Fit.NO

    def _fits(self, node: Node, outline: Outline, least: Fit) -> bool:
        """Whether every part has an element, each in the next, that fits so well at least."""
        if self._parts[-1].fit(node, outline) < least:
            return False
        around = node.ancestors()
        return all(
            any(part.fit(each, outline) >= least for each in around) for part in reversed(self._parts[:-1])
        )


class _Part:
    """What one compound asks of an element."""

    def __init__(self, compound: Compound) -> None:
        self._checks: list[_Check] = []
        self.best = Fit.YES
        self.hides = False
        """Whether a snapshot may leave such elements out, or give them another role."""
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

    def fit(self, node: Node, outline: Outline) -> Fit:
        """Whether an element is what is asked for."""
        answer = self.best
        for check in self._checks:
            answer = min(answer, check(node, outline))
            if answer is Fit.NO:
                break
        return answer

    def _doubt(self) -> None:
        """Something is asked that a snapshot does not tell."""
        self.best = Fit.MAYBE
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


def _of_roles(roles: tuple[str, ...]) -> _Check:
    return lambda node, _: Fit.YES if node.role in roles else Fit.NO


def _of_level(level: str) -> _Check:
    return lambda node, _: Fit.YES if node.states.get("level") == level else Fit.NO


def _in_state(state: str) -> _Check:
    return lambda node, _: Fit.YES if state in node.states else Fit.NO


def _labelled(label: str) -> _Check:
    def check(node: Node, _: Outline) -> Fit:
        if node.name != label:
            return Fit.NO
        # Of these the content gives the name where no attribute does.
        return Fit.MAYBE if node.role in SAID_BY_NAME else Fit.YES

    return check


_COMPARISONS: dict[str, Callable[[str, str], bool]] = {
    "=": str.__eq__,
    "^=": str.startswith,
    "$=": str.endswith,
    "*=": str.__contains__,
}


def _leading(how: str, target: str) -> _Check:
    def check(node: Node, _: Outline) -> Fit:
        given = node.properties.get("url")
        if given is None:
            return Fit.NO
        return Fit.YES if target and _COMPARISONS[how](given, target) else Fit.NO

    return check


def _saying(folded: str) -> _Check:
    def check(node: Node, outline: Outline) -> Fit:
        says = outline.folded.says(folded, node)
        return Fit.MAYBE if says is None else Fit(2 * says)

    return check
