"""Performs the on-page actions of the one vocabulary: one registered function per action type.

Every action on an element passes the gate first and then acts on the very element that was judged:
under the gate's guard where it is pressed or typed into (`guarding.py`), else on its handle with
`force`, since Playwright's own check would only repeat ours. What to do and in which order is the
engine's business.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from playwright.async_api import ElementHandle, Page
from playwright.async_api import Error as DriverError

from agent.page import library
from agent.page.errors import (
    ActionFailed,
    ActionMisused,
    GateFailed,
    NavigationFailed,
    OriginRefused,
    PageError,
    PageGone,
    Point,
)
from agent.page.gate import Gated, GatePolicy, Intent, Judged, handles, judge
from agent.page.guarding import Vanished, point, press, type_over
from agent.page.locating import summary
from kb_schema.selectors import Selector
from kb_schema.urls import origin_of
from kb_schema.vocabulary import ACTION_TYPES, action_type

ACTION_TIMEOUT_MS = 10_000.0
"""For the driver's own part of an action, after the gate."""
NAVIGATION_TIMEOUT_MS = 30_000.0
OPTION_TIMEOUT_MS = 2_000.0
"""How long a list may take to get the option that is asked for."""
TICK_TIMEOUT_MS = 500.0
"""How long a page may take to show a box as ticked that was clicked."""
REGATES = 3
"""How often an element that vanished between gate and action is judged anew: nothing was done yet."""

_TYPED_INPUTS = frozenset({"text", "search", "url", "tel", "email", "password", "number"})


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a person would do it."""

    key_delay_s: float = 0.0
    """Between two keystrokes; 0 puts text in at once."""


@dataclass(frozen=True, slots=True)
class Order:
    """One action as it was asked for, with the element that passed the gate."""

    page: Page
    action: str
    target: Judged | None
    value: str | Sequence[str] | None
    url: str | None
    pace: Pace
    allowed_origins: frozenset[str]
    _taken: list[Gated] = field(default_factory=list)

    @property
    def judged(self) -> Judged:
        """The target, where the action type demands one."""
        if self.target is None:
            raise ActionMisused(self.action, "needs an element")
        return self.target

    async def gated(self) -> Gated:
        """The target's handles. Raises `Vanished` where its document was replaced since."""
        if not self._taken:
            found = await handles(self.page, self.judged)
            if found is None:
                raise Vanished("its document was replaced after it was judged")
            self._taken.append(found)
        return self._taken[0]

    @property
    def text(self) -> str:
        """The value as one text."""
        if self.value is None:
            raise ActionMisused(self.action, "needs a value")
        return self.value if isinstance(self.value, str) else "\n".join(self.value)


@dataclass(frozen=True, slots=True)
class Performed:
    """An action that was done."""

    action: str
    target: str | None
    """The element in short (`button#save`)."""
    strategy: str | None
    """The selector strategy that found it."""
    gate_ms: float
    duration_ms: float
    content: str | None = None
    """What was read, for actions that read."""


@dataclass(frozen=True, slots=True)
class Performer:
    """A registered action: the function, and what it asks of the gate."""

    run: Callable[[Order], Awaitable[str | None]]
    editable: bool = False
    intent: Intent = "handle"


PERFORMERS: dict[str, Performer] = {}


def performer(
    name: str, *, editable: bool = False, intent: Intent = "handle"
) -> Callable[[Callable[[Order], Awaitable[str | None]]], Callable[[Order], Awaitable[str | None]]]:
    """Register the function that performs an action type of the vocabulary."""
    if name not in ACTION_TYPES or not ACTION_TYPES[name].on_page:
        raise ValueError(f"the vocabulary has no on-page action {name!r}")

    def register(run: Callable[[Order], Awaitable[str | None]]) -> Callable[[Order], Awaitable[str | None]]:
        if name in PERFORMERS:
            raise ValueError(f"two performers for {name!r}")
        PERFORMERS[name] = Performer(run, editable, intent)
        return run

    return register


