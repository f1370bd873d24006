"""Performs the on-page actions of the one vocabulary: one registered function per action type.

Every action on an element passes the gate first and then acts on the very element that was judged:
under the gate's guard where it is pressed or typed into (`guarding.py`), else on its handle with
`force`, since Playwright's own check would only repeat ours. What to do and in which order is the
engine's business.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from playwright.async_api import ElementHandle, Page, Route
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
from agent.page.gate import Gated, GatePolicy, Intent, Judged, Passed, Vanished, focus, judge, prepare_typing
from agent.page.guarding import point, press, type_over
from agent.page.locating import summary
from kb_schema.selectors import Selector
from kb_schema.urls import origin_of
from kb_schema.vocabulary import ACTION_TYPES, ActionType, action_type

ACTION_TIMEOUT_MS = 10_000.0
"""For the driver's own part of an action, after the gate."""
NAVIGATION_TIMEOUT_MS = 30_000.0
OPTION_TIMEOUT_S = 2.0
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


Inspect = Callable[[Passed], Awaitable[None]]
"""Looks at the element between gate and action; where it raises, nothing was done."""


@dataclass(frozen=True, slots=True)
class Order:
    """One action as it was asked for, with the element that passed the gate."""

    page: Page
    action: str
    value: str | Sequence[str] | None
    url: str | None
    pace: Pace
    allowed_origins: frozenset[str]
    target: Passed | None = None

    @property
    def passed(self) -> Passed:
        """The target, where the action type demands one."""
        if self.target is None:
            raise ActionMisused(self.action, "needs an element")
        return self.target

    @property
    def judged(self) -> Judged:
        """What the gate said of it."""
        return self.passed.judged

    async def gated(self) -> Gated:
        """The target's handles. Raises `Vanished` where its document was replaced since."""
        return await self.passed.gated()

    @property
    def text(self) -> str:
        """The value as one text."""
        if self.value is None:
            raise ActionMisused(self.action, "needs a value")
        return self.value if isinstance(self.value, str) else "\n".join(self.value)

    @property
    def texts(self) -> list[str]:
        """The value as a list of texts."""
        return [self.text] if isinstance(self.value, str | None) else list(self.value)


@dataclass(frozen=True, slots=True)
class Aim:
    """How an action's element is found and judged."""

    selector: Selector
    timeout_s: float
    policy: GatePolicy | None
    inspect: Inspect | None


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
    inspect: Inspect | None = None,
) -> Performed:
    """Do one action, by its canonical name or an alias, and say what was done.

    `timeout_s` is the gate's. `inspect` is shown the element between gate and action, and may raise:
    then nothing was done. Raises `GateFailed` (nothing was done), `ActionFailed` (look before
    repeating), `OriginRefused`, `NavigationFailed`, `ActionMisused`, `PageGone`.
    """
    kind = _known(action)
    if kind.target == "required" and selector is None:
        raise ActionMisused(kind.name, "needs an element")
    if kind.target != "none":
        _check_origin(page.url, allowed_origins)  # a link may have led elsewhere
    began = time.monotonic()
    order = Order(page, kind.name, value, url, pace or Pace(), allowed_origins)
    if selector is None or kind.target == "none":
        content = await _on_page(order)
        judged = None
    else:
        content, judged = await _on_element(order, Aim(selector, timeout_s, policy, inspect))
    return Performed(
        action=kind.name,
        target=judged.description if judged else None,
        strategy=judged.strategy.type if judged else None,
        gate_ms=judged.duration_ms if judged else 0.0,
        duration_ms=(time.monotonic() - began) * 1000,
        content=content,
    )


def _known(action: str) -> ActionType:
    kind = action_type(action)
    if kind is None or kind.name not in PERFORMERS:
        raise ActionMisused(action, "is not an action on a page")
    return kind


async def _on_page(order: Order) -> str | None:
    """Do what needs no element."""
    try:
        return await PERFORMERS[order.action].run(order)
    except DriverError as error:
        raise _failure(order, error) from error


async def _on_element(order: Order, aim: Aim) -> tuple[str | None, Judged]:
    """Judge the element, have it looked at, act on it; anew where it vanished before anything was done."""
    gone: DriverError | Vanished | None = None
    for _ in range(REGATES):
        attempt = replace(order, target=Passed(order.page, await _judge(order, aim)))
        try:
            if aim.inspect is not None:
                await _inspected(attempt, aim.inspect)
            return await PERFORMERS[order.action].run(attempt), attempt.judged
        except Vanished as vanished:
            gone = vanished
        except DriverError as error:
            if not _never_happened(error):
                raise _failure(attempt, error) from error
            gone = error
    reason = str(gone) if isinstance(gone, Vanished) else "it left the page after it was judged"
    raise GateFailed(Point.UNSTABLE, f"{reason} ({REGATES} times)", summary(aim.selector)) from gone


