"""Reads outputs and scraped inputs from the page (KS 4.3 extraction), with fallbacks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from playwright.async_api import Page
from pydantic import TypeAdapter

from agent.execution.call_templates import fill_templates
from agent.execution.values.input_resolution import MISSING
from agent.page import in_page_library
from agent.page.condition_probes import PARSED_WITHIN_S
from agent.page.live_selectors import fill_selector_parameters
from agent.run_context import is_meaningful
from kb_schema.io_specs import (
    ContextExtraction,
    DomExtraction,
    Extraction,
    RankedExtraction,
    TableColumn,
    TableExtraction,
    UrlExtraction,
)
from kb_schema.ranked_values import find_extreme, read_ranking
from kb_schema.selectors import Selector, ValueStrategy, css
from kb_schema.templates import is_xpath, tree_variables
from kb_schema.url_patterns import compile_pattern

_RULE: TypeAdapter[Extraction] = TypeAdapter(Extraction)
_CELL = {"selector", "attribute"}
_Redact = Callable[[str], str]
MAX_ROWS = 1_000
"""Rows of a table that are read; use pagination for longer tables."""


async def extract_value(
    rule: Extraction,
    page: Page,
    values: Mapping[str, Any],
    elements: Mapping[str, Selector],
    *,
    redact: _Redact,
) -> Any:
    """Return the value, or `MISSING` if neither the rule nor its fallbacks find one.

    A fallback is also tried if the value found is empty. `values`: inputs and outputs so far, which fill the
    rule's `{x}`. `elements`: selectors of the current screen. `redact` removes the run's secrets from a text before a
    pattern cuts it: a part of a secret would not be recognised. Raises `StepFailed` for a variable without a value.
    """
    current: Extraction | None = _filled(rule, values)
    empty = MISSING
    while current is not None:
        found = await _apply_rule(current, page, values, elements, redact)
        if found is not MISSING and is_meaningful(found):
            return found
        empty = found if empty is MISSING else empty
        current = current.fallback
    return empty


def list_extraction_selectors(rule: Extraction, elements: Mapping[str, Selector]) -> list[Selector]:
    """Return the selectors that a rule and its fallbacks read; for a secret, snapshots leave these places
    out.
    """
    found: list[Selector] = []
    current: Extraction | None = rule
    while current is not None:
        if isinstance(current, DomExtraction | TableExtraction | RankedExtraction):
            found.append(elements.get(current.selector) or _css_or_xpath(current.selector))
        current = current.fallback
    return found


def _filled(rule: Extraction, values: Mapping[str, Any]) -> Extraction:
    data = rule.to_json()
    if not tree_variables(data):
        return rule
    return _RULE.validate_python(fill_templates(data, values))


async def _apply_rule(
    rule: Extraction,
    page: Page,
    values: Mapping[str, Any],
    elements: Mapping[str, Selector],
    redact: _Redact,
) -> Any:
    match rule:
        case UrlExtraction(pattern=pattern):
            return _by_pattern(pattern, redact(page.url))
        case ContextExtraction(source=source):
            name = source.removeprefix("inputs.").removeprefix("outputs.").removeprefix("context.")
            return values.get(name, MISSING)
        case DomExtraction():
            text = await _read(page, _selector(rule.selector, values, elements), attribute=rule.attribute)
            if text is None or rule.pattern is None:
                return MISSING if text is None else text
            return _by_pattern(rule.pattern, redact(text))
        case TableExtraction(columns=columns):
            asked = {name: column.model_dump(include=_CELL) for name, column in columns.items()}
            rows = await _read(page, _selector(rule.selector, values, elements), columns=asked)
            return [{name: _cell(row[name], columns[name], redact) for name in columns} for row in rows or ()]
        case RankedExtraction():
            return await _read_ranked(rule, page, _selector(rule.selector, values, elements), redact)


async def _read_ranked(rule: RankedExtraction, page: Page, rows: Selector, redact: _Redact) -> Any:
    """Return the text of the column that the order means in the row with the least or greatest value."""
    ranking = read_ranking(rule.order)
    meant = [
        each
        for each in rule.columns
        if ranking is not None and (each in ranking.measures or not ranking.measures)
    ]
    if ranking is None or len(meant) != 1:
        return MISSING
    column = rule.columns[meant[0]]
    found = await _read(page, rows, columns={"cell": column.model_dump(include=_CELL)}) or []
    if len(found) >= MAX_ROWS:
        return MISSING
    texts = [_cell(each["cell"], column, redact) or "" for each in found]
    best = find_extreme(texts, replace(ranking, measures=frozenset(meant)))
    return MISSING if best is None else texts[best]


def _selector(target: str, values: Mapping[str, Any], elements: Mapping[str, Selector]) -> Selector:
    """The selector of an element of the current screen, with its parameters filled, else CSS or XPath."""
    selector = elements.get(target)
    if selector is None:
        return _css_or_xpath(target)
    return fill_selector_parameters(selector, values) if selector.parameterized else selector


def _css_or_xpath(target: str) -> Selector:
    if not is_xpath(target):
        return css(target)
    return Selector(strategies=(ValueStrategy(type="xpath", value=target),))


async def _read(
    page: Page, selector: Selector, *, attribute: str | None = None, columns: Mapping[str, Any] | None = None
) -> Any:
    """Return what the page has there, in one round trip; None if there is nothing."""
    asked = json.dumps(
        {
            "selector": selector.model_dump(mode="json"),
            "attribute": attribute,
            "columns": columns,
            "most": MAX_ROWS,
        }
    )
    answer = await in_page_library.call(page, "read", asked)
    if answer["ready_state"] == "loading":  # the table may be incomplete
        await in_page_library.document_ready(page, PARSED_WITHIN_S)
        answer = await in_page_library.call(page, "read", asked)
    return answer["said"]


def _cell(text: str | None, column: TableColumn, redact: _Redact) -> str | None:
    """Return the value of one column of a row."""
    if text is None or column.pattern is None:
        return text
    found = _by_pattern(column.pattern, redact(text))
    return None if found is MISSING else str(found)


def convert_to_css(strategy: object) -> str:
    """Return a strategy as CSS, or None if CSS cannot express it."""
    if not isinstance(strategy, ValueStrategy):
        return ""
    quoted = strategy.value.replace("\\", "\\\\").replace('"', '\\"')
    match strategy.type:
        case "css" | "fallback_css" | "relational_css" | "shadow_pierce":
            return strategy.value
        case "id" | "data-testid" | "data-qa":
            return f'[{strategy.type}="{quoted}"]'
        case "aria":
            return f'[aria-label="{quoted}"]'
    return ""


def _by_pattern(pattern: str, text: str) -> Any:
    compiled = compile_pattern(pattern)
    match = compiled.search(text)
    if match is None:
        return MISSING
    return match.group(min(compiled.groups, 1))