async def perform(
    page: Page,
    action: str,
    *,
    selector: Selector | None = None,
    value: str | Sequence[str] | None = None,
    url: str | None = None,
    pace: Pace | None = None,
    timeout_s: float = 5.0,
    allowed_origins: frozenset[str] = frozenset(),
    policy: GatePolicy | None = None,
    inspect: Callable[[Gated], Awaitable[None]] | None = None,
) -> Performed:
    """Do one action, by its canonical name or an alias, and say what was done.

    `timeout_s` is the gate's. `inspect` is shown the element between gate and action, and may raise:
    then nothing was done. Raises `GateFailed` (nothing was done), `ActionFailed` (look before
    repeating), `OriginRefused`, `NavigationFailed`, `ActionMisused`, `PageGone`.
    """
    kind = action_type(action)
    if kind is None or kind.name not in PERFORMERS:
        raise ActionMisused(action, "is not an action on a page")
    if kind.target == "required" and selector is None:
        raise ActionMisused(kind.name, "needs an element")
    if kind.target == "none":
        selector = None
    doer = PERFORMERS[kind.name]
    if kind.target != "none":
        _check_origin(page.url, allowed_origins)  # a link may have led elsewhere
    began = time.monotonic()
    pace = pace or Pace()
    for attempt in range(REGATES):
        target = None
        if selector is not None:
            typed = value if isinstance(value, str) else None
            target = await judge(
                page, selector, intent=_intent(doer, pace, inspected=inspect is not None), timeout_s=timeout_s,
                editable=doer.editable, text=typed, policy=policy, keep=inspect is not None,
            )  # fmt: skip
        order = Order(page, kind.name, target, value, url, pace, allowed_origins)
        try:
            if target is not None and inspect is not None:
                await _inspected(order, inspect)
            content = await doer.run(order)
        except (DriverError, Vanished) as error:
            if isinstance(error, DriverError) and not _never_happened(error):
                raise _failure(order, error) from error
            if target is None or selector is None or attempt + 1 == REGATES:
                raise _never_caught(order, selector, error) from error
            continue
        return Performed(
            action=kind.name,
            target=target.description if target else None,
            strategy=target.strategy.type if target else None,
            gate_ms=target.duration_ms if target else 0.0,
            duration_ms=(time.monotonic() - began) * 1000,
            content=content,
        )
    raise AssertionError("the last attempt returns or raises")


def _intent(doer: Performer, pace: Pace, *, inspected: bool) -> Intent:
    """A handle where keys are to come one by one, or a look comes first: nothing is focused before it."""
    return "handle" if doer.intent == "text" and (inspected or pace.key_delay_s > 0) else doer.intent


async def _inspected(order: Order, inspect: Callable[[Gated], Awaitable[None]]) -> None:
    """Show the element; where that raises, the guard comes down and nothing was done."""
    try:
        await inspect(await order.gated())
    except BaseException:
        if order.judged.guard is not None:
            with suppress(PageError):
                await library.call(order.page, "lowerGuard", order.judged.guard)
        raise


def _never_happened(error: DriverError) -> bool:
    """The element left the document before the action began; anything else may have happened."""
    return "Element is not attached to the DOM" in error.message


def _never_caught(order: Order, selector: Selector | None, error: DriverError | Vanished) -> PageError:
    """Each time it passed it was gone before it could be acted on; nothing was done."""
    if selector is None:
        return ActionFailed(order.action, str(error))
    reason = str(error) if isinstance(error, Vanished) else "it left the page after it was judged"
    return GateFailed(Point.UNSTABLE, f"{reason} ({REGATES} times)", summary(selector))


def _failure(order: Order, error: DriverError) -> PageError:
    known = library.mapped(order.page, error)
    if isinstance(known, PageGone):
        return known
    reason = error.message.splitlines()[0]
    return ActionFailed(order.action, reason, target=order.target.description if order.target else None)


# -- pointer -------------------------------------------------------------------------------------


@performer("click", intent="press")
async def _click(order: Order) -> None:
    await press(order.page, order.action, order.judged)


@performer("double_click", intent="double")
async def _double_click(order: Order) -> None:
    await press(order.page, order.action, order.judged, double=True)


@performer("hover", intent="hover")
async def _hover(order: Order) -> None:
    await point(order.page, order.action, order.judged)


@performer("focus")
async def _focus(order: Order) -> None:
    await (await order.gated()).element.focus()


# -- keyboard ------------------------------------------------------------------------------------


@performer("fill", editable=True, intent="text")
async def _fill(order: Order) -> None:
    if order.judged.guard is not None:
        await type_over(order.page, order.action, order.judged, order.text)
    else:
        await _replace_text(order, await order.gated(), order.text)


@performer("append_text", editable=True)
async def _append_text(order: Order) -> None:
    page, element = order.page, (await order.gated()).element
    if not await library.call_on(page, "caretToEnd", element):
        await page.keyboard.press("End")
    await page.keyboard.type(order.text, delay=order.pace.key_delay_s * 1000)
    await _commit(order, element)


@performer("input_and_submit", editable=True)
async def _input_and_submit(order: Order) -> None:
    gated = await order.gated()
    await _replace_text(order, gated, order.text)
    await gated.element.press("Enter", timeout=ACTION_TIMEOUT_MS)


@performer("clear", editable=True)
async def _clear(order: Order) -> None:
    await _replace_text(order, await order.gated(), "")


@performer("press")
async def _press(order: Order) -> None:
    if order.target is not None:
        await (await order.gated()).element.focus()
    await order.page.keyboard.press(order.text)


async def _replace_text(order: Order, gated: Gated, text: str) -> None:
    """At once, or key by key where the pace asks for it and the field takes keys."""
    element = gated.element
    paced = bool(text) and order.pace.key_delay_s > 0 and await _takes_keys(order, element, text)
    await element.fill("" if paced else text, force=True, timeout=ACTION_TIMEOUT_MS)
    if paced:
        await element.focus()
        await order.page.keyboard.type(text, delay=order.pace.key_delay_s * 1000)
    await _commit(order, element)


