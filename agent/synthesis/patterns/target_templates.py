"""Generalises targets in different list rows to one selector template with a parameter.

A template is accepted only if, filled with the text of each row, it matches exactly the target on each page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent.synthesis.alignment.aligned_traces import AlignedCell, RowKey
from agent.synthesis.patterns.quoted_texts import find_list_end_selector, find_quoted_template
from agent.synthesis.traces.list_rows import find_list_row
from agent.synthesis.traces.trace_pages import TracePage, TracePages
from agent.synthesis.utterances.markup_mentions import split_class
from agent.synthesis.utterances.utterance_mentions import MARK, MENTION, NAME, list_data_attributes
from kb_schema.execution_traces import TraceStep
from kb_schema.selectors import Selector, TemplateStrategy, ValueStrategy
from kb_schema.templates import fill_selector, rename_selector_parameter, xpath_literal
from web_pages.element_tree import Element
from web_pages.page_texts import own_texts, squeeze, text_of
from web_pages.selectors.generated_names import is_made_up_id
from web_pages.selectors.row_selectors import build_row_selector
from web_pages.selectors.stable_attributes import find_text_flaw, list_stable_classes

PARAMETER = "row"
OTHER_WORDS = "other_words"
"""The parameter for further words of a part, in templates."""
ALSO = "_also"
"""What follows the name of the input that names a part, in the name of the optional input for further words of it."""
MOST_TEMPLATES = 6
LEAST_FIRST = 3
"""Traces that must have taken the first of the elements or parts that an input means; one of them had several."""
_NUMBERED = re.compile(r"#?(?P<number>\d+)(?P<mark>[.:)] | - )(?P<name>\S.*)")
_COUNT = re.compile(r"[([]?\d+[)\]]?")
_CLASS = re.compile(r"' ([^\s']+) '")
"""A class, as XPath compares it."""
MOST_WORDS = 8
"""Maximum number of texts of a row that are tried."""


@dataclass(frozen=True, slots=True)
class TargetTemplate:
    """A template for a varying target, with the text of each row."""

    template: str
    """XPath with the parameter `{{row}}`."""
    words: Mapping[RowKey, str]
    also: tuple[str, ...] = ()
    """Further inputs of which the same part of the page has the text; they stand in the template by their keys."""
    others: tuple[str, ...] = ()
    """Further templates with the same parameters that lead to the same elements."""

    other_words: bool = False
    """Whether the template may be given further words of the part: where several parts are called alike."""

    def selector(
        self, name: str, also: Mapping[str, str] | None = None, around: tuple[str, str] = ("", "")
    ) -> Selector:
        """Return the selector with this parameter name; `also` has the names of the further inputs, by key.

        `around`: the constant text before and after the value in what the element says: `Mark as ` in `Mark as Accepted`.
        """
        placed = f"{around[0]}{{{{{PARAMETER}}}}}{around[1]}"
        names = {PARAMETER: name, **{key: (also or {}).get(key, key) for key in self.also}}
        told = tuple(names.values())
        if self.other_words:
            names[OTHER_WORDS] = (also or {}).get(OTHER_WORDS, f"{name}{ALSO}")
        return Selector(
            strategies=tuple(
                TemplateStrategy(
                    type="parameterized_xpath",
                    template=each,
                    parameters=tuple(names.values()),
                    required_context=told,
                )
                for each in (
                    _rename(template.replace(f"{{{{{PARAMETER}}}}}", placed), names)
                    for template in (self.template, *self.others)
                )
            )
        )

    def filled(self, words: str) -> Selector:
        """Return the selector with this text in place of the parameter."""
        value = fill_selector(self.template, {PARAMETER: words}, "xpath")
        return Selector(strategies=(ValueStrategy(type="xpath", value=value),))


def _rename(template: str, names: Mapping[str, str]) -> str:
    for key, name in names.items():
        template = rename_selector_parameter(template, key, name)
    return template


@dataclass(frozen=True, slots=True)
class _TemplateTarget:
    page: TracePage
    element: Element
    target: Selector
    name: str | None
    """The name of the element in the task description."""
    mark: Mapping[str, str]
    """The input that names a class of the element, with its word; empty if none does."""


def find_target_template(cells: Sequence[AlignedCell], pages: TracePages) -> TargetTemplate | None:
    """Return the template that fits the targets of all steps; None if there is none."""
    actions = {cell.step.action_type for cell in cells}
    if len(actions) != 1 or not cells:
        return None
    seen: dict[RowKey, _TemplateTarget] = {}
    for cell in cells:
        found = _look(cell, pages)
        if found is None:
            return None
        seen[cell.row] = found
    tried: set[str] = set()
    for template in _templates(seen.values()):
        if (
            template in tried
            or len(tried) >= MOST_TEMPLATES
            or (_is_first(template) and len(seen) < LEAST_FIRST)
        ):
            continue
        tried.add(template)
        words = {row: _words_for(template, each) for row, each in seen.items()}
        known = {row: said for row, said in words.items() if said is not None}
        if len(known) == len(seen):
            known = _by_naming_column(template, seen) or known
            also = tuple(key for each in seen.values() for key in each.mark if f"{{{{{key}}}}}" in template)
            return (
                _without_numbers(template, known, seen)
                or _without_counts(template, known, seen)
                or TargetTemplate(template, known, also[:1])
            )
    told = find_quoted_template({row: each.target for row, each in seen.items()}, PARAMETER)
    return None if told is None else TargetTemplate(*told)


def _is_first(template: str) -> bool:
    """Whether a template takes the first of several elements that are called alike."""
    return template.startswith("(") and template.endswith(")[1]")


def find_data_template(
    cells: Sequence[AlignedCell], pages: TracePages, told: Mapping[str, Mapping[RowKey, str]]
) -> TargetTemplate | None:
    """Return the template by an attribute for data that has an input's value in every trace; None if there is none.

    The button that removes a tag has `data-tag`, for instance, and says no more than "x".
    """
    targets = {cell.row: pages.find_target(cell.step) for cell in cells}
    seen = {row: target for row, target in targets.items() if target is not None}
    if len(seen) != len(cells) or len({element.tag for _, element in seen.values()}) != 1:
        return None
    for words in told.values():
        if len(set(words.values())) < 2:
            continue
        first = next(iter(seen.values()))[1]
        for name in list_data_attributes(first):
            found = TargetTemplate(f"//{first.tag}[@{name}='{{{{{PARAMETER}}}}}']", dict(words))
            if all(
                element.get(name) == words[row]
                and page.stored.resolve_template(found.template, {PARAMETER: words[row]}) == (element,)
                for row, (page, element) in seen.items()
            ):
                return found
    return None


def find_constant_target(cells: Sequence[AlignedCell], pages: TracePages) -> Selector | None:
    """Return the selector of the first or last list row if all steps acted on it, else None."""
    seen = {cell.row: _look(cell, pages) for cell in cells}
    known = {row: (each.page, each.element) for row, each in seen.items() if each is not None}
    return find_list_end_selector(known) if len(known) == len(seen) else None


def _look(cell: AlignedCell, pages: TracePages) -> _TemplateTarget | None:
    step, found = cell.step, pages.find_target(cell.step)
    if found is None or not isinstance(step.target, Selector):
        return None
    return _TemplateTarget(*found, step.target, step.metadata.get(NAME), read_mark(step))


def read_mark(step: TraceStep) -> dict[str, str]:
    """Return the input that names a class of a step's element, with its word; empty if none does."""
    return {step.metadata[MENTION]: step.metadata[MARK]} if MARK in step.metadata else {}


