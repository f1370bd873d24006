"""`PageProfile`: the features of a page from which indicators are made.

A profile has a few kilobytes, however large the page. Each feature stands for one condition in the form of
the knowledge base, and `PageProfile.shows` returns exactly what that condition gives on the page, so
thousands of pages are compared without parsing them again. Which feature distinguishes pages is in
`indicator_candidates`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from kb_schema.conditions import Condition, DomContains, DomElement, ElementVisible, TitleContains
from kb_schema.page_snapshots import VALUE_ATTRIBUTE
from kb_schema.selectors import NameStrategy, Selector
from kb_schema.templates import css_string
from web_pages.accessible_names import is_control, label_text, name_of, role_of
from web_pages.element_tree import Element
from web_pages.page_texts import squeeze, text_of
from web_pages.selectors.generated_names import looks_generated
from web_pages.state_marks import list_echoes, list_state_marks
from web_pages.stored_pages import StoredPage
from web_pages.visibility import visible

LONGEST_TEXT = 80
"""The most characters of a feature's text; longer texts are content, not names."""
MOST_SIGNS = 5_000
"""The most features of one page, and the most features of its state."""

_TEST_IDS = ("data-testid", "data-qa", "data-test", "data-cy")
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_LANDMARKS = frozenset(
    {
        "navigation",
        "main",
        "form",
        "region",
        "search",
        "complementary",
        "banner",
        "contentinfo",
        "dialog",
        "alertdialog",
        "table",
        "grid",
        "tablist",
        "group",
        "radiogroup",
        "toolbar",
    }
)
_CONTROLS = frozenset({"button", "link", "tab", "menuitem"})
_COLUMNS = frozenset({"columnheader"})
_SAYING_TAGS = frozenset({"dt", "legend", "caption", "figcaption", "summary", "p"})
_CURRENT = "[aria-current]"
_BARE = "body:not(:has(*))"
"""A page of text alone, as servers send it where nothing is."""
_DATA_ROLES = frozenset({"cell", "gridcell", "rowheader"})
_STEADY_ROLES = frozenset({"navigation", "menu", "menubar", "tablist", "form", "banner", "contentinfo"})
"""Lists inside these belong to the site, not to its data."""
_ITEM_TAGS = frozenset({"li", "article", "section"})
_RICH_TAGS = frozenset({"a", "h2", "h3", "h4", "h5", "h6", "time", "img"})
LEAST_ITEMS = 3
"""This many siblings of a kind are a list."""
MOST_DATA = 1_000
MOST_SHAPES = 600
MOST_CLASSES = 3
MOST_PARTS = 60
"""The most parts of an item that are inspected."""
_TYPED = frozenset({"text", "search", "email", "tel", "url", "number", "date", "time"})
_NAMED_FIELDS = frozenset({"input", "select", "textarea"})
_PASSING_ROLES = frozenset(
    {
        "dialog",
        "alertdialog",
        "alert",
        "status",
        "log",
        "tooltip",
        "menu",
        "listbox",
        "cell",
        "gridcell",
    }
)
"""Content of these is temporary or data: a banner, a message, the rows of a table."""
_LAYER_ROLES = frozenset({"dialog", "alertdialog", "menu"})
"""Those that lie on a page, and are what a page with a layer is told by."""


@dataclass(frozen=True, slots=True)
class PageFeature:
    """One thing a page shows, and thereby one condition."""

    kind: str
    """A key of `KINDS`."""
    where: str
    """The attribute, tag, CSS or role that it is about."""
    text: str

    @property
    def condition(self) -> Condition:
        """Return the condition that holds exactly if `PageProfile.shows` returns True."""
        return KINDS[self.kind].condition(self)


@dataclass(frozen=True, slots=True)
class PageFeatureKind:
    """How features of a kind become conditions, and whether a longer text shows them too."""

    rank: int
    """The stability: lower survives more changes of a site."""
    condition: Callable[[PageFeature], Condition]
    partial: bool = False
    """Whether the condition holds if the feature's text is only a part of the text."""


def _by_attribute(sign: PageFeature) -> Condition:
    return DomElement(type="dom_element", selector=f"[{sign.where}={css_string(sign.text)}]")


def _by_text(sign: PageFeature) -> Condition:
    return DomContains(type="dom_contains", value=sign.text, selector=sign.where)


