"""Reading outputs and scraped inputs off the page (KS 4.3 extraction), with fallbacks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from playwright.async_api import Page
from pydantic import TypeAdapter

from agent.engine.calls import filled
from agent.engine.inputs import MISSING
from agent.page import library
from agent.page.locating import fill_selector_parameters
from agent.page.probing import PARSED_WITHIN_S
from agent.resilience.ledger import meaningful
from kb_schema.selectors import Selector, ValueStrategy, css
from kb_schema.templates import strings, variables
from kb_schema.urls import compile_pattern
from kb_schema.values import (
    Column,
    ContextExtraction,
    DomExtraction,
    Extraction,
    TableExtraction,
    UrlExtraction,
)

_RULE: TypeAdapter[Extraction] = TypeAdapter(Extraction)
_CELL = {"selector", "attribute"}
MAX_ROWS = 1_000
"""Rows of a table that are read; a page with more is read by pagination."""


async def extract(
    rule: Extraction, page: Page, values: Mapping[str, Any], elements: Mapping[str, Selector]
) -> Any:
    """The value, or `MISSING` where neither the rule nor its fallbacks find one. A fallback is asked,
    too, where what was found says nothing.

    `values` holds inputs and outputs so far, and fills the rule's `{x}`; `elements` the selectors of
    the current screen. Raises `StepFailed` for a variable without a value.
    """
    current: Extraction | None = _filled(rule, values)
    empty = MISSING
    while current is not None:
        found = await _once(current, page, values, elements)
        if found is not MISSING and meaningful(found):
            return found
        empty = found if empty is MISSING else empty
        current = current.fallback
    return empty


def places(rule: Extraction, elements: Mapping[str, Selector]) -> list[Selector]:
    """Where on a page a rule and its fallbacks read: of a secret, what is left out of snapshots before
    it is read.
    """
    found: list[Selector] = []
    current: Extraction | None = rule
    while current is not None:
        if isinstance(current, DomExtraction | TableExtraction):
            found.append(elements.get(current.selector) or css(current.selector))
        current = current.fallback
    return found


def _filled(rule: Extraction, values: Mapping[str, Any]) -> Extraction:
    told = rule.to_json()
    if not any(variables(text) for _, text in strings(told)):
        return rule
    return _RULE.validate_python(filled(told, values))


async def _once(
    rule: Extraction, page: Page, values: Mapping[str, Any], elements: Mapping[str, Selector]
) -> Any:
    match rule:
        case UrlExtraction(pattern=pattern):
            return _by_pattern(pattern, page.url)
        case ContextExtraction(source=source):
            name = source.removeprefix("inputs.").removeprefix("outputs.").removeprefix("context.")
            return values.get(name, MISSING)
        case DomExtraction():
            text = await _read(page, _selector(rule.selector, values, elements), attribute=rule.attribute)
            if text is None or rule.pattern is None:
                return MISSING if text is None else text
            return _by_pattern(rule.pattern, text)
        case TableExtraction(columns=columns):
            asked = {name: column.model_dump(include=_CELL) for name, column in columns.items()}
            rows = await _read(page, _selector(rule.selector, values, elements), columns=asked)
            return [{name: _cell(row[name], columns[name]) for name in columns} for row in rows or ()]


def _selector(target: str, values: Mapping[str, Any], elements: Mapping[str, Selector]) -> Selector:
    """An element of the current screen, its parameters filled, else CSS."""
    selector = elements.get(target)
    if selector is None:
        return css(target)
    return fill_selector_parameters(selector, values) if selector.parameterized else selector


async def _read(
    page: Page, selector: Selector, *, attribute: str | None = None, columns: Mapping[str, Any] | None = None
) -> Any:
    """What the page says there, in one round trip; None where there is nothing."""
    asked = json.dumps(
        {"selector": selector.model_dump(mode="json"), "attribute": attribute, "columns": columns,
         "most": MAX_ROWS}
    )  # fmt: skip
    said = await library.call(page, "read", asked)
    if said["ready_state"] == "loading":  # half a page has half a table
        await library.document_ready(page, PARSED_WITHIN_S)
        said = await library.call(page, "read", asked)
    return said["said"]


def _cell(text: str | None, column: Column) -> str | None:
    """What one column of a row says."""
    if text is None or column.pattern is None:
        return text
    found = _by_pattern(column.pattern, text)
    return None if found is MISSING else str(found)


def as_css(strategy: object) -> str:
    """A strategy as CSS, or nothing where it is not expressible."""
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
