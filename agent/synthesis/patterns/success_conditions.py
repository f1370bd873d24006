"""Infers the success criteria of a workflow. What imported recordings check at their end counts first. Others hold at the end of every run, and on no page before its last
effective step.

Several independent ones are preferred: messages and headings, the address, a row with an input's value. What varies
is a gap or an input. Where no page shows what was done, the application's answer to what was sent counts, and also
where the only criterion is about an input: that may be empty in a run. If runs end with a loop, the criteria must not
hold before any round, and they include the loop's end condition, such as an empty list.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice

from agent.synthesis.alignment.aligned_traces import AlignedTraceSet, RowKey
from agent.synthesis.patterns.aligned_rows import first_step
from agent.synthesis.patterns.branch_conditions import BranchConditionFinder, DecisionPage
from agent.synthesis.patterns.checked_ends import find_checked_conditions
from agent.synthesis.patterns.control_states import find_only_state, is_only_counted
from agent.synthesis.patterns.end_addresses import find_address_conditions, find_path_condition
from agent.synthesis.patterns.end_places import (
    find_number_changes,
    find_place_states,
    find_place_texts,
    find_place_values,
)
from agent.synthesis.patterns.end_texts import (
    find_message_texts,
    find_number_texts,
    find_plain_texts,
    find_value_texts,
    has_number,
)
from agent.synthesis.patterns.end_writes import find_write_conditions
from agent.synthesis.patterns.extracted_patterns import ExtractedPatterns, LoopPattern
from agent.synthesis.patterns.page_read_backs import find_page_read_back
from agent.synthesis.patterns.row_columns import drop_name
from agent.synthesis.patterns.trace_ends import (
    TraceEnd,
    collect_trace_ends,
    fill_texts,
    list_independent_traces,
)
from agent.synthesis.traces.trace_pages import TracePages
from kb_schema.conditions import Combined, Condition, DomContains, ElementHidden
from kb_schema.execution_traces import ExecutionTrace
from kb_schema.read_backs import PageReadBack
from kb_schema.selectors import Selector, TemplateStrategy, ValueStrategy
from kb_schema.templates import tree_variables
from web_pages.selectors.selector_terms import ClassTerm
from web_pages.selectors.stable_attributes import list_stable_classes
from web_pages.visibility import visible

ENOUGH = 2
"""With this many criteria, no weaker ones are added."""
MOST_TEXTS = 2
_ROWS = ("tr", "li", "article", "[role=row]")


def infer_success_condition(
    aligned: AlignedTraceSet, patterns: ExtractedPatterns, pages: TracePages
) -> Condition | None:
    """Return the success condition; None if nothing distinguishes the last pages."""
    checked = find_checked_conditions(
        aligned.traces[each] for each in aligned.trace_ids if each in aligned.traces
    )
    if checked:
        return checked[0] if len(checked) == 1 else Combined(type="all_of", conditions=tuple(checked))
    if (state := find_only_state(aligned, patterns)) is not None:
        # Nothing else holds in a run that finds its job done, and presses nothing: only then the writes are not asked about.
        labelled = find_place_states(collect_trace_ends(aligned, patterns, pages))
        both = (*_accepted_writes(aligned), next(labelled, state.done))
        return both[0] if len(both) == 1 else Combined(type="all_of", conditions=both)
    loops = list(_at_the_end(patterns))
    ends = [] if loops else collect_trace_ends(aligned, patterns, pages)
    found = [] if loops else _criteria(ends)
    if len(found) == 1 and (about := _list_inputs(found[0])):
        found += islice(_beside_input(ends, about), 1) if len(ends) > 1 else ()
        found += [] if len(found) > 1 else _accepted_writes(aligned)
    if not found:
        found = _distinguishing(aligned, loops, pages)
    if not found and not loops and not is_only_counted(aligned, patterns, pages):
        found = _accepted_writes(aligned)
    return (
        found[0] if len(found) == 1 else Combined(type="all_of", conditions=tuple(found)) if found else None
    )


def infer_read_back(
    aligned: AlignedTraceSet, patterns: ExtractedPatterns, pages: TracePages
) -> PageReadBack | None:
    """Return where the effect can be read; None where the traces do not show it, or end with a loop."""
    if any(True for _ in _at_the_end(patterns)):
        return None
    return find_page_read_back(collect_trace_ends(aligned, patterns, pages))


def list_criteria(condition: Condition | None) -> tuple[Condition, ...]:
    """Return the criteria that a success condition consists of."""
    if isinstance(condition, Combined) and condition.type == "all_of":
        return condition.conditions
    return () if condition is None else (condition,)


def _criteria(ends: Sequence[TraceEnd]) -> list[Condition]:
    """Return the criteria that the ends of the traces prove."""
    if len(ends) < 2:
        return [each for end in ends for each in _of_one_trace(end)]
    found: list[Condition] = [*find_address_conditions(ends)]
    found += find_message_texts(ends, other_evidence=bool(found))[:MOST_TEXTS]
    if not any(map(has_number, found)):
        found += find_number_texts(ends)[:1]
    if len(found) < ENOUGH:
        found += find_value_texts(ends)[:1] or list(islice(find_place_values(ends), 1))
    if not found:
        found += find_plain_texts(ends)[:1]
    return (
        found or _gone_row(ends) or list(islice(chain(_changed_places(ends), find_number_changes(ends)), 1))
    )


def _list_inputs(condition: Condition) -> frozenset[str]:
    """Return the inputs of which a condition has the value. With an empty one it is not asked."""
    return tree_variables(condition.to_json())


def _beside_input(ends: Sequence[TraceEnd], about: frozenset[str]) -> Iterator[Condition]:
    """Yield the conditions that prove the same as one about these inputs, if these are empty in a run."""
    yield from (each for each in find_place_values(ends) if not about & _list_inputs(each))
    yield from _changed_places(ends)


def _accepted_writes(aligned: AlignedTraceSet) -> list[Condition]:
    """Return what the application answered, where no page shows what was done."""
    traces = list_independent_traces(aligned)
    return [] if len(traces) < 2 else list(islice(find_write_conditions(traces), 1))


def _changed_places(ends: Sequence[TraceEnd]) -> Iterator[Condition]:
    yield from find_place_texts(ends)
    yield from find_place_states(ends)


def _of_one_trace(end: TraceEnd) -> list[Condition]:
    """Return the typed text that only the last page shows: nothing else certainly belongs to the task."""
    shown = find_value_texts([end])[:1]
    return [
        each.model_copy(update={"value": end.values[each.value.strip("{}")], "selector": None})
        for each in shown
    ]


def _gone_row(ends: Sequence[TraceEnd]) -> list[Condition]:
    """Return the condition that the row with an input's value is gone from the page that shows the list."""
    path = find_path_condition([end.url for end in ends])
    for name in sorted(set.intersection(*(set(end.values) for end in ends))):
        for selector in (*_ROWS, *_list_row_names(ends[0], name)):
            row = DomContains(type="dom_contains", value=f"{{{name}}}", selector=selector)
            gone = Combined(type="none_of", conditions=(row,))
            if path is not None and all(_was_there(end, row) and end.page.holds(path) for end in ends):
                return [path, gone]
    return []


