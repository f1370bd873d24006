"""Waits for observability triggers instead of fixed times (KS 9.9).

Call `arm_trigger` before the action and `wait` after it, so that a fast event is not missed. The only fixed
pause is an authored fallback.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from playwright.async_api import Frame, Page, Request

from agent.page import in_page_library
from agent.page.errors import SelectorUnusable
from kb_schema.selectors import Selector
from kb_schema.wait_triggers import ObservabilityTrigger

NETWORK_QUIET_S = 0.3
"""The network is idle after this long without an open request."""
_NEVER_ENDING = frozenset({"eventsource", "websocket", "media", "ping"})

Resolver = Callable[[str], Selector | None]
"""Turns an element id or CSS into a selector (`ConditionScope.element`)."""


@dataclass(frozen=True, slots=True)
class TriggerOutcome:
    """The result of a wait."""

    fired: bool
    waited_s: float
    fell_back: bool = False
    """The event did not occur; the authored pause was made instead."""


class _Watch(Protocol):
    """Watches for one kind of event, from the moment it is armed."""

    async def wait(self, timeout_s: float) -> bool:
        """Return True once the event has occurred, False at the timeout."""

    async def stop(self) -> None:
        """Stop watching."""


@dataclass(frozen=True, slots=True)
class ArmedTrigger:
    """A trigger whose event is being watched for."""

    trigger: ObservabilityTrigger
    _watch: _Watch

    async def wait(self) -> TriggerOutcome:
        """Wait for the event, at most the trigger's timeout; then make its fallback pause. Raises `PageGone`."""
        began = time.monotonic()
        try:
            fired = await self._watch.wait(self.trigger.timeout)
        finally:
            await self._watch.stop()
        fallback = self.trigger.fallback
        if not fired and fallback is not None:
            await asyncio.sleep(fallback.duration)
        waited = time.monotonic() - began
        return TriggerOutcome(fired, waited, fell_back=not fired and fallback is not None)

    async def disarm(self) -> None:
        """Stop watching without waiting, because the action failed."""
        await self._watch.stop()


async def arm_trigger(page: Page, trigger: ObservabilityTrigger, resolve: Resolver) -> ArmedTrigger:
    """Start watching. Raises `SelectorUnusable` for an unknown element, and `PageGone`."""
    selector = None
    if trigger.selector is not None:
        selector = resolve(trigger.selector)
        if selector is None:
            raise SelectorUnusable(trigger.selector, "no such element")
    if trigger.event == "url_change":
        return ArmedTrigger(trigger, _UrlWatch(page))
    if trigger.event == "network_idle":
        return ArmedTrigger(trigger, _NetworkWatch(page))
    watch = _InPageWatch(page, trigger.event, selector)
    await watch.start()
    return ArmedTrigger(trigger, watch)


class _UrlWatch:
    """The main frame's URL changed, by navigation or by the page's own history."""

    def __init__(self, page: Page) -> None:
        self._page, self._before = page, page.url
        self._changed = asyncio.Event()
        page.on("framenavigated", self._note)

    def _note(self, frame: Frame) -> None:
        if frame == self._page.main_frame and frame.url != self._before:
            self._changed.set()

    async def wait(self, timeout_s: float) -> bool:
        began = time.monotonic()
        if self._page.url != self._before:
            self._changed.set()
        try:
            async with asyncio.timeout(timeout_s):
                await self._changed.wait()
        except TimeoutError:
            return False
        left = timeout_s - (time.monotonic() - began)
        await in_page_library.document_ready(self._page, left)
        return True

    async def stop(self) -> None:
        self._page.remove_listener("framenavigated", self._note)


class _NetworkWatch:
    """For `NETWORK_QUIET_S` seconds, no request that began after arming is open."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._under_way: set[Request] = set()
        self._event = asyncio.Event()
        page.on("request", self._begin)
        page.on("requestfinished", self._end)
        page.on("requestfailed", self._end)

    def _begin(self, request: Request) -> None:
        if request.resource_type not in _NEVER_ENDING:
            self._under_way.add(request)
            self._event.set()

    def _end(self, request: Request) -> None:
        self._under_way.discard(request)
        self._event.set()

    async def wait(self, timeout_s: float) -> bool:
        try:
            async with asyncio.timeout(timeout_s):
                while not await self._quiet():
                    pass
        except TimeoutError:
            return False
        return True

    async def _quiet(self) -> bool:
        """Wait for the next event; return True if none occurred for long enough with no request open."""
        self._event.clear()
        if self._under_way:
            await self._event.wait()
            return False
        try:
            await asyncio.wait_for(self._event.wait(), NETWORK_QUIET_S)
        except TimeoutError:
            return True
        return False

    async def stop(self) -> None:
        self._page.remove_listener("request", self._begin)
        self._page.remove_listener("requestfinished", self._end)
        self._page.remove_listener("requestfailed", self._end)


class _InPageWatch:
    """Mutations and elements, watched in the page; begun anew where the document is replaced."""

    def __init__(self, page: Page, event: str, selector: Selector | None) -> None:
        self._page, self._event, self._selector = page, event, selector
        self._token = ""

    async def start(self) -> None:
        shape = {
            "event": self._event,
            "selector": self._selector.model_dump(mode="json") if self._selector else None,
        }
        said = await in_page_library.call(self._page, "arm", json.dumps(shape))
        if said["error"] is not None:
            raise SelectorUnusable(self._event, said["error"])
        self._token = said["token"]

    async def wait(self, timeout_s: float) -> bool:
        until = time.monotonic() + timeout_s
        while True:
            left_ms = max(0.0, (until - time.monotonic()) * 1000)
            said = await in_page_library.call(
                self._page, "wait", self._token, left_ms, waits_s=left_ms / 1000
            )
            if said["known"]:
                self._token = ""  # the page has stopped watching by itself
                return bool(said["fired"])
            # A new document is a change of everything that is in it.
            await in_page_library.document_ready(self._page, left_ms / 1000)
            if self._event == "dom_mutation" and await self._is_there():
                return True
            await self.start()

    async def _is_there(self) -> bool:
        if self._selector is None:
            return True
        said = await in_page_library.call(self._page, "resolve", self._selector.model_dump_json())
        return int(said["count"]) > 0

    async def stop(self) -> None:
        if self._token and not self._page.is_closed():
            await in_page_library.call(self._page, "disarm", self._token)
            self._token = ""
