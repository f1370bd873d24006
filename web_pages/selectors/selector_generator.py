"""Generates the selector of any element of a stored page: strategies in a fixed order.

The order is that of MA's target converter: data-qa, data-testid, id, aria, xpath-text, xpath-class,
css; for an element in a shadow root also a path through its hosts. Each strategy matches the element
and no other, hidden or not, which the resolver itself checks (`web_pages.selector_resolution`). Live
pages use the same code (`agent/locators/stable_selectors.py`). Missing kinds have a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from kb_schema.excerpts import excerpt
from kb_schema.selectors import Selector, Strategy, ValueStrategy, css
from web_pages.accessible_names import role_of
from web_pages.element_tree import Element, Root
from web_pages.selector_resolution import PageQueries, resolve, roots_within
from web_pages.selectors.element_terms import (
    find_text_term,
    find_wrapping_label,
    list_attribute_anchors,
    list_own_terms,
    list_text_anchors,
)
from web_pages.selectors.selector_terms import (
    AttributeTerm,
    SelectorPath,
    SelectorStep,
    SelectorTerm,
    step_of,
)
from web_pages.selectors.stable_attributes import ValueFlaw, find_attribute_flaw
from web_pages.selectors.term_index import TermIndex
from web_pages.selectors.unique_paths import build_positional_path, find_unique_path
from web_pages.stored_pages import StoredPage

SelectorKind = Literal[
    "data-qa", "data-testid", "id", "aria", "xpath-text", "xpath-class", "css", "shadow_pierce"
]
ORDER: tuple[SelectorKind, ...] = (
    "data-qa",
    "data-testid",
    "id",
    "aria",
    "xpath-text",
    "xpath-class",
    "css",
    "shadow_pierce",
)
"""The order in which strategies are tried."""
ENOUGH = 2
"""With this many strategies, no purely positional one is added."""

NOT_UNIQUE = "not unique"
COUNTS = "only its position or its tag distinguishes it, and other strategies exist"
IN_SHADOW = "XPath does not search shadow roots"
FRAME_UNKNOWN = "no selector matches only its frame"
ELSEWHERE = "it resolves to a different element"


@dataclass(frozen=True, slots=True)
class SelectorStrategyResult:
    """One kind of strategy and its result."""

    kind: SelectorKind
    strategy: Strategy | None
    """None if it was skipped."""
    reason: str = ""
    """Why it was skipped, or a remark."""


@dataclass(frozen=True, slots=True)
class SelectorChoice:
    """The selector of one element. `considered` has every kind once, in order."""

    selector: Selector | None
    """None if nothing matches the element alone."""
    considered: tuple[SelectorStrategyResult, ...]

    @property
    def skipped(self) -> dict[str, str]:
        """The reason for each kind that is missing."""
        return {each.kind: each.reason for each in self.considered if each.strategy is None}


class NoSelector(LookupError):
    """No strategy matches the element alone. `skipped`: the reasons, by kind."""

    def __init__(self, tag: str, skipped: dict[str, str]) -> None:
        self.tag, self.skipped = tag, skipped
        reasons = "; ".join(f"{kind}: {reason}" for kind, reason in skipped.items())
        super().__init__(f"no selector matches only this {tag} ({reasons})")


def generate_selector(page: StoredPage, element: Element) -> Selector:
    """Return the selector of one element of a page.

    Raises `NoSelector`. For several elements use `PageSelectors`.
    """
    choice = PageSelectors(page).of(element)
    if choice.selector is None:
        raise NoSelector(element.tag, choice.skipped)
    return choice.selector


class PageSelectors:
    """Generates selectors for any number of elements of one stored page, sharing its indexes."""

    def __init__(self, page: StoredPage) -> None:
        self.page = page
        self._terms: dict[tuple[int, bool, bool], TermIndex] = {}
        self._frames: dict[int, str | None] = {}
        self._queries = PageQueries()

    def of(self, element: Element) -> SelectorChoice:
        """Return the strategies that match an element alone, and why others are missing."""
        root = _document_of(element)
        frame = self._frame_css(root) if root.kind == "frame" else None
        if root.kind == "frame" and frame is None:
            return SelectorChoice(
                None, tuple(SelectorStrategyResult(kind, None, FRAME_UNKNOWN) for kind in ORDER)
            )
        return _SelectorBuilder(self, element, root, frame).choice()

    def terms(self, start: Root, *, shadows: bool = True, frames: bool = False) -> TermIndex:
        """Return the index of a root and the roots in it."""
        key = (id(start), shadows, frames)
        if key not in self._terms:
            roots = roots_within(self.page.roots, [start], with_frames=frames)
            self._terms[key] = TermIndex(root for root in roots if shadows or root.kind != "shadow")
        return self._terms[key]

    def _frame_css(self, root: Root) -> str | None:
        """Return CSS that matches the frame's element alone in the whole page, or None."""
        if id(root) not in self._frames:
            self._frames[id(root)] = None if root.host is None else self._css_anywhere(root.host)
        return self._frames[id(root)]

    def _css_anywhere(self, host: Element) -> str | None:
        for path in generate_css_paths(self.terms(self.page.roots[0], frames=True), host):
            if path.css is not None:
                everywhere = resolve(css(path.css), self.page.roots, self._queries, with_frames=True)
                if everywhere.found == (host,):
                    return path.css
        return None

    def flaw(self, strategy: Strategy, element: Element, frame: str | None) -> str | None:
        """Return why a strategy does not match the element alone, hidden ones included; None if it does."""
        found = self.page.resolve(Selector(strategies=(strategy,), frame=frame)).found
        if found == (element,):
            return None
        return NOT_UNIQUE if element in found else ELSEWHERE


