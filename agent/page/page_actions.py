"""Performs the actions of the vocabulary on a page: one registered function per action type.

`act_on_element` is the only way to an element: it passes the gate, then the identity check of the request,
and then acts on the very element that was judged. Presses and typing run under the gate's guard
(`guarded_input.py`); the other actions use the element's handle with `force`, because Playwright's own
check would only repeat the gate. Which actions to perform, and in which order, is decided elsewhere.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from playwright.async_api import ElementHandle, Page, Route
from playwright.async_api import Error as DriverError

from agent import retry_limits
from agent.page import in_page_library
from agent.page.action_requests import (
    ActionOrder,
    ActionPace,
    ActionRequest,
    CheckedElement,
    IdentityCheck,
    PerformedAction,
)
from agent.page.actionability_gate import (
    ElementRenamed,
    ElementVanished,
    GatedElement,
    GatePolicy,
    Intent,
    JudgedElement,
    PassedElement,
    focus_element,
    judge_element,
    prepare_typing,
)
from agent.page.errors import (
    ActionFailed,
    ActionMisused,
    ChoiceInDoubt,
    ElementChanged,
    GateFailed,
    GatePoint,
    NavigationFailed,
    OptionMissing,
    PageError,
    PageGone,
)
from agent.page.guarded_input import (
    check_taken,
    drag_element,
    point_at_element,
    press_element,
    type_again,
    type_over,
)
from agent.page.live_selectors import summarize_selector
from agent.page.origin_rule import check_origin
from agent.page.page_tools import call_page_tool
from agent.page.page_writes import watch_writes
from agent.page.secret_holders import check_drag, check_key, keep_held_text
from agent.page.secret_typing import type_secret
from agent.page.typed_texts import ShownText
from kb_schema.action_calls import DropPlace, Modifier, Place
from kb_schema.action_types import ACTION_TYPES, ActionType, action_type
from kb_schema.selectors import Selector, ValueStrategy

NAVIGATION_TIMEOUT_MS = 30_000.0
_OPTIONS_TOLD = 8
OPTION_TIMEOUT_S = 2.0
"""How long a list may take to load the requested option."""
STORED_OPTION_TIMEOUT_S = 5.0
"""Seconds in which a list may come to show a choice that was sent."""
SLIDER_KEYS = 1_000
"""Arrow keys for one slider at most."""
TICK_TIMEOUT_MS = 500.0
"""How long a page may take to show a clicked checkbox as checked."""

_LINE_BREAK = re.compile(r"[\r\n]+")
_TYPED_INPUTS = frozenset({"text", "search", "url", "tel", "email", "password", "number"})


@dataclass(frozen=True, slots=True)
class ActionPerformer:
    """A registered action: its function, and its requirements of the gate."""

    run: Callable[[ActionOrder], Awaitable[str | None]]
    editable: bool = False
    intent: Intent = "handle"


ACTION_PERFORMERS: dict[str, ActionPerformer] = {}


def register_performer(
    name: str, *, editable: bool = False, intent: Intent = "handle"
) -> Callable[
    [Callable[[ActionOrder], Awaitable[str | None]]], Callable[[ActionOrder], Awaitable[str | None]]
]:
    """Register the function that performs an action type of the vocabulary."""
    if name not in ACTION_TYPES or not ACTION_TYPES[name].on_page:
        raise ValueError(f"the vocabulary has no on-page action {name!r}")

    def register(
        run: Callable[[ActionOrder], Awaitable[str | None]],
    ) -> Callable[[ActionOrder], Awaitable[str | None]]:
        if name in ACTION_PERFORMERS:
            raise ValueError(f"two performers for {name!r}")
        ACTION_PERFORMERS[name] = ActionPerformer(run, editable, intent)
        return run

    return register


async def perform_action(
    page: Page,
    action: str,
    *,
    selector: Selector | None = None,
    value: str | Sequence[str] | None = None,
    url: str | None = None,
    pace: ActionPace | None = None,
    timeout_s: float = retry_limits.GATE_TIMEOUT_S,
    allowed_origins: frozenset[str] = frozenset(),
    policy: GatePolicy | None = None,
    identity: IdentityCheck | None = None,
    secret: bool = False,
    modifiers: tuple[Modifier, ...] = (),
    drop: DropPlace | None = None,
    place: Place | None = None,
) -> PerformedAction:
    """Perform one action, by its canonical name or an alias, with the fields of an `ActionRequest`.

    Raises what `act_on_page` and `act_on_element` raise.
    """
    request = ActionRequest(
        action,
        selector,
        value,
        url,
        pace or ActionPace(),
        timeout_s,
        allowed_origins,
        secret,
        policy=policy,
        identity=identity,
        modifiers=modifiers,
        drop=drop,
        place=place,
    )
    return await (act_on_page(page, request) if selector is None else act_on_element(page, request))


async def act_on_page(page: Page, request: ActionRequest) -> PerformedAction:
    """Perform an action that needs no element.

    Raises `ActionFailed` (check before repeating), `OriginRefused`, `NavigationFailed`, `ActionMisused`,
    `PageGone`.
    """
    kind = _require_action_type(request.action)
    if request.secret:
        raise ActionMisused(kind.name, "types no secret: secrets are typed into fields only")
    if kind.target == "required":
        raise ActionMisused(kind.name, "needs an element")
    if kind.target != "none":
        check_origin(page.url, request.allowed_origins)
    began = time.monotonic()
    order = ActionOrder(page, kind.name, request)
    try:
        content = await ACTION_PERFORMERS[kind.name].run(order)
    except DriverError as error:
        raise _failure(order, error) from error
    return PerformedAction(kind.name, None, None, 0.0, (time.monotonic() - began) * 1000, content)


async def act_on_element(page: Page, request: ActionRequest) -> PerformedAction:
    """Pass the gate, check the element's identity, act on it.

    An element that vanishes before anything was done is judged anew, at most
    `retry_limits.GATE_ATTEMPTS` times. Raises `GateFailed`, `ElementChanged`, `OriginRefused`,
    `ActionMisused` (nothing was done), `ActionFailed` (it may have happened: check before repeating) and
    `PageGone`.
    """
    kind = _require_action_type(request.action)
    if request.selector is None or kind.target == "none":
        return await act_on_page(page, request)
    if request.secret and (not kind.types_text or not request.allowed_origins):
        raise ActionMisused(kind.name, "types a secret into fields of allowed origins only")
    check_origin(page.url, request.allowed_origins)  # a link may have led elsewhere
    began = time.monotonic()
    gone: DriverError | ElementVanished | None = None
    for _ in range(retry_limits.GATE_ATTEMPTS):
        order = ActionOrder(page, kind.name, request, PassedElement(page, await _judge(page, request)))
        try:
            checked = await _check_before_action(order)
            content = await ACTION_PERFORMERS[kind.name].run(order)
        except ElementRenamed as renamed:
            raise ElementChanged(
                summarize_selector(request.selector), str(renamed), by_words=True
            ) from renamed
        except ElementVanished as vanished:
            gone = vanished
        except DriverError as error:
            if not _is_detached_error(error):
                raise _failure(order, error) from error
            gone = error
        else:
            judged, duration_ms = order.judged, (time.monotonic() - began) * 1000
            return PerformedAction(
                kind.name,
                judged.description,
                judged.strategy.type,
                judged.duration_ms,
                duration_ms,
                content,
                checked,
            )
    reason = str(gone) if isinstance(gone, ElementVanished) else "it left the page after it was judged"
    raise GateFailed(
        GatePoint.UNSTABLE,
        f"{reason} ({retry_limits.GATE_ATTEMPTS} times)",
        summarize_selector(request.selector),
    ) from gone


def _require_action_type(action: str) -> ActionType:
    kind = action_type(action)
    if kind is None or kind.name not in ACTION_PERFORMERS:
        raise ActionMisused(action, "is not an action on a page")
    return kind


async def _judge(page: Page, request: ActionRequest) -> JudgedElement:
    """Ask the gate as this action needs it: for a handle only, where keys are typed one by one."""
    performer = ACTION_PERFORMERS[_require_action_type(request.action).name]
    if request.selector is None:
        raise ActionMisused(request.action, "needs an element")
    by_handle = performer.intent == "text" and (request.secret or request.pace.key_delay_s > 0)
    return await judge_element(
        page,
        request.selector,
        intent="handle" if by_handle else performer.intent,
        timeout_s=request.timeout_s,
        editable=performer.editable,
        text=_text_shape(request.value),
        policy=request.policy,
        keep=request.identity is not None or request.look_before is not None,
    )


def _text_shape(value: str | Sequence[str] | None) -> str | None:
    """Return what the gate has to know of a text: whether there is one, and whether it has lines.

    The text itself stays here until it is typed: while the gate waits, another document may replace the page.
    """
    if not isinstance(value, str):
        return None
    return "\n" if "\n" in value else value and "x"


async def _check_before_action(order: ActionOrder) -> CheckedElement | None:
    """Check the origin again, and the element's identity; lower the guard where either raises."""
    request = order.request
    try:
        check_origin(order.page.url, request.allowed_origins)  # the page may have navigated meanwhile
        checked = None
        if request.identity is not None and request.selector is not None:
            checked = await request.identity.check(order.passed, request.selector)
        if request.look_before is not None:
            await request.look_before(order.passed)
    except BaseException:
        if order.judged.guard is not None:
            with suppress(PageError):
                await in_page_library.call(order.page, "lowerGuard", order.judged.guard)
        raise
    return checked


