"""Takes the index of a live page, in one round trip, and fetches elements of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from playwright.async_api import ElementHandle, Page
from playwright.async_api import Error as DriverError

from agent.locating.asking import Question
from agent.locating.index import (
    Box,
    IndexedElement,
    IndexedRegion,
    IndexedRoot,
    Neighbours,
    PageIndex,
    RegionKind,
    RootKind,
)
from agent.page import library
from agent.page.probing import PARSED_WITHIN_S
from kb_schema.selectors import Selector

_UNREAD = IndexedElement(
    -1, 0, None, None, "", None, "", "", "", {}, Neighbours(), Box(0, 0, 0, 0),
    visible=False, interactive=False, enabled=False, required=False, checked=None, clickable=False, by_label=False,
)  # fmt: skip
"""What could not be the answer to the question a look was taken for."""
_TICKABLE, _TICKED = 16, 32
_ALONE = Neighbours()


def _states(flags: int) -> tuple[bool, bool, bool, bool, bool | None, bool, bool]:
    """The bits of `FLAG` in `js/9_index.js`: visible, interactive, enabled, required, ticked, clickable, by label."""
    visible, interactive, enabled, required = (bool(flags & 1 << bit) for bit in range(4))
    ticked = bool(flags & _TICKED) if flags & _TICKABLE else None
    return visible, interactive, enabled, required, ticked, bool(flags & 64), bool(flags & 128)


_STATES = tuple(_states(flags) for flags in range(256))


async def look_around(page: Page, *, everything: bool = False, asked: Question | None = None) -> PageIndex:
    """The page as it is now, with its open shadow roots and same-origin frames.

    `everything` takes elements that nobody could mean as well; `asked` reads no more than a question
    needs. A document that is still being parsed is looked at again when it is whole. Raises `PageGone`
    and `ScriptFailed`.
    """
    how = json.dumps({"everything": everything, "question": asked and asked.for_page})
    said = await library.call(page, "index", how)
    if said["ready_state"] == "loading":
        await library.document_ready(page, PARSED_WITHIN_S)
        said = await library.call(page, "index", how)
    return read_index(said, asked)


async def element_at(page: Page, index: PageIndex, at: int) -> ElementHandle | None:
    """The element at a place of the index; None where the page has forgotten or removed it."""
    try:
        return (await page.evaluate_handle(library.PICK, [index.token, at])).as_element()
    except DriverError as error:
        if page.is_closed():
            raise library.mapped(page, error) from error
        return None


async def lead_to(page: Page, index: PageIndex, pairs: Sequence[tuple[int, Selector]]) -> list[bool]:
    """Whether each selector leads to exactly the element at its place of the index. One round trip."""
    return await lead_to_those(page, index.token, pairs)


async def lead_to_those(page: Page, token: str, pairs: Sequence[tuple[int, Selector]]) -> list[bool]:
    """The same of the elements the page remembers under the token of a look."""
    if not pairs:
        return []
    asked = json.dumps([[at, selector.model_dump(mode="json")] for at, selector in pairs])
    answer: list[bool] = await library.call(page, "leadsTo", token, asked)
    return answer


def read_index(said: dict[str, Any], asked: Question | None = None) -> PageIndex:
    """The models of what `js/9_index.js` said."""
    viewport = said["viewport"]
    return PageIndex(
        token=said["token"],
        url=said["url"],
        title=said["title"],
        ready_state=said["ready_state"],
        viewport=(viewport["width"], viewport["height"]),
        elements=tuple(_element(at, row) if row else _UNREAD for at, row in enumerate(said["elements"])),
        regions=tuple(
            IndexedRegion(RegionKind(kind), element, _place(parent), name, tuple(texts))
            for kind, element, parent, name, texts in said["regions"]
        ),
        roots=tuple(
            IndexedRoot(RootKind(kind), parent, host, host_css, url)
            for kind, parent, host, host_css, url in said["roots"]
        ),
        truncated=said["truncated"],
        asked=asked,
    )


def _place(at: int) -> int | None:
    return None if at < 0 else at


def _element(at: int, row: list[Any]) -> IndexedElement:
    root, parent, region, tag, role, name, label, text, attributes, near, x, y, width, height, flags = row
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
        Neighbours(*near) if near else _ALONE,
        Box(x, y, width, height),
        *_STATES[flags],
    )
