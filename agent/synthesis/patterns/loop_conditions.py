"""Infers when a loop ends, from the pages before each round and the page after the last round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agent.synthesis.alignment.aligned_traces import RowKey
from agent.synthesis.patterns.branch_conditions import BranchConditionFinder, DecisionPage, is_queryable
from agent.synthesis.patterns.counted_rows import find_counted_row_filter, limit_rows
from agent.synthesis.patterns.extracted_patterns import LoopRule
from agent.synthesis.patterns.input_data_values import find_list_inputs
from agent.synthesis.patterns.row_filters import (
    ListSnapshot,
    find_row_filter,
    find_told_row_filter,
    write_row_path,
)
from agent.synthesis.traces.list_rows import find_list_row, list_sibling_rows
from agent.synthesis.traces.trace_pages import TracePage, TracePages
from kb_schema.conditions import Combined, Condition, ElementEnabled, ElementHidden
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.selectors import Selector, ValueStrategy, css
from web_pages.css_queries import SelectorError
from web_pages.element_tree import Element
from web_pages.form_fields import enabled
from web_pages.page_texts import squeeze, text_of
from web_pages.selectors.element_terms import list_fellow_rows
from web_pages.visibility import visible

_Shown = tuple[list[ListSnapshot], ListSnapshot | None]
"""A list before each round of a pass, and after the last."""
_Lists = tuple[str, tuple[Element, Element], dict[RowKey, _Shown]]


@dataclass(frozen=True, slots=True)
class LoopPass:
    """One execution of a loop."""

    first_steps: tuple[TraceStep, ...]
    """The first step of each round."""
    after: DecisionPage | None
    """The page after the last round; without rounds, the page on which the loop would have begun."""
    words: tuple[str, ...] = ()
    """The text of each round's list row, if its target is in a list."""
    inputs: Mapping[str, Any] | None = None
    typed: frozenset[str] = frozenset()
    """The texts that were typed before the first round."""

    @property
    def before(self) -> list[DecisionPage]:
        """Return the page before each round."""
        return [
            DecisionPage(step.html_before, step.source_url) for step in self.first_steps if step.html_before
        ]


def list_typed_texts(trace: ExecutionTrace | None, first_steps: Sequence[TraceStep]) -> frozenset[str]:
    """Return the texts that a trace types before the first round of a loop."""
    if trace is None or not first_steps or first_steps[0] not in trace.steps:
        return frozenset()
    before = trace.steps[: trace.steps.index(first_steps[0])]
    values = ((step.args or {}).get("value") for step in before if step.action_type == "fill")
    return frozenset(squeeze(each) for each in values if isinstance(each, str) and each.strip())