async def _judge(order: Order, aim: Aim) -> Judged:
    """The gate as this action asks it: a handle only, where keys are to come one by one."""
    doer = PERFORMERS[order.action]
    return await judge(
        order.page,
        aim.selector,
        intent="handle" if doer.intent == "text" and order.pace.key_delay_s > 0 else doer.intent,
        timeout_s=aim.timeout_s,
        editable=doer.editable,
        text=order.value if isinstance(order.value, str) else None,
        policy=aim.policy,
        keep=aim.inspect is not None,
    )


async def _inspected(order: Order, inspect: Inspect) -> None:
    """Show the element; where that raises, the guard comes down and nothing was done."""
    try:
        await inspect(order.passed)
    except BaseException:
        if order.judged.guard is not None:
            with suppress(PageError):
                await library.call(order.page, "lowerGuard", order.judged.guard)
        raise


def _never_happened(error: DriverError) -> bool:
    """The element left the document before the action began; anything else may have happened."""
    return "Element is not attached to the DOM" in error.message


def _failure(order: Order, error: DriverError) -> PageError:
    known = library.mapped(order.page, error)
    if isinstance(known, PageGone):
        return known
    reason = error.message.splitlines()[0]
    return ActionFailed(
        order.action, reason, target=order.target.judged.description if order.target else None
    )


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
    await focus(order.page, order.judged)


# -- keyboard ------------------------------------------------------------------------------------


@performer("fill", editable=True, intent="text")
async def _fill(order: Order) -> None:
    judged = order.judged
    if judged.guard is None and judged.typable:
        judged = await prepare_typing(order.page, judged)
    if judged.guard is not None:
        await type_over(order.page, order.action, judged, order.text)
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
        await focus(order.page, order.judged)
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
    judged = order.judged
    said = await library.call(
        order.page, "choose", judged.token, json.dumps(order.texts), OPTION_TIMEOUT_S * 1000
    )
    if said["gone"]:
        raise Vanished("it left the page after it was judged")
    if said["problem"] is not None:
        raise ActionFailed(order.action, said["problem"], target=judged.description)


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
    files = order.texts
    missing = await asyncio.to_thread(lambda: [name for name in files if not Path(name).is_file()])
    if missing:
        raise ActionMisused(order.action, f"cannot give the file {missing[0]!r}: there is none")
    gated = await order.gated()
    if (await library.call_on(order.page, "kind", gated.element))["tag"] == "input":
        await gated.element.set_input_files(files, timeout=ACTION_TIMEOUT_MS)
        return
    # A button whose script asks for files: the page's own field may not even be in the document.
    async with order.page.expect_file_chooser(timeout=ACTION_TIMEOUT_MS) as asked:
        await gated.pointer.click(force=True, timeout=ACTION_TIMEOUT_MS)
    await (await asked.value).set_files(files, timeout=ACTION_TIMEOUT_MS)


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
    """A page that answered a form would be got by sending the form again: it is asked for by its address."""
    page, url, sends = order.page, order.page.url.partition("#")[0], False

    async def hold_back(route: Route) -> None:
        nonlocal sends
        if route.request.method == "GET" or not route.request.is_navigation_request():
            await route.fallback()
            return
        sends = True
        await route.abort("aborted")

    def this_page(address: str) -> bool:
        return address.partition("#")[0] == url

    await page.route(this_page, hold_back)
    try:
        await page.reload(wait_until="domcontentloaded", timeout=NAVIGATION_TIMEOUT_MS)
    except DriverError as error:
        if not sends:
            raise _navigation_failure(order, url, error) from error
    finally:
        await page.unroute(this_page, hold_back)
    if sends:
        try:
            await page.goto(url, wait_until="domcontentloaded", timeout=NAVIGATION_TIMEOUT_MS)
        except DriverError as error:
            raise _navigation_failure(order, url, error) from error


def _check_origin(url: str, allowed: frozenset[str]) -> None:
    if not allowed:
        return
    origin = origin_of(url)
    if origin not in {origin_of(each) or each for each in allowed}:
        raise OriginRefused(url, origin, allowed)


def _navigation_failure(order: Order, url: str, error: DriverError) -> PageError:
    known = library.mapped(order.page, error)
    return known if isinstance(known, PageGone) else NavigationFailed(url, error.message.splitlines()[0])
