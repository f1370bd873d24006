"""Templates that name a row by the first text of one of its columns, whatever element has it.

A release may write a row's name in a link where it was in a `span`. Neither a text of another column nor a further text
of this one, such as a line below the name, is taken for the name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from agent.synthesis.alignment.aligned_traces import RowKey
from agent.synthesis.patterns.target_templates import PARAMETER, TargetTemplate
from agent.synthesis.traces.trace_pages import TracePage
from web_pages.element_tree import Element
from web_pages.page_texts import squeeze, text_of

_NAMED = re.compile(
    r"\[\.//[\w-]+(?:\[contains\(concat\(' ', normalize-space\(@class\)[^\]]*\])*"
    rf"\[normalize-space\(\)='\{{\{{{PARAMETER}\}}\}}'\]\]"
)
"""The condition of a template that an element of the row has the name as its whole text."""
_TEXTS = ".//text()[normalize-space()]"
CELLS = frozenset({"td", "th"})


def add_column_template(
    found: TargetTemplate,
    seen: Mapping[RowKey, tuple[TracePage, Element]],
    values: Mapping[RowKey, Mapping[str, str]],
) -> TargetTemplate:
    """Return the template with another one, by column, if that leads to the target of every trace, too.

    `values`: the parameters of the template in each trace.
    """
    named = _NAMED.search(found.template)
    if named is None or not seen:
        return found
    rows = found.template[: named.start()]
    columns = {
        _find_column(page, element, rows, values[row][PARAMETER]) for row, (page, element) in seen.items()
    }
    column = columns.pop() if len(columns) == 1 else None
    if column is None:
        return found
    told = f"[*[{column}][normalize-space(({_TEXTS})[1])='{{{{{PARAMETER}}}}}']]"
    template = f"{rows}{told}{found.template[named.end() :]}"
    fits = all(
        page.stored.resolve_template(template, values[row]) == (element,)
        for row, (page, element) in seen.items()
    )
    return replace(found, others=(template,)) if fits else found


def _find_column(page: TracePage, element: Element, rows: str, name: str) -> int | None:
    """Return the position, from 1, of the only part of the target's row whose first text is the name."""
    known = set(page.stored.resolve_template(rows, {}))
    row = next((each for each in (element, *element.ancestors()) if each in known), None)
    if row is None:
        return None
    holding = [
        number
        for number, part in enumerate(row.elements(), 1)
        if squeeze(text_of(part, everything=True)).startswith(name)
    ]
    return holding[0] if len(holding) == 1 else None


def find_column_heading(row: Element, cell: Element) -> str:
    """Return the heading of the column that a cell of a table's row is in; empty if it has none."""
    table = next((each for each in row.ancestors() if each.tag == "table"), None)
    cells = [each for each in row.elements() if each.tag in CELLS]
    if table is None or row.tag != "tr" or cell not in cells:
        return ""
    head = next((each for each in table.descendants() if each.tag == "tr"), row)
    heads = [each for each in head.elements() if each.tag in CELLS]
    named = sum(each.tag == "th" for each in heads) * 2 > len(heads)
    return (
        squeeze(text_of(heads[cells.index(cell)]))
        if named and len(heads) == len(cells) and head is not row
        else ""
    )
