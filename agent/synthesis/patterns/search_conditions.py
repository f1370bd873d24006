"""Infers searches: detours and loops that end when the next needed element is present.

The needed element is the next target of every trace, or an element with a text from the task description. It
determines the branch if it was missing on the pages on which the detour was taken, apart from a few on which
a person overlooked it, and present on all other pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent.synthesis.alignment.aligned_traces import AlignedCell, AlignedTraceSet, RowKey
from agent.synthesis.patterns.aligned_rows import (
    AlignedUnit,
    have_common_strategy,
    is_in_row,
    merge_strategies,
)
from agent.synthesis.patterns.branch_conditions import DecisionPage, InferredCondition, is_queryable
from agent.synthesis.patterns.decision_pages import DecisionPages
from agent.synthesis.patterns.extracted_patterns import LoopRule
from agent.synthesis.patterns.loop_conditions import LoopConditionFinder, LoopPass
from agent.synthesis.patterns.target_templates import PARAMETER, TargetTemplate, find_target_template
from agent.synthesis.patterns.value_bindings import ValueBinder
from agent.synthesis.traces.trace_pages import TracePage, TracePages
from kb_schema.conditions import Combined, Condition, ElementVisible
from kb_schema.selectors import Selector
from kb_schema.templates import xpath_literal
from web_pages.page_texts import squeeze, text_of
from web_pages.visibility import visible

LEAST_SIGHTS = 2
"""Minimum number of pages without and with a text of the description."""
MOST_OVERLOOKED = 1 / 3
"""Maximum share of pages on which a person overlooked the element and continued; a run stops there earlier."""
MOST_PLACES = 12
"""Maximum number of elements with a text that are tried per page."""

PagesByRow = Mapping[RowKey, Sequence[DecisionPage]]


@dataclass(frozen=True, slots=True)
class SearchTarget:
    """An element that is searched for; each trace may search for a different one."""

    selector: Selector
    """Selector with the parameter of the workflow."""
    own: Mapping[RowKey, Selector]
    """Selector with the text of each row."""
    told: str

    @property
    def there(self) -> Condition:
        """The condition that the element is present."""
        return ElementVisible(type="element_visible", element=self.selector)

    @property
    def missing(self) -> Condition:
        """The condition that the element is missing."""
        return Combined(type="none_of", conditions=(self.there,))


class SearchConditionFinder:
    """Infers whether detours and loops are searches."""

    def __init__(
        self, aligned: AlignedTraceSet, moments: DecisionPages, pages: TracePages, binder: ValueBinder
    ) -> None:
        self._aligned, self._moments, self._pages, self._binder = aligned, moments, pages, binder

    def of_step(
        self, unit: AlignedUnit, part: Sequence[AlignedUnit], rows: frozenset[RowKey]
    ) -> InferredCondition | None:
        """Return the condition of a step in a detour of all traces: the element after the detour is missing."""
        sights = self._moments.sights([unit], part, rows)
        taken = {row: sight for row, sight in sights.items() if row in unit.rows}
        other = {row: sight for row, sight in sights.items() if row not in unit.rows}
        return self.detour(part[-1].indices[-1], taken, other)

    def of_loop(
        self, last: int, passes: Mapping[RowKey, LoopPass], rules: LoopConditionFinder
    ) -> LoopRule | None:
        """Return the rule of a loop up to position `last` that searches list rows, or continues until an element is present."""
        over = {row: each.after for row, each in passes.items() if each.after is not None}
        found = None
        if len(over) == len(passes) and not self._choose_in_turn(passes):
            found = self._ending(last, {row: each.before for row, each in passes.items()}, over)
        return None if found is None else rules.searching(passes, *found)

    def detour(
        self, last: int, taken: Mapping[RowKey, DecisionPage], other: Mapping[RowKey, DecisionPage]
    ) -> InferredCondition | None:
        """Return the condition of a detour up to position `last`: the element after it is missing."""
        need = self._next(last, frozenset({*taken, *other}))
        going, over = _each(taken), _each(other)
        if need is None or not self._separates(need, going, over):
            return None
        told = f"{need.told} was missing on {len(taken)} pages and present on {len(other)} of {len(other)} others"
        return InferredCondition(need.missing, "target", told)

    def _ending(
        self, last: int, going: PagesByRow, over: Mapping[RowKey, DecisionPage]
    ) -> tuple[Condition, str] | None:
        """Return the search target of a loop up to position `last`, from the pages before rounds and after the last."""
        need = self._next(last, frozenset(over))
        ended = _each(over)
        if need is None or not self._separates(need, going, ended):
            need = next((each for each in self._said(over) if self._separates(each, going, ended)), None)
        if need is None:
            return None
        rounds = sum(map(len, going.values()))
        return (
            need.there,
            f"until {need.told} is present: it was missing before {rounds} rounds and present after the last ones",
        )

    def _choose_in_turn(self, passes: Mapping[RowKey, LoopPass]) -> bool:
        """Whether all traces act on the same rows and a later one appears only after an earlier one was pressed, such as
        `Snooze` and then `Pick a date` of two menus: nothing was searched there, and a search would press the entries above
        them. Rows that were all shown from the beginning, such as tabs, can be searched.
        """
        return act_on_same_rows(passes) and any(not self._all_shown(each) for each in passes.values())

    def _all_shown(self, each: LoopPass) -> bool:
        """Whether the rows of all rounds are on the page before the first round."""
        sight = each.before[0] if each.before else None
        targets = [step.target for step in each.first_steps]
        return sight is not None and all(
            isinstance(target, Selector) and self._shows(target, sight) for target in targets
        )

    def _separates(self, need: SearchTarget, going: PagesByRow, over: PagesByRow) -> bool:
        missing = [self._shows(need.own.get(row), sight) for row, each in going.items() for sight in each]
        there = [self._shows(need.own.get(row), sight) for row, each in over.items() for sight in each]
        overlooked = sum(missing) / len(missing) if missing else 1.0
        return bool(there) and all(there) and overlooked <= MOST_OVERLOOKED

    def _shows(self, selector: Selector | None, sight: DecisionPage) -> bool:
        page = self._page(sight)
        return page is not None and selector is not None and page.shows(selector)

    def _page(self, sight: DecisionPage) -> TracePage | None:
        return self._pages.get(sight.html, sight.url)

    # -- the next target of every row

    def _next(self, last: int, rows: frozenset[RowKey]) -> SearchTarget | None:
        for position in self._aligned.positions[last + 1 :]:
            cells = {row: cell for row in rows if (cell := _cell(position.cells, row)) is not None}
            if len(cells) == len(rows) and all(isinstance(c.step.target, Selector) for c in cells.values()):
                return self._need(cells)
        return None

    def _need(self, cells: Mapping[RowKey, AlignedCell]) -> SearchTarget | None:
        steps = list(cells.values())
        constant = merge_strategies(steps)
        if have_common_strategy(steps):
            if constant is None or not is_queryable(constant):
                return None
            return SearchTarget(constant, dict.fromkeys(cells, constant), "the next target")
        lifted = find_target_template(steps, self._pages)
        if lifted is None or lifted.also:
            return None
        binding = self._binder.known(lifted.words)
        if binding is None or binding.source != "input" or binding.template != f"{{{binding.name}}}":
            return None
        own = {row: lifted.filled(lifted.words[cell.row]) for row, cell in cells.items()}
        return SearchTarget(lifted.selector(binding.name), own, f"the element that {binding.name} names")

    # -- a text of the task description

    def _said(self, over: Mapping[RowKey, DecisionPage]) -> Iterator[SearchTarget]:
        """Yield each value that every description has and that the last pages show."""
        data = {row: self._given(row[0]) for row in over}
        if len(over) < LEAST_SIGHTS or not all(data.values()):
            return
        shared = set.intersection(*(set(each) for each in data.values()))
        for key in sorted(shared, key=lambda each: (len(each), each)):
            words = {row: data[row][key] for row in over}
            first = min(over)
            page = self._page(over[first])
            if page is None or len(set(words.values())) < LEAST_SIGHTS:
                continue
            for template in dict.fromkeys(_places_saying(page, words[first])):
                lifted = TargetTemplate(template, words)
                own = {row: lifted.filled(said) for row, said in words.items()}
                yield SearchTarget(lifted.selector(key), own, f"an element with the text {key}")

    def _given(self, trace: str) -> dict[str, str]:
        known = self._aligned.traces.get(trace)
        given = {} if known is None else known.input_data or {}
        return {key: value for key, value in given.items() if isinstance(value, str) and key.isidentifier()}


def _places_saying(page: TracePage, said: str) -> Iterable[str]:
    """Return XPath templates for elements whose text is exactly the word."""
    found = [
        element
        for element in page.stored.roots[0].elements
        if squeeze(text_of(element)) == said and visible(element)
    ]
    for element in found[:MOST_PLACES]:
        choice = page.selectors.of(element).selector
        for each in () if choice is None else choice.strategies:
            value = getattr(each, "value", "")
            if each.type == "xpath-class" and not each.fallback:
                yield f"{value}[normalize-space()='{{{{{PARAMETER}}}}}']"
            elif each.type == "xpath-text" and xpath_literal(said) in value:
                yield value.replace(xpath_literal(said), f"'{{{{{PARAMETER}}}}}'")


def act_on_same_rows(passes: Mapping[RowKey, LoopPass]) -> bool:
    """Whether all traces act on the same rows in the same order."""
    words = [each.words for each in passes.values()]
    return len(words) > 1 and bool(words[0]) and len(set(words)) == 1


def _each(sights: Mapping[RowKey, DecisionPage]) -> PagesByRow:
    return {row: (sight,) for row, sight in sights.items()}


def _cell(cells: Mapping[RowKey, AlignedCell], row: RowKey) -> AlignedCell | None:
    """Return the first step of a row at a position, including its rounds."""
    found = [cell for key, cell in cells.items() if is_in_row(key, row)]
    return min(found, key=lambda cell: cell.step_index, default=None)