def put_marks(template: str, mark: Mapping[str, str]) -> Iterator[str]:
    """Yield an XPath template with an input in place of the word in a class, once for each class that has it."""
    for key, word in mark.items():
        for literal in dict.fromkeys(_CLASS.findall(template)):
            affixes = split_class(literal, word)
            if affixes is not None:
                yield template.replace(f"' {literal} '", f"' {affixes[0]}{{{{{key}}}}}{affixes[1]} '")


def find_marked_target(cells: Sequence[AlignedCell], pages: TracePages) -> TargetTemplate | None:
    """Return the template of the only element of a page with a class that an input names; None if there is none."""
    seen = {
        cell.row: (found, read_mark(cell.step)) for cell in cells if (found := pages.find_target(cell.step))
    }
    if len(seen) != len(cells) or not all(mark for _, mark in seen.values()):
        return None
    (_, element), mark = next(iter(seen.values()))
    words = {row: next(iter(each.values())) for row, (_, each) in seen.items()}
    for name in list_stable_classes(element):
        affixes = split_class(name, next(iter(mark.values())))
        if affixes is None:
            continue
        said = f"' {affixes[0]}{{{{{PARAMETER}}}}}{affixes[1]} '"
        marked = TargetTemplate(
            f"//{element.tag}[contains(concat(' ', normalize-space(@class), ' '), {said})]", words
        )
        if all(
            page.stored.resolve_template(marked.template, {PARAMETER: words[row]}) == (target,)
            for row, ((page, target), _) in seen.items()
        ):
            return marked
    return None


