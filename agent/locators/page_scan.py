"""Reads the page index of a live page in one round trip, and fetches elements of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from playwright.async_api import ElementHandle, Page
from playwright.async_api import Error as DriverError

from agent.locators.page_index import (
    ElementBox,
    IndexedElement,
    IndexedRegion,
    IndexedRoot,
    Neighbours,
    PageIndex,
    RegionKind,
    RootKind,
)
from agent.locators.scan_query import ScanQuery
from agent.page import in_page_library
from agent.page.condition_probes import PARSED_WITHIN_S
from kb_schema.selectors import Selector

_UNREAD = IndexedElement(
    -1,
    0,
    None,
    None,
    "",
    None,
    "",
    "",
    "",
    {},
    Neighbours(),
    ElementBox(0, 0, 0, 0),
    "",
    visible=False,
    interactive=False,
    enabled=False,
    required=False,
    checked=None,
    clickable=False,
    by_label=False,
)
"""Placeholder for an element that cannot match the query of the scan."""
_CHECKABLE, _CHECKED = 16, 32
_NO_NEIGHBOURS = Neighbours()


def _states(flags: int) -> tuple[bool, bool, bool, bool, bool | None, bool, bool, bool]:
    """Return the bits of `FLAG` in `js/9_index.js`: visible, interactive, enabled, required, checked, clickable, by label,
    behind.
    """
    visible, interactive, enabled, required = (bool(flags & 1 << bit) for bit in range(4))
    checked = bool(flags & _CHECKED) if flags & _CHECKABLE else None
    more = (bool(flags & 64), bool(flags & 128), bool(flags & 256))
    return visible, interactive, enabled, required, checked, *more


_STATES = tuple(_states(flags) for flags in range(512))


async def scan_page(
    page: Page,
    *,
    everything: bool = False,
    query: ScanQuery | None = None,
    rows: int = 0,
    values: bool = False,
) -> PageIndex:
    """Return the index of the page as it is now, with its open shadow roots and same-origin frames.

    `everything` includes elements that no description can mean. `query` limits the scan to elements that
    can match it. `rows`: how many rows or items of each list are read, beside those that lay out a form; 0: all. `values`: also what
    fields show. If the document is still being parsed, it is scanned again after parsing. Raises `PageGone` and `ScriptFailed`.
    """
    options = json.dumps(
        {"everything": everything, "question": query and query.for_page, "rows": rows, "values": values}
    )
    data = await in_page_library.call(page, "index", options)
    if data["ready_state"] == "loading":
        await in_page_library.document_ready(page, PARSED_WITHIN_S)
        data = await in_page_library.call(page, "index", options)
    return parse_page_index(data, query)


async def fetch_element(page: Page, index: PageIndex, at: int) -> ElementHandle | None:
    """Return the element at this position of the index; None if the page has forgotten or removed it."""
    try:
        return (await page.evaluate_handle(in_page_library.PICK, [index.token, at])).as_element()
    except DriverError as error:
        if page.is_closed():
            raise in_page_library.translate_error(page, error) from error
        return None


@dataclass(frozen=True, slots=True)
class Standing:
    """Where the element of a selector is."""

    visible: int
    """How many elements that it means are visible."""
    at: int | None
    """The position of the only one in the index; None: there are several, or the index has not read it."""
    css: str | None
    """CSS that leads to that one alone."""
    error: str | None


async def find_standings(page: Page, index: PageIndex, selectors: Sequence[Selector]) -> list[Standing]:
    """Return where the elements of selectors are among those of the index. One round trip, none without selectors."""
    if not selectors:
        return []
    asked = json.dumps([selector.model_dump(mode="json") for selector in selectors])
    return [Standing(**each) for each in await in_page_library.call(page, "standings", index.token, asked)]


async def check_selectors(page: Page, index: PageIndex, pairs: Sequence[tuple[int, Selector]]) -> list[bool]:
    """Return for each selector whether it leads only to the element at its position. One round trip."""
    return await check_remembered_selectors(page, index.token, pairs)


async def check_remembered_selectors(
    page: Page, token: str, pairs: Sequence[tuple[int, Selector]]
) -> list[bool]:
    """Check selectors as `check_selectors` does, for the scan with this token."""
    if not pairs:
        return []
    checks = json.dumps([[at, selector.model_dump(mode="json")] for at, selector in pairs])
    results: list[bool] = await in_page_library.call(page, "leadsTo", token, checks)
    return results


def parse_page_index(data: dict[str, Any], query: ScanQuery | None = None) -> PageIndex:
    """Return the page index from the JSON of `js/9_index.js`."""
    viewport = data["viewport"]
    return PageIndex(
        token=data["token"],
        url=data["url"],
        title=data["title"],
        ready_state=data["ready_state"],
        viewport=(viewport["width"], viewport["height"]),
        elements=tuple(
            _parse_element(at, row) if row else _UNREAD for at, row in enumerate(data["elements"])
        ),
        regions=tuple(
            IndexedRegion(RegionKind(kind), element, _parse_place(parent), name, tuple(texts))
            for kind, element, parent, name, texts in data["regions"]
        ),
        roots=tuple(
            IndexedRoot(RootKind(kind), parent, host, host_css, url)
            for kind, parent, host, host_css, url in data["roots"]
        ),
        truncated=data["truncated"],
        further=dict(data["further"]),
        form_rows=frozenset(data["formRows"]),
        values=dict(data["values"]),
        query=query,
    )


def _parse_place(at: int) -> int | None:
    return None if at < 0 else at


def _parse_element(at: int, row: list[Any]) -> IndexedElement:
    root, parent, region, tag, role, name, label, text, attributes, near, x, y, width, height, flags, icon = (
        row
    )
    return IndexedElement(
        at,
        root,
        None if parent < 0 else parent,
        None if region < 0 else region,
        tag,
        role,
        name,
        label,
        text,
        attributes,
        Neighbours(*near) if near else _NO_NEIGHBOURS,
        ElementBox(x, y, width, height),
        icon,
        *_STATES[flags],
    )
