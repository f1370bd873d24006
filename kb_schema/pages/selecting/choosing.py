"""Any element of a stored page -> its selector: strategies in a fixed order, and why others are missing.

DESIGN 6 and MA's target converter: data-qa, data-testid, id, aria, xpath-text, xpath-class, css; for
what is in a shadow root a way through its hosts besides. Each strategy leads to the element and to
nothing else, hidden or not, by the very resolver that will use it (`kb_schema.pages.resolve`). On
snapshots of a live page these are the selectors of the live page, since the code is the same
(`agent/locating/selecting.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from kb_schema.pages.names import role_of
from kb_schema.pages.resolve import Queries, resolve, roots_within
from kb_schema.pages.selecting.lasting import Flaw, attribute_flaw
from kb_schema.pages.selecting.page_terms import PageTerms
from kb_schema.pages.selecting.speaking import (
    label_around,
    own_terms,
    own_words,
    plain_anchors,
    spoken_anchors,
)
from kb_schema.pages.selecting.specialising import by_position, specialised
from kb_schema.pages.selecting.terms import HasAttribute, Path, Step, Term, step_of
from kb_schema.pages.stored import StoredPage
from kb_schema.pages.tree import Element, Root
from kb_schema.selectors import Selector, Strategy, ValueStrategy, css

Kind = Literal["data-qa", "data-testid", "id", "aria", "xpath-text", "xpath-class", "css", "shadow_pierce"]
ORDER: tuple[Kind, ...] = (
    "data-qa",
    "data-testid",
    "id",
    "aria",
    "xpath-text",
    "xpath-class",
    "css",
    "shadow_pierce",
)
"""As strategies are tried."""
ENOUGH = 2
"""Strategies with which nothing that only counts positions is added."""

NOT_UNIQUE = "not unique"
COUNTS = "only its position or its tag tells it from others, and other strategies do without"
IN_SHADOW = "XPath does not look into shadow roots"
FRAME_UNKNOWN = "its frame cannot be told from others"
ELSEWHERE = "leads elsewhere when it is resolved"


@dataclass(frozen=True, slots=True)
class Considered:
    """One kind of strategy, and what became of it."""

    kind: Kind
    strategy: Strategy | None
    """None where it was skipped."""
    reason: str = ""
    """Why it was skipped, or what to know of it."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The selector of one element. `considered` has every kind once, in order."""

    selector: Selector | None
    """None where nothing leads to the element alone."""
    considered: tuple[Considered, ...]

    @property
    def skipped(self) -> dict[str, str]:
        """Why each kind that is missing is missing."""
        return {each.kind: each.reason for each in self.considered if each.strategy is None}


class NoSelector(LookupError):
    """Nothing that could be said of an element leads to it alone. `skipped`: why, by kind."""

    def __init__(self, tag: str, skipped: dict[str, str]) -> None:
        self.tag, self.skipped = tag, skipped
        told = "; ".join(f"{kind}: {reason}" for kind, reason in skipped.items())
        super().__init__(f"no selector leads to this {tag} alone ({told})")


def selectors_for(page: StoredPage, element: Element) -> Selector:
    """The selector of one element of a page. Raises `NoSelector`. For several: `PageSelectors`."""
    choice = PageSelectors(page).of(element)
    if choice.selector is None:
        raise NoSelector(element.tag, choice.skipped)
    return choice.selector