class LoopConditionFinder:
    """Infers the end conditions of loops."""

    def __init__(self, pages: TracePages) -> None:
        self._pages, self._deciding = pages, BranchConditionFinder(pages)

    def rule(self, passes: Mapping[RowKey, LoopPass], steps: Sequence[Selector | None]) -> LoopRule:
        """Return the rule of a loop that holds for every pass.

        `steps` are the constant targets of its body, in order. If no other rule applies and every pass has the
        same number of rounds, the loop has a fixed number of rounds.
        """
        found = (
            self._over_a_list(passes)
            or self._over_a_collection(passes)
            or self._over_told_rows(passes)
            or self._over_end_rows(passes)
            or self._while_there(passes, steps)
            or self._until(passes)
        )
        if found is not None:
            return found
        counts = {len(each.first_steps) for each in passes.values()}
        if len(counts) == 1:
            times = counts.pop()
            told = f"always {times} times; no other end condition was found"
            return LoopRule("fixed", told, times=times)
        told = f"between {min(counts)} and {max(counts)} times; no end condition was found"
        return LoopRule("unknown", told)

    def searching(self, passes: Mapping[RowKey, LoopPass], found: Condition, told: str) -> LoopRule:
        """Return the rule of a loop that ends when something is found; over list rows if rounds act on rows."""
        model = next((each for each in passes.values() if each.words and each.before), None)
        collection = None if model is None else self._collection(model)
        return LoopRule("until" if collection is None else "collection", told, found, collection)

    def turning(
        self, turn: Selector | None, turned: Sequence[DecisionPage], ended: Sequence[DecisionPage]
    ) -> LoopRule:
        """Return the rule of a loop over pages: it continues while the page has an element that opens the next one.

        `turned` are the pages that were turned; `ended` are the last pages.
        """
        if turn is not None and turned and ended and is_queryable(turn):
            told = (
                f"there was a next page on {len(turned)} of {len(turned)} pages, and none on the last page of"
            )
            if self._deciding.by_target(turn, turned, ended) is not None or (
                self._enabled(turn, turned) == {True} and self._enabled(turn, ended) <= {False}
            ):
                return LoopRule("pages", f"{told} {len(ended)} passes", turn=turn)
        return LoopRule("unknown", "a loop over pages; no sign of the last page was found")

    def _over_a_list(self, passes: Mapping[RowKey, LoopPass]) -> LoopRule | None:
        """Return the rule of a loop with as many rounds as an input has items."""
        for key in find_list_inputs([each.inputs or {} for each in passes.values()]):
            sizes = [len((each.inputs or {})[key]) for each in passes.values()]
            if sizes == [len(each.first_steps) for each in passes.values()] and (
                len(set(sizes)) > 1 or sizes[0] > 1
            ):
                return LoopRule("list", f"as many rounds as the input {key} has items", items=key)
        return None

    # -- the rows of a list on the page

    def _over_a_collection(self, passes: Mapping[RowKey, LoopPass]) -> LoopRule | None:
        """Return the rule of a loop over each row in turn, or over the first row until there is none."""
        gone = [each for each in passes.values() if each.words and each.before]
        if not gone or len({len(each.words) for each in gone} | {0}) < 2:
            return None
        collection = self._collection(gone[0])
        if collection is None or not all(len(each.words) == len(each.before) for each in gone):
            return None
        listed = [[self._listed(collection, sight) for sight in each.before] for each in gone]
        left = [self._listed(collection, each.after) for each in passes.values()]
        if (
            all(pages and pages[0] == list(each.words) for each, pages in zip(gone, listed, strict=True))
            and all(
                each.words or each.first_steps or not rows
                for each, rows in zip(passes.values(), left, strict=True)
            )
            and not _shrinks(listed)
        ):
            told = f"each row of {collection} once, in order, in {len(gone)} of {len(gone)} passes"
            return self._over_told_rows(passes, searched=True) or LoopRule(
                "collection", told, collection=collection
            )
        firsts = all(
            rows[:1] == [said]
            for each, pages in zip(gone, listed, strict=True)
            for said, rows in zip(each.words, pages, strict=True)
        )
        if firsts and all(rows == [] for rows in left):
            over = ElementHidden(type="element_disappears", element=css(collection))
            told = f"the first row of {collection}, until there is none, in {len(gone)} of {len(gone)} passes"
            return LoopRule("collection", told, over, collection, shrinking=True)
        return self._over_chosen_rows(passes, gone[0])

    def _over_chosen_rows(self, passes: Mapping[RowKey, LoopPass], model: LoopPass) -> LoopRule | None:
        """Return the rule of a loop over the rows that match a filter, in order."""
        found = self._lists_of(passes, model)
        if found is None:
            return None
        rows, (row, named), seen = found
        chosen = find_row_filter(list(seen.values()), rows)
        if chosen is None:
            return None
        collection = f"{rows}{chosen.condition}{_path_within(row, named)}"
        over = ElementHidden(type="element_disappears", element=css(collection)) if chosen.shrinking else None
        evidence = f"the rows of {rows} that match {chosen.told}"
        return LoopRule("collection", evidence, over, collection, shrinking=chosen.shrinking)

    def _over_told_rows(
        self, passes: Mapping[RowKey, LoopPass], *, searched: bool = False
    ) -> LoopRule | None:
        """Return the rule of a loop over the rows that have a text in one column which an input tells.

        `searched`: a text that was typed before, as a whole. A search may also find rows that have it in part, or elsewhere.
        """
        model = next((each for each in passes.values() if each.words and each.before), None)
        found = None if model is None else self._lists_of(passes, model)
        if found is None:
            return None
        _, (row, named), seen = found
        typed = {key: passes[key].typed for key in seen} if searched else None
        inputs = {key: passes[key].inputs or {} for key in seen}
        chosen = find_counted_row_filter(seen, inputs) or find_told_row_filter(seen, typed, inputs)
        if chosen is None:
            return None
        template = "/".join(filter(None, (chosen.template, write_row_path(named, row))))
        template = limit_rows(template) if chosen.count else template
        told = replace(chosen, template=template)
        return LoopRule("collection", chosen.evidence, shrinking=chosen.shrinking, told=told)

    def _over_end_rows(self, passes: Mapping[RowKey, LoopPass]) -> LoopRule | None:
        """Return the rule of a loop over the first row of a list, or the last one, until there is none, whatever they say.

        Some list must have had several rows. Rows that nothing names are told by their place, too: a list item with
        a text and a button beside it.
        """
        model = next((each for each in passes.values() if each.before), None)
        acted_on = None if model is None else self._acted_on(model)
        around = None if acted_on is None else _list_css(*acted_on)
        if acted_on is None or around is None:
            return None
        rows = f"{around} > {acted_on[1].tag}"
        seen = [self._shown(each, rows) for each in passes.values()]
        if any(each is None or each[1] is None or each[1].rows for each in seen):
            return None
        lists = [shown for each in seen if each is not None for shown in each[0]]
        if max(len(each.rows) for each in lists) < 2:
            return None
        for end in ("first", "last"):
            if all(each.at == (0 if end == "first" else len(each.rows) - 1) for each in lists):
                over = ElementHidden(type="element_disappears", element=css(rows))
                told = f"the {end} row of {rows}, until there is none, in {len(seen)} of {len(seen)} passes"
                return LoopRule("collection", told, over, rows, shrinking=True, is_placed=True)
        return None

    def _lists_of(self, passes: Mapping[RowKey, LoopPass], model: LoopPass) -> _Lists | None:
        """Return CSS of the rows, the first round's row with what names it, and the list in every pass.

        None if a page does not show the list.
        """
        found = self._row_of(model)
        if found is None:
            return None
        page, row, named = found
        around = _list_css(page, row)
        rows = f"{around} > {row.tag}"
        seen = {key: self._shown(each, rows) for key, each in passes.items()}
        known = {key: each for key, each in seen.items() if each is not None}
        return None if around is None or len(known) < len(seen) else (rows, (row, named), known)

    def _shown(self, one: LoopPass, rows: str) -> _Shown | None:
        """Return the list before each round of a pass and after it; None if a page does not show it."""
        before = []
        for step in one.first_steps:
            page = self._pages.get(step.html_before, step.source_url)
            element = (
                page.find(step.target) if page is not None and isinstance(step.target, Selector) else None
            )
            if page is None or element is None:
                return None
            shown = ListSnapshot(page.stored, tuple(_resolved(page, rows)), element)
            if not any(element in (row, *row.descendants()) for row in shown.rows):
                return None
            before.append(shown)
        last = None if one.after is None else self._pages.get(one.after.html, one.after.url)
        return before, None if last is None else ListSnapshot(last.stored, tuple(_resolved(last, rows)), None)

    def _acted_on(self, gone: LoopPass) -> tuple[TracePage, Element] | None:
        """Return the page and the row of the first round."""
        sight, step = gone.before[0], gone.first_steps[0]
        page = self._pages.get(sight.html, sight.url)
        element = page.find(step.target) if page is not None and isinstance(step.target, Selector) else None
        row = None if element is None else find_list_row(element)
        return None if page is None or row is None or row.parent is None else (page, row)

    def _row_of(self, gone: LoopPass) -> tuple[TracePage, Element, Element] | None:
        """Return the page, the row of the first round, and the element with the row's text."""
        found, said = self._acted_on(gone), gone.words[0]
        if found is None:
            return None
        page, row = found
        texts = {node: squeeze(text_of(node)) for node in (*row.descendants(), row)}
        named = next((node for node, text in texts.items() if text == said), None) or next(
            (node for node, text in texts.items() if text.endswith(f" {said}")), None
        )  # "12. Headset hums" is called "Headset hums"
        return None if named is None else (page, row, named)

    def _collection(self, gone: LoopPass) -> str | None:
        """Return CSS of the naming elements in the rows that the rounds act on."""
        found = self._row_of(gone)
        if found is None:
            return None
        page, row, named = found
        around = _list_css(page, row)
        if around is None:
            return None
        value = f"{around} > {row.tag}{_path_within(row, named)}"
        return value if self._listed(value, gone.before[0])[:1] or len(list_sibling_rows(row)) == 1 else None

    def _listed(self, collection: str, sight: DecisionPage | None) -> list[str]:
        """Return the texts of the rows, in order."""
        page = None if sight is None else self._pages.get(sight.html, sight.url)
        return [] if page is None else [squeeze(text_of(each)) for each in _resolved(page, collection)]

    # -- elements that are present while the loop continues

    def _while_there(
        self, passes: Mapping[RowKey, LoopPass], targets: Sequence[Selector | None]
    ) -> LoopRule | None:
        """Return the rule that a target of the body is present or enabled before each round only."""
        going, over = _sides(passes)
        if not going or not over:
            return None
        for target in targets:
            if target is None or not is_queryable(target):
                continue
            decision = self._deciding.by_target(target, going, over)
            if decision is not None:
                gone = ElementHidden(type="element_hidden", element=target)
                return LoopRule("until", f"until the step's element is missing: {decision.evidence}", gone)
            if self._enabled(target, going) == {True} and self._enabled(target, over) <= {False}:
                can = ElementEnabled(type="element_enabled", element=target)
                stop: Condition = Combined(type="none_of", conditions=(can,))
                told = f"until the step's element is disabled: enabled on {len(going)} pages, disabled on {len(over)}"
                return LoopRule("until", told, stop)
        return None

    def _enabled(self, target: Selector, sights: Sequence[DecisionPage]) -> set[bool]:
        found = set()
        for sight in dict.fromkeys(sights):
            page = self._pages.get(sight.html, sight.url)
            element = None if page is None else page.find(target)
            found.add(element is not None and visible(element) and enabled(element))
        return found

    def _until(self, passes: Mapping[RowKey, LoopPass]) -> LoopRule | None:
        going, over = _sides(passes)
        decision = self._deciding.by_page(over, going)
        return (
            None if decision is None else LoopRule("until", f"until {decision.evidence}", decision.condition)
        )


