"""What is worth remembering a page by: the signs from which indicators are made.

A sketch is a few kilobytes, however large the page. Each sign stands for one condition of the
knowledge base's own form, and `Sketch.shows` says exactly what that condition would say of the
page, so that thousands of pages are compared without being parsed again.

Not here: which sign tells which pages apart (`candidates`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from kb_schema.conditions import Condition, DomContains, DomElement, ElementVisible, TitleContains
from kb_schema.pages.names import is_control, label_text, name_of, role_of
from kb_schema.pages.selecting.made_up import looks_made_up
from kb_schema.pages.stored import StoredPage
from kb_schema.pages.texts import squeeze, text_of
from kb_schema.pages.tree import Element
from kb_schema.pages.visibility import visible
from kb_schema.selectors import NameStrategy, Selector
from kb_schema.templates import css_string

LONGEST_TEXT = 80
"""Characters; longer texts are content, not names."""
MOST_SIGNS = 5_000
"""Of one page: what comes after is left out."""

_TEST_IDS = ("data-testid", "data-qa", "data-test", "data-cy")
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_LANDMARKS = frozenset({
    "navigation", "main", "form", "region", "search", "complementary", "banner", "contentinfo", "dialog",
    "alertdialog", "table", "grid", "tablist", "group", "radiogroup", "toolbar",
})  # fmt: skip
_CONTROLS = frozenset({"button", "link", "tab", "menuitem"})
_COLUMNS = frozenset({"columnheader"})
_SAYING_TAGS = frozenset({"dt", "legend", "caption", "figcaption", "summary", "p"})
_CURRENT = "[aria-current]"
_PASSING_ROLES = frozenset({
    "dialog", "alertdialog", "alert", "status", "log", "tooltip", "menu", "listbox", "cell", "gridcell",
})  # fmt: skip
"""What is in these comes and goes, or is data: a banner, a message, the rows of a table."""


@dataclass(frozen=True, slots=True)
class Sign:
    """One thing a page shows, and thereby one condition."""

    kind: str
    """A key of `KINDS`."""
    where: str
    """The attribute, tag, CSS or role that it is about."""
    text: str

    @property
    def condition(self) -> Condition:
        """The condition that holds exactly where `Sketch.shows` says so."""
        return KINDS[self.kind].condition(self)


@dataclass(frozen=True, slots=True)
class Kind:
    """How signs of a kind become conditions, and whether a longer text shows them too."""

    rank: int
    """Stability: lower outlives more changes of a site."""
    condition: Callable[[Sign], Condition]
    partial: bool = False
    """Whether the condition holds wherever the sign's text is a part of what is said."""


def _by_attribute(sign: Sign) -> Condition:
    return DomElement(type="dom_element", selector=f"[{sign.where}={css_string(sign.text)}]")


def _by_text(sign: Sign) -> Condition:
    return DomContains(type="dom_contains", value=sign.text, selector=sign.where)


def _by_role(sign: Sign) -> Condition:
    strategy = NameStrategy(type="role_name", role=sign.where, name=sign.text, exact=True)
    return ElementVisible(type="element_visible", element=Selector(strategies=(strategy,)))


def _by_label(sign: Sign) -> Condition:
    strategy = NameStrategy(type="label", name=sign.text, exact=True)
    return ElementVisible(type="element_visible", element=Selector(strategies=(strategy,)))


def _by_title(sign: Sign) -> Condition:
    return TitleContains(type="title_contains", value=sign.text)


KINDS: dict[str, Kind] = {
    "test_id": Kind(0, _by_attribute),
    "heading": Kind(1, _by_text, partial=True),
    "landmark": Kind(2, _by_role),
    "label": Kind(3, _by_label),
    "column": Kind(4, _by_role),
    "id": Kind(5, _by_attribute),
    "control": Kind(6, _by_role),
    "current": Kind(7, _by_text, partial=True),
    "title": Kind(8, _by_title, partial=True),
    "text": Kind(9, _by_text, partial=True),
}
"""Every kind of sign; a new one is one line here and what finds it in `_signs_of`."""


@dataclass(frozen=True, slots=True)
class Sketch:
    """What one page shows."""

    signs: frozenset[Sign] = frozenset()
    passing: frozenset[Sign] = frozenset()
    """Those of `signs` that were seen only where things come and go."""
    said: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    """Whole texts by kind and place, of kinds that hold for a part of a text."""

    def shows(self, sign: Sign) -> bool:
        """What the sign's condition says of the page."""
        if not KINDS[sign.kind].partial:
            return sign in self.signs
        return any(sign.text in text for text in self.said.get((sign.kind, sign.where), ()))


def sketch(page: StoredPage) -> Sketch:
    """The sketch of a stored page. Raises `PageRefused`."""
    steady: set[Sign] = set()
    passing: set[Sign] = set()
    said: dict[tuple[str, str], set[str]] = {}
    title = page.snapshot.title
    if title:
        said["title", ""] = {title}
        if _is_a_name(title):
            steady.add(Sign("title", "", title))
    for sign, comes_and_goes in _seen(page):
        if KINDS[sign.kind].partial:
            said.setdefault((sign.kind, sign.where), set()).add(sign.text)
        if _is_a_name(sign.text) and len(steady) + len(passing) < MOST_SIGNS:
            (passing if comes_and_goes else steady).add(sign)
    return Sketch(
        signs=frozenset(steady | passing),
        passing=frozenset(passing - steady),
        said={key: tuple(sorted(texts)) for key, texts in said.items()},
    )


def _is_a_name(text: str) -> bool:
    return 0 < len(text) <= LONGEST_TEXT


def _seen(page: StoredPage) -> Iterator[tuple[Sign, bool]]:
    """Every sign of the visible elements, and whether it comes and goes."""
    passing: set[int] = set()
    for root in page.roots if page.snapshot.html else ():
        for element in root.elements:
            around = element.parent or root.host
            inside = around is not None and id(around) in passing
            role = role_of(element)
            if inside or role in _PASSING_ROLES or _is_live(element):
                passing.add(id(element))
            if visible(element):
                for sign in _signs_of(element, role):
                    yield sign, id(element) in passing


def _is_live(element: Element) -> bool:
    return element.get("aria-live") in ("polite", "assertive")


def _signs_of(element: Element, role: str | None) -> Iterator[Sign]:
    for attribute in _TEST_IDS:
        given = element.get(attribute)
        if given and not looks_made_up(given):
            yield Sign("test_id", attribute, given)
    own_id = element.get("id")
    if own_id and not looks_made_up(own_id):
        yield Sign("id", "id", own_id)
    if element.tag in _HEADINGS:
        yield from _saying("heading", element.tag, text_of(element))
    elif element.tag in _SAYING_TAGS:
        yield from _saying("text", element.tag, text_of(element))
    if "aria-current" in element.attributes:
        yield from _saying("current", _CURRENT, text_of(element))
    kind = _ROLE_KINDS.get(role or "")
    if kind is not None and role is not None:
        yield from _saying(kind, role, squeeze(name_of(element)))
    if is_control(element) and role != "button":
        yield from _saying("label", "", label_text(element))


def _saying(kind: str, where: str, text: str) -> Iterator[Sign]:
    if text:
        yield Sign(kind, where, text)


_ROLE_KINDS = {
    **dict.fromkeys(_LANDMARKS, "landmark"),
    **dict.fromkeys(_CONTROLS, "control"),
    **dict.fromkeys(_COLUMNS, "column"),
}