class PageSelectors:
    """Selectors for any number of elements of one stored page; what is known of the page is shared."""

    def __init__(self, page: StoredPage) -> None:
        self.page = page
        self._terms: dict[tuple[int, bool, bool], PageTerms] = {}
        self._frames: dict[int, str | None] = {}
        self._queries = Queries()

    def of(self, element: Element) -> Choice:
        """The strategies that lead to an element alone, and why there are no others."""
        root = _document_of(element)
        frame = self._frame_css(root) if root.kind == "frame" else None
        if root.kind == "frame" and frame is None:
            return Choice(None, tuple(Considered(kind, None, FRAME_UNKNOWN) for kind in ORDER))
        return _Choosing(self, element, root, frame).choice()

    def terms(self, start: Root, *, shadows: bool = True, frames: bool = False) -> PageTerms:
        """What can be said of a root and of those in it."""
        key = (id(start), shadows, frames)
        if key not in self._terms:
            roots = roots_within(self.page.roots, [start], with_frames=frames)
            self._terms[key] = PageTerms(root for root in roots if shadows or root.kind != "shadow")
        return self._terms[key]

    def _frame_css(self, root: Root) -> str | None:
        """CSS that finds the frame's element and no other, wherever it is looked for."""
        if id(root) not in self._frames:
            self._frames[id(root)] = None if root.host is None else self._css_anywhere(root.host)
        return self._frames[id(root)]

    def _css_anywhere(self, host: Element) -> str | None:
        for path in css_paths(self.terms(self.page.roots[0], frames=True), host):
            if path.css is not None:
                everywhere = resolve(css(path.css), self.page.roots, self._queries, with_frames=True)
                if everywhere.found == (host,):
                    return path.css
        return None

    def flaw(self, strategy: Strategy, element: Element, frame: str | None) -> str | None:
        """Why a strategy does not find the element and no other, hidden ones included; None where it does."""
        found = self.page.resolve(Selector(strategies=(strategy,), frame=frame)).found
        if found == (element,):
            return None
        return NOT_UNIQUE if element in found else ELSEWHERE


def css_paths(terms: PageTerms, element: Element, but: frozenset[str] = frozenset()) -> Iterable[Path]:
    """Paths that CSS can say, the last one by position."""
    said = specialised(terms, element, own_terms(element, but=but), plain_anchors)
    if said is not None:
        yield said
    yield by_position(terms, element, plain_anchors)


def _document_of(element: Element) -> Root:
    """The document or frame document that it is in, through shadow roots."""
    root = element.root
    while root.kind == "shadow" and root.host is not None:
        root = root.host.root
    return root


