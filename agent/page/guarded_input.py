"""Sends real mouse and keyboard input to the element that the gate just judged, under the gate's guard.

The guard stands in the page (`js/7_guard.js`). Where the page changed between judging and acting, it stops
input that would reach another element before the page's own listeners run, and reports it here.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeVar

from playwright.async_api import ElementHandle, Page
from playwright.async_api import Error as DriverError

from agent.page import in_page_library
from agent.page.actionability_gate import ElementRenamed, ElementVanished, JudgedElement
from agent.page.errors import ActionFailed, PageError
from agent.page.page_watchdog import answer_deadline
from agent.page.typed_texts import ShownText
from kb_schema.action_calls import DropPlace, Modifier, Place
from kb_schema.selectors import Selector

UNHEARD_S = 1.0
"""An action that the browser has finished and that the page has not received after this did not arrive."""

PRESSES = frozenset({"click", "double_click", "right_click", "drag", "check", "uncheck"})
"""Actions that begin with a press of the mouse."""
DRAG_BEGINS_PX = 6
DRAG_STEPS = 12
"""Movements of the pointer between both ends of a drag."""
POINT_AFTER_S = 0.7
"""How long an element may be hidden before the pointer is moved near it: most show by themselves."""

_T = TypeVar("_T")
Act = Callable[[], Awaitable[None]]
"""One call of the driver's mouse or keyboard."""


@dataclass(frozen=True, slots=True)
class InputOutcome:
    """What the page reports of an input."""

    known: bool
    """False where the document was replaced: the input arrived, and the old document cannot answer."""
    took: bool | None = None
    """Whether a checkbox reached the wanted state; None where none was wanted."""
    shows: ShownText | None = None
    """What the field shows that was typed into."""


async def act_pointing(page: Page, selector: Selector, act: Coroutine[Any, Any, _T]) -> _T:
    """Run an act on an element; if it takes a while because the element is hidden, point at the part around it.

    Some elements show only then, such as the buttons of a card. Nothing is done for one that shows, is missing, or is in
    a frame.
    """
    running = asyncio.ensure_future(act)
    try:
        await asyncio.wait({running}, timeout=POINT_AFTER_S)
        if not running.done() and not selector.frame:
            with suppress(DriverError, PageError):  # the act says what is wrong
                await _point_at_hidden(page, selector)
        return await running
    finally:
        running.cancel()


async def _point_at_hidden(page: Page, selector: Selector) -> None:
    spot = await in_page_library.call(page, "pointingSpot", selector.model_dump_json())
    if spot is not None:
        await page.mouse.move(spot["x"], spot["y"], steps=2)


async def press_element(
    page: Page,
    action: str,
    judged: JudgedElement,
    *,
    double: bool = False,
    button: Literal["left", "right"] = "left",
    modifiers: Sequence[Modifier] = (),
    place: Place | None = None,
    wanted: bool | None = None,
    within_ms: float = 0.0,
) -> InputOutcome:
    """Click the `place` in the element, else the point that the gate gave, while the `modifiers` are held down.

    `wanted` is the state a checkbox must reach within `within_ms`. Raises `ElementVanished` where the press
    would have hit something else, and `ActionFailed` where that is so for the second press only, where no press
    arrived, or where the place is not in the view.
    """
    state = None if wanted is None else str(wanted).lower()
    at = _pointer_position(judged) if place is None else await _find_place(page, action, judged, place)

    async def press() -> None:
        click = page.mouse.dblclick if double else page.mouse.click
        async with _held_down(page, modifiers):
            await click(*at, button=button)

    return await _run_guarded(page, action, judged, press, state, within_ms)


async def _find_place(page: Page, action: str, judged: JudgedElement, place: Place) -> tuple[float, float]:
    found = await in_page_library.call(page, "pressPlace", judged.guard, json.dumps(place))
    if found["problem"] is not None:
        await in_page_library.call(page, "lowerGuard", judged.guard)
        raise ActionFailed(action, found["problem"], target=judged.description)
    return found["at"]["x"], found["at"]["y"]


@asynccontextmanager
async def _held_down(page: Page, modifiers: Sequence[Modifier]) -> AsyncIterator[None]:
    held: list[Modifier] = []
    try:
        for key in modifiers:
            await page.keyboard.down(key)
            held.append(key)
        yield
    finally:
        for key in reversed(held):
            await page.keyboard.up(key)


async def drag_element(page: Page, action: str, judged: JudgedElement, drop: DropPlace) -> None:
    """Drag the element that the gate judged to a place of another one, or of itself.

    Raises `ElementVanished` where the press would have hit something else, and `ActionFailed` where the drag has no
    place to end, or did not arrive.
    """
    places = await in_page_library.call(page, "dragPlaces", judged.guard, drop.model_dump_json())
    if places["problem"] is not None:
        await in_page_library.call(page, "lowerGuard", judged.guard)
        raise ActionFailed(action, places["problem"], target=judged.description)
    start, end = places["start"], places["end"]

    async def drag() -> None:
        await page.mouse.move(start["x"], start["y"])
        await page.mouse.down()
        try:
            # Most scripts take the first few pixels for a slip of the hand, and need a moment to see the drag begin.
            away = DRAG_BEGINS_PX if end["x"] >= start["x"] else -DRAG_BEGINS_PX
            await page.mouse.move(start["x"] + away, start["y"] + DRAG_BEGINS_PX, steps=2)
            await in_page_library.call(page, "afterDrawing")
            await page.mouse.move(end["x"], end["y"], steps=DRAG_STEPS)
            await in_page_library.call(page, "afterDrawing")
            await page.mouse.move(end["x"] + 1, end["y"])
            await page.mouse.move(end["x"], end["y"])
            await in_page_library.call(page, "afterDrawing")
        finally:
            await page.mouse.up()

    await _run_guarded(page, action, judged, drag, None, 0.0)


