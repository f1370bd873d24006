"""From any element to a short path that only it fits, in the manner of ROBULA+ (Leotta et al. 2016).

It begins with what is most general and is made narrower step by step, by what is believed most
first: one term, two terms, a term within something around it, a tag within it; counting only where
nothing else tells the element from others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from kb_schema.pages.selecting.page_terms import PageTerms
from kb_schema.pages.selecting.terms import Nth, Path, Step, Term, step_of
from kb_schema.pages.tree import Element

MOST_PAIRED = 6
"""Terms of which pairs are tried."""
_FRAME_TAGS = frozenset({"html", "body"})

Anchors = Callable[[Element], Sequence[Step]]
"""Steps that say what an element around is, best first."""


def specialised(
    page: PageTerms, element: Element, terms: Sequence[Term], anchors: Anchors, *, must: Term | None = None
) -> Path | None:
    """The first path that leads to the element alone without counting; None where there is none.

    `terms` are the element's own, best first; `must` is in every path. A path of which no term is
    telling is the last to be taken.
    """
    steps = [step_of(element, *each) for each in _choices(terms, must)]
    reached = [(step, page.matching(step)) for step in steps]
    alone = [Path((step,)) for step, places in reached if len(places) == 1]
    told = next((path for path in alone if path.telling), None)
    if told is not None:
        return told
    around = [(node, anchors(node)) for node in element.ancestors() if node.tag not in _FRAME_TAGS]
    for step, places in reached:
        found = _anchored(page, element, step, places, around)
        if found is not None:
            return found
    return alone[0] if alone else None


def _choices(terms: Sequence[Term], must: Term | None) -> Iterator[tuple[Term, ...]]:
    others = [term for term in terms if term != must]
    if must is not None:
        yield (must,)
        yield from ((must, term) for term in others)
        return
    yield from ((term,) for term in others)
    yield from combinations(others[:MOST_PAIRED], 2)
    yield ()


def _anchored(
    page: PageTerms,
    element: Element,
    step: Step,
    places: Sequence[int],
    around: Sequence[tuple[Element, Sequence[Step]]],
) -> Path | None:
    """Within the nearest thing around it that tells it from the others."""
    for node, anchors in around:
        if page.within(node, places) != 1:
            return None  # and further out there are only more of them
        for anchor in anchors:
            path = Path((anchor, step))
            if path.telling and page.leads_alone(path, element, places):
                return path
    return None


def by_position(page: PageTerms, element: Element, anchors: Anchors) -> Path:
    """From the nearest thing around it that can be told from all others, or the root, by counting."""
    steps: list[Step] = []
    node = element
    while True:
        steps.insert(0, _numbered(page, node))
        parent = node.parent
        if parent is None:
            return Path(tuple(steps), direct=True)
        if parent.tag not in _FRAME_TAGS:
            anchor = next((each for each in anchors(parent) if page.alone(each, parent)), None)
            if anchor is not None:
                return Path((anchor, *steps), direct=True)
        node = parent


def _numbered(page: PageTerms, element: Element) -> Step:
    """The tag, and its number where there are several."""
    if element.parent is None:
        return step_of(element)
    alone = sum(1 for child in element.parent.elements() if child.tag == element.tag) == 1
    return step_of(element) if alone else step_of(element, Nth(page.number(element)))