class _Choosing:
    """Choosing for one element."""

    def __init__(self, selectors: PageSelectors, element: Element, root: Root, frame: str | None) -> None:
        self.selectors, self.element, self.document, self.frame = selectors, element, root, frame
        self.used: frozenset[str] = frozenset()
        """Attributes that lead to the element by themselves: further ways do without them."""
        self.found: list[Considered] = []

    def choice(self) -> Choice:
        for kind in ORDER:
            if kind == "shadow_pierce" and self.element.root.kind != "shadow":
                continue
            self.found.append(_MAKERS[kind](self, kind))
        strategies = tuple(each.strategy for each in self.found if each.strategy is not None)
        selector = Selector(strategies=strategies, frame=self.frame) if strategies else None
        return Choice(selector, tuple(self.found))

    def attribute(self, kind: Kind) -> Considered:
        """By the value of one attribute."""
        name = "aria-label" if kind == "aria" else kind
        flaw = attribute_flaw(self.element, name)
        if flaw is not None:
            value = self.element.get(name)
            return Considered(kind, None, flaw if value is None else f"{flaw}: {value[:60]!r}")
        role = role_of(self.element) if kind == "aria" else None
        strategy = ValueStrategy.model_validate(
            {"type": kind, "value": self.element.attributes[name], "role": role}
        )
        wrong = self._flaw(strategy)
        if wrong is not None:
            return Considered(kind, None, wrong)
        self.used |= {name}
        return Considered(kind, strategy)

    def words(self, kind: Kind) -> Considered:
        """By what a person reads: its own text, or its label's; with the row or section it stands in."""
        if self.element.root.kind == "shadow":
            return Considered(kind, None, IN_SHADOW)
        terms = self.selectors.terms(self.document, shadows=False)
        term, flaw = own_words(terms, self.element)
        around = label_around(terms, self.element)
        if term is None and around is None:
            return Considered(kind, None, flaw)
        path = self._spoken(terms, term) if term is not None else None
        if path is None and around is not None:
            path = self._labelled(terms, around)
        made = self._made(kind, path)
        if made.strategy is not None and isinstance(term, HasAttribute):  # what a button says is its value
            self.used |= {term.name}
        return made

    def _spoken(self, terms: PageTerms, term: Term) -> Path | None:
        more = own_terms(self.element, but=self.used)
        return specialised(
            terms, self.element, more, lambda node: spoken_anchors(terms, node, self.element), must=term
        )

    def _labelled(self, terms: PageTerms, around: Step) -> Path | None:
        """Within its label."""
        for more in ((), *((term,) for term in own_terms(self.element, but=self.used))):
            path = Path((around, step_of(self.element, *more)))
            if terms.leads_alone(path, self.element, terms.matching(path.steps[-1])):
                return path
        return None

    def classes(self, kind: Kind) -> Considered:
        """By classes and attributes in XPath."""
        if self.element.root.kind == "shadow":
            return Considered(kind, None, IN_SHADOW)
        terms = self.selectors.terms(self.document, shadows=False)
        own = own_terms(self.element, but=self.used, classes_first=True)
        path = specialised(terms, self.element, own, plain_anchors)
        return self._made(kind, path or by_position(terms, self.element, plain_anchors))

    def css(self, kind: Kind) -> Considered:
        """By attributes and classes in CSS."""
        terms = self.selectors.terms(self.document)
        made = Considered(kind, None, NOT_UNIQUE)
        for path in css_paths(terms, self.element, self.used):
            made = self._made(kind, path)
            if made.strategy is not None:
                break
        return made

    def pierce(self, kind: Kind) -> Considered:
        """Through the hosts of the shadow roots around it."""
        steps: list[str] = []
        counts = False
        element: Element | None = self.element
        while element is not None:
            terms = self.selectors.terms(element.root if element.root.kind == "shadow" else self.document)
            but = self.used if element is self.element else frozenset()
            path = next((path for path in css_paths(terms, element, but) if path.css is not None), None)
            if path is None or path.css is None:
                return Considered(kind, None, NOT_UNIQUE)
            counts = counts or not path.telling
            steps.insert(0, path.css)
            element = element.root.host if element.root.kind == "shadow" else None
        return self._checked(kind, " >>> ".join(steps), counts=counts)

    def _made(self, kind: Kind, path: Path | None) -> Considered:
        said = None if path is None else path.css if kind == "css" else path.xpath
        if path is None or said is None:
            return Considered(kind, None, NOT_UNIQUE)
        return self._checked(kind, said, counts=not path.telling)

    def _checked(self, kind: Kind, value: str, *, counts: bool) -> Considered:
        if counts and sum(each.strategy is not None for each in self.found) >= ENOUGH:
            return Considered(kind, None, COUNTS)
        strategy = ValueStrategy.model_validate({"type": kind, "value": value, "fallback": counts})
        wrong = self._flaw(strategy)
        if wrong is not None:
            return Considered(kind, None, wrong)
        return Considered(kind, strategy, "by position or tag" if counts else "")

    def _flaw(self, strategy: Strategy) -> str | None:
        return self.selectors.flaw(strategy, self.element, self.frame)


_MAKERS: dict[Kind, Callable[[_Choosing, Kind], Considered]] = {
    "data-qa": _Choosing.attribute,
    "data-testid": _Choosing.attribute,
    "id": _Choosing.attribute,
    "aria": _Choosing.attribute,
    "xpath-text": _Choosing.words,
    "xpath-class": _Choosing.classes,
    "css": _Choosing.css,
    "shadow_pierce": _Choosing.pierce,
}
"""How each kind is made; a new one is one line here and its place in `ORDER`."""

__all__ = ["ORDER", "Choice", "Considered", "Flaw", "Kind", "NoSelector", "PageSelectors", "selectors_for"]