def _is_detached_error(error: DriverError) -> bool:
    """The element left the document before the action began; anything else may have happened."""
    return "Element is not attached to the DOM" in error.message


def _failure(order: ActionOrder, error: DriverError) -> PageError:
    known = in_page_library.translate_error(order.page, error)
    if isinstance(known, PageGone):
        return known
    reason = error.message.splitlines()[0]
    return ActionFailed(
        order.action, reason, target=order.target.judged.description if order.target else None
    )


# -- pointer -------------------------------------------------------------------------------------


async def _press_at_place(
    order: ActionOrder, *, double: bool = False, button: Literal["left", "right"] = "left"
) -> None:
    await press_element(
        order.page,
        order.action,
        order.judged,
        double=double,
        button=button,
        modifiers=order.request.modifiers,
        place=order.request.place,
    )


@register_performer("click", intent="press")
async def _click(order: ActionOrder) -> None:
    await _press_at_place(order)


@register_performer("double_click", intent="double")
async def _double_click(order: ActionOrder) -> None:
    await _press_at_place(order, double=True)


@register_performer("right_click", intent="press")
async def _right_click(order: ActionOrder) -> None:
    await _press_at_place(order, button="right")


@register_performer("drag", intent="press")
async def _drag(order: ActionOrder) -> None:
    drop = order.request.drop
    if drop is None:
        raise ActionMisused(order.action, "needs `drop`, the place where it ends")
    await check_drag(order)
    await drag_element(order.page, order.action, order.judged, drop)


