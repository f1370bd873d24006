"""Stable selectors for elements of a live page.

The page is written down with the places of the elements one looked at, the selectors are chosen on
that (`kb_schema.pages.selecting`, the same code that serves stored pages), and the page itself
confirms each strategy. Three round trips for any number of elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from playwright.async_api import ElementHandle, Page

from agent.locating.index import PageIndex
from agent.locating.looking import lead_to_those
from agent.page import library
from agent.page.errors import PageGone
from agent.page.snapshot import take_snapshot
from kb_schema.pages.selecting.choosing import ORDER, Choice, Considered, PageSelectors
from kb_schema.pages.stored import StoredPage
from kb_schema.pages.tree import Element
from kb_schema.selectors import Selector
from kb_schema.snapshots import PLACE_ATTRIBUTE

GONE = "the page no longer has the element"
REFUSED = "the page itself says that it leads elsewhere"


async def selectors_at(
    page: Page, index: PageIndex, places: Sequence[int], *, secrets: Sequence[Selector] = ()
) -> list[Choice]:
    """The selectors of elements of a look, in the order they were asked for.

    An element that is gone has none. What `secrets` match is in no selector. Raises `PageGone`,
    `ScriptFailed`, and `PageRefused` for a page over the limits of stored pages.
    """
    return await _selectors(page, index.token, places, secrets)


async def selectors_of(page: Page, element: ElementHandle, *, secrets: Sequence[Selector] = ()) -> Choice:
    """The selectors of one element of the page's own document. Raises as `selectors_at` does."""
    token = await library.call_on(page, "lookAt", element)
    if token is None:  # the library is not in this document yet
        await page.evaluate(library.source())
        token = await library.call_on(page, "lookAt", element)
    if token is None:
        raise PageGone(page.url, "the document was replaced while it was looked at")
    return (await _selectors(page, token, [0], secrets))[0]


async def _selectors(
    page: Page, token: str, places: Sequence[int], secrets: Sequence[Selector]
) -> list[Choice]:
    stored = StoredPage(await take_snapshot(page, secrets, look=token))
    selectors, elements = PageSelectors(stored), _by_place(stored)
    chosen = [selectors.of(elements[at]) if at in elements else _gone() for at in places]
    pairs = [
        (at, Selector(strategies=(each.strategy,), frame=choice.selector.frame))
        for at, choice in zip(places, chosen, strict=True)
        if choice.selector is not None
        for each in choice.considered
        if each.strategy is not None
    ]
    confirmed = iter(await lead_to_those(page, token, pairs))
    return [
        _kept(choice, [next(confirmed) for each in choice.considered if each.strategy]) for choice in chosen
    ]


def _by_place(page: StoredPage) -> dict[int, Element]:
    return {
        int(at): element
        for root in page.roots
        for element in root.elements
        if (at := element.get(PLACE_ATTRIBUTE)) is not None
    }


def _gone() -> Choice:
    return Choice(None, tuple(Considered(kind, None, GONE) for kind in ORDER))


def _kept(choice: Choice, confirmed: Sequence[bool]) -> Choice:
    """Without the strategies that the page did not confirm."""
    if choice.selector is None or all(confirmed):
        return choice
    answers = iter(confirmed)
    considered = tuple(
        each if each.strategy is None or next(answers) else replace(each, strategy=None, reason=REFUSED)
        for each in choice.considered
    )
    strategies = tuple(each.strategy for each in considered if each.strategy is not None)
    selector = Selector(strategies=strategies, frame=choice.selector.frame) if strategies else None
    return Choice(selector, considered)