async def point_at_element(page: Page, action: str, judged: JudgedElement) -> None:
    """Move the pointer over the element. Raises `ElementVanished`."""
    move = partial(page.mouse.move, *_pointer_position(judged))
    await _run_guarded(page, action, judged, move, None, 0.0)


async def type_over(page: Page, action: str, judged: JudgedElement, text: str) -> None:
    """Replace the text that the gate selected in the field; the page gets its input events.

    A field that then shows something else gets it pasted, where it takes that, or else the keys one by one, as masks want
    them. Raises `ElementVanished`, and `ActionFailed` where it does not take them either.
    """
    insert = partial(page.keyboard.insert_text, text)
    first = (await _run_guarded(page, action, judged, insert, None, 0.0, text)).shows
    if first is None or first.has(text):
        return
    if first.takes_paste:
        first = ShownText.read(await in_page_library.call(page, "pasteTyped", text)) or first
        if first.has(text):
            return
    if "\n" not in text and await in_page_library.call(page, "selectTyped"):
        await type_again(page, action, judged, text, first)
    else:
        check_taken(action, judged, text, first, first)


async def type_again(
    page: Page,
    action: str,
    judged: JudgedElement,
    text: str,
    first: ShownText,
    field: ElementHandle | None = None,
) -> None:
    """Type key by key into the focused field, whose text is selected, after it showed something else at `first`.

    `field`: None for the one of the guard. Raises `ActionFailed` if it does not take the keys either.
    """
    await page.keyboard.type(text)
    said = (
        await in_page_library.call(page, "commitTyped", text)
        if field is None
        else await in_page_library.call_on(page, "commit", field, text)
    )
    now = ShownText.read(said)
    if now is not None:
        check_taken(action, judged, text, first, now)


def check_taken(action: str, judged: JudgedElement, text: str, first: ShownText, now: ShownText) -> None:
    """Raise `ActionFailed` with what the field shows `now` if it did not take the text; `first`: what it showed at first."""
    if now.is_refused(text, first):
        raise ActionFailed(
            action,
            f"the field shows {now.shown!r} after {text!r} was typed into it",
            target=judged.description,
        )


async def _run_guarded(
    page: Page,
    action: str,
    judged: JudgedElement,
    act: Act,
    state: str | None,
    within_ms: float,
    text: str = "",
) -> InputOutcome:
    asked = (judged.guard, state, within_ms, text)
    if judged.spot is not None and action == "hover":
        await act()
        return _read_outcome(await in_page_library.call(page, "outcome", *asked), action, judged)
    # Requested beforehand: the page answers as soon as it received the action, which saves a round trip.
    answer = asyncio.create_task(in_page_library.call(page, "outcome", *asked, waits_s=math.inf))
    try:
        await act()
        done, _ = await asyncio.wait({answer}, timeout=UNHEARD_S)
        if not done:  # lowering the guard makes the page answer
            await in_page_library.call(page, "lowerGuard", judged.guard)
        async with answer_deadline(page):
            return _read_outcome(await answer, action, judged)
    except DriverError:
        with suppress(PageError):
            await in_page_library.call(page, "lowerGuard", judged.guard)
        raise
    finally:
        answer.cancel()
        await asyncio.gather(answer, return_exceptions=True)


def _read_outcome(said: dict[str, Any], action: str, judged: JudgedElement) -> InputOutcome:
    """Return the page's answer as a value. Raises `ElementVanished` and `ActionFailed`."""
    if not said["known"]:
        return InputOutcome(known=False)
    missed = said["missed"]
    if missed is None and said["reached"]:
        return InputOutcome(known=True, took=said["took"], shows=ShownText.read(said["shows"]))
    if missed is None:
        if action in PRESSES:
            raise ActionFailed(action, "the press did not arrive at it", target=judged.description)
        raise ElementVanished("the focus went elsewhere after it was judged")
    if missed.get("renamed"):
        before, now = missed["renamed"]
        raise ElementRenamed(f'its name was "{before}" and is "{now}" under the pointer; it was not pressed')
    what = "left the page" if missed["gone"] else "went from where it was"
    reason = f"it {what} after it was judged; {missed['at']} would have been hit"
    if missed["after"]:
        raise ActionFailed(
            action, f"{reason} by the second press, which was held back", target=judged.description
        )
    raise ElementVanished(reason)


def _pointer_position(judged: JudgedElement) -> tuple[float, float]:
    if judged.spot is None:
        raise ValueError("the gate was not asked for a point")
    return judged.spot.x, judged.spot.y
