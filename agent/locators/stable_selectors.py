"""Chooses stable selectors for elements of a live page.

A snapshot of the page records the positions of the elements. The selectors are chosen on the snapshot
(`web_pages.selectors`, the same code as for stored pages), and the live page confirms each strategy.
Takes three round trips for any number of elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from playwright.async_api import ElementHandle, Page

from agent.locators.page_index import PageIndex
from agent.locators.page_scan import check_remembered_selectors
from agent.page import in_page_library
from agent.page.errors import PageGone
from agent.page.snapshot_capture import take_snapshot
from kb_schema.page_snapshots import PLACE_ATTRIBUTE
from kb_schema.selectors import Selector
from web_pages.element_tree import Element
from web_pages.selectors.selector_generator import (
    ORDER,
    PageSelectors,
    SelectorChoice,
    SelectorStrategyResult,
)
from web_pages.stored_pages import StoredPage

GONE_REASON = "the page no longer has the element"
REFUSED_REASON = "on the live page it leads to another element"


async def choose_selectors(
    page: Page, index: PageIndex, places: Sequence[int], *, secrets: Sequence[Selector] = ()
) -> list[SelectorChoice]:
    """Return the selectors of the elements at these positions of the index, in the given order.

    An element that the page no longer has gets no selector. Selectors contain no content of elements that
    `secrets` match. Raises `PageGone`, `ScriptFailed`, and `PageRefused` for a page over the limits of
    stored pages.
    """
    return await _selectors(page, index.token, places, secrets)


async def choose_element_selectors(
    page: Page, element: ElementHandle, *, secrets: Sequence[Selector] = ()
) -> SelectorChoice:
    """Return the selectors of one element of the main document. Raises the errors of `choose_selectors`."""
    token = await in_page_library.call_on(page, "lookAt", element)
    if token is None:  # the library is not in this document yet
        await page.evaluate(in_page_library.library_source())
        token = await in_page_library.call_on(page, "lookAt", element)
    if token is None:
        raise PageGone(page.url, "the document was replaced during the scan")
    return (await _selectors(page, token, [0], secrets))[0]


async def _selectors(
    page: Page, token: str, places: Sequence[int], secrets: Sequence[Selector]
) -> list[SelectorChoice]:
    stored = StoredPage(await take_snapshot(page, secrets, look=token))
    selectors, elements = PageSelectors(stored), _by_place(stored)
    chosen = [selectors.of(elements[at]) if at in elements else _build_gone_result() for at in places]
    pairs = [
        (at, Selector(strategies=(each.strategy,), frame=choice.selector.frame))
        for at, choice in zip(places, chosen, strict=True)
        if choice.selector is not None
        for each in choice.considered
        if each.strategy is not None
    ]
    confirmed = iter(await check_remembered_selectors(page, token, pairs))
    return [
        _keep_confirmed(choice, [next(confirmed) for each in choice.considered if each.strategy])
        for choice in chosen
    ]


def _by_place(page: StoredPage) -> dict[int, Element]:
    return {
        int(at): element
        for root in page.roots
        for element in root.elements
        if (at := element.get(PLACE_ATTRIBUTE)) is not None
    }


def _build_gone_result() -> SelectorChoice:
    return SelectorChoice(None, tuple(SelectorStrategyResult(kind, None, GONE_REASON) for kind in ORDER))


def _keep_confirmed(choice: SelectorChoice, confirmed: Sequence[bool]) -> SelectorChoice:
    """Return the choice without the strategies that the page did not confirm."""
    if choice.selector is None or all(confirmed):
        return choice
    answers = iter(confirmed)
    considered = tuple(
        each
        if each.strategy is None or next(answers)
        else replace(each, strategy=None, reason=REFUSED_REASON)
        for each in choice.considered
    )
    strategies = tuple(each.strategy for each in considered if each.strategy is not None)
    selector = Selector(strategies=strategies, frame=choice.selector.frame) if strategies else None
    return SelectorChoice(selector, considered)
