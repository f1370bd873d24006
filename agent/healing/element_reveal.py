"""Brings out elements that are on the page but cannot be reached (PACTS 4.5, reveal); closes what covers them.

Dialogs and overlays are closed only by their own controls, and only by controls that close without agreeing
to anything. A dialog that only tells something, as applications greet who has signed in, has one control, which goes on. Used by
running and by verifying.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page

from agent.dangers.press_surroundings import read_surroundings
from agent.healing.closing_controls import is_called_closing, only_closes
from agent.healing.telling_dialogs import does_more, find_ways_on
from agent.locators.page_index import IndexedElement, PageIndex, RegionKind
from agent.locators.page_scan import scan_page
from agent.locators.stable_selectors import choose_selectors
from agent.page import in_page_library
from agent.page.armed_triggers import arm_trigger
from agent.page.errors import CoveringElement, PageError, PageGone
from agent.page.page_actions import perform_action
from agent.page.page_changes import wait_for_change
from kb_schema.selectors import Selector
from kb_schema.wait_triggers import ObservabilityTrigger

CLOSE_GATE_S = 1.0
"""The gate's time for a control that closes a dialog."""
MOST_TOLD = 8
"""Most dialogs, or steps of them, that are gone through one after the other."""
MOST_PARTS = 40
"""Most screenfuls that a list is scrolled."""
MOST_SAME = 3
"""Screenfuls without anything new after which a page is not scrolled further."""


async def wait_for_idle(page: Page, timeout_s: float) -> bool:
    """Wait until no request is open, at most `timeout_s`; return whether that was reached. Raises `PageGone`."""
    armed = await arm_trigger(
        page, ObservabilityTrigger(event="network_idle", timeout=timeout_s), lambda _: None
    )
    return (await armed.wait()).fired


async def reveal_page(
    page: Page,
    round_number: int,
    *,
    covered: bool,
    dismiss: Callable[[], Awaitable[bool]] | None = None,
    dismissed: str = "known overlay",
) -> list[str]:
    """Bring out what cannot be reached; return what was done, in words. Raises `PageGone`.

    The page's tab is brought to the front first (PACTS 4.5): a hidden tab draws nothing.
    Where the element is `covered`, run `dismiss` (closes what the caller knows of; `dismissed` is its name),
    then close the open dialogs. After that, wait until the page is idle, at most a second per round.
    """
    did = []
    try:
        await page.bring_to_front()
    except PlaywrightError as exc:
        raise PageGone(page.url, exc.message) from exc
    if covered:
        if dismiss is not None and await dismiss():
            did.append(f"dismissed {dismissed}")
        did += [f"dismissed {each}" for each in await dismiss_dialogs(page, await scan_page(page))]
    if await wait_for_idle(page, float(round_number)):
        did.append("waited for idle")
    return did


async def dismiss_dialogs(page: Page, index: PageIndex) -> list[str]:
    """Close open dialogs by their own controls, and go through those that only tell something; return the names of the controls."""
    used = []
    told: str | None = None
    for _ in range(MOST_TOLD):
        ways = find_ways_on(index, after=told)
        on = [each.at for each in ways]
        for at in (*await _list_closers(page, index), *on):
            selector = (await choose_selectors(page, index, [at]))[0].selector
            if selector is None or (at in on and not await _only_goes_on(page, selector)):
                continue
            with suppress(PageError):
                await perform_action(page, "click", selector=selector, timeout_s=CLOSE_GATE_S)
                used.append(index.elements[at].name or "close")
        if not ways:
            break
        told = " ".join(each.told for each in ways)
        await wait_for_change(page, CLOSE_GATE_S)
        index = await scan_page(page)
    return used


async def _only_goes_on(page: Page, selector: Selector) -> bool:
    with suppress(PageError):
        around = await read_surroundings(page, selector)
        return around is not None and not does_more(around)
    return False


async def _only_closes(page: Page, index: PageIndex, at: int, called: str = "") -> bool:
    """Whether a control does nothing but close the dialog around it. `called`: the name of that dialog."""
    element = index.elements[at]
    selector = (await choose_selectors(page, index, [at]))[0].selector
    if selector is None:
        return False
    with suppress(PageError):
        around = await read_surroundings(page, selector)
        return around is not None and only_closes(element.name or element.text, called, around)
    return False


async def find_cover_closer(page: Page, cover: CoveringElement) -> tuple[PageIndex, int] | None:
    """Return the control that closes what covers an element, with the page index it is in.

    None where no control is named, it may do something else than close, or its name is not unique on the page.
    """
    closer = cover.dismissible_by or ""
    if not is_called_closing(closer):
        return None
    index = await scan_page(page)
    named = [each.at for each in index.interactive if (each.name or each.text) == closer]
    return (index, named[0]) if len(named) == 1 and await _only_closes(page, index, named[0]) else None


async def _list_closers(page: Page, index: PageIndex) -> list[int]:
    """Return the positions of one closing control of each open dialog, the innermost first."""
    found: dict[int, int] = {}
    for element in index.interactive:
        dialog = next((r for r in index.regions_of(element) if r.kind is RegionKind.DIALOG), None)
        if dialog is None or dialog.element in found or not is_called_closing(element.name or element.text):
            continue
        if await _only_closes(page, index, element.at, dialog.name):
            found[dialog.element] = element.at
    return [found[dialog] for dialog in sorted(found, reverse=True)]


def _identity(element: IndexedElement) -> tuple[object, ...]:
    return (element.tag, element.role, element.name, element.label, element.text, *element.attributes.items())


async def scan_scrolled_page(page: Page) -> AsyncIterator[PageIndex]:
    """Yield a page index for each screenful that shows something new, from the top until nothing scrolls any more.

    Ends after a few screenfuls in a row without anything new: the page has all of it already.
    """
    known: set[tuple[object, ...]] = set()
    same = 0
    for number in range(MOST_PARTS):
        moved = await in_page_library.call(page, "revealPart", number)
        if (number and not moved) or same == MOST_SAME:
            return
        index = await scan_page(page)
        shown = set(map(_identity, index.elements))
        if number == 0 or shown - known:
            known |= shown
            same = 0
            yield index
        else:
            same += 1
        if page.is_closed():
            raise PageGone(page.url, "closed while it was scrolled")
