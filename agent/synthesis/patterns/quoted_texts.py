"""Compares targets that differ only in their quoted texts, and finds targets that are always first or last in a list."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from agent.synthesis.alignment.aligned_traces import RowKey
from agent.synthesis.traces.list_rows import find_list_row, list_sibling_rows
from agent.synthesis.traces.trace_pages import TracePage
from kb_schema.selectors import Selector, ValueStrategy, css
from kb_schema.templates import xpath_literal
from web_pages.element_tree import Element

_QUOTED = re.compile(r"""normalize-space\(\)=('[^']*'|"[^"]*")""")
MOST_STEPS = 8
"""Maximum number of elements between a row and the target in it."""


def list_quoted_texts(target: Selector) -> list[str]:
    """Return the texts that a target's XPath quotes: its own text or its label."""
    said = [each.value for each in target.strategies if isinstance(each, ValueStrategy)]
    return [found[1][1:-1] for text in said for found in _QUOTED.finditer(text)]


def find_quoted_template(
    targets: Mapping[RowKey, Selector], parameter: str
) -> tuple[str, dict[RowKey, str]] | None:
    """Return the XPath that all targets share apart from one text, as a template, and the text of each target.

    Returns None if there is none, or if the text is always the same.
    """
    told = {row: dict(_templates(target, parameter)) for row, target in targets.items()}
    shared = set.intersection(*(set(each) for each in told.values())) if told else set()
    for template in next(iter(told.values()), {}):
        words = {row: each[template] for row, each in told.items() if template in shared}
        if len(set(words.values())) > 1:
            return template, words
    return None


def list_single_run_xpaths(targets: Sequence[Selector]) -> set[str]:
    """Return XPaths with a text of a single run: all targets have the same XPath with other texts."""
    told = [dict(_templates(target, "row")) for target in targets]
    shared = set.intersection(*(set(each) for each in told)) if told else set()
    varying = [template for template in shared if len({each[template] for each in told}) > 1]
    return {
        template.replace("'{{row}}'", mark + each[template] + mark)
        for template in varying
        for each in told
        for mark in "'\""
    }


def _templates(target: Selector, parameter: str) -> Iterator[tuple[str, str]]:
    """Yield each template that replaces one text of a target's XPath by the parameter, with that text."""
    for strategy in target.strategies:
        if not isinstance(strategy, ValueStrategy) or strategy.type != "xpath-text":
            continue
        for found in _QUOTED.finditer(strategy.value):
            begin, end = found.span(1)
            words = found[1][1:-1]
            rest = (strategy.value[:begin], strategy.value[end:])
            if words and "{" not in "".join(rest) and xpath_literal(words) not in "".join(rest):
                yield f"{rest[0]}'{{{{{parameter}}}}}'{rest[1]}", words


def find_list_end_selector(
    seen: Mapping[RowKey, tuple[TracePage, Element]], rows: str | None = None
) -> Selector | None:
    """Return the selector of the first or last list row if the element was always there, else None.

    Some list must have more than one row. `rows`: CSS of the rows; else that of the list is looked for on the page.
    """
    places = {row: _place(element) for row, (_, element) in seen.items()}
    known = [place for place in places.values() if place is not None]
    if len(known) < len(seen) or not known or max(count for _, count, _ in known) < 2:
        return None
    if len({inside for _, _, inside in known}) > 1:
        return None
    for end, number in (("first", 1), ("last", None)):
        if all(at == (number or count) for at, count, _ in known):
            return _selector(seen, known[0][2], end, rows)
    return None


def _place(element: Element) -> tuple[int, int, str] | None:
    """Return the row index, the number of rows, and the path from the row to the element."""
    row = find_list_row(element)
    if row is None or row.parent is None:
        return None
    rows = list_sibling_rows(row)
    steps: list[str] = []
    node = element
    while node is not row and node.parent is not None and len(steps) < MOST_STEPS:
        same = [child for child in node.parent.elements() if child.tag == node.tag]
        steps.insert(0, f" > {node.tag}:nth-of-type({same.index(node) + 1})")
        node = node.parent
    at = next((number for number, each in enumerate(rows, 1) if each is row), None)
    return None if at is None or node is not row else (at, len(rows), "".join(steps))


def _selector(
    seen: Mapping[RowKey, tuple[TracePage, Element]], inside: str, end: str, rows: str | None
) -> Selector | None:
    for each in [rows] if rows is not None else _list_rows_css(*next(iter(seen.values()))):
        found = css(f"{each}:{end}-of-type{inside}")
        if all(page.stored.resolve(found).found == (wanted,) for page, wanted in seen.values()):
            return found
    return None


def _list_rows_css(page: TracePage, element: Element) -> Iterator[str]:
    """Yield CSS of the rows of an element's list."""
    row = find_list_row(element)
    if row is None or row.parent is None:
        return
    choice = page.selectors.of(row.parent).selector
    for strategy in () if choice is None or choice.frame is not None else choice.strategies:
        if isinstance(strategy, ValueStrategy) and strategy.type in ("id", "css"):
            around = strategy.value if strategy.type == "css" else f'[id="{strategy.value}"]'
            yield f"{around} > {row.tag}"
