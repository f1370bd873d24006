"""Templates that name a row by the first text of one of its columns, whatever element has it, by place or by heading.

A release may write a row's name in a link where it was in a `span`. Neither a text of another column nor a further text
of this one, such as a line below the name, is taken for the name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from agent.synthesis.alignment.aligned_traces import RowKey
from agent.synthesis.patterns.row_templates import list_part_texts
from agent.synthesis.patterns.target_templates import OTHER_WORDS, PARAMETER, TargetTemplate
from agent.synthesis.traces.trace_pages import TracePage
from kb_schema.templates import list_telling_words, xpath_literal
from web_pages.element_tree import Element
from web_pages.field_words import find_column_heading
from web_pages.page_texts import squeeze, text_of

_NAMED = re.compile(
    r"\[\.//[\w-]+(?:\[contains\(concat\(' ', normalize-space\(@class\)[^\]]*\])*"
    rf"\[normalize-space\(\)='\{{\{{{PARAMETER}\}}\}}'\]\]"
)
"""The condition of a template that an element of the row has the name as its whole text."""
_TEXTS = ".//text()[normalize-space()]"
_BELOW = (
    "*[ancestor::table[1]//th[normalize-space()={heading}]]"
    "[position()=count(ancestor::table[1]//th[normalize-space()={heading}][1]/preceding-sibling::*)+1]"
)
"""The cells of a table's row below a heading."""


def drop_name(template: str) -> str:
    """Return the XPath of a template without its conditions on a parameter: of every row instead of one."""
    kept, depth, begin, quote = [], 0, 0, ""
    for at, sign in enumerate(template):
        if quote or sign in "'\"":
            quote = "" if sign == quote else quote or sign
        elif sign == "[":
            depth, begin = depth + 1, begin if depth else at
        elif sign == "]":
            depth -= 1
            condition = template[begin : at + 1]
            kept += [condition] if not depth and "{{" not in condition else []
            continue
        kept += [sign] if not depth else []
    return "".join(kept)


def take_other_words(
    found: TargetTemplate,
    seen: Mapping[RowKey, tuple[TracePage, Element]],
    values: Mapping[RowKey, Mapping[str, str]],
) -> TargetTemplate:
    """Return the template of a target inside a part; a run may give it further words of the part.

    Two meetings are called "Standup": the day tells which. As it was, if the target itself has the name, or if a part
    says nothing of its own beside it.
    """
    ends = [_find_part(each) for each in (found.template, *found.others)]
    if not all(ends) or found.also or not _say_more(found, found.template[: ends[0]], seen, values):
        return found
    told = [
        f"{each[:end]}[{{{{{OTHER_WORDS}|given_words}}}}]{each[end:]}"
        for each, end in zip((found.template, *found.others), ends, strict=True)
    ]
    more = replace(found, template=told[0], others=tuple(told[1:]), other_words=True)
    return more if all(_leads_to(each, seen, values) for each in told) else found


def _leads_to(
    template: str,
    seen: Mapping[RowKey, tuple[TracePage, Element]],
    values: Mapping[RowKey, Mapping[str, str]],
) -> bool:
    return all(
        page.stored.resolve_template(template, values[row]) == (element,)
        for row, (page, element) in seen.items()
    )


def _say_more(
    found: TargetTemplate,
    part: str,
    seen: Mapping[RowKey, tuple[TracePage, Element]],
    values: Mapping[RowKey, Mapping[str, str]],
) -> bool:
    """Whether each part has words that those of the other traces do not have, beside its name. `part`: its template."""
    texts = {
        row: {
            said for each in page.stored.resolve_template(part, values[row]) for said in list_part_texts(each)
        }
        for row, (page, _) in seen.items()
    }
    common = set.intersection(*texts.values())
    return all(
        any(map(list_telling_words, said - common - {found.words[row]})) for row, said in texts.items()
    )


def _find_part(template: str) -> int:
    """Return where the step of the part that has the name ends in a template; 0 if that is the target itself."""
    depth, quote, named = 0, "", False
    for at, sign in enumerate(template):
        if quote or sign in "'\"":
            quote = "" if sign == quote else quote or sign
        elif sign in "[]":
            depth += 1 if sign == "[" else -1
        named = named or template.startswith(f"{{{{{PARAMETER}", at)
        if named and not depth and not quote and template.startswith("/", at + 1):
            return at + 1
    return 0


def name_by_column(
    found: TargetTemplate,
    seen: Mapping[RowKey, tuple[TracePage, Element]],
    values: Mapping[RowKey, Mapping[str, str]],
) -> TargetTemplate | None:
    """Return the template by the place of the column, then by its heading; None if none leads to every trace's target.

    `values`: the parameters of the template in each trace.
    """
    named = _NAMED.search(found.template)
    if named is None or not seen:
        return None
    rows = found.template[: named.start()]
    columns = {
        _find_column(page, element, rows, values[row][PARAMETER]) for row, (page, element) in seen.items()
    }
    column = columns.pop() if len(columns) == 1 else None
    if column is None:
        return None
    headings = {_find_heading(page, element, rows, column) for page, element in seen.values()}
    heading = headings.pop() if len(headings) == 1 else ""
    places = [f"*[{column}]", *([_BELOW.format(heading=xpath_literal(heading))] if heading else [])]
    templates = [
        f"{rows}[{place}[normalize-space(({_TEXTS})[1])='{{{{{PARAMETER}}}}}']]{found.template[named.end() :]}"
        for place in places
    ]
    fitting = [
        template
        for template in templates
        if all(
            page.stored.resolve_template(template, values[row]) == (element,)
            for row, (page, element) in seen.items()
        )
    ]
    return replace(found, template=fitting[0], others=tuple(fitting[1:])) if fitting else None


def add_column_template(
    found: TargetTemplate,
    seen: Mapping[RowKey, tuple[TracePage, Element]],
    values: Mapping[RowKey, Mapping[str, str]],
) -> TargetTemplate:
    """Return the template by column; of parts that are no rows of a table, in addition to the one that was found.

    In a table, a text of another column names no row: who paid a bill is not what it is for. Cards have no columns,
    and another release may order their parts in another way.
    """
    by_column = name_by_column(found, seen, values)
    if by_column is None or found.template.startswith("//tr"):
        return by_column or found
    return replace(found, others=(by_column.template,))


def _find_row(page: TracePage, element: Element, rows: str) -> Element | None:
    known = set(page.stored.resolve_template(rows, {}))
    return next((each for each in (element, *element.ancestors()) if each in known), None)


def _find_heading(page: TracePage, element: Element, rows: str, column: int) -> str:
    row = _find_row(page, element, rows)
    return "" if row is None else find_column_heading(row, list(row.elements())[column - 1])


def _find_column(page: TracePage, element: Element, rows: str, name: str) -> int | None:
    """Return the position, from 1, of the only part of the target's row whose first text is the name."""
    row = _find_row(page, element, rows)
    if row is None:
        return None
    holding = [
        number
        for number, part in enumerate(row.elements(), 1)
        if squeeze(text_of(part, everything=True)).startswith(name)
    ]
    return holding[0] if len(holding) == 1 else None