@register_performer("hover", intent="hover")
async def _hover(order: ActionOrder) -> None:
    await point_at_element(order.page, order.action, order.judged)


@register_performer("focus")
async def _focus(order: ActionOrder) -> None:
    await focus_element(order.page, order.judged)


# -- keyboard ------------------------------------------------------------------------------------


@register_performer("fill", editable=True, intent="text")
async def _fill(order: ActionOrder) -> None:
    judged = order.judged
    if order.request.secret:
        await _replace_text(order, await order.gated(), order.text)
        return
    if judged.guard is None and judged.typable:
        judged = await prepare_typing(order.page, judged)
    if judged.guard is not None:
        await type_over(order.page, order.action, judged, order.text)
    else:
        gated = await order.gated()
        if not await _slide(order, gated.element):
            await _replace_text(order, gated, order.text)


async def _slide(order: ActionOrder, element: ElementHandle) -> bool:
    """Set a slider that is no input with the arrow keys; return False if it is none. Raises `ActionFailed`."""
    page = order.page
    now = await in_page_library.call_on(page, "slidTo", element)
    if now is None:
        return False
    try:
        wanted = float(order.text)
    except ValueError as error:
        raise ActionMisused(order.action, f"a slider takes a number, not {order.text!r}") from error
    await element.focus()
    rising = wanted > now
    for _ in range(SLIDER_KEYS):
        if now == wanted:
            return True
        await page.keyboard.press("ArrowUp" if rising else "ArrowDown")
        before, now = now, await in_page_library.call_on(page, "slidTo", element)
        if now is None or now == before or ((now > wanted) is rising and now != wanted):
            break
    if now == wanted:
        return True
    told = f"the slider is at {now} after it was moved towards {order.text}"
    raise ActionFailed(order.action, told, target=order.judged.description)