def _templates(seen: Iterable[_TemplateTarget]) -> Iterator[str]:
    every = list(seen)
    for each in every:
        row = build_row_selector(each.page.selectors, each.element) if each.name is None else None
        if row is not None:
            strategy = row.selector.strategies[0]
            if isinstance(strategy, TemplateStrategy):
                yield from put_marks(strategy.template, each.mark)
                yield from _by_its_words(strategy.template, every)
                yield strategy.template
    for each in every:
        said = each.name or squeeze(text_of(each.element, everything=True))
        for strategy in each.target.strategies:
            literal = xpath_literal(said)
            if (
                isinstance(strategy, ValueStrategy)
                and strategy.type == "xpath-text"
                and literal in strategy.value
            ):
                yield strategy.value.replace(literal, f"'{{{{{PARAMETER}}}}}'")


def _by_naming_column(template: str, seen: Mapping[RowKey, _TemplateTarget]) -> dict[RowKey, str] | None:
    """Return the texts of the pressed column, else of the first one, that names the row in every trace; None: none does.

    A date or an amount leads to a row by chance: another row may have the same one on another day.
    """
    if any(each.name is not None for each in seen.values()):
        return None
    columns = {row: _list_naming_cells(template, each) for row, each in seen.items()}
    common = set.intersection(*(set(each) for each in columns.values()))
    if not common:
        return None
    pressed = {_find_cell(each.element) for each in seen.values()} & common
    best = min(pressed or common)
    return {row: each[best] for row, each in columns.items()}


def _find_cell(element: Element) -> int:
    """Return the place of the cell of a row that has the element; -1 if it is in no row."""
    row = find_list_row(element)
    cells = () if row is None else tuple(row.elements())
    return next((at for at, cell in enumerate(cells) if element in (cell, *cell.descendants())), -1)


def _list_naming_cells(template: str, seen: _TemplateTarget) -> dict[int, str]:
    """Return the texts of the target's row that are names and lead to it alone, by the place of their cell."""
    row = find_list_row(seen.element)
    found: dict[int, str] = {}
    for at, cell in enumerate(() if row is None else row.elements()):
        for node in (cell, *cell.descendants()):
            said = squeeze(text_of(node, everything=True)) if own_texts(node) else ""
            if said and _is_name(said) and _finds(template, said, seen):
                found.setdefault(at, said)
    return found


def _is_name(said: str) -> bool:
    """Whether a text may name a row: it has letters, is no date, time or amount, and no id that a program gave."""
    return find_text_flaw(said) is None and any(map(str.isalpha, said)) and not is_made_up_id(said)


