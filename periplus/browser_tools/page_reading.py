"""Reads a field, a text or a table of a tab's page as data, and finds words in its text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from playwright.async_api import ElementHandle
from playwright.async_api import Error as PlaywrightError

from agent.locators.page_index import RegionKind
from agent.locators.page_scan import fetch_element, find_standings, scan_page
from agent.locators.role_hints import ENTER
from agent.locators.word_comparison import normalize_words
from kb_schema.selectors import Selector
from periplus.browser_tools.browser_tabs import BrowserTab
from periplus.browser_tools.errors import NotFoundOnPage, NothingCalledThat
from periplus.browser_tools.page_acts import find_target
from periplus.browser_tools.page_look import find_ref

MOST_ROWS = 200
MOST_CHARACTERS = 12_000
_FROM = re.compile(r"(?P<what>.*?)\s*\bfrom (?P<unit>row|character) (?P<start>[1-9]\d{0,8})", re.IGNORECASE)
"""How a client reads on: `table from row 201`, `page from character 12001`."""
_PAGE = "page"
_READ = """(el, [start, most]) => {
  const text = (node) => (node.innerText || "").replace(/[ \\t\\u00a0]+/g, " ").replace(/\\s*\\n\\s*/g, "\\n").trim();
  const cellText = (cell) => {
    const lists = [...cell.querySelectorAll("select")];
    return lists.length ? lists.map((each) => [...each.selectedOptions].map((one) => one.label).join(", ")).join("; ") : text(cell);
  };
  const table = el.closest("table") || el.querySelector("table");
  if (table && (el === table || el.contains(table))) {
    const rows = [...table.rows].filter((row) => row.getClientRects().length > 0);
    const head = rows.find((row) => [...row.cells].every((cell) => cell.localName === "th"));
    const names = head ? [...head.cells].map((cell, at) => text(cell) || `column ${at + 1}`) : [];
    const all = rows.filter((row) => row !== head);
    const body = all.slice(start, start + most);
    return {total: all.length, rows: body.map((row) => Object.fromEntries([...row.cells].map((cell, at) => [names[at] || `column ${at + 1}`, cellText(cell)])))};
  }
  if (el.localName === "select") return {text: [...el.selectedOptions].map((each) => each.label).join(", ")};
  if (["checkbox", "radio"].includes(el.type)) return {text: el.checked ? "checked" : "unchecked"};
  if (el.type === "password") return {text: el.value ? "(a password)" : ""};
  return {text: "value" in el && typeof el.value === "string" && el.localName !== "button" ? el.value : text(el)};
}"""


async def read_page(tab: BrowserTab, what: str | None) -> str:
    """Return the text of an element, the value of a field, or the rows of a table as JSON. Raises `NotFoundOnPage`.

    `what`: a reference, an element id or words; None: the whole page's text. Words that no element is called by are looked for in
    the page's text. What is too long ends with a line that says how much there is and how to read on.
    """
    named, start = _split(what)
    try:
        handle = await tab.page.query_selector("body") if named is None else await _find(tab, named)
    except NothingCalledThat as exc:
        return _say_text(await _find_lines(tab, str(named), exc), start, str(named))
    if handle is None:
        raise NotFoundOnPage(f"{what!r} is not on the page any more", hint="call look")
    try:
        if named is None:
            found: dict[str, Any] = {"text": await handle.inner_text()}
        else:
            found = await handle.evaluate(_READ, [start, MOST_ROWS])
    except PlaywrightError as exc:
        raise NotFoundOnPage(f"{what!r} is not on the page any more", hint="call look") from exc
    if "rows" in found:
        return _say_rows(found["rows"], found["total"], start, str(named))
    return _say_text(str(found["text"]), start, _PAGE if named is None else named)


def _split(what: str | None) -> tuple[str | None, int]:
    """Return what is meant and how many rows or characters of it are passed over."""
    continued = None if what is None else _FROM.fullmatch(what.strip())
    if continued is None:
        return what, 0
    named = continued["what"]
    whole = continued["unit"].casefold() == "character" and named.casefold() in ("", _PAGE)
    return None if whole else named or "table", int(continued["start"]) - 1


def _say_rows(rows: Sequence[Mapping[str, str]], total: int, start: int, named: str) -> str:
    """Return rows as JSON, as many as fit; then which they are if these are not all."""
    kept: list[Mapping[str, str]] = []
    used = 0
    for row in rows:
        used += len(json.dumps(row, ensure_ascii=False)) + 2
        if kept and used > MOST_CHARACTERS:
            break
        kept.append(row)
    text = json.dumps(kept, ensure_ascii=False)
    end = start + len(kept)
    if end < total:
        return f'{text}\nrows {start + 1} to {end} of {total}; the next: read "{named} from row {end + 1}"'
    return f"{text}\nrows {start + 1} to {end} of {total}, the last" if start else text


def _say_text(text: str, start: int, named: str) -> str:
    """Return a text from a character on, as much as fits, up to the end of a line or a word."""
    left = text[start:]
    if len(left) <= MOST_CHARACTERS:
        return left
    cut = left[:MOST_CHARACTERS]
    end = max(cut.rfind("\n"), cut.rfind(" "))
    cut = cut[:end] if end > MOST_CHARACTERS // 2 else cut
    end = start + len(cut)
    return f'{cut}\ncharacters {start + 1} to {end} of {len(text)}; the next: read "{named} from character {end + 1}"'


async def _find_lines(tab: BrowserTab, words: str, error: NothingCalledThat) -> str:
    """Return the lines of the page's text that have the words, each with the line before and after it. Raises the error if none has them."""
    wanted = normalize_words(words).split()
    try:
        text = await tab.page.inner_text("body")
    except PlaywrightError as exc:
        raise error from exc
    lines = [each.strip() for each in text.splitlines() if each.strip()]
    found = [at for at, line in enumerate(lines) if wanted and _has_words(line, wanted)]
    if not found:
        raise NotFoundOnPage(
            f"{error}; nor does the page's text have these words", hint="call read without what"
        )
    said = [f"no element is called {words!r}; the page's text has:"]
    before = -1
    for at in found:
        first = max(at - 1, before + 1)
        said += ["..."] if before >= 0 and first > before + 1 else []
        said += lines[first : at + 2]
        before = min(at + 1, len(lines) - 1)
    return "\n".join(said)