def _list_row_names(end: TraceEnd, name: str) -> Iterator[str]:
    """Yield the CSS of elements that only contain an input's value, in a list that is also on the last page.

    Lists of such elements are made of any tags: their rows are known by the class of what names them.
    """
    if not end.earlier:
        return
    page = end.earlier[-1]
    for root in page.stored.roots:
        named = page.selectors.terms(root, shadows=False).by_text.get(end.values[name], ())
        for element in filter(visible, named):
            for each in list_stable_classes(element):
                css = f"{element.tag}{ClassTerm(each).css}"
                selector = Selector(strategies=(ValueStrategy(type="css", value=css),))
                if len(page.stored.resolve(selector).found) > 1 and end.page.shows(selector):
                    yield css


def _was_there(end: TraceEnd, row: DomContains) -> bool:
    """Whether a row was there before the last effective step and is not there at the end."""
    filled = fill_texts(row, end.values)
    return bool(end.earlier) and end.earlier[-1].holds(filled) and not end.page.holds(filled)


def _distinguishing(
    aligned: AlignedTraceSet, loops: Sequence[LoopPattern], pages: TracePages
) -> list[Condition]:
    """Return an indicator that separates the last pages from those before, and the end conditions of loops."""
    traces = [aligned.traces[each] for each in aligned.distinct_ids if each in aligned.traces]
    lasts = [trace.steps[-1] for trace in traces if trace.steps]
    if len(lasts) < 2 or any(not step.html_after or not step.html_before for step in lasts):
        return []
    ended = [
        DecisionPage(step.html_after or "", step.metadata.get("url_after") or step.source_url)
        for step in lasts
    ]
    began = [DecisionPage(step.html_before or "", step.source_url) for step in lasts]
    deciding = BranchConditionFinder(pages)
    found = deciding.by_page(ended, [*began, *_before_rounds(loops, traces)]) if loops else None
    found = found or deciding.by_page(ended, began)
    if found is not None and not loops and _holds_earlier(found.condition, traces, pages):
        found = None
    over = [condition for each in loops if (condition := _end_of(each)) is not None]
    over += [condition for each in loops for condition in _left_overs(each, traces, pages)]
    told = [condition for condition in over if _holds_on_pages(condition, ended, pages)]
    told += [] if found is None else [found.condition]
    path = find_path_condition([sight.url for sight in ended]) if all(map(_is_absence, told)) else None
    # On other pages nothing is left, either.
    return [path, *told] if told and path is not None else told


