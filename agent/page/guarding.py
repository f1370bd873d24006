"""Acts on what the gate just judged, by real mouse and keyboard, under the guard it raised.

The guard stands in the page (`js/7_guard.js`): input that would reach another element, because the
page changed between judging and acting, is stopped before the page hears of it, and told here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from playwright.async_api import Error as DriverError
from playwright.async_api import Page

from agent.page import library
from agent.page.errors import ActionFailed, PageError
from agent.page.gate import Judged, Vanished

UNHEARD_S = 1.0
"""An action that the browser is done with and that the page has not heard of after this did not arrive."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the page heard of an action."""

    known: bool
    """False where the document was replaced: the action was heard, and nobody is left to tell."""
    took: bool | None = None
    """Whether a box came to the wanted state; None where none was wanted."""


async def press(
    page: Page,
    action: str,
    judged: Judged,
    *,
    double: bool = False,
    wanted: bool | None = None,
    within_ms: float = 0.0,
) -> Outcome:
    """Click, once or twice, where the gate said. `wanted`: the state a box is to come to `within_ms`.

    Raises `Vanished` where the press would have gone to something else, and `ActionFailed` where that
    was so of the second press only, or where no press arrived.
    """
    spot = _spot(judged)

    async def click() -> None:
        click_there = page.mouse.dblclick if double else page.mouse.click
        await click_there(spot[0], spot[1])

    state = None if wanted is None else str(wanted).lower()
    return await _guarded(page, action, judged, click, state, within_ms)


async def point(page: Page, action: str, judged: Judged) -> None:
    """Move the pointer over it. Raises `Vanished`."""
    spot = _spot(judged)
    await _guarded(page, action, judged, lambda: page.mouse.move(spot[0], spot[1]), None, 0.0)


async def type_over(page: Page, action: str, judged: Judged, text: str) -> None:
    """Replace what the gate selected in the field, and have the page told of it. Raises `Vanished`."""
    await _guarded(page, action, judged, lambda: page.keyboard.insert_text(text), None, 0.0)


async def _guarded(
    page: Page,
    action: str,
    judged: Judged,
    act: Callable[[], Awaitable[None]],
    state: str | None,
    within_ms: float,
) -> Outcome:
    asked = (judged.guard, state, within_ms)
    if judged.spot is not None and action == "hover":
        await act()
        said = await library.call(page, "outcome", *asked)
    else:
        # Asked beforehand: the page answers when it has heard the action, and a round trip is saved.
        hearing = asyncio.create_task(library.call(page, "outcome", *asked))
        said = await _heard(page, judged, act, hearing)
    if not said["known"]:
        return Outcome(known=False)
    missed = said["missed"]
    if missed is None and said["reached"]:
        return Outcome(known=True, took=said["took"])
    if missed is None:
        if action in {"click", "double_click", "check", "uncheck"}:
            raise ActionFailed(action, "the press did not arrive at it", target=judged.description)
        raise Vanished("the focus went elsewhere after it was judged")
    what = "left the page" if missed["gone"] else "went from where it was"
    reason = f"it {what} after it was judged; {missed['at']} would have been hit"
    if missed["after"]:
        raise ActionFailed(
            action, f"{reason} by the second press, which was held back", target=judged.description
        )
    raise Vanished(reason)


async def _heard(
    page: Page, judged: Judged, act: Callable[[], Awaitable[None]], hearing: asyncio.Task[Any]
) -> Any:
    """Act, and what the page says of it; where it hears nothing, the guard is lowered and says so."""
    try:
        await act()
        done, _ = await asyncio.wait({hearing}, timeout=UNHEARD_S)
        if not done:
            await library.call(page, "lowerGuard", judged.guard)
        return await hearing
    except DriverError:
        with suppress(PageError):
            await library.call(page, "lowerGuard", judged.guard)
        raise
    finally:
        hearing.cancel()
        await asyncio.gather(hearing, return_exceptions=True)


def _spot(judged: Judged) -> tuple[float, float]:
    if judged.spot is None:
        raise ValueError("the gate was not asked for a point")
    return judged.spot.x, judged.spot.y