def _without_numbers(
    template: str, words: Mapping[RowKey, str], seen: Mapping[RowKey, _TemplateTarget]
) -> TargetTemplate | None:
    """Return the template by what follows a number, if links are named "12. Headset hums" and lead to number 12.

    Nobody names a thing by the number that the application gave it.
    """
    parts = {row: found for row, said in words.items() if (found := _NUMBERED.fullmatch(said)) is not None}
    marks = {found["mark"] for found in parts.values()}
    if len(parts) != len(seen) or len(marks) != 1:
        return None
    if not all(_leads_to(parts[row], seen[row].element) for row in seen):
        return None
    shorter = template.replace(
        f"//a[normalize-space()='{{{{{PARAMETER}}}}}']",
        f"//a[substring-after(normalize-space(), '{marks.pop()}')='{{{{{PARAMETER}}}}}'"
        f" or normalize-space()='{{{{{PARAMETER}}}}}']",  # as a loop over the rows reads it
    )
    names = {row: found["name"] for row, found in parts.items()}
    if shorter == template or not all(_finds(shorter, names[row], each) for row, each in seen.items()):
        return None
    return TargetTemplate(shorter, names)


def _without_counts(
    template: str, words: Mapping[RowKey, str], seen: Mapping[RowKey, _TemplateTarget]
) -> TargetTemplate | None:
    """Return the template by the name alone, if an element of its own has a number beside it: a count, a key to press.

    The count of another day is another.
    """
    names = {row: _name_beside_count(seen[row].element, said) for row, said in words.items()}
    known = {row: name for row, name in names.items() if name}
    whole = f"normalize-space()='{{{{{PARAMETER}}}}}'"
    shorter = template.replace(
        f"[{whole}]", f"[text()[{whole}] or {whole}]"
    )  # a loop over the rows reads all of it
    if shorter == template or len(known) < len(seen):
        return None
    if not all(_finds(shorter, known[row], each) for row, each in seen.items()):
        return None
    return TargetTemplate(shorter, known)


def _name_beside_count(element: Element, said: str) -> str:
    """Return the only text node of what says this in the element's row, if the rest of it is a number; else empty."""
    around = find_list_row(element) or element
    for node in (element, around, *around.descendants()):
        own = own_texts(node)
        if len(own) == 1 and own[0] != said and squeeze(text_of(node, everything=True)) == said:
            return own[0] if _COUNT.fullmatch(said.replace(own[0], "", 1).strip()) else ""
    return ""


def _leads_to(numbered: re.Match[str], element: Element) -> bool:
    """Whether the link with this text, in the element's row, has the number in its address."""
    around = find_list_row(element) or element
    return any(
        numbered["number"] in re.findall(r"\d+", node.get("href") or "")
        for node in (around, *around.descendants())
        if node.tag == "a" and squeeze(text_of(node, everything=True)) == numbered[0]
    )


def _finds(template: str, said: str, seen: _TemplateTarget) -> bool:
    """Whether the template leads to the target alone, with this text."""
    return seen.page.stored.resolve_template(template, {PARAMETER: said, **seen.mark}) == (seen.element,)


def _by_its_words(template: str, seen: Sequence[_TemplateTarget]) -> Iterator[str]:
    """Yield the template with the element's own text, if that is always the same."""
    said = {" ".join(own_texts(one.element)) for one in seen}
    tags = {one.element.tag for one in seen}
    row, found, _ = template.rpartition("//")
    if found and len(said) == len(tags) == 1 and all(find_text_flaw(each) is None for each in said):
        yield f"{row}//{tags.pop()}[normalize-space()={xpath_literal(said.pop())}]"


def _words_for(template: str, seen: _TemplateTarget) -> str | None:
    """Return a text of the element or its row with which the template matches only this element."""
    for said in _words(seen.element) if seen.name is None else (seen.name,):
        if _finds(template, said, seen):
            return said
    return None


def _words(element: Element) -> Iterator[str]:
    own = squeeze(text_of(element, everything=True))
    row = find_list_row(element)
    told: dict[str, None] = {}
    if row is not None:
        for node in row.descendants():
            if own_texts(node):
                told.setdefault(squeeze(text_of(node, everything=True)))
    told.setdefault(own)
    yield from [said for said in told if said][:MOST_WORDS]
