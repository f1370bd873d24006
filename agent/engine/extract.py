"""Reading outputs and scraped inputs off the page (KS 4.3 extraction), with fallbacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Locator, Page
from pydantic import TypeAdapter

from agent.engine.calls import filled
from agent.engine.inputs import MISSING
from agent.page.probing import answer_probes
from kb_schema.probes import ElementProbe, probe_key
from kb_schema.selectors import Selector, ValueStrategy
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
MAX_ROWS = 1_000
"""Rows of a table that are read; a page with more is read by pagination."""


async def extract(
    rule: Extraction, page: Page, values: Mapping[str, Any], elements: Mapping[str, Selector]
) -> Any:
    """The value, or `MISSING` where neither the rule nor its fallbacks find one.

    `values` holds inputs and outputs so far, and fills the rule's `{x}`; `elements` the selectors of
    the current screen. Raises `StepFailed` for a variable without a value.
    """
    current: Extraction | None = _filled(rule, values)
    while current is not None:
        found = await _once(current, page, values, elements)
        if found is not MISSING:
            return found
        current = current.fallback
    return MISSING


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
            if rule.attribute is None and rule.selector in elements:
                text = await _told(page, elements[rule.selector])
            else:
                text = await _read(_visible(page, rule.selector, elements).first, rule.attribute)
            if text is None or rule.pattern is None:
                return MISSING if text is None else text
            return _by_pattern(rule.pattern, text)
        case TableExtraction(columns=columns):
            rows = await _visible(page, rule.selector, elements).all()
            if not rows and rule.fallback is not None:
                return MISSING
            return [
                {name: await _cell(row, column) for name, column in columns.items()}
                for row in rows[:MAX_ROWS]
            ]


async def _told(page: Page, selector: Selector) -> str | None:
    """What an element of the knowledge says or holds, found by any of its strategies."""
    probe = ElementProbe(selector=selector)
    answer = (await answer_probes(page, [probe]))[probe_key(probe)]
    if answer.error or answer.visible == 0:
        return None
    return answer.value if answer.value not in (None, "") else answer.text


def _visible(page: Page, target: str, elements: Mapping[str, Selector]) -> Locator:
    """Visible elements by CSS, or by the id of an element that has a CSS-like strategy."""
    css = target
    if target in elements:
        css = next((as_css(s) for s in elements[target].ordered if as_css(s)), target)
    return page.locator(css).filter(visible=True)


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


async def _cell(row: Locator, column: Column) -> str | None:
    """What one column of a row says."""
    cell = row if column.selector == ":scope" else row.locator(column.selector).first
    text = await _read(cell, column.attribute)
    if text is None or column.pattern is None:
        return text
    found = _by_pattern(column.pattern, text)
    return None if found is MISSING else str(found)


async def _read(locator: Locator, attribute: str | None) -> str | None:
    """Attribute, field value or text of one element; None where there is no such element."""
    try:
        if await locator.count() == 0:
            return None
        if attribute is not None:
            return await locator.get_attribute(attribute)
        tag = await locator.evaluate("element => element.tagName")
        if tag in ("INPUT", "TEXTAREA", "SELECT"):
            return await locator.input_value()
        return " ".join((await locator.inner_text()).split())
    except PlaywrightError:
        return None  # it went away between the look and the reading: not there


def _by_pattern(pattern: str, text: str) -> Any:
    compiled = compile_pattern(pattern)
    match = compiled.search(text)
    if match is None:
        return MISSING
    return match.group(min(compiled.groups, 1))