@register_performer("append_text", editable=True)
async def _append_text(order: ActionOrder) -> None:
    page, element = order.page, (await order.gated()).element
    if order.request.secret:
        await type_secret(order, element, keys=order.pace.key_delay_s > 0, replace=False)
        await _commit(order, element)
        await keep_held_text(order, element)
        return
    before = ShownText.read(await in_page_library.call_on(page, "shownText", element, ""))
    if not await in_page_library.call_on(page, "caretToEnd", element):
        await page.keyboard.press("End")
    text = await _fit_lines(order, element, order.text)
    await page.keyboard.type(text, delay=order.pace.key_delay_s * 1000)
    whole = ("" if before is None else before.shown) + text
    now = ShownText.read(await _commit(order, element, whole))
    if before is None or now is None or not now.added_otherwise(whole):
        return
    if now.lines:
        now = ShownText.read(await in_page_library.call_on(page, "pasteText", element, whole)) or now
    if now.added_otherwise(whole):
        told = f"the field shows {now.shown!r} after {text!r} was added to it"
        raise ActionFailed(order.action, told, target=order.judged.description)


async def _fit_lines(order: ActionOrder, element: ElementHandle, text: str) -> str:
    """Return a text without line breaks for a field of one line, as the browser drops them there: typed, each is the Enter key,
    which sends the form.
    """
    if not _LINE_BREAK.search(text):
        return text
    kind = await _read_kind(order, element)
    return _LINE_BREAK.sub("", text) if kind["tag"] == "input" else text


@register_performer("input_and_submit", editable=True)
async def _input_and_submit(order: ActionOrder) -> None:
    gated = await order.gated()
    await _replace_text(order, gated, order.text)
    await gated.element.press("Enter", timeout=retry_limits.ACTION_TIMEOUT_MS)


@register_performer("clear", editable=True)
async def _clear(order: ActionOrder) -> None:
    await _replace_text(order, await order.gated(), "")


@register_performer("press")
async def _press(order: ActionOrder) -> None:
    await check_key(order)
    if order.target is not None:
        await focus_element(order.page, order.judged)
    await order.page.keyboard.press(order.text)


async def _replace_text(order: ActionOrder, gated: GatedElement, text: str) -> None:
    """Replace the text at once, or key by key if the pace says so and the field accepts keys."""
    element = gated.element
    kind = await _read_kind(order, element)
    paced = bool(text) and (order.pace.key_delay_s > 0 or kind["picker"]) and _takes_keys(kind, text)
    if order.request.secret and text:
        await type_secret(order, element, keys=paced)
        await _commit(order, element)
        await keep_held_text(order, element)
        return
    editor = await in_page_library.call_on(order.page, "selectInEditor", element)
    if editor is False:
        raise ElementVanished("the focus went elsewhere after it was judged")
    if editor is None:
        await element.fill("" if paced else text, force=True, timeout=retry_limits.ACTION_TIMEOUT_MS)
    elif paced or not text:
        await order.page.keyboard.press("Delete")
    else:
        await order.page.keyboard.insert_text(text)
    if paced:
        await element.focus()
        text = await _fit_lines(order, element, text)
        await order.page.keyboard.type(text, delay=order.pace.key_delay_s * 1000)
    first = ShownText.read(await _commit(order, element, text))
    if first is None or first.has(text):
        return
    if first.takes_paste:
        first = ShownText.read(await in_page_library.call_on(order.page, "pasteText", element, text)) or first
        if first.has(text):
            return
    keys = editor is None and "\n" not in text and _takes_keys(kind, text)
    if keys and (await in_page_library.call_on(order.page, "secretField", element, True))["focused"]:
        await type_again(order.page, order.action, order.judged, text, first, element)
    else:
        check_taken(order.action, order.judged, text, first, first)


