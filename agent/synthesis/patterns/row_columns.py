"""Templates that name a row by a text in one of its columns, whatever element has it.

A release may write a row's name in a link where it was in a `span`. The column also keeps a text of another column from
being taken for the name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from agent.synthesis.alignment.aligned_traces import RowKey
from agent.synthesis.patterns.target_templates import PARAMETER, TargetTemplate
from agent.synthesis.traces.trace_pages import TracePage
from web_pages.element_tree import Element
from web_pages.page_texts import squeeze, text_of

_NAMED = re.compile(
    r"\[\.//(?P<tag>[\w-]+)(?P<classes>(?:\[contains\(concat\(' ', normalize-space\(@class\)[^\]]*\])*)"
    rf"\[normalize-space\(\)='\{{\{{{PARAMETER}\}}\}}'\]\]"
)
"""The condition of a template that an element of the row has the name as its whole text."""


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
        column
        for row, (page, element) in seen.items()
        for column in (_find_column(page, element, rows, named["tag"], values[row][PARAMETER]),)
    }
    column = columns.pop() if len(columns) == 1 else None
    if column is None:
        return found
    told = f"[*[{column}]/descendant-or-self::*[normalize-space()='{{{{{PARAMETER}}}}}']]"
    template = f"{rows}{told}{found.template[named.end() :]}"
    fits = all(
        page.stored.resolve_template(template, values[row]) == (element,)
        for row, (page, element) in seen.items()
    )
    return replace(found, others=(template,)) if fits else found


def _find_column(page: TracePage, element: Element, rows: str, tag: str, name: str) -> int | None:
    """Return the position, from 1, of the part of the target's row in which an element with the tag has the name."""
    known = set(page.stored.resolve_template(rows, {}))
    row = next((each for each in (element, *element.ancestors()) if each in known), None)
    if row is None:
        return None
    holding = [
        number
        for number, part in enumerate(row.elements(), 1)
        if any(node.tag == tag and squeeze(text_of(node, everything=True)) == name for node in _within(part))
    ]
    return holding[0] if len(holding) == 1 else None


def _within(part: Element) -> Iterator[Element]:
    yield part
    yield from part.descendants()
