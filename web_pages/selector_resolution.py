"""Resolves a selector to elements of a stored page: one entry per strategy, as on a live page.

`agent/page/js/4_resolve.js` does the same on a live page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from kb_schema.selectors import (
    DomIndexStrategy,
    NameStrategy,
    Selector,
    SemanticStrategy,
    SessionStrategy,
    Strategy,
    TemplateStrategy,
    ValueStrategy,
)
from kb_schema.templates import css_string
from web_pages.accessible_names import calling_name, is_control, is_interactive, label_text, role_of
from web_pages.css_queries import CssQueries, SelectorError
from web_pages.element_tree import Element, Root
from web_pages.form_fields import is_editing_host
from web_pages.page_texts import fold, squeeze, text_of
from web_pages.visibility import visible
from web_pages.xpath_queries import XPathQueries


@dataclass(slots=True)
class PageQueries:
    """The query engines of one page."""

    css: CssQueries = field(default_factory=CssQueries)
    xpath: XPathQueries = field(default_factory=XPathQueries)
    _roles: dict[int, dict[str | None, list[Element]]] = field(default_factory=dict)
    _called: dict[tuple[int, str], tuple[tuple[Element, str], ...]] = field(default_factory=dict)

    def called(self, root: Root, role: str) -> tuple[tuple[Element, str], ...]:
        """Return the elements of a root with a role and their names, in document order."""
        if (id(root), role) not in self._called:
            if id(root) not in self._roles:
                self._roles[id(root)] = _by_role(root)
            elements = self._roles[id(root)].get(role, ())
            self._called[id(root), role] = tuple((element, calling_name(element)) for element in elements)
        return self._called[id(root), role]


def _by_role(root: Root) -> dict[str | None, list[Element]]:
    found: dict[str | None, list[Element]] = {}
    for element in root.elements:
        found.setdefault(role_of(element), []).append(element)
    return found


@dataclass(frozen=True, slots=True)
class ResolvedSelector:
    """The elements a selector matches; `element` if it matches exactly one."""

    found: tuple[Element, ...] = ()
    element: Element | None = None
    strategy: Strategy | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class _SearchScope:
    roots: tuple[Root, ...]
    queries: PageQueries

    def css(self, selector: str, *, pierce: bool = False) -> list[Element]:
        return [e for root in self.roots for e in self.queries.css.select(root, selector, pierce=pierce)]

    def every(self) -> Iterator[Element]:
        return (element for root in self.roots for element in root.elements)


def resolve(
    selector: Selector, roots: list[Root], queries: PageQueries, *, with_frames: bool
) -> ResolvedSelector:
    """Try the strategies in order; the first that matches exactly one visible element wins.

    Else the first that matched exactly one; else the matches of the first that matched any. Actions search
    the selector's own document and its shadow roots; probes also search frames (`with_frames`).
    """
    try:
        where = _SearchScope(_scope(selector, roots, queries, with_frames=with_frames), queries)
    except SelectorError as error:
        return ResolvedSelector(error=f"frame {selector.frame}: {error}")
    here = tuple(s for s in selector.ordered if not isinstance(s, SessionStrategy))
    usable: tuple[Strategy, ...] = here or selector.ordered
    tried: list[tuple[Strategy, tuple[Element, ...]]] = []
    errors: list[str] = []
    for strategy in usable:
        try:
            found = tuple(dict.fromkeys(_FINDERS[strategy.type](strategy, where)))
        except SelectorError as error:
            errors.append(f"{strategy.type}: {error}")
            continue
        seen = [element for element in found if visible(element)]
        if len(seen) == 1:
            return ResolvedSelector(found, seen[0], strategy)
        tried.append((strategy, found))
    for strategy, found in tried:
        if len(found) == 1:
            return ResolvedSelector(found, found[0], strategy)
    best = next(((strategy, found) for strategy, found in tried if found), None)
    if best is None:
        return ResolvedSelector(error="; ".join(errors) or None)
    return ResolvedSelector(best[1], None, best[0])


def _scope(
    selector: Selector, roots: list[Root], queries: PageQueries, *, with_frames: bool
) -> tuple[Root, ...]:
    if selector.frame is None:
        return tuple(roots if with_frames else roots_within(roots, roots[:1]))
    frames = [e for root in roots for e in queries.css.select(root, selector.frame)]
    inside = [frame.frame_document for frame in frames if frame.frame_document is not None]
    return tuple(roots_within(roots, inside, with_frames=with_frames))


def roots_within(roots: Iterable[Root], start: Sequence[Root], *, with_frames: bool = False) -> list[Root]:
    """Yield some roots and the shadow roots in them, optionally also frames; `roots` come outermost first."""
    kept: dict[int, Root] = {}
    for root in roots:
        around = root.host is not None and id(root.host.root) in kept
        if any(root is each for each in start) or (around and (with_frames or root.kind == "shadow")):
            kept[id(root)] = root
    return [*kept.values()]


_Finder = Callable[..., list[Element]]
_FINDERS: dict[str, _Finder] = {}


def _finder(*types: str) -> Callable[[_Finder], _Finder]:
    def register(function: _Finder) -> _Finder:
        _FINDERS.update(dict.fromkeys(types, function))
        return function

    return register


@_finder("data-qa", "data-testid", "id")
def _by_attribute(strategy: ValueStrategy, where: _SearchScope) -> list[Element]:
    return where.css(f"[{strategy.type}={css_string(strategy.value)}]")


@_finder("aria")
def _by_aria(strategy: ValueStrategy, where: _SearchScope) -> list[Element]:
    found = where.css(f"[aria-label={css_string(strategy.value)}]")
    return [element for element in found if not strategy.role or role_of(element) == strategy.role]


@_finder("css", "relational_css", "fallback_css")
def _by_css(strategy: ValueStrategy, where: _SearchScope) -> list[Element]:
    return where.css(strategy.value)


@_finder("shadow_pierce")
def _by_piercing(strategy: ValueStrategy, where: _SearchScope) -> list[Element]:
    steps = [step.strip() for step in strategy.value.split(">>>")]
    if len(steps) == 1:
        return where.css(strategy.value, pierce=True)
    roots = where.roots
    for step in steps[:-1]:
        hosts = [e for root in roots for e in where.queries.css.select(root, step)]
        inner = {id(host.shadow) for host in hosts if host.shadow is not None}
        roots = tuple(root for root in where.roots if _within(root, inner))
    return [e for root in roots for e in where.queries.css.select(root, steps[-1])]


def _within(root: Root, outer: set[int]) -> bool:
    at: Root | None = root
    while at is not None and at.kind == "shadow":
        if id(at) in outer:
            return True
        at = at.host.root if at.host else None
    return False


@_finder("xpath", "xpath-text", "xpath-class")
def _by_xpath(strategy: ValueStrategy, where: _SearchScope) -> list[Element]:
    return [e for root in where.roots for e in where.queries.xpath.select(root, strategy.value)]


@_finder("label")
def _by_label(strategy: NameStrategy, where: _SearchScope) -> list[Element]:
    return [e for e in where.every() if is_control(e) and _named(strategy, label_text(e), e)]


@_finder("placeholder")
def _by_placeholder(strategy: NameStrategy, where: _SearchScope) -> list[Element]:
    return [
        e
        for e in where.every()
        if (placeholder := e.get("placeholder")) is not None and _named(strategy, placeholder, e)
    ]


@_finder("role_name")
def _by_role_and_name(strategy: NameStrategy, where: _SearchScope) -> list[Element]:
    called = (each for root in where.roots for each in where.queries.called(root, strategy.role or ""))
    return [element for element, name in called if _named(strategy, name, element)]


def _named(strategy: NameStrategy, text: str, element: Element) -> bool:
    if strategy.role and role_of(element) != strategy.role:
        return False
    if strategy.exact:
        return squeeze(text) == squeeze(strategy.name)
    return fold(strategy.name) in fold(text)


@_finder("dom_index")
def _by_index(strategy: DomIndexStrategy, where: _SearchScope) -> list[Element]:
    if not isinstance(strategy.index, int):
        raise SelectorError(f"{strategy.index} has no value")
    operable = [element for element in where.every() if is_interactive(element) and visible(element)]
    return operable[strategy.index : strategy.index + 1]


@_finder("parameterized", "parameterized_css", "parameterized_xpath")
def _unfilled(strategy: TemplateStrategy, _where: _SearchScope) -> list[Element]:
    raise SelectorError(f"the parameters of {strategy.template} have no values")


@_finder("framework_id", "agent")
def _elsewhere(strategy: SessionStrategy, _where: _SearchScope) -> list[Element]:
    raise SelectorError(f"{strategy.type} cannot be resolved on a page")


# -- semantic ------------------------------------------------------------------------------------


@_finder("semantic")
def _by_semantics(strategy: SemanticStrategy, where: _SearchScope) -> list[Element]:
    every = list(where.every())
    if strategy.label_contains or strategy.placeholder_contains or strategy.field_type:
        return [e for e in every if is_control(e) and _semantic_fit(strategy, e)]
    operable = [e for e in every if is_interactive(e) and _semantic_fit(strategy, e)]
    if operable or (strategy.text_contains and strategy.button_type):
        return operable
    if not strategy.text_contains:
        return [e for e in every if _semantic_fit(strategy, e)]
    saying = [e for e in every if visible(e) and _semantic_fit(strategy, e)]
    outer = {id(up) for e in saying for up in e.ancestors()}
    return [e for e in saying if id(e) not in outer]


def _semantic_fit(strategy: SemanticStrategy, element: Element) -> bool:
    if strategy.field_type and strategy.field_type.lower() not in _field_kinds(element):
        return False
    if strategy.button_type and _button_type(element) != strategy.button_type.lower():
        return False
    if strategy.role and role_of(element) != strategy.role:
        return False
    wanted_label, wanted_text = strategy.label_contains, strategy.text_contains
    if wanted_label and fold(wanted_label) not in fold(label_text(element)):
        return False
    wanted_hint = strategy.placeholder_contains
    if wanted_hint and fold(wanted_hint) not in fold(element.get("placeholder") or ""):
        return False
    return not wanted_text or fold(wanted_text) in fold(text_of(element))


def _field_kinds(element: Element) -> tuple[str | None, ...]:
    if element.tag == "input":
        return (element.input_type, "input")
    if is_editing_host(element):
        return (element.tag, "contenteditable", role_of(element))
    return (element.tag,)


def _button_type(element: Element) -> str | None:
    if element.tag == "input":
        return element.input_type
    if element.tag != "button":
        return None
    given = (element.get("type") or "").lower()
    return given if given in ("reset", "button") else "submit"