def _resolved(page: TracePage, selector: str) -> list[Element]:
    """Return the visible elements that a selector matches."""
    try:
        return [each for each in page.stored.resolve(css(selector)).found if visible(each)]
    except SelectorError:
        return []


def _sides(passes: Mapping[RowKey, LoopPass]) -> tuple[list[DecisionPage], list[DecisionPage]]:
    going = [sight for each in passes.values() for sight in each.before]
    return going, [each.after for each in passes.values() if each.after is not None]


def _shrinks(listed: Sequence[Sequence[Sequence[str]]]) -> bool:
    """Whether some list was shorter before a later round than before the first."""
    return any(rows and len(rows) < len(pages[0]) for pages in listed for rows in pages)


def _list_css(page: TracePage, row: Element) -> str | None:
    """Return stable CSS of the list that contains a row."""
    path: list[str] = []
    node = row.parent
    if node is not None and any(each.parent is not node for each in list_fellow_rows(row)):
        path, node = [node.tag], node.parent  # each row has a body of its own
    while node is not None:
        choice = page.selectors.of(node).selector
        for each in () if choice is None else choice.strategies:
            if isinstance(each, ValueStrategy) and not each.fallback:
                if each.type == "css":
                    return " > ".join([each.value, *path])
                if (
                    each.type in ("id", "data-testid", "data-qa")
                    and '"' not in each.value
                    and "\\" not in each.value
                ):
                    return " > ".join([f'[{each.type}="{each.value}"]', *path])
        same = (
            []
            if node.parent is None
            else [child for child in node.parent.elements() if child.tag == node.tag]
        )
        path.insert(0, node.tag if len(same) < 2 else f"{node.tag}:nth-of-type({same.index(node) + 1})")
        node = node.parent
    return " > ".join(path) if path else None


def _path_within(row: Element, named: Element) -> str:
    """Return the CSS path from a row to the element that names it."""
    steps: list[str] = []
    node = named
    while node is not row and node.parent is not None:
        same = [child for child in node.parent.elements() if child.tag == node.tag]
        steps.insert(
            0, f" > {node.tag}:nth-of-type({same.index(node) + 1})" if len(same) > 1 else f" > {node.tag}"
        )
        node = node.parent
    return "".join(steps)