async def _commit(order: ActionOrder, element: ElementHandle, text: str = "") -> Any:
    """Dispatch the change event; return what the field shows. A page that navigates because of it has received it."""
    try:
        return await in_page_library.call_on(order.page, "commit", element, text)
    except DriverError as error:
        if not in_page_library.document_replaced(error):
            raise
    return None


async def _read_kind(order: ActionOrder, element: ElementHandle) -> Mapping[str, Any]:
    """Return the tag of a field, its type, and whether it is edited text and whether a script draws a calendar for it."""
    kind: Mapping[str, Any] = await in_page_library.call_on(order.page, "kind", element)
    return kind


def _takes_keys(kind: Mapping[str, Any], text: str) -> bool:
    if kind["tag"] == "input":
        # Enter in a single-line field submits the form; date and colour fields accept no text.
        return kind["type"] in _TYPED_INPUTS and "\n" not in text
    return kind["tag"] == "textarea" or bool(kind["editable"])


# -- choices and files ---------------------------------------------------------------------------


@register_performer("select_option")
async def _select_option(order: ActionOrder) -> None:
    judged = order.judged
    said = await in_page_library.call(
        order.page, "choose", judged.token, json.dumps(order.texts), OPTION_TIMEOUT_S * 1000
    )
    if said["gone"]:
        raise ElementVanished("it left the page after it was judged")
    if said.get("widget"):
        there = None if said["missing"] is None else tuple(said["there"])
        await _choose_in_widget(order, order.texts[0], said["problem"], there)
        return
    if said.get("missing"):
        there = tuple(said["there"])
        raise OptionMissing(order.action, said["problem"], said["missing"], there, target=judged.description)
    if said["problem"] is not None:
        raise ActionFailed(order.action, said["problem"], target=judged.description)


async def _choose_in_widget(order: ActionOrder, text: str, why: str, there: tuple[str, ...] | None) -> None:
    """Choose as a person does where a widget stands for a hidden list: open it, press the option.

    `why`: which widget stands for it. `there`: the options of the hidden list if that one is none of them. Raises `OptionMissing` if the
    widget does not offer it either, `ActionFailed` if the option is not offered once, or the list does not have it chosen
    afterwards, `ChoiceInDoubt` if something was sent by then. The page then does not let the widget be opened for it again.
    """
    request = replace(order.request, action="click", value=None)
    await act_on_element(order.page, request)
    offered = await _ask_widget(order, "widgetOption", text) or {"path": None, "found": 0}
    if offered["path"] is None:
        await order.page.keyboard.press("Escape")
        reason = f"{why}, which offers {json.dumps(text)} {offered['found']} times when it is opened"
        if there is not None and not offered["found"]:
            only = f"; it has only {', '.join(map(json.dumps, there[:_OPTIONS_TOLD]))}" if there else ""
            raise OptionMissing(order.action, reason + only, text, there, target=order.judged.description)
        raise ActionFailed(order.action, reason, target=order.judged.description)
    option = Selector(strategies=(ValueStrategy(type="css", value=offered["path"]),))
    began = time.monotonic()
    await act_on_element(order.page, replace(request, selector=option, identity=None))
    if await _ask_widget(order, "widgetChose", text) is not False:
        return
    sent = watch_writes(order.page).may_have_stored(began)
    if sent and await _ask_widget(order, "widgetChose", text, STORED_OPTION_TIMEOUT_S) is not False:
        return
    reason = f"{why}; when its option {json.dumps(text)} was pressed, the list did not have it chosen"
    raise (ChoiceInDoubt if sent else ActionFailed)(order.action, reason, target=order.judged.description)


async def _ask_widget(
    order: ActionOrder, question: str, text: str, within_s: float = OPTION_TIMEOUT_S
) -> Any:
    return await in_page_library.call(
        order.page, question, order.judged.token, text, within_s * 1000, waits_s=within_s
    )


@register_performer("check", intent="press")
async def _check(order: ActionOrder) -> None:
    await _tick(order, on=True)


@register_performer("uncheck", intent="press")
async def _uncheck(order: ActionOrder) -> None:
    await _tick(order, on=False)


