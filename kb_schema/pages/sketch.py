"""What is worth remembering a page by: the signs from which indicators are made.

A sketch is a few kilobytes, however large the page. Each sign stands for one condition of the
knowledge base's own form, and `Sketch.shows` says exactly what that condition would say of the
page, so that thousands of pages are compared without being parsed again.

Not here: which sign tells which pages apart (`candidates`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from kb_schema.conditions import Condition, DomContains, DomElement, ElementVisible, TitleContains
from kb_schema.pages.names import is_control, label_text, name_of, role_of
from kb_schema.pages.selecting.made_up import looks_made_up
from kb_schema.pages.stored import StoredPage
from kb_schema.pages.texts import squeeze, text_of
from kb_schema.pages.tree import Element
from kb_schema.pages.visibility import visible
from kb_schema.selectors import NameStrategy, Selector
from kb_schema.snapshots import VALUE_ATTRIBUTE
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
_DATA_ROLES = frozenset({"cell", "gridcell", "rowheader"})
_STEADY_ROLES = frozenset({"navigation", "menu", "menubar", "tablist", "form", "banner", "contentinfo"})
"""Lists in these are of the site, not of its data."""
_ITEM_TAGS = frozenset({"li", "article", "section"})
_RICH_TAGS = frozenset({"a", "h2", "h3", "h4", "h5", "h6", "time", "img"})
LEAST_ITEMS = 3
"""So many of a kind beside each other are a list."""
MOST_DATA = 1_000
MOST_SHAPES = 600
MOST_CLASSES = 3
MOST_PARTS = 60
"""Of an item, looked at."""
_TYPED = frozenset({"text", "search", "email", "tel", "url", "number", "date", "time"})
_NAMED_FIELDS = frozenset({"input", "select", "textarea"})
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


def _by_class(sign: Sign) -> Condition:
    return DomElement(type="dom_element", selector=f"body[class~={css_string(sign.text)}]")


KINDS: dict[str, Kind] = {
    "test_id": Kind(0, _by_attribute),
    "heading": Kind(1, _by_text, partial=True),
    "landmark": Kind(2, _by_role),
    "label": Kind(3, _by_label),
    "column": Kind(4, _by_role),
    "field": Kind(5, _by_attribute),
    "id": Kind(6, _by_attribute),
    "control": Kind(7, _by_role),
    "current": Kind(8, _by_text, partial=True),
    "title": Kind(9, _by_title, partial=True),
    "marker": Kind(10, _by_class),
    "text": Kind(11, _by_text, partial=True),
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
    data: frozenset[str] = frozenset()
    """What is in the rows of tables, in items that repeat and in fields, folded: names of things."""
    shape: frozenset[str] = frozenset()
    """How elements stand in each other, without words: of what lasts."""

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
    data: set[str] = set()
    shape: set[str] = set()
    title = page.snapshot.title
    if title:
        said["title", ""] = {title}
        if _is_a_name(title):
            steady.add(Sign("title", "", title))
    for sign, comes_and_goes in _seen(page, data, shape):
        if KINDS[sign.kind].partial:
            said.setdefault((sign.kind, sign.where), set()).add(sign.text)
        if _is_a_name(sign.text) and len(steady) + len(passing) < MOST_SIGNS:
            (passing if comes_and_goes else steady).add(sign)
    return Sketch(
        signs=frozenset(steady | passing),
        passing=frozenset(passing - steady),
        said={key: tuple(sorted(texts)) for key, texts in said.items()},
        data=frozenset(data),
        shape=frozenset(shape),
    )


def _is_a_name(text: str) -> bool:
    return 0 < len(text) <= LONGEST_TEXT


def _seen(page: StoredPage, data: set[str], shape: set[str]) -> Iterator[tuple[Sign, bool]]:
    """Every sign of the visible elements, and whether it comes and goes; what is data goes into `data`."""
    passing: set[int] = set()
    steady: set[int] = set()
    holding: set[int] = set()
    counted: dict[int, Counter[str]] = {}
    for root in page.roots if page.snapshot.html else ():
        for element in root.elements:
            around = element.parent or root.host
            inside = around is not None and id(around) in passing
            role = role_of(element)
            if role in _STEADY_ROLES or (around is not None and id(around) in steady):
                steady.add(id(element))
            holds = role in _DATA_ROLES or (id(element) not in steady and _repeats(element, counted))
            if inside or holds or role in _PASSING_ROLES or _is_live(element):
                passing.add(id(element))
            if holds or (around is not None and id(around) in holding):
                holding.add(id(element))
            if visible(element):
                if id(element) not in passing and len(shape) < MOST_SHAPES:
                    shape.add(_shape_of(element))
                if len(data) < MOST_DATA:
                    data.update(_data_of(element, in_data=id(element) in holding))
                for sign in _signs_of(element, role):
                    yield sign, id(element) in passing


def _shape_of(element: Element) -> str:
    """The element and what it stands in, by their tags and classes that people gave."""
    return " > ".join(_described(each) for each in (element.parent, element) if each is not None)


def _described(element: Element) -> str:
    given = (each for each in (element.get("class") or "").split()[:MOST_CLASSES] if not looks_made_up(each))
    kind = element.input_type if element.tag == "input" else ""
    return ".".join(part[:LONGEST_TEXT] for part in (element.tag, kind, *sorted(given)) if part)


def _repeats(element: Element, counted: dict[int, Counter[str]]) -> bool:
    """Whether it is one of several items of a list, each with something of its own to go to or to read."""
    around = element.parent
    if element.tag not in _ITEM_TAGS or around is None:
        return False
    beside = counted.get(id(around))
    if beside is None:
        beside = counted[id(around)] = Counter(each.tag for each in around.elements())
    return beside[element.tag] >= LEAST_ITEMS and any(
        each.tag in _RICH_TAGS for each in islice(element.descendants(), MOST_PARTS)
    )


def _data_of(element: Element, *, in_data: bool) -> Iterator[str]:
    """The words of a cell or item's own parts, and what a field holds."""
    if in_data and not any(True for _ in element.elements()):
        text = text_of(element)
        if 0 < len(text) <= LONGEST_TEXT:
            yield text.casefold()
    elif element.tag in ("input", "textarea"):
        given = element.get(VALUE_ATTRIBUTE) or (
            element.get("value") if element.input_type in _TYPED else None
        )
        if given and len(given) <= LONGEST_TEXT:
            yield squeeze(given).casefold()


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
    if element.tag in _NAMED_FIELDS and not looks_made_up(element.get("name") or ""):
        yield from _saying("field", "name", element.get("name") or "")
    if element.tag == "body" and element.root.kind == "document":
        for token in (element.get("class") or "").split():
            if not looks_made_up(token):
                yield Sign("marker", "body", token)
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
