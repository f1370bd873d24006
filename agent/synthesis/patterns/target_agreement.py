"""Checks that the selectors of one step agree: on every trace's page each leads to the trace's own element,
or to none.

A selector that leads elsewhere on the page of another trace is no alternative: it is left out. A place counts
only if several pages confirm it. If what remains does not find the element of every trace, fields are told by
the words beside them, or the step is refused with two traces that contradict each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.synthesis.alignment.aligned_traces import AlignedCell
from agent.synthesis.patterns.aligned_rows import merge_strategies
from agent.synthesis.traces.field_words import FIELD_WORDS, is_place
from agent.synthesis.traces.target_conversion import order_strategies
from agent.synthesis.traces.trace_pages import TracePage, TracePages
from kb_schema.selectors import Selector, SessionStrategy, Strategy, ValueStrategy
from kb_schema.templates import xpath_literal
from web_pages.accessible_names import is_interactive
from web_pages.element_tree import Element
from web_pages.field_words import list_field_word_strategies
from web_pages.page_texts import squeeze, text_of
from web_pages.selectors.stable_attributes import find_text_flaw
from web_pages.visibility import visible

MOST_CHECKED = 24
"""Maximum number of steps whose pages are checked."""


@dataclass(frozen=True, slots=True)
class AgreedTarget:
    """The selector for the elements of several steps, or the steps that contradict each other."""

    selector: Selector | None = None
    """None if the steps have no selector, or contradict each other."""
    contradicting: tuple[AlignedCell, ...] = ()


@dataclass(slots=True)
class _SeenTarget:
    """A step with its element on its page."""

    cell: AlignedCell
    page: TracePage
    element: Element
    found: dict[str, Element | None] = field(default_factory=dict)

    def leads_to(self, strategy: Strategy, frame: str | None) -> Element | None:
        """Return the only element that a strategy finds on the page."""
        key = _key(strategy)
        if key not in self.found:
            self.found[key] = self.page.find(Selector(strategies=(strategy,), frame=frame))
        return self.found[key]


def find_agreed_target(cells: Sequence[AlignedCell], pages: TracePages) -> AgreedTarget:
    """Return the selector that all steps agree on. Steps without a page are not checked."""
    union = merge_strategies(cells)
    targets = [cell.step.target for cell in cells if isinstance(cell.step.target, Selector)]
    if union is None:
        return AgreedTarget()
    if len({each.frame for each in targets}) > 1:
        return AgreedTarget(None, tuple(_first_of_each_frame(cells)))
    same = all(each == targets[0] for each in targets)
    if same and not any(FIELD_WORDS in cell.step.metadata for cell in cells):
        return AgreedTarget(union)
    seen = _look(_sample(cells), pages)
    if same or len(seen) < 2:
        return AgreedTarget(_selector([*_by_words(seen, union.frame), *union.strategies], union))
    return _agree(union, seen)


def _agree(union: Selector, seen: Sequence[_SeenTarget]) -> AgreedTarget:
    """Return the strategies of which none misleads, if they find the element of every trace.

    One that a single page confirms is left out, if the others suffice: it may name what was chosen there
    ("Rodriguez, James"), and the search that left one row hid this name on the other pages.
    """
    words, count = _by_words(seen, union.frame), len(seen)
    agreed = [each for each in union.strategies if not _misleads(each, seen, union.frame)]
    support = {_key(each): _support(each, seen, union.frame) for each in [*words, *agreed]}
    telling = [each for each in agreed if not is_place(each) or support[_key(each)] == count]
    repeated = [each for each in agreed if support[_key(each)] > 1]
    confirmed = [each for each in telling if support[_key(each)] > 1]
    if _finds_all(confirmed, seen, union.frame):
        sure = [each for each in words if support[_key(each)] > 1]
        return AgreedTarget(_selector([*sure, *repeated], union))
    if _finds_all(telling, seen, union.frame):
        return AgreedTarget(_selector([*words, *agreed], union))
    for chosen in (
        [*words, *telling],
        [*words, *telling, *(each for each in repeated if each not in telling)],
    ):
        if _finds_all(chosen, seen, union.frame):
            return AgreedTarget(_selector(chosen, union))
    return AgreedTarget(None, _contradiction(union, seen))


def _selector(strategies: Sequence[Strategy], union: Selector) -> Selector:
    return Selector(strategies=order_strategies(strategies), frame=union.frame)


def _support(strategy: Strategy, seen: Sequence[_SeenTarget], frame: str | None) -> int:
    """Return the number of pages on which a strategy finds the element."""
    return sum(each.leads_to(strategy, frame) is not None for each in seen)


def _sample(cells: Sequence[AlignedCell]) -> list[AlignedCell]:
    """Return distinct steps, of every trace if possible."""
    ordered = sorted(cells, key=lambda cell: (cell.row[1], cell.row[0]))
    distinct = {
        (cell.step.target.model_dump_json(), cell.step.html_before): cell
        for cell in reversed(ordered)
        if isinstance(cell.step.target, Selector)
    }
    return sorted(distinct.values(), key=lambda cell: (cell.row[1], cell.row[0]))[:MOST_CHECKED]


def _look(cells: Sequence[AlignedCell], pages: TracePages) -> list[_SeenTarget]:
    seen = []
    for cell in cells:
        step = cell.step
        page = pages.get(step.html_before or step.html_after, step.source_url)
        element = None if page is None or not isinstance(step.target, Selector) else page.find(step.target)
        if page is not None and element is not None:
            seen.append(_SeenTarget(cell, page, element))
    return seen


def _misleads(strategy: Strategy, seen: Sequence[_SeenTarget], frame: str | None) -> bool:
    """Whether a strategy leads to another element than the trace's own on some page."""
    return any(
        (found := each.leads_to(strategy, frame)) is not None and not _is_same(found, each.element)
        for each in seen
    )