def generate_css_paths(
    terms: TermIndex, element: Element, but: frozenset[str] = frozenset()
) -> Iterable[SelectorPath]:
    """Yield paths that CSS can express, the positional one last."""
    unique = find_unique_path(terms, element, list_own_terms(element, but=but), list_attribute_anchors)
    if unique is not None:
        yield unique
    yield build_positional_path(terms, element, list_attribute_anchors)


def _document_of(element: Element) -> Root:
    """Return the document or frame document that contains it, across shadow roots."""
    root = element.root
    while root.kind == "shadow" and root.host is not None:
        root = root.host.root
    return root


class _SelectorBuilder:
    """Builds the strategies for one element."""

    def __init__(self, selectors: PageSelectors, element: Element, root: Root, frame: str | None) -> None:
        self.selectors, self.element, self.document, self.frame = selectors, element, root, frame
        self.used: frozenset[str] = frozenset()
        """Attributes that match the element alone; further strategies avoid them."""
        self.found: list[SelectorStrategyResult] = []

    def choice(self) -> SelectorChoice:
        for kind in ORDER:
            if kind == "shadow_pierce" and self.element.root.kind != "shadow":
                continue
            self.found.append(_MAKERS[kind](self, kind))
        strategies = tuple(each.strategy for each in self.found if each.strategy is not None)
        selector = Selector(strategies=strategies, frame=self.frame) if strategies else None
        return SelectorChoice(selector, tuple(self.found))

    def attribute(self, kind: SelectorKind) -> SelectorStrategyResult:
        """Build a strategy from the value of one attribute."""
        name = "aria-label" if kind == "aria" else kind
        flaw = find_attribute_flaw(self.element, name)
        if flaw is not None:
            value = self.element.get(name)
            return SelectorStrategyResult(
                kind, None, flaw if value is None else f"{flaw}: {excerpt(value, 60)!r}"
            )
        role = role_of(self.element) if kind == "aria" else None
        strategy = ValueStrategy.model_validate(
            {"type": kind, "value": self.element.attributes[name], "role": role}
        )
        wrong = self._flaw(strategy)
        if wrong is not None:
            return SelectorStrategyResult(kind, None, wrong)
        self.used |= {name}
        return SelectorStrategyResult(kind, strategy)

    def words(self, kind: SelectorKind) -> SelectorStrategyResult:
        """Build a strategy from the visible text of the element or its label, with its row or section."""
        if self.element.root.kind == "shadow":
            return SelectorStrategyResult(kind, None, IN_SHADOW)
        terms = self.selectors.terms(self.document, shadows=False)
        term, flaw = find_text_term(terms, self.element)
        around = find_wrapping_label(terms, self.element)
        if term is None and around is None:
            return SelectorStrategyResult(kind, None, flaw)
        path = self._spoken(terms, term) if term is not None else None
        if path is None and around is not None:
            path = self._labelled(terms, around)
        made = self._made(kind, path)
        if made.strategy is not None and isinstance(term, AttributeTerm):  # a button's text is its value
            self.used |= {term.name}
        return made

    def _spoken(self, terms: TermIndex, term: SelectorTerm) -> SelectorPath | None:
        more = list_own_terms(self.element, but=self.used)
        return find_unique_path(
            terms, self.element, more, lambda node: list_text_anchors(terms, node, self.element), must=term
        )

    def _labelled(self, terms: TermIndex, around: SelectorStep) -> SelectorPath | None:
        """Build a path inside the element's label."""
        for more in ((), *((term,) for term in list_own_terms(self.element, but=self.used))):
            path = SelectorPath((around, step_of(self.element, *more)))
            if terms.leads_alone(path, self.element, terms.matching(path.steps[-1])):
                return path
        return None

    def classes(self, kind: SelectorKind) -> SelectorStrategyResult:
        """Build an XPath from classes and attributes."""
        if self.element.root.kind == "shadow":
            return SelectorStrategyResult(kind, None, IN_SHADOW)
        terms = self.selectors.terms(self.document, shadows=False)
        own = list_own_terms(self.element, but=self.used, classes_first=True)
        path = find_unique_path(terms, self.element, own, list_attribute_anchors)
        return self._made(kind, path or build_positional_path(terms, self.element, list_attribute_anchors))

    def css(self, kind: SelectorKind) -> SelectorStrategyResult:
        """Build CSS from attributes and classes."""
        terms = self.selectors.terms(self.document)
        made = SelectorStrategyResult(kind, None, NOT_UNIQUE)
        for path in generate_css_paths(terms, self.element, self.used):
            made = self._made(kind, path)
            if made.strategy is not None:
                break
        return made

    def pierce(self, kind: SelectorKind) -> SelectorStrategyResult:
        """Build CSS through the hosts of the shadow roots around the element."""
        steps: list[str] = []
        counts = False
        element: Element | None = self.element
        while element is not None:
            terms = self.selectors.terms(element.root if element.root.kind == "shadow" else self.document)
            but = self.used if element is self.element else frozenset()
            path = next(
                (path for path in generate_css_paths(terms, element, but) if path.css is not None), None
            )
            if path is None or path.css is None:
                return SelectorStrategyResult(kind, None, NOT_UNIQUE)
            counts = counts or not path.telling
            steps.insert(0, path.css)
            element = element.root.host if element.root.kind == "shadow" else None
        return self._checked(kind, " >>> ".join(steps), counts=counts)

    def _made(self, kind: SelectorKind, path: SelectorPath | None) -> SelectorStrategyResult:
        value = None if path is None else path.css if kind == "css" else path.xpath
        if path is None or value is None:
            return SelectorStrategyResult(kind, None, NOT_UNIQUE)
        return self._checked(kind, value, counts=not path.telling)

    def _checked(self, kind: SelectorKind, value: str, *, counts: bool) -> SelectorStrategyResult:
        if counts and sum(each.strategy is not None for each in self.found) >= ENOUGH:
            return SelectorStrategyResult(kind, None, COUNTS)
        strategy = ValueStrategy.model_validate({"type": kind, "value": value, "fallback": counts})
        wrong = self._flaw(strategy)
        if wrong is not None:
            return SelectorStrategyResult(kind, None, wrong)
        return SelectorStrategyResult(kind, strategy, "by position or tag" if counts else "")

    def _flaw(self, strategy: Strategy) -> str | None:
        return self.selectors.flaw(strategy, self.element, self.frame)


_MAKERS: dict[SelectorKind, Callable[[_SelectorBuilder, SelectorKind], SelectorStrategyResult]] = {
    "data-qa": _SelectorBuilder.attribute,
    "data-testid": _SelectorBuilder.attribute,
    "id": _SelectorBuilder.attribute,
    "aria": _SelectorBuilder.attribute,
    "xpath-text": _SelectorBuilder.words,
    "xpath-class": _SelectorBuilder.classes,
    "css": _SelectorBuilder.css,
    "shadow_pierce": _SelectorBuilder.pierce,
}
"""The builder of each kind. A new kind is one line here and its place in `ORDER`."""

__all__ = [
    "ORDER",
    "NoSelector",
    "PageSelectors",
    "SelectorChoice",
    "SelectorKind",
    "SelectorStrategyResult",
    "ValueFlaw",
    "generate_selector",
]