async def _commit(order: Order, element: ElementHandle) -> None:
    """Have the page told of the change; a page that leaves because of it has heard of it."""
    try:
        await library.call_on(order.page, "commit", element)
    except DriverError as error:
        if not library.document_replaced(error):
            raise


async def _takes_keys(order: Order, element: ElementHandle, text: str) -> bool:
    kind = await library.call_on(order.page, "kind", element)
    if kind["tag"] == "input":
        # Enter in a single line would submit the form; date and colour fields take no text.
        return kind["type"] in _TYPED_INPUTS and "\n" not in text
    return kind["tag"] == "textarea" or bool(kind["editable"])


# -- choices and files ---------------------------------------------------------------------------


@performer("select_option")
async def _select_option(order: Order) -> None:
    wanted = [order.text] if isinstance(order.value, str | None) else list(order.value)
    await (await order.gated()).element.select_option(wanted, force=True, timeout=OPTION_TIMEOUT_MS)


@performer("check", intent="press")
async def _check(order: Order) -> None:
    await _tick(order, on=True)


@performer("uncheck", intent="press")
async def _uncheck(order: Order) -> None:
    await _tick(order, on=False)


async def _tick(order: Order, *, on: bool) -> None:
    """One click where the state is not the wanted one already, then a look whether it took."""
    judged = order.judged
    if judged.state not in {"true", "false"}:
        raise ActionFailed(order.action, "it is nothing that can be ticked", target=judged.description)
    if (judged.state == "true") is on:
        await library.call(order.page, "lowerGuard", judged.guard)
        return
    outcome = await press(order.page, order.action, judged, wanted=on, within_ms=TICK_TIMEOUT_MS)
    if outcome.took is False:
        raise ActionFailed(order.action, "a click did not change it", target=judged.description)


@performer("upload_file")
async def _upload_file(order: Order) -> None:
    files = [order.text] if isinstance(order.value, str | None) else list(order.value)
    missing = await asyncio.to_thread(lambda: [name for name in files if not Path(name).is_file()])
    if missing:
        raise ActionMisused(order.action, f"cannot give the file {missing[0]!r}: there is none")
    await (await order.gated()).element.set_input_files(files, timeout=ACTION_TIMEOUT_MS)


# -- the view ------------------------------------------------------------------------------------


@performer("scroll")
async def _scroll(order: Order) -> None:
    how = "down" if order.value is None else order.text.strip().lower()
    if how not in {"up", "down", "top", "bottom"}:
        try:
            float(how)
        except ValueError as error:
            raise ActionMisused("scroll", f"takes up, down, top, bottom or pixels, not {how!r}") from error
    element = (await order.gated()).element if order.target else None
    await library.call_on(order.page, "scroll", element, how)


@performer("scroll_to_element")
async def _scroll_to_element(order: Order) -> None:
    await (await order.gated()).pointer.scroll_into_view_if_needed(timeout=ACTION_TIMEOUT_MS)


@performer("get_screen_content")
async def _get_screen_content(order: Order) -> str:
    if order.target is not None:
        return str(await library.call_on(order.page, "elementText", (await order.gated()).element))
    return str(await library.call(order.page, "text", "null"))


# -- going places --------------------------------------------------------------------------------


@performer("navigate")
async def _navigate(order: Order) -> None:
    url = order.url or (order.value if isinstance(order.value, str) else None)
    if url is None:
        raise ActionMisused("navigate", "needs a URL")
    _check_origin(url, order.allowed_origins)
    try:
        await order.page.goto(url, wait_until="domcontentloaded", timeout=NAVIGATION_TIMEOUT_MS)
    except DriverError as error:
        raise _navigation_failure(order, url, error) from error
    _check_origin(order.page.url, order.allowed_origins)


@performer("navigate_back")
async def _navigate_back(order: Order) -> None:
    try:
        await order.page.go_back(wait_until="domcontentloaded", timeout=NAVIGATION_TIMEOUT_MS)
    except DriverError as error:
        raise _navigation_failure(order, "the page before", error) from error


@performer("refresh")
async def _refresh(order: Order) -> None:
    try:
        await order.page.reload(wait_until="domcontentloaded", timeout=NAVIGATION_TIMEOUT_MS)
    except DriverError as error:
        raise _navigation_failure(order, order.page.url, error) from error


def _check_origin(url: str, allowed: frozenset[str]) -> None:
    if not allowed:
        return
    origin = origin_of(url)
    if origin not in {origin_of(each) or each for each in allowed}:
        raise OriginRefused(url, origin, allowed)


def _navigation_failure(order: Order, url: str, error: DriverError) -> PageError:
    known = library.mapped(order.page, error)
    return known if isinstance(known, PageGone) else NavigationFailed(url, error.message.splitlines()[0])