def _by_role(sign: PageFeature) -> Condition:
    strategy = NameStrategy(type="role_name", role=sign.where, name=sign.text, exact=True)
    return ElementVisible(type="element_visible", element=Selector(strategies=(strategy,)))


def _by_label(sign: PageFeature) -> Condition:
    strategy = NameStrategy(type="label", name=sign.text, exact=True)
    return ElementVisible(type="element_visible", element=Selector(strategies=(strategy,)))


def _by_title(sign: PageFeature) -> Condition:
    return TitleContains(type="title_contains", value=sign.text)


def _by_state(sign: PageFeature) -> Condition:
    if sign.where == "class":
        return DomElement(type="dom_element", selector=f".{sign.text}")
    return _by_attribute(sign)


def _by_rows(sign: PageFeature) -> Condition:
    return DomElement(type="dom_element", selector=sign.where)


def _by_whole_text(sign: PageFeature) -> Condition:
    return DomContains(type="dom_contains", value=sign.text, selector=sign.where, exact=True)


def _by_class(sign: PageFeature) -> Condition:
    return DomElement(type="dom_element", selector=f"body[class~={css_string(sign.text)}]")


KINDS: dict[str, PageFeatureKind] = {
    "test_id": PageFeatureKind(0, _by_attribute),
    "heading": PageFeatureKind(1, _by_text, partial=True),
    "landmark": PageFeatureKind(2, _by_role),
    "label": PageFeatureKind(3, _by_label),
    "column": PageFeatureKind(4, _by_role),
    "field": PageFeatureKind(5, _by_attribute),
    "id": PageFeatureKind(6, _by_attribute),
    "control": PageFeatureKind(7, _by_role),
    "current": PageFeatureKind(8, _by_text, partial=True),
    "title": PageFeatureKind(9, _by_title, partial=True),
    "marker": PageFeatureKind(10, _by_class),
    "text": PageFeatureKind(11, _by_text, partial=True),
    "state": PageFeatureKind(12, _by_state),
    "rows": PageFeatureKind(13, _by_rows),
    "said": PageFeatureKind(14, _by_whole_text),
    "class": PageFeatureKind(15, _by_state),
}
"""Every kind of feature. A new one is one line here and its detection in `_list_element_features`; the last four are
of a page's state and are found in `state_marks`."""


@dataclass(frozen=True, slots=True)
class PageProfile:
    """The features of one page."""

    signs: frozenset[PageFeature] = frozenset()
    passing: frozenset[PageFeature] = frozenset()
    """Those of `signs` that were seen only in unstable places."""
    texts: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    """Whole texts by kind and place, for kinds that match a part of a text."""
    states: frozenset[PageFeature] = frozenset()
    """Features of its state: messages, refused fields, rows, classes, short texts. They tell pages at one address
    apart, and are no part of `signs`."""
    echoes: frozenset[PageFeature] = frozenset()
    """Features whose conditions hold, too, but which are not chosen: texts and classes of data, and of what holds a text."""
    data: frozenset[str] = frozenset()
    """The content of table rows, repeated items and fields, folded: names of data."""
    shape: frozenset[str] = frozenset()
    """The nesting of stable elements, without texts."""

    def shows(self, sign: PageFeature) -> bool:
        """Return whether the feature's condition holds on the page."""
        if not KINDS[sign.kind].partial:
            return sign in self.signs or sign in self.states or sign in self.echoes
        return any(sign.text in text for text in self.texts.get((sign.kind, sign.where), ()))


def build_page_profile(page: StoredPage, *, layered: bool = False) -> PageProfile:
    """Return the profile of a stored page. `layered`: what lies on it is what it is about. Raises `PageRefused`."""
    steady: set[PageFeature] = set()
    passing: set[PageFeature] = set()
    by_place: dict[tuple[str, str], set[str]] = {}
    states: set[PageFeature] = set()
    echoes: set[PageFeature] = set()
    data: set[str] = set()
    shape: set[str] = set()
    title = page.snapshot.title
    if title:
        by_place["title", ""] = {title}
        if _is_a_name(title):
            steady.add(PageFeature("title", "", title))
    for sign, comes_and_goes in _collect_features(page, states, echoes, data, shape, layered=layered):
        if KINDS[sign.kind].partial:
            by_place.setdefault((sign.kind, sign.where), set()).add(sign.text)
        if _is_a_name(sign.text) and len(steady) + len(passing) < MOST_SIGNS:
            (passing if comes_and_goes else steady).add(sign)
    return PageProfile(
        signs=frozenset(steady | passing),
        passing=frozenset(passing - steady),
        texts={key: tuple(sorted(texts)) for key, texts in by_place.items()},
        states=frozenset(states),
        echoes=frozenset(echoes - states),
        data=frozenset(data),
        shape=frozenset(shape),
    )


