"""Reads a field, a text or a table of a tab's page as data."""

from __future__ import annotations

from typing import Any

from playwright.async_api import ElementHandle
from playwright.async_api import Error as PlaywrightError

from agent.healing.element_wait import GLANCE_S
from agent.locators.page_index import RegionKind
from agent.locators.page_scan import fetch_element, scan_page
from agent.locators.word_comparison import normalize_words
from agent.page.actionability_gate import ElementVanished, PassedElement, judge_element
from agent.page.errors import GateFailed
from kb_schema.selectors import Selector
from periplus.browser_tools.browser_tabs import BrowserTab
from periplus.browser_tools.errors import NotFoundOnPage
from periplus.browser_tools.page_acts import find_target
from periplus.browser_tools.page_look import find_ref

MOST_ROWS = 200
MOST_CHARACTERS = 12_000
_READ = """(el, most) => {
  const text = (node) => (node.innerText || "").replace(/[ \\t\\u00a0]+/g, " ").replace(/\\s*\\n\\s*/g, "\\n").trim();
  const table = el.closest("table") || el.querySelector("table");
  if (table && (el === table || el.contains(table))) {
    const rows = [...table.rows].filter((row) => row.getClientRects().length > 0);
    const head = rows.find((row) => [...row.cells].every((cell) => cell.localName === "th"));
    const names = head ? [...head.cells].map((cell, at) => text(cell) || `column ${at + 1}`) : [];
    const body = rows.filter((row) => row !== head).slice(0, most);
    return {rows: body.map((row) => Object.fromEntries([...row.cells].map((cell, at) => [names[at] || `column ${at + 1}`, text(cell)])))};
  }
  if (el.localName === "select") return {text: [...el.selectedOptions].map((each) => each.label).join(", ")};
  if (["checkbox", "radio"].includes(el.type)) return {text: el.checked ? "checked" : "unchecked"};
  if (el.type === "password") return {text: el.value ? "(a password)" : ""};
  return {text: "value" in el && typeof el.value === "string" && el.localName !== "button" ? el.value : text(el)};
}"""


async def read_page(tab: BrowserTab, what: str | None) -> str | list[dict[str, str]]:
    """Return the text of an element, the value of a field, or the rows of a table. Raises `NotFoundOnPage`.

    `what`: a reference, an element id or words; None: the whole page's text.
    """
    handle = await tab.page.query_selector("body") if what is None else await _find(tab, what)
    if handle is None:
        raise NotFoundOnPage(f"{what!r} is not on the page any more", hint="call look")
    if what is None:
        return (await handle.inner_text())[:MOST_CHARACTERS]
    try:
        found: dict[str, Any] = await handle.evaluate(_READ, MOST_ROWS)
    except PlaywrightError as exc:
        raise NotFoundOnPage(f"{what!r} is not on the page any more", hint="call look") from exc
    if "rows" in found:
        return [{str(name): str(value) for name, value in row.items()} for row in found["rows"]]
    return str(found["text"])[:MOST_CHARACTERS]


async def _find(tab: BrowserTab, what: str) -> ElementHandle | None:
    table = await _find_table(tab, what)
    if table is not None:
        return table
    if (referred := find_ref(tab, what)) is not None:
        return await fetch_element(tab.page, *referred)
    target = (await find_target(tab, what, None)).target
    session, _ = tab.working_session()
    if isinstance(target, str):
        target = (await session.elements())[target].selector
    return await _resolve(tab, target)


async def _find_table(tab: BrowserTab, what: str) -> ElementHandle | None:
    """Return the table that words or its number name; `table` alone is the only one."""
    words = normalize_words(what)
    plain = words.removesuffix(" table").removeprefix("table ").strip()
    if "table" not in words.split():
        return None
    index = await scan_page(tab.page, everything=True)
    tables = [each for each in index.regions if each.kind is RegionKind.TABLE]
    named = [each for each in tables if plain and plain != "table" and plain in normalize_words(each.name)]
    if plain.isdecimal() and 0 < int(plain) <= len(tables):
        named = [tables[int(plain) - 1]]
    chosen = named[0] if len(named) == 1 else tables[0] if len(tables) == 1 else None
    if chosen is None:
        names = ", ".join(f"table {at} {each.name}".rstrip() for at, each in enumerate(tables, start=1))
        raise NotFoundOnPage(f"{what!r}: the page's tables are: {names or 'none'}", hint="name one of them")
    return await fetch_element(tab.page, index, chosen.element)


async def _resolve(tab: BrowserTab, selector: Selector) -> ElementHandle | None:
    try:
        judged = await judge_element(tab.page, selector, timeout_s=GLANCE_S, keep=True)
        return (await PassedElement(tab.page, judged).gated()).element
    except (GateFailed, ElementVanished):
        return None