async def _tick(order: ActionOrder, *, on: bool) -> None:
    """Click once unless the state is already the wanted one; then check whether the state changed."""
    judged = order.judged
    if judged.state not in {"true", "false"}:
        raise ActionFailed(
            order.action, "it is no checkbox, radio button or switch", target=judged.description
        )
    if (judged.state == "true") is on:
        await in_page_library.call(order.page, "lowerGuard", judged.guard)
        return
    outcome = await press_element(order.page, order.action, judged, wanted=on, within_ms=TICK_TIMEOUT_MS)
    if outcome.took is False:
        raise ActionFailed(order.action, "a click did not change it", target=judged.description)


@register_performer("upload_file")
async def _upload_file(order: ActionOrder) -> None:
    files = order.texts
    missing = await asyncio.to_thread(lambda: [name for name in files if not Path(name).is_file()])
    if missing:
        raise ActionMisused(order.action, f"cannot upload {missing[0]!r}: there is no such file")
    gated = await order.gated()
    if (await in_page_library.call_on(order.page, "kind", gated.element))["tag"] == "input":
        await gated.element.set_input_files(files, timeout=retry_limits.ACTION_TIMEOUT_MS)
        return
    # A button whose script opens a file chooser: the file field may not be in the document.
    async with order.page.expect_file_chooser(timeout=retry_limits.ACTION_TIMEOUT_MS) as asked:
        await gated.pointer.click(force=True, timeout=retry_limits.ACTION_TIMEOUT_MS)
    await (await asked.value).set_files(files, timeout=retry_limits.ACTION_TIMEOUT_MS)


# -- the view ------------------------------------------------------------------------------------


@register_performer("scroll")
async def _scroll(order: ActionOrder) -> None:
    how = "down" if order.request.value is None else order.text.strip().lower()
    if how not in {"up", "down", "top", "bottom"}:
        try:
            float(how)
        except ValueError as error:
            raise ActionMisused("scroll", f"takes up, down, top, bottom or pixels, not {how!r}") from error
    element = (await order.gated()).element if order.target else None
    await in_page_library.call_on(order.page, "scroll", element, how)


@register_performer("scroll_to_element")
async def _scroll_to_element(order: ActionOrder) -> None:
    await (await order.gated()).pointer.scroll_into_view_if_needed(timeout=retry_limits.ACTION_TIMEOUT_MS)


@register_performer("get_screen_content")
async def _get_screen_content(order: ActionOrder) -> str:
    if order.target is not None:
        return str(await in_page_library.call_on(order.page, "elementText", (await order.gated()).element))
    return str(await in_page_library.call(order.page, "text", "null"))


@register_performer("call_page_tool")
async def _call_page_tool(order: ActionOrder) -> str:
    check_origin(order.page.url, order.request.allowed_origins)
    return await call_page_tool(order.page, order.text)


# -- navigation ----------------------------------------------------------------------------------


@register_performer("navigate")
async def _navigate(order: ActionOrder) -> None:
    request = order.request
    url = request.url or (request.value if isinstance(request.value, str) else None)
    if url is None:
        raise ActionMisused("navigate", "needs a URL")
    check_origin(url, request.allowed_origins)
    try:
        await order.page.goto(url, wait_until="domcontentloaded", timeout=NAVIGATION_TIMEOUT_MS)
    except DriverError as error:
        raise _navigation_failure(order, url, error) from error
    check_origin(order.page.url, request.allowed_origins)


@register_performer("navigate_back")
async def _navigate_back(order: ActionOrder) -> None:
    try:
        await order.page.go_back(wait_until="domcontentloaded", timeout=NAVIGATION_TIMEOUT_MS)
    except DriverError as error:
        raise _navigation_failure(order, "the page before", error) from error


@register_performer("refresh")
async def _refresh(order: ActionOrder) -> None:
    """Reload the page. If that would submit a form again, load the page's address instead."""
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


def _navigation_failure(order: ActionOrder, url: str, error: DriverError) -> PageError:
    known = in_page_library.translate_error(order.page, error)
    return known if isinstance(known, PageGone) else NavigationFailed(url, error.message.splitlines()[0])