def _is_a_name(text: str) -> bool:
    return 0 < len(text) <= LONGEST_TEXT


def _collect_features(
    page: StoredPage,
    states: set[PageFeature],
    echoes: set[PageFeature],
    data: set[str],
    shape: set[str],
    *,
    layered: bool,
) -> Iterator[tuple[PageFeature, bool]]:
    """Yield every feature of the visible elements, and whether its place is unstable.

    Collect in `states`, `echoes`, `data` and `shape` what `PageProfile` has of these names.
    """
    temporary = _PASSING_ROLES - _LAYER_ROLES if layered else _PASSING_ROLES
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
            if inside or holds or role in temporary or _is_live(element):
                passing.add(id(element))
            if holds or (around is not None and id(around) in holding):
                holding.add(id(element))
            if visible(element):
                if id(element) not in passing and len(shape) < MOST_SHAPES:
                    shape.add(_shape_of(element))
                if len(states) < MOST_SIGNS:
                    marks = list_state_marks(element, role, in_data=id(element) in holding)
                    states.update(PageFeature(*mark) for mark in marks)
                if len(echoes) < MOST_SIGNS:
                    again = list_echoes(element, in_data=id(element) in holding)
                    echoes.update(PageFeature(*mark) for mark in again)
                if len(data) < MOST_DATA:
                    data.update(_data_of(element, in_data=id(element) in holding))
                for sign in _list_element_features(element, role):
                    yield sign, id(element) in passing


def _shape_of(element: Element) -> str:
    """Return the element and its ancestors as tags and stable classes."""
    return " > ".join(_described(each) for each in (element.parent, element) if each is not None)


def _described(element: Element) -> str:
    given = (
        each for each in (element.get("class") or "").split()[:MOST_CLASSES] if not looks_generated(each)
    )
    kind = element.input_type if element.tag == "input" else ""
    return ".".join(part[:LONGEST_TEXT] for part in (element.tag, kind, *sorted(given)) if part)


def _repeats(element: Element, counted: dict[int, Counter[str]]) -> bool:
    """Return whether it is one of several list items, each with its own link or text."""
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
    """Yield the texts of a cell's or item's own parts, and the value of a field."""
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


def _list_element_features(element: Element, role: str | None) -> Iterator[PageFeature]:
    for attribute in _TEST_IDS:
        given = element.get(attribute)
        if given and not looks_generated(given):
            yield PageFeature("test_id", attribute, given)
    own_id = element.get("id")
    if own_id and not looks_generated(own_id):
        yield PageFeature("id", "id", own_id)
    if element.tag in _NAMED_FIELDS and not looks_generated(element.get("name") or ""):
        yield from _saying("field", "name", element.get("name") or "")
    if element.tag == "body" and element.root.kind == "document":
        for token in (element.get("class") or "").split():
            if not looks_generated(token):
                yield PageFeature("marker", "body", token)
    yield from _texts(element)
    if "aria-current" in element.attributes:
        yield from _saying("current", _CURRENT, text_of(element))
    kind = _ROLE_KINDS.get(role or "")
    if kind is not None and role is not None:
        yield from _saying(kind, role, squeeze(name_of(element)))
    if is_control(element) and role != "button":
        yield from _saying("label", "", label_text(element))


def _texts(element: Element) -> Iterator[PageFeature]:
    """Yield the heading or the text that an element is."""
    if element.tag in _HEADINGS:
        yield from _saying("heading", element.tag, text_of(element))
    elif element.tag in _SAYING_TAGS:
        yield from _saying("text", element.tag, text_of(element))
    elif (
        element.tag == "body"
        and element.root.kind == "document"
        and not any(True for _ in element.elements())
    ):
        yield from _saying("text", _BARE, text_of(element))


def _saying(kind: str, where: str, text: str) -> Iterator[PageFeature]:
    if text:
        yield PageFeature(kind, where, text)


_ROLE_KINDS = {
    **dict.fromkeys(_LANDMARKS, "landmark"),
    **dict.fromkeys(_CONTROLS, "control"),
    **dict.fromkeys(_COLUMNS, "column"),
}
