"""Where varying values come from (MA *beyond*): the input data, an item of a list, a value the page
showed before, and only then a person; named by the field's own label.

A source is taken only if it gives the value in every row.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from html import escape
from typing import Any

import re2

from agent.synthesis.alignment import AlignedPosition, AlignedTraceSet, Cell, RowKey
from agent.synthesis.pages import Pages, SeenPage
from agent.synthesis.patterns import Binding, Reading
from kb_schema.pages.names import label_text, name_of
from kb_schema.pages.texts import squeeze, text_of
from kb_schema.pages.tree import Element
from kb_schema.pages.visibility import visible
from kb_schema.selectors import Selector, ValueStrategy, css
from kb_schema.templates import as_text
from kb_schema.wording import words_likeness

MOST_BACK = 8
"""Positions before a step on whose pages a value is looked for."""
LONGEST_TEXT = 200
"""Characters of a text that a value is looked for in."""
MOST_LOOKED_AT = 40
"""Elements of a page that are tried."""

Values = Mapping[RowKey, Any]


class Binder:
    """Binds values of one alignment. Variables are named once: the same value in two places is one
    variable, two values are two.
    """

    def __init__(self, aligned: AlignedTraceSet, pages: Pages, names: dict[str, str] | None = None) -> None:
        self._aligned, self._pages = aligned, pages
        self.names = {} if names is None else names
        """Variable -> what it stands for."""
        self._plain: dict[str, dict[str, Any]] = {}

    def bind(
        self,
        values: Values,
        position: AlignedPosition,
        key: str,
        *,
        item: Callable[[RowKey], Any] | None = None,
    ) -> Binding:
        """Where the values of one argument (or of a row's words) at a position come from.

        `item`: what the round of a row is about, where the loop around goes through things.
        """
        label = self._list_of(position) if key == "row" else self.label(position)
        texts = {row: as_text(value) for row, value in values.items()}
        return (
            (self._from_item(texts, item) if item is not None else None)
            or self._from_inputs(texts, label)
            or self._from_lists(texts, label)
            or self._as_before(texts, label)
            or self._from_pages(texts, position, label or key)
            or self._from_a_person(texts, position, label, key)
        )

    def known(self, values: Values) -> Binding | None:
        """Where values come from that were given before: in the input data, or by a person at another
        position; None where they are new.
        """
        texts = {row: as_text(value) for row, value in values.items()}
        return self._from_inputs(texts, "") or self._from_lists(texts, "") or self._as_before(texts, "")

    def may_be_known(self, cells: Sequence[Cell]) -> bool:
        """Whether the pages of these steps could say, each in its row, something that was given before.

        Read off their text: pages are large, and `known` needs them parsed.
        """
        rows = {cell.row: cell.step.html_before or cell.step.html_after or "" for cell in cells}
        left = [each for each in self._all_given(rows) if len(set(each.values())) > 1]
        for row, html in rows.items():
            if not left:
                return False
            page = html.lower()
            left = [each for each in left if _says(page, each[row].lower())]
        return bool(left)

    def _all_given(self, rows: Iterable[RowKey]) -> Iterator[Mapping[RowKey, str]]:
        """Everything that was given before and has a value in each of these rows."""
        rows = list(rows)
        data = {row: self._flat(row[0]) for row in rows}
        for key in set[str].intersection(*map(set, data.values())) if data else ():
            yield {row: as_text(data[row][key]) for row in rows}
        inputs = self._inputs(dict.fromkeys(rows, ""))
        for key in list_keys(inputs):
            for field in ("", *item_fields(inputs, key)):
                items = {row: list_item(self._data(row[0]), key, row, field) for row in rows}
                if None not in items.values():
                    yield {row: as_text(item) for row, item in items.items()}
        for meaning in self.names.values():
            values = _values_given(meaning)
            if values.keys() == set(rows):
                yield values

    def label(self, position: AlignedPosition) -> str:
        """What the element at a position is called."""
        return _called(self._element(position))

    def _list_of(self, position: AlignedPosition) -> str:
        """What the field is called in whose list of options something was chosen."""
        element = self._element(position)
        if element is None or element.tag != "option":
            return ""
        return _called(next((each for each in element.ancestors() if each.tag == "select"), None))

    # -- the sources

    def _from_item(self, texts: Mapping[RowKey, str], item: Callable[[RowKey], Any]) -> Binding | None:
        around = _around({row: item(row) for row in texts}, texts)
        if around is None:
            return None
        return Binding("item", "item", _template("item", around), evidence="the item of the round")

    def _from_inputs(self, texts: Mapping[RowKey, str], label: str) -> Binding | None:
        data = {row: self._flat(row[0]) for row in texts}
        shared = set.intersection(*(set(each) for each in data.values())) if data else set()
        found = []
        for key in shared:
            given = {row: data[row][key] for row in texts}
            exact = _around(given, texts)
            around = exact or _in_other_letters(given, texts)
            if around is not None:
                found.append((around != ("", ""), exact is None, -words_likeness(label, key), key, around))
        if not found:
            return None
        *_, key, around = min(found)
        name = self._named(identifier(key), f"input {key}")
        told = f"equals the input {key} in {len(texts)} of {len(texts)} rows"
        return Binding(name, "input", _template(name, around), key, description=label, evidence=told)

    def _from_lists(self, texts: Mapping[RowKey, str], label: str) -> Binding | None:
        """The input's list, its item by the round of the innermost loop."""
        found = []
        for key in list_keys(self._inputs(texts)):
            for field in ("", *item_fields(self._inputs(texts), key)):
                items = {row: list_item(self._data(row[0]), key, row, field) for row in texts}
                around = _around(items, texts)
                if around is not None:
                    found.append((-words_likeness(label, f"{key} {field}"), key, field, around))
        if not found:
            return None
        _, key, field, around = min(found)
        told = f"equals the item of the input {key} that the round is about"
        name = "item" if not field else f"item_{identifier(field)}"
        return Binding(name, "item", _template(name, around), field, description=label, evidence=told)

    def _data(self, trace: str) -> Mapping[str, Any]:
        """What a trace was given; nothing where the alignment was made without its traces."""
        known = self._aligned.traces.get(trace)
        return {} if known is None else known.input_data or {}

    def _flat(self, trace: str) -> dict[str, Any]:
        """Its plain values by their paths, made once: every position asks for them."""
        if trace not in self._plain:
            self._plain[trace] = flat(self._data(trace))
        return self._plain[trace]

    def _inputs(self, texts: Mapping[RowKey, str]) -> list[Mapping[str, Any]]:
        return [self._data(trace) for trace in sorted({row[0] for row in texts})]

    def _from_pages(
        self, texts: Mapping[RowKey, str], position: AlignedPosition, label: str
    ) -> Binding | None:
        """A value that a page showed, at the same place in every row."""
        if not all(len(text) > 1 or text.isdigit() for text in texts.values()):
            return None
        for earlier in reversed(
            self._aligned.positions[max(0, position.index - MOST_BACK) : position.index + 1]
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
            reading = _reading(seen, texts, identifier(label)) if len(seen) == len(texts) else None
            if reading is not None:
                name = self._named(reading.name, f"page {reading.selector} {reading.pattern}")
                told = f"{reading.selector} showed it before in {len(texts)} of {len(texts)} rows"
                at_hand = Reading(name, reading.selector, reading.pattern)
                return Binding(
                    name,
                    "output",
                    f"{{{name}}}",
                    str(earlier.index),
                    at_hand,
                    description=label,
                    evidence=told,
                )
        return None

    def _as_before(self, texts: Mapping[RowKey, str], label: str) -> Binding | None:
        """What a person gave before, given again: the same input."""
        meaning = _given(texts)
        name = next((name for name, said in self.names.items() if said == meaning), None)
        if name is None:
            return None
        told = f"the same as {name} in {len(texts)} of {len(texts)} rows"
        return Binding(name, "user_input", f"{{{name}}}", description=label, evidence=told)

    def _from_a_person(
        self, texts: Mapping[RowKey, str], position: AlignedPosition, label: str, key: str
    ) -> Binding:
        element = self._element(position)
        secret = element is not None and element.tag == "input" and element.input_type == "password"
        fallback = "row" if key == "row" else f"{position.observed[0].action_type}_{key}"
        name = self._named(identifier(label) or identifier(fallback), _given(texts))
        return Binding(
            name, "user_input", f"{{{name}}}", secret=secret, description=label,
            evidence="varies, and nothing that was seen or given has it",
        )  # fmt: skip

    def _named(self, wanted: str, meaning: str) -> str:
        """The name, or with a number where it stands for something else already."""
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


# -- the input data ----------------------------------------------------------------------------------


def flat(data: Mapping[str, Any] | None, prefix: str = "") -> dict[str, Any]:
    """Plain values of nested data by their paths, `a.b`; lists are left out."""
    found: dict[str, Any] = {}
    for key, value in (data or {}).items():
        if isinstance(value, Mapping):
            found.update(flat(value, f"{prefix}{key}."))
        elif isinstance(value, str | int | float | bool):
            found[f"{prefix}{key}"] = value
    return found


def list_keys(inputs: Iterable[Mapping[str, Any]]) -> list[str]:
    """Inputs that are lists in every run."""
    told = [{key for key, value in data.items() if isinstance(value, list)} for data in inputs]
    return sorted(set.intersection(*told)) if told else []


def item_fields(inputs: Iterable[Mapping[str, Any]], key: str) -> list[str]:
    """Fields that every item of a list has."""
    items = [item for data in inputs for item in data.get(key, ())]
    if not items or not all(isinstance(item, Mapping) for item in items):
        return []
    return sorted(set.intersection(*(set(item) for item in items)))


def list_item(data: Mapping[str, Any] | None, key: str, row: RowKey, field: str) -> Any:
    """The item a round is about; None where there is none."""
    items = (data or {}).get(key)
    if not row[1] or not isinstance(items, list) or row[1][-1] >= len(items):
        return None
    item = items[row[1][-1]]
    if field:
        return item.get(field) if isinstance(item, Mapping) else None
    return item if isinstance(item, str | int | float | bool) else None


def identifier(words: str) -> str:
    """Words as the name of a variable.

    >>> identifier("Agent's name *")
    'agents_name'
    """
    plain = re.sub(r"(?<=\w)['\u2019](?=\w)", "", words).lower()
    name = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")[:40].strip("_")
    return f"v_{name}" if name[:1].isdigit() else name


def _called(element: Element | None) -> str:
    if element is None:
        return ""
    given = element.get("placeholder") or element.get("name") or element.get("id") or ""
    return squeeze(label_text(element) or name_of(element) or given)[:80]


# -- texts -------------------------------------------------------------------------------------------


def _around(given: Mapping[RowKey, Any], texts: Mapping[RowKey, str]) -> tuple[str, str] | None:
    """What stands before and after the given value in the text, the same in all rows; None where it is
    not in one of them.
    """
    found: tuple[str, str] | None = None
    for row, text in texts.items():
        value = given.get(row)
        if value is None or as_text(value) == "":
            return None
        before, part, after = text.partition(as_text(value))
        if not part or (found is not None and found != (before, after)):
            return None
        found = (before, after)
    if found is not None and any("{" in part or "}" in part for part in found):
        return None
    return found


def _in_other_letters(given: Mapping[RowKey, Any], texts: Mapping[RowKey, str]) -> tuple[str, str] | None:
    """Nothing around it, where some people wrote the value in capitals, or without them: the value is meant."""
    same = all(as_text(given[row]).casefold() == text.casefold() for row, text in texts.items())
    return ("", "") if same and any(texts.values()) else None


def _says(page: str, text: str) -> bool:
    """Whether the markup of a page has a text, and not only as what a field holds. Both in small letters."""
    for told in {text, escape(text, quote=False)}:
        at = page.find(told)
        while at >= 0:
            if page[at - 1 : at] not in ('"', "'"):
                return True
            at = page.find(told, at + 1)
    return False


@lru_cache(maxsize=1_000)
def _values_given(meaning: str) -> Mapping[RowKey, str]:
    """What `_given` told; nothing for other meanings."""
    kind, _, told = meaning.partition(" ")
    return dict(ast.literal_eval(told)) if kind == "values" else {}


def _given(texts: Mapping[RowKey, str]) -> str:
    return f"values {tuple(sorted(texts.items()))}"


def _template(name: str, around: tuple[str, str]) -> str:
    return f"{around[0]}{{{name}}}{around[1]}"


def _cell_for(position: AlignedPosition, row: RowKey) -> Cell | None:
    """The step of a row, or of what is around its rounds."""
    trace, rounds = row
    for depth in range(len(rounds), -1, -1):
        cell = position.cells.get((trace, rounds[:depth]))
        if cell is not None:
            return cell
    return None


def _reading(pages: Mapping[RowKey, SeenPage], texts: Mapping[RowKey, str], name: str) -> Reading | None:
    first = min(pages)
    for element in _elements_saying(pages[first], texts[first]):
        selector = _lasting_css(pages[first], element)
        if selector is None:
            continue
        said = {row: _said_at(page, selector) for row, page in pages.items()}
        around = _text_around(said, texts)
        if around is None:
            continue
        pattern = None if around == ("", "") else f"^{re2.escape(around[0])}(.+){re2.escape(around[1])}$"
        return Reading(name or "value", selector, pattern)
    return None


def _elements_saying(page: SeenPage, text: str) -> Sequence[Element]:
    """Visible elements that say a value, those that say nothing else first."""
    found = []
    for element in page.stored.roots[0].elements:
        own = [child for child in element.children if isinstance(child, str) and child.strip()]
        if own and visible(element):
            said = text_of(element)
            if text in said and len(said) <= LONGEST_TEXT:
                found.append((len(said), element.order, element))
    return [element for _, _, element in sorted(found, key=lambda each: each[:2])[:MOST_LOOKED_AT]]


def _lasting_css(page: SeenPage, element: Element) -> str | None:
    choice = page.selectors.of(element).selector
    if choice is None or choice.frame is not None:
        return None
    for each in choice.strategies:
        if isinstance(each, ValueStrategy) and not each.fallback:
            if each.type == "css":
                return each.value
            if (
                each.type in ("data-qa", "data-testid", "id")
                and '"' not in each.value
                and "\\" not in each.value
            ):
                return f'[{each.type}="{each.value}"]'
    return None


def _said_at(page: SeenPage, selector: str) -> str | None:
    element = page.find(css(selector))
    return None if element is None else text_of(element)


def _text_around(said: Mapping[RowKey, str | None], texts: Mapping[RowKey, str]) -> tuple[str, str] | None:
    found: set[tuple[str, str]] = set()
    for row, text in texts.items():
        before, part, after = (said[row] or "").partition(text)
        if not part:
            return None
        found.add((before, after))
    return found.pop() if len(found) == 1 else None