def _has_words(line: str, wanted: Sequence[str]) -> bool:
    """Return whether a line has all words, each perhaps with an ending."""
    there = normalize_words(line).split()
    return all(
        any(each == word or (len(word) > 3 and each.startswith(word)) for each in there) for word in wanted
    )


async def _find(tab: BrowserTab, what: str) -> ElementHandle | None:
    table = await _find_table(tab, what)
    if table is not None:
        return table
    if (referred := find_ref(tab, what)) is not None:
        return await fetch_element(tab.page, *referred)
    target = (await find_target(tab, what, ENTER)).target
    session, _ = tab.working_session()
    if isinstance(target, str):
        target = (await session.elements())[target].selector
    if target.parameterized:
        raise NotFoundOnPage(f"{what!r} is an element of each row", hint="name the row, or read the table")
    return await _resolve(tab, what, target)


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


async def _resolve(tab: BrowserTab, what: str, selector: Selector) -> ElementHandle | None:
    """Return the only visible element of a selector; to read it, nothing has to pass the gate. Raises `NotFoundOnPage` for several."""
    for everything in (False, True):
        index = await scan_page(tab.page, everything=everything)
        (standing,) = await find_standings(tab.page, index, [selector])
        if standing.at is not None:
            return await fetch_element(tab.page, index, standing.at)
        if standing.visible > 1:
            raise NotFoundOnPage(
                f"{what!r} means {standing.visible} elements of the page",
                hint="name the row, or use a reference of look",
            )
    return None
