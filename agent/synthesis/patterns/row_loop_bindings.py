"""Value bindings inside a loop over the rows of a list."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from agent.synthesis.alignment.aligned_traces import AlignedCell, AlignedPosition, AlignedTraceSet, RowKey
from agent.synthesis.patterns.branch_conditions import DecisionPage
from agent.synthesis.patterns.extracted_patterns import ExtractedPatterns, LoopRule, ValueBinding
from agent.synthesis.patterns.input_list_loops import has_changing_values
from agent.synthesis.patterns.loop_conditions import LoopPass
from agent.synthesis.patterns.quoted_texts import find_list_end_selector
from agent.synthesis.patterns.value_bindings import RowValues, ValueBinder
from agent.synthesis.traces.trace_pages import TracePages
from kb_schema.selectors import Selector, TemplateStrategy


class RowLoopBinder(ValueBinder):
    """Binds values inside a loop; the item of the round takes precedence."""

    def __init__(
        self,
        aligned: AlignedTraceSet,
        pages: TracePages,
        names: dict[str, str],
        rule: LoopRule,
        passes: Mapping[RowKey, LoopPass],
    ) -> None:
        super().__init__(aligned, pages, names)  # a value has the same variable inside and outside the loop
        self._rule, self._passes = rule, passes

    def bind(
        self,
        values: RowValues,
        position: AlignedPosition,
        key: str,
        *,
        item: Callable[[RowKey], Any] | None = None,
    ) -> ValueBinding:
        """Bind values as outside loops, but try the item of the round first."""
        if item is None and self._rule.kind == "collection" and not self._rule.is_placed:
            item = self._word
        return super().bind(values, position, key, item=item)

    def _word(self, row: RowKey) -> str | None:
        one = self._passes.get((row[0], row[1][:-1]))
        number = row[1][-1] if row[1] else 0
        return one.words[number] if one is not None and number < len(one.words) else None


def press_placed_row(
    body: ExtractedPatterns, first: AlignedPosition, rows: str, pages: TracePages
) -> ExtractedPatterns:
    """Return the body of a loop over the first or last of `rows` (CSS), with the target of its first step at that place."""
    seen = {row: each for row, cell in first.cells.items() if (each := pages.find_target(cell.step))}
    placed = find_list_end_selector(seen, rows) if len(seen) == len(first.cells) else None
    if placed is None:
        return body
    return replace(
        body,
        targets={**body.targets, first.index: placed},
        parameterizable_steps=tuple(
            (position, replace(info, target=None) if position.index == first.index else info)
            for position, info in body.parameterizable_steps
        ),
    )


def find_untold_rows(body: ExtractedPatterns, rounds: Collection[RowKey]) -> list[AlignedCell]:
    """Return the steps on a row that a person would have to name anew in each round; empty if there is none.

    One value cannot name the rows of all rounds.
    """
    return [
        cell
        for position, info in body.parameterizable_steps
        if info.target is not None
        and info.target.binding.source == "user_input"
        and has_changing_values(info.target.words, [row for row in rounds if row in info.target.words])
        for row, cell in sorted(position.cells.items())
        if row in rounds
    ]


def select_first_equal_row(
    body: ExtractedPatterns, first: int, passes: Mapping[RowKey, LoopPass], pages: TracePages
) -> ExtractedPatterns:
    """Return the body of a loop over rows, with its step at position `first` prepared for rows with equal text.

    If the target disappears after each round, the first of several equal rows is the next one. If it stays,
    equal rows cannot be distinguished, and the step is unchanged.
    """
    steps = []
    for position, info in body.parameterizable_steps:
        if (
            position.index == first
            and info.target is not None
            and _disappears_after_round(info.target.selector, passes, pages)
        ):
            made = replace(info.target, selector=_restrict_to_first(info.target.selector))
            steps.append((position, replace(info, target=made)))
        else:
            steps.append((position, info))
    return body if not steps else replace(body, parameterizable_steps=tuple(steps))


def _disappears_after_round(target: Selector, passes: Mapping[RowKey, LoopPass], pages: TracePages) -> bool:
    """Whether the target has disappeared after each round."""
    told = [
        _is_present(target, words, sight, pages)
        for one in passes.values()
        for words, sight in zip(one.words, [*one.before[1:], one.after], strict=False)
        if sight is not None
    ]
    return bool(told) and not any(told)


def _is_present(target: Selector, words: str, sight: DecisionPage, pages: TracePages) -> bool:
    page = pages.get(sight.html, sight.url)
    told = [each for each in target.strategies if isinstance(each, TemplateStrategy)]
    if page is None or not told or any(len(each.parameters) != 1 for each in told):
        return True
    return any(page.stored.resolve_template(each.template, {each.parameters[0]: words}) for each in told)


def _restrict_to_first(target: Selector) -> Selector:
    first = tuple(
        each.model_copy(update={"template": f"({each.template})[1]"})
        if isinstance(each, TemplateStrategy)
        else each
        for each in target.strategies
    )
    return target.model_copy(update={"strategies": first})