def _is_same(one: Element, other: Element) -> bool:
    """Whether two elements are one control: the same, or one inside the other."""
    if one is other:
        return True
    return any(
        inner in outer.descendants() and (is_interactive(outer) or outer.tag == "label")
        for inner, outer in ((one, other), (other, one))
    )


def _finds_all(strategies: Sequence[Strategy], seen: Sequence[_SeenTarget], frame: str | None) -> bool:
    lasting = [each for each in strategies if not isinstance(each, SessionStrategy)]
    return all(any(each.leads_to(strategy, frame) is not None for strategy in lasting) for each in seen)


def _by_words(seen: Sequence[_SeenTarget], frame: str | None) -> list[Strategy]:
    """Return the selectors by the words beside the fields that mislead on no page."""
    if frame is not None:
        return []
    found: dict[str, Strategy] = {}
    for each in seen:
        for strategy in list_field_word_strategies(each.element):
            if each.leads_to(strategy, frame) is each.element and not _misleads(strategy, seen, frame):
                found.setdefault(_key(strategy), strategy)
    return list(found.values())


def _contradiction(union: Selector, seen: Sequence[_SeenTarget]) -> tuple[AlignedCell, ...]:
    """Return two steps of which one has a selector that leads elsewhere on the other's page."""
    for one in seen:
        target = one.cell.step.target
        for strategy in target.strategies if isinstance(target, Selector) else ():
            for other in seen:
                found = None if other is one else other.leads_to(strategy, union.frame)
                if found is not None and not _is_same(found, other.element):
                    return one.cell, other.cell
    return seen[0].cell, seen[1].cell


def _first_of_each_frame(cells: Sequence[AlignedCell]) -> list[AlignedCell]:
    found: dict[str | None, AlignedCell] = {}
    for cell in cells:
        if isinstance(cell.step.target, Selector):
            found.setdefault(cell.step.target.frame, cell)
    return list(found.values())[:2]


def _key(strategy: Strategy) -> str:
    return strategy.model_dump_json(exclude={"confidence", "meta", "fallback"})


__all__ = ["AgreedTarget", "find_agreed_target"]


def find_words_target(cells: Sequence[AlignedCell], pages: TracePages) -> Selector | None:
    """Return the selector by the words of the targets, if these are the same in every trace and say which element it is.

    Of all visible elements of a page only the target says them: the entry of the menu that is open, for instance,
    whose address differs in every trace.
    """
    seen = []
    for cell in cells:
        found = pages.find_target(cell.step)
        if found is None or found[1].root.kind != "document":
            return None
        seen.append(found)
    said = {(each.tag, squeeze(text_of(each, everything=True))) for _, each in seen}
    if len(seen) < 2 or len(said) != 1:
        return None
    tag, words = said.pop()
    if not words or find_text_flaw(words) is not None:
        return None
    by_words = ValueStrategy(type="xpath-text", value=f"//{tag}[normalize-space()={xpath_literal(words)}]")
    selector = Selector(strategies=(by_words,))
    for page, element in seen:
        if [each for each in page.stored.resolve(selector).found if visible(each)] != [element]:
            return None
    return selector
