"""Finds a short path that matches only one element, like ROBULA+ (Leotta et al. 2016).

It starts with the most general path and narrows it step by step, with the most trusted terms first: one term,
two terms, a term inside an ancestor, a tag inside it. Positions are used only if nothing else distinguishes
the element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from web_pages.element_tree import Element
from web_pages.selectors.selector_terms import NthTerm, SelectorPath, SelectorStep, SelectorTerm, step_of
from web_pages.selectors.term_index import TermIndex

MOST_PAIRED = 6
"""The number of terms whose pairs are tried."""
_FRAME_TAGS = frozenset({"html", "body"})

AnchorFinder = Callable[[Element], Sequence[SelectorStep]]
"""Returns steps that describe an ancestor, best first."""


def find_unique_path(
    page: TermIndex,
    element: Element,
    terms: Sequence[SelectorTerm],
    anchors: AnchorFinder,
    *,
    must: SelectorTerm | None = None,
) -> SelectorPath | None:
    """Return the first path that matches the element alone without positions; None if there is none.

    `terms` are the element's own, best first; `must` is in every path. A path without an identifying term is
    tried last.
    """
    steps = [step_of(element, *each) for each in _choices(terms, must)]
    reached = [(step, page.matching(step)) for step in steps]
    alone = [SelectorPath((step,)) for step, places in reached if len(places) == 1]
    identifying = next((path for path in alone if path.telling), None)
    if identifying is not None:
        return identifying
    around = [(node, anchors(node)) for node in element.ancestors() if node.tag not in _FRAME_TAGS]
    for step, places in reached:
        found = _anchored(page, element, step, places, around)
        if found is not None:
            return found
    return alone[0] if alone else None


def _choices(terms: Sequence[SelectorTerm], must: SelectorTerm | None) -> Iterator[tuple[SelectorTerm, ...]]:
    others = [term for term in terms if term != must]
    if must is not None:
        yield (must,)
        yield from ((must, term) for term in others)
        return
    yield from ((term,) for term in others)
    yield from combinations(others[:MOST_PAIRED], 2)
    yield ()


def _anchored(
    page: TermIndex,
    element: Element,
    step: SelectorStep,
    places: Sequence[int],
    around: Sequence[tuple[Element, Sequence[SelectorStep]]],
) -> SelectorPath | None:
    """Return a path inside the nearest ancestor that distinguishes it."""
    for node, anchors in around:
        if page.within(node, places) != 1:
            return None  # and further out there are only more of them
        for anchor in anchors:
            path = SelectorPath((anchor, step))
            if path.telling and page.leads_alone(path, element, places):
                return path
    return None


def build_positional_path(page: TermIndex, element: Element, anchors: AnchorFinder) -> SelectorPath:
    """Return a positional path from the nearest unique ancestor, or from the root."""
    steps: list[SelectorStep] = []
    node = element
    while True:
        steps.insert(0, _numbered(page, node))
        parent = node.parent
        if parent is None:
            return SelectorPath(tuple(steps), direct=True)
        if parent.tag not in _FRAME_TAGS:
            anchor = next((each for each in anchors(parent) if page.alone(each, parent)), None)
            if anchor is not None:
                return SelectorPath((anchor, *steps), direct=True)
        node = parent


def _numbered(page: TermIndex, element: Element) -> SelectorStep:
    """Return the tag, with its position if there are several."""
    if element.parent is None:
        return step_of(element)
    alone = sum(1 for child in element.parent.elements() if child.tag == element.tag) == 1
    return step_of(element) if alone else step_of(element, NthTerm(page.number(element)))
