"""Finds the sources of varying values: the input data, a list item, an earlier page, and finally a person.

A source is accepted only if it has the value in every row. Variables are named after the field's label.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any

from agent.synthesis.alignment.aligned_traces import AlignedCell, AlignedPosition, AlignedTraceSet, RowKey
from agent.synthesis.patterns.choice_labels import (
    describe_choice,
    find_choice_label,
    find_field_label,
    read_recorded_label,
)
from agent.synthesis.patterns.combined_values import find_computed_value, find_joined_value
from agent.synthesis.patterns.extracted_patterns import PageReading, ValueBinding
from agent.synthesis.patterns.input_data_values import (
    find_item_fields,
    find_list_inputs,
    flatten_values,
    read_list_item,
)
from agent.synthesis.patterns.opened_names import find_opened_names
from agent.synthesis.patterns.page_readings import find_page_reading
from agent.synthesis.patterns.ranked_rows import RankedTarget
from agent.synthesis.patterns.read_rows import find_row_reading
from agent.synthesis.patterns.target_templates import ALSO
from agent.synthesis.patterns.value_texts import (
    are_beginnings,
    find_text_around,
    match_other_letters,
    may_contain,
)
from agent.synthesis.traces.trace_pages import TracePages
from agent.synthesis.utterances.value_forms import build_identifier
from kb_schema.selectors import Selector, Strategy
from kb_schema.templates import as_text, fill
from kb_schema.text_similarity import words_likeness
from web_pages.element_tree import Element
from web_pages.form_fields import is_search_field
from web_pages.page_texts import squeeze, text_of

MOST_BACK = 8
"""Maximum number of earlier positions whose pages are searched for a value."""

_PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?")

RowValues = Mapping[RowKey, Any]


class ValueBinder:
    """Binds the values of one alignment to variables; equal values in two places share a variable."""

    def __init__(
        self, aligned: AlignedTraceSet, pages: TracePages, names: dict[str, str] | None = None
    ) -> None:
        self._aligned, self._pages = aligned, pages
        self.names = {} if names is None else names
        """Maps a variable to its meaning: its source or its values."""
        self._plain: dict[str, dict[str, Any]] = {}

    def bind(
        self,
        values: RowValues,
        position: AlignedPosition,
        key: str,
        *,
        item: Callable[[RowKey], Any] | None = None,
    ) -> ValueBinding:
        """Return the source of the values of one argument (or of row texts) at a position.

        `item` returns the item of a row's round, inside a loop over items.
        """
        whole = self._from_whole_list(values)
        if whole is not None:
            return whole
        texts = {row: as_text(value) for row, value in values.items()}
        chosen = key == "row"
        label = (
            find_choice_label(self._aligned, self._pages, position, texts) if chosen else self.label(position)
        )
        return (
            (self._from_item(texts, item) if item is not None else None)
            or self._from_inputs(texts, label)
            or self._from_lists(texts, label)
            or self._as_before(texts, label)
            or (None if chosen else self._from_several(texts, label or key))
            or self._from_search(texts, position, label)
            or (None if chosen else self._from_rows(texts, position, label or key))
            or self._from_pages(texts, position, label or key, own_page=not chosen)
            or self._from_a_person(texts, position, label, key)
        )

    @cached_property
    def sentences_vary(self) -> bool:
        """Whether every trace has a task description and these differ: they tell what a run is to do."""
        told = [trace.task_description.strip() for trace in self._aligned.traces.values()]
        return all(told) and len(set(told)) > 1

    def known(self, values: RowValues) -> ValueBinding | None:
        """Return the source of values that occurred before, in the input data or from a person; else None."""
        texts = {row: as_text(value) for row, value in values.items()}
        return self._from_inputs(texts, "") or self._from_lists(texts, "") or self._as_before(texts, "")

    def bind_filter(self, words: RowValues, label: str) -> ValueBinding:
        """Return the source of the words by which a loop chooses its rows; `label` is the heading of their column."""
        known = self.known(words)
        if known is not None:
            return known
        texts = {row: as_text(value) for row, value in words.items()}
        name = self._named(build_identifier(label) or "row", _given(texts))
        told = "the rows of every demonstration have it, and no other row"
        return ValueBinding(
            name, "user_input", f"{{{name}}}", description=label, evidence=told, only_asked=True
        )

    def other_words(self, named: ValueBinding) -> ValueBinding:
        """Return the optional input for further words of the part that another input names."""
        name = self._named(f"{named.name}{ALSO}", f"other words of {named.name}")
        about = f"other words of what {named.name} names, where several are called alike"
        return ValueBinding(
            name, "user_input", f"{{{name}}}", description=about, evidence="it may be left out", optional=True
        )

    def bind_ranked(
        self, ranked: RankedTarget, position: AlignedPosition, named_by: ValueBinding | None
    ) -> ValueBinding:
        """Return the source of the text of a row that has the least or greatest value of a column."""
        order = ranked.reading.order if named_by is None else named_by.template
        reading = ranked.reading.model_copy(update={"order": order})
        measures = "_or_".join(reading.columns)
        name = self._named(f"{measures}_shown", f"page {reading.model_dump_json()}")
        told = f"in every demonstration the row with the {order} {measures} of {reading.selector}"
        first = f"({reading.selector})[1]"
        at_hand = PageReading(name, first, None, () if named_by is None else (named_by,), reading)
        return ValueBinding(name, "output", f"{{{name}}}", str(position.index), at_hand, evidence=told)

    def find_shared_words(self, cells: Iterable[AlignedCell]) -> str:
        """Return the words that the task descriptions of these traces have in common."""
        known = (self._aligned.traces.get(cell.row[0]) for cell in cells)
        told = [set(each.task_description.lower().split()) for each in known if each is not None]
        return " ".join(sorted(set.intersection(*told))) if told else ""

    def list_texts(self, rows: Iterable[RowKey]) -> dict[str, dict[RowKey, str]]:
        """Return the texts of the input data that every trace has, by input."""
        data = {row: self._flat(row[0]) for row in rows}
        shared = set.intersection(*(set(each) for each in data.values())) if data else set()
        texts = {
            key: {row: as_text(each[key]).strip() for row, each in data.items()} for key in sorted(shared)
        }
        return {key: each for key, each in texts.items() if all(each.values())}

    def list_asked(self, rows: Iterable[RowKey]) -> dict[str, dict[RowKey, str]]:
        """Return the values that a person gave in earlier steps, by variable, if each of these rows has one."""
        wanted = set(rows)
        given = {name: _values_given(meaning) for name, meaning in self.names.items()}
        return {
            name: dict(each) for name, each in given.items() if each.keys() == wanted and all(each.values())
        }

    def list_opened(self, cells: Sequence[AlignedCell]) -> dict[RowKey, str] | None:
        """Return the names of the rows that these steps opened, if the opened pages tell them."""
        return find_opened_names(self._aligned, self._pages, cells)

    def was_ambiguous(self, row: RowKey, strategies: Sequence[Strategy]) -> bool:
        """Whether each of these that finds anything finds several elements, on the first page of a trace that has any."""
        trace = self._aligned.traces.get(row[0])
        for step in () if trace is None else trace.steps:
            page = self._pages.get(step.html_before, step.source_url) if step.html_before else None
            counts = (
                []
                if page is None
                else [len(page.stored.resolve(Selector(strategies=(each,))).found) for each in strategies]
            )
            if any(counts):
                return min(filter(None, counts)) > 1
        return False

    def may_be_known(self, cells: Sequence[AlignedCell]) -> bool:
        """Whether the pages of these steps may contain a value that was given before.

        This is a fast text search; `known` requires parsed pages.
        """
        rows = {cell.row: cell.step.html_before or cell.step.html_after or "" for cell in cells}
        left = [each for each in self._all_given(rows) if len(set(each.values())) > 1]
        for row, html in rows.items():
            if not left:
                return False
            page = html.lower()
            left = [each for each in left if may_contain(page, each[row])]
        return bool(left)

    def _all_given(self, rows: Iterable[RowKey]) -> Iterator[Mapping[RowKey, str]]:
        """Yield all earlier values that exist in each of these rows."""
        rows = list(rows)
        data = {row: self._flat(row[0]) for row in rows}
        for key in set[str].intersection(*map(set, data.values())) if data else ():
            yield {row: as_text(data[row][key]) for row in rows}
        inputs = self._inputs(dict.fromkeys(rows, ""))
        for key in find_list_inputs(inputs):
            for field in ("", *find_item_fields(inputs, key)):
                items = {row: read_list_item(self._data(row[0]), key, row, field) for row in rows}
                if None not in items.values():
                    yield {row: as_text(item) for row, item in items.items()}
        for meaning in self.names.values():
            values = _values_given(meaning)
            if values.keys() == set(rows):
                yield values

    def label(self, position: AlignedPosition) -> str:
        """Return the label of the element at a position; without its page, what recordings say of it."""
        element = self._element(position)
        return find_field_label(element) or ("" if element is not None else read_recorded_label(position))

    def ask_box(self, position: AlignedPosition) -> ValueBinding:
        """Return the optional yes-or-no input that decides about a box."""
        label = self.label(position)
        name = self._named(build_identifier(label) or "box", f"the box {label}")
        way = "ticked" if position.observed[0].action_type == "check" else "unticked"
        return ValueBinding(
            name, "user_input", f"{{{name}}}", description=f"{label or 'a box'}: {way} only if asked",
            evidence="two traces differ in this box alone", optional=True,
        )  # fmt: skip

    # -- the sources

    def _from_item(self, texts: Mapping[RowKey, str], item: Callable[[RowKey], Any]) -> ValueBinding | None:
        around = find_text_around({row: item(row) for row in texts}, texts)
        if around is None:
            return None
        return ValueBinding("item", "item", _template("item", around), evidence="the item of the round")

    def _from_inputs(self, texts: Mapping[RowKey, str], label: str) -> ValueBinding | None:
        data = {row: self._flat(row[0]) for row in texts}
        shared = set.intersection(*(set(each) for each in data.values())) if data else set()
        found = []
        for key in shared:
            given = {row: data[row][key] for row in texts}
            exact = find_text_around(given, texts)
            around = exact or match_other_letters(given, texts)
            if around is not None:
                found.append((around != ("", ""), exact is None, -words_likeness(label, key), key, around))
        if not found:
            return None
        *_, key, around = min(found)
        name = self._named(build_identifier(key), f"input {key}")
        told = f"equals the input {key} in {len(texts)} of {len(texts)} rows"
        return ValueBinding(
            name,
            "input",
            _template(name, around),
            key,
            description=label,
            evidence=told,
            plain_number=_are_plain_numbers(texts),
        )

    def _from_several(self, texts: Mapping[RowKey, str], label: str) -> ValueBinding | None:
        """Bind to several inputs, whose texts a value has, or to a value that is computed of two."""
        told = self.list_texts(texts)
        joined = find_joined_value(texts, told)
        found = joined or find_computed_value(texts, told)
        if found is None:
            return None
        bound = [self._from_inputs(told[key], "") for key in found.keys]
        known = {key: each for key, each in zip(found.keys, bound, strict=True) if each is not None}
        if len(known) < len(found.keys):
            return None
        template = fill(found.template, {key: each.template for key, each in known.items()})
        first, *others = known.values()
        evidence = f"{template} in {len(texts)} of {len(texts)} rows"
        if joined is not None:
            return replace(
                first, template=template, description=label, evidence=evidence, parts=tuple(others)
            )
        name = self._named(build_identifier(label) or "value", f"formula {template}")
        return ValueBinding(
            name,
            "computed",
            f"{{{name}}}",
            description=label,
            evidence=evidence,
            parts=(first, *others),
            formula=template,
        )

    def _from_lists(self, texts: Mapping[RowKey, str], label: str) -> ValueBinding | None:
        """Bind to a list input; the round of the innermost loop selects the item."""
        found = []
        for key in find_list_inputs(self._inputs(texts)):
            for field in ("", *find_item_fields(self._inputs(texts), key)):
                items = {row: read_list_item(self._data(row[0]), key, row, field) for row in texts}
                around = find_text_around(items, texts)
                if around is not None:
                    found.append((-words_likeness(label, f"{key} {field}"), key, field, around))
        if not found:
            return None
        _, key, field, around = min(found)
        told = f"equals the item of the input {key} in each round"
        name = "item" if not field else f"item_{build_identifier(field)}"
        return ValueBinding(name, "item", _template(name, around), field, description=label, evidence=told)

    def _from_whole_list(self, values: RowValues) -> ValueBinding | None:
        """Bind several values that one step gives, such as the options of a list, to the list input that has them all."""
        if not any(isinstance(value, list | tuple) for value in values.values()):
            return None
        chosen = {
            row: sorted(map(as_text, value if isinstance(value, list | tuple) else [value]))
            for row, value in values.items()
        }
        for key in find_list_inputs([self._data(row[0]) for row in values]):
            if all(sorted(map(as_text, self._data(row[0])[key])) == each for row, each in chosen.items()):
                name = self._named(build_identifier(key), f"input {key}")
                told = f"the items of the input {key} in {len(chosen)} of {len(chosen)} rows, in any order"
                return ValueBinding(name, "input", f"{{{name}}}", key, evidence=told)
        return None

    def _data(self, trace: str) -> Mapping[str, Any]:
        """Return the input data of a trace; empty if the alignment does not contain its traces."""
        known = self._aligned.traces.get(trace)
        return {} if known is None else known.input_data or {}

    def _flat(self, trace: str) -> dict[str, Any]:
        """Return the scalar input values of a trace by path; cached."""
        if trace not in self._plain:
            self._plain[trace] = flatten_values(self._data(trace))
        return self._plain[trace]

    def _inputs(self, texts: Mapping[RowKey, str]) -> list[Mapping[str, Any]]:
        return [self._data(trace) for trace in sorted({row[0] for row in texts})]

    def _from_pages(
        self, texts: Mapping[RowKey, str], position: AlignedPosition, label: str, *, own_page: bool
    ) -> ValueBinding | None:
        """Bind to a value that an earlier page showed, at the same place in every row.

        `own_page`: also the page of the step itself. A row's name is not read from the page with the row: what shows
        it beside the row (a hint under the pointer) follows from the choice.
        """
        if not all(len(text) > 1 or text.isdigit() for text in texts.values()):
            return None
        for earlier in reversed(
            self._aligned.positions[max(0, position.index - MOST_BACK) : position.index + own_page]
        ):
            cells = {row: _cell_for(earlier, row) for row in texts}
            steps = {row: cell for row, cell in cells.items() if cell is not None}
            if len(steps) < len(texts):
                continue
            if any(texts[row] not in (cell.step.html_before or "") for row, cell in steps.items()):
                continue
            pages = {
                row: self._pages.get(cell.step.html_before, cell.step.source_url)
                for row, cell in steps.items()
            }
            seen = {row: page for row, page in pages.items() if page is not None}
            reading = (
                find_page_reading(seen, texts, build_identifier(label)) if len(seen) == len(texts) else None
            )
            if reading is not None:
                name = self._named(reading.name, f"page {reading.selector} {reading.pattern}")
                told = f"{reading.selector} showed the value before in {len(texts)} of {len(texts)} rows"
                at_hand = PageReading(name, reading.selector, reading.pattern)
                return ValueBinding(
                    name,
                    "output",
                    f"{{{name}}}",
                    str(earlier.index),
                    at_hand,
                    description=label,
                    evidence=told,
                )
        return None

    def _from_rows(
        self, texts: Mapping[RowKey, str], position: AlignedPosition, label: str
    ) -> ValueBinding | None:
        """Bind to what the step's page shows in the row that an input names."""
        cells = {row: cell for row in texts if (cell := _cell_for(position, row)) is not None}
        if len(cells) < len(texts) or not all(
            text in (cells[row].step.html_before or "") for row, text in texts.items()
        ):
            return None
        told = self.list_texts(texts)
        found = find_row_reading(
            cells, texts, told, self._pages, lambda words: self._from_inputs(words, "") is not None
        )
        named = None if found is None else self._from_inputs(found.words, "")
        if found is None or named is None or named.around != ("", ""):
            return None
        selector = found.selector(named.name)
        name = self._named(build_identifier(label) or "value", f"page {selector}")
        told_by = f"the row that {named.name} names showed the value in {len(texts)} of {len(texts)} rows"
        at_hand = PageReading(name, selector, None, (named,))
        return ValueBinding(
            name, "output", f"{{{name}}}", str(position.index), at_hand, description=label, evidence=told_by
        )

    def _as_before(self, texts: Mapping[RowKey, str], label: str) -> ValueBinding | None:
        """Bind to an earlier input of a person with the same values."""
        meaning = _given(texts)
        name = next((name for name, said in self.names.items() if said == meaning), None)
        if name is None:
            return None
        told = f"the same as {name} in {len(texts)} of {len(texts)} rows"
        return ValueBinding(name, "user_input", f"{{{name}}}", description=label, evidence=told)

    def _from_search(
        self, texts: Mapping[RowKey, str], position: AlignedPosition, label: str
    ) -> ValueBinding | None:
        """Bind the beginning of a name, typed into a search field, to the whole name: people stop typing when they see it.

        The name is an input, or the text of what is clicked next.
        """
        element = self._element(position)
        if element is None or not is_search_field(element, label) or not all(texts.values()):
            return None
        data = {row: self._flat(row[0]) for row in texts}
        shared = set.intersection(*(set(each) for each in data.values())) if data else set()
        for key in sorted(shared):
            given = {row: as_text(data[row][key]) for row in texts}
            if are_beginnings(given, texts):
                name = self._named(build_identifier(key), f"input {key}")
                told = f"the beginning of the input {key}, in a search field"
                return ValueBinding(
                    name, "input", f"{{{name}}}", key, description=label, evidence=told, whole=given
                )
        clicked = self._clicked_next(position, texts)
        if clicked is None or not are_beginnings(clicked, texts):
            return None
        name = self._named(build_identifier(label) or "search", _given(clicked))
        told = "the beginning of the text that is clicked next, in a search field"
        return ValueBinding(
            name,
            "user_input",
            f"{{{name}}}",
            description=label,
            evidence=told,
            only_asked=True,
            whole=clicked,
        )

    def _clicked_next(self, position: AlignedPosition, rows: Iterable[RowKey]) -> dict[RowKey, str] | None:
        """Return the text of what each row clicks next; None if some row does something else."""
        following = self._aligned.positions[position.index + 1 :]
        found: dict[RowKey, str] = {}
        for row in rows:
            cell = next((each.cells[row] for each in following if row in each.cells), None)
            clicked = (
                None
                if cell is None or cell.step.action_type != "click"
                else self._pages.find_target(cell.step)
            )
            if clicked is None:
                return None
            found[row] = squeeze(text_of(clicked[1]))
        return found

    def _from_a_person(
        self, texts: Mapping[RowKey, str], position: AlignedPosition, label: str, key: str
    ) -> ValueBinding:
        element = self._element(position)
        secret = element is not None and element.tag == "input" and element.input_type == "password"
        fallback = "row" if key == "row" else f"{position.observed[0].action_type}_{key}"
        name = self._named(build_identifier(label) or build_identifier(fallback), _given(texts))
        return ValueBinding(
            name,
            "user_input",
            f"{{{name}}}",
            secret=secret,
            description=label or (describe_choice(texts) if key == "row" else ""),
            evidence="varies, and neither the pages nor the input data contain it",
            only_asked=True,
            plain_number=_are_plain_numbers(texts),
        )

    def _named(self, wanted: str, meaning: str) -> str:
        """Return the name, with a number if the name has another meaning already."""
        wanted = wanted or "value"
        name, number = wanted, 1
        while self.names.setdefault(name, meaning) != meaning:
            number += 1
            name = f"{wanted}_{number}"
        return name

    def _element(self, position: AlignedPosition) -> Element | None:
        for cell in position.cells.values():
            step = cell.step
            if isinstance(step.target, Selector) and step.html_before:
                for look in (self._pages.standing_for, self._pages.get):
                    page = look(step.html_before, step.source_url)
                    element = None if page is None else page.find(step.target)
                    if element is not None:
                        return element
                return None
        return None


def _are_plain_numbers(texts: Mapping[RowKey, str]) -> bool:
    return all(_PLAIN_NUMBER.fullmatch(text) for text in texts.values())


@lru_cache(maxsize=1_000)
def _values_given(meaning: str) -> Mapping[RowKey, str]:
    """Parse the text of `_given`; empty for other meanings."""
    kind, _, told = meaning.partition(" ")
    return dict(ast.literal_eval(told)) if kind == "values" else {}


def _given(texts: Mapping[RowKey, str]) -> str:
    return f"values {tuple(sorted(texts.items()))}"


def _template(name: str, around: tuple[str, str]) -> str:
    return f"{around[0]}{{{name}}}{around[1]}"


def _cell_for(position: AlignedPosition, row: RowKey) -> AlignedCell | None:
    """Return the step of a row, else of the enclosing rows."""
    trace, rounds = row
    for depth in range(len(rounds), -1, -1):
        cell = position.cells.get((trace, rounds[:depth]))
        if cell is not None:
            return cell
    return None