def _is_absence(condition: Condition) -> bool:
    """Whether a condition says that something is not there."""
    return isinstance(condition, ElementHidden) or (
        isinstance(condition, Combined) and condition.type == "none_of"
    )


def _left_overs(
    loop: LoopPattern, traces: Sequence[ExecutionTrace], pages: TracePages
) -> Iterator[Condition]:
    """Yield the conditions that no row has the element any more that a round acts on."""
    known = {trace.trace_id for trace in traces}
    has_its_own = loop.rule.kind != "collection" or loop.rule.condition is not None
    for position, info in () if has_its_own else loop.body.parameterizable_steps:
        strategy = info.target.selector.strategies[0] if info.target is not None else None
        if not isinstance(strategy, TemplateStrategy) or len(strategy.parameters) != 1:
            continue
        value = drop_name(strategy.template)
        if value == strategy.template or "{{" in value:
            continue
        element = Selector(strategies=(ValueStrategy(type="xpath", value=value),))
        began = [
            pages.get(cell.step.html_before, cell.step.source_url)
            for row, cell in position.cells.items()
            if row[0] in known and cell.step.html_before
        ]
        if began and all(page is not None and page.shows(element) for page in began):
            yield ElementHidden(type="element_disappears", element=element)


def _end_of(loop: LoopPattern) -> Condition | None:
    """Return the condition that a loop is over: its own, or that there is no next page."""
    if loop.rule.condition is None and loop.rule.turn is not None:
        return ElementHidden(type="element_disappears", element=loop.rule.turn)
    return loop.rule.condition


def _holds_earlier(condition: Condition, traces: Sequence[ExecutionTrace], pages: TracePages) -> bool:
    """Whether a condition holds on a page before the last step of some trace."""
    steps = {(step.html_before, step.source_url) for trace in traces for step in trace.steps}
    seen = [pages.get(html, url) for html, url in sorted(steps, key=str) if html]
    return any(page is not None and page.holds(condition) for page in seen)


def _at_the_end(patterns: ExtractedPatterns) -> Iterator[LoopPattern]:
    """Yield the loop at the end of the workflow, and the loop at the end of its body."""
    last = patterns.step_order[-1] if patterns.step_order else None
    for loop in patterns.loop_patterns:
        if last in loop.indices and loop.rule.kind != "unknown":
            yield loop
            yield from _at_the_end(loop.body)


def _before_rounds(loops: Sequence[LoopPattern], traces: Sequence[ExecutionTrace]) -> Iterator[DecisionPage]:
    known = {trace.trace_id for trace in traces}
    for loop in loops:
        rows: set[RowKey] = {
            (row[0], row[1]) for position in loop.body_steps[:1] for row in position.cells if row[0] in known
        }
        for row in sorted(rows):
            step = first_step(loop.body_steps, row)
            if step is not None and step.html_before:
                yield DecisionPage(step.html_before, step.source_url)


def _holds_on_pages(condition: Condition, sights: Sequence[DecisionPage], pages: TracePages) -> bool:
    seen = [pages.get(sight.html, sight.url) for sight in sights]
    return all(page is not None and page.holds(condition) for page in seen)
