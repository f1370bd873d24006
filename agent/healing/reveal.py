"""Round one of healing: bring out what is there but cannot be reached (PACTS 4.5, reveal).

Overlays are closed by their own controls, and only by those that close and agree to nothing; the page
is waited for until it is idle; lists that draw only what is in view are scrolled through.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress

from playwright.async_api import Page

from agent.locating.index import IndexedElement, PageIndex, RegionKind
from agent.locating.looking import look_around
from agent.locating.selecting import selectors_at
from agent.page import library
from agent.page.acting import perform
from agent.page.errors import PageError, PageGone
from agent.page.waiting import arm
from kb_schema.triggers import ObservabilityTrigger
from kb_schema.wording import words

CLOSING = frozenset(
    {"close", "dismiss", "x", "later", "skip", "no thanks", "not now", "maybe later", "got it", "cancel", "decline",
     "refuse", "hide", "continue without accepting", "close dialog", "close this message", "no"}
)  # fmt: skip
"""Names of controls that close something and agree to nothing."""
_CROSSES = frozenset("\u00d7\u2715\u2716\u2a2f")
"""Multiplication signs and crosses."""
MOST_PARTS = 40
"""How many views long a list is scrolled."""


async def wait_for_idle(page: Page, timeout_s: float) -> bool:
    """Until no request is under way, at most so long; whether it came to that. Raises `PageGone`."""
    armed = await arm(page, ObservabilityTrigger(event="network_idle", timeout=timeout_s), lambda _: None)
    return (await armed.wait()).fired


async def dismiss_dialogs(page: Page, index: PageIndex) -> list[str]:
    """Close open dialogs by their own controls; the names of those that were used."""
    used = []
    for at in _closers(index):
        choice = (await selectors_at(page, index, [at]))[0]
        if choice.selector is None:
            continue
        with suppress(PageError):
            await perform(page, "click", selector=choice.selector, timeout_s=1.0)
            used.append(index.elements[at].name or "close")
    return used


def _closers(index: PageIndex) -> list[int]:
    """One control of each open dialog, the innermost first."""
    found: dict[int, int] = {}
    for element in index.interactive:
        dialog = next((r.element for r in index.regions_of(element) if r.kind is RegionKind.DIALOG), None)
        if dialog is not None and dialog not in found and _closes(element):
            found[dialog] = element.at
    return [found[dialog] for dialog in sorted(found, reverse=True)]


def _closes(element: IndexedElement) -> bool:
    said = element.name or element.text
    return said.strip() in _CROSSES or " ".join(words(said)) in CLOSING


async def parts(page: Page) -> AsyncIterator[PageIndex]:
    """Looks at the page as it is scrolled through from the top, until nothing moves any more."""
    for number in range(MOST_PARTS):
        moved = await library.call(page, "revealPart", number)
        if number and not moved:
            return
        yield await look_around(page)
        if page.is_closed():
            raise PageGone(page.url, "closed while it was scrolled")
