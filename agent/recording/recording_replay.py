"""Replays a recording step by step in a new browser context, to check that it can be repeated.

The page layer performs the actions, so the gate checks each element. Browser actions of the person (new tab, back,
reload) are repeated in the browser.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Collection, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from playwright.async_api import BrowserContext, Page
from playwright.async_api import Error as DriverError

from agent.page.action_requests import CheckedElement, PerformedAction
from agent.page.actionability_gate import PassedElement
from agent.page.errors import ElementChanged, PageError
from agent.page.guarded_input import act_pointing
from agent.page.live_selectors import summarize_selector
from agent.page.page_actions import perform_action
from agent.page.page_changes import wait_for_change
from agent.page.page_side_effects import watch_page
from agent.page.snapshot_capture import take_snapshot
from agent.recording.recorded_actions import RecordedAction
from agent.recording.replay_differences import PageDifference, find_difference
from agent.redaction import REDACTED
from kb_schema.fingerprints import Fingerprint
from kb_schema.selectors import Selector
from kb_schema.url_patterns import origin_of
from web_pages.page_texts import squeeze

DIFFERS_S = 1.5
"""Seconds that a page has to become the recorded one after a step."""
TIMEOUT_S = 10.0
"""Seconds until the element or tab of a step must be present."""


@dataclass(frozen=True, slots=True)
class ReplayedStep:
    """The result of one step."""

    number: int
    action: RecordedAction
    error: str | None = None
    difference: PageDifference | None = None
    """In what the page after it differs from the recorded one."""


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """The result of a replay, which ends at the first step that fails."""

    steps: tuple[ReplayedStep, ...]
    total: int

    @property
    def succeeded(self) -> bool:
        """Whether every step succeeded."""
        return len(self.steps) == self.total and all(step.error is None for step in self.steps)

    @property
    def failure(self) -> ReplayedStep | None:
        """The failed step; None if every step succeeded."""
        return next((step for step in self.steps if step.error is not None), None)


async def replay_recording(
    browser: BrowserContext, actions: Sequence[RecordedAction], *, timeout_s: float = TIMEOUT_S
) -> ReplayResult:
    """Perform the actions in order in a new browser context."""
    tabs = _ReplayTabs(browser, {action.beside.opened for action in actions})
    origins = frozenset(origin_of(action.url) for action in actions)
    done: list[ReplayedStep] = []
    for number, action in enumerate(actions, 1):
        error: str | None = None
        try:
            await _replay_action(await tabs.of(action, timeout_s), action, origins, timeout_s)
        except (PageError, DriverError, TimeoutError, _UnexpectedSideEffect) as exc:
            error = str(exc).splitlines()[0] or type(exc).__name__
        after = action.html_after or _page_before(actions[number : number + 1], action)
        difference = None
        if error is None and after is not None:
            difference = await _compare_page(tabs.find(action), action, after, actions)
        done.append(ReplayedStep(number, action, error, difference))
        if error is not None:
            break
    return ReplayResult(tuple(done), len(actions))


def _page_before(following: Sequence[RecordedAction], action: RecordedAction) -> str | None:
    """Return the recorded page before the next action, if that is in the same tab."""
    return next(
        (each.seen.html for each in following if each.seen is not None and each.tab == action.tab), None
    )


async def _compare_page(
    page: Page | None, action: RecordedAction, recorded: str, actions: Sequence[RecordedAction]
) -> PageDifference | None:
    """Compare the page after a step with the recorded one, once it is the same or does not change any more."""
    secrets = [each.secret for each in actions if each.secret]
    found = None
    until = time.monotonic() + DIFFERS_S
    with suppress(PageError, DriverError):
        while page is not None:
            html = (await take_snapshot(page)).html
            for secret in secrets:
                html = html.replace(secret, REDACTED)
            found = await asyncio.to_thread(find_difference, recorded, html, action.url)
            left = until - time.monotonic()
            if found is None or left <= 0:
                break
            await wait_for_change(page, left)
    return found


async def _replay_action(
    page: Page, action: RecordedAction, origins: frozenset[str], timeout_s: float
) -> None:
    selector = None if action.seen is None else action.seen.selector
    value = action.args.get("value") if action.secret is None else action.secret
    if action.action_type == "press" and action.what is not None and not action.what.focused:
        selector = None
    happening = watch_page(page)
    happening.expect(action.beside.expected)
    named = None if selector is None else _without_places(selector)
    known = None if action.seen is None or named is None else action.seen.fingerprint
    identity = None if known is None else _SameWords(Fingerprint.model_validate(known))

    def act(selector: Selector | None) -> Coroutine[Any, Any, PerformedAction]:
        return perform_action(
            page,
            action.action_type,
            selector=selector,
            value=value,
            url=action.args.get("url"),
            timeout_s=timeout_s,
            allowed_origins=origins if action.secret is None else frozenset({origin_of(action.url)}),
            identity=identity,
            secret=action.secret is not None,
            modifiers=() if action.what is None else action.what.modifiers,
            drop=None if action.seen is None else action.seen.drop,
            place=action.args.get("place"),
        )

    if selector is None:
        await act(None)
    else:
        try:
            await act_pointing(page, selector, act(selector))
        except ElementChanged:
            if named is None:
                raise
            await act_pointing(page, named, act(named))
    if action.beside.download is not None and await happening.download(timeout_s) is None:
        raise _UnexpectedSideEffect("expected a download, but none began")
    await happening.settled()
    if happening.refused:
        raise _UnexpectedSideEffect(f"the page {happening.refused[0].what}")


@dataclass(frozen=True, slots=True)
class _SameWords:
    """Refuses an element with other words than the recorded one (an `agent.page.action_requests.IdentityCheck`)."""

    known: Fingerprint

    async def check(self, passed: PassedElement, selector: Selector) -> CheckedElement:
        """Raise `ElementChanged` for other words."""
        glance = passed.judged.glance or {}
        recorded, now = self.known.name or self.known.text, glance.get("name") or glance.get("text")
        if recorded and now and squeeze(str(recorded)) != squeeze(str(now)):
            raise ElementChanged(summarize_selector(selector), f"recorded was {recorded!r}, there is {now!r}")
        return CheckedElement()


_PLACE = re.compile(r"\[\d+\]|:nth-")


def _without_places(selector: Selector) -> Selector | None:
    """Return the selector without strategies that count elements: a list that shows a part of its rows has others there.

    None if nothing is left, or nothing is left out.
    """
    kept = tuple(each for each in selector.strategies if not _PLACE.search(str(getattr(each, "value", ""))))
    changed = 0 < len(kept) < len(selector.strategies)
    return selector.model_copy(update={"strategies": kept}) if changed else None


class _UnexpectedSideEffect(Exception):
    """The action succeeded, but had other side effects than in the recording."""


class _ReplayTabs:
    """The tabs of a context in the order in which they were opened, numbered as in the recording."""

    def __init__(self, browser: BrowserContext, led_to: Collection[int | None]) -> None:
        self._browser, self._led_to = browser, led_to
        self._pages: list[Page] = []
        self._opened = asyncio.Event()
        browser.on("page", self._note)

    def _note(self, page: Page) -> None:
        self._pages.append(page)
        self._opened.set()

    def find(self, action: RecordedAction) -> Page | None:
        """Return the tab of an action if it is open."""
        page = self._pages[action.tab] if action.tab < len(self._pages) else None
        return None if page is None or page.is_closed() else page

    async def of(self, action: RecordedAction, timeout_s: float) -> Page:
        """Return the tab of an action; opens it if the person opened it, otherwise waits for it."""
        number = action.tab
        if number == len(self._pages) and action.action_type == "navigate" and number not in self._led_to:
            await self._browser.new_page()
        async with asyncio.timeout(timeout_s):
            while number >= len(self._pages):
                self._opened.clear()
                await self._opened.wait()
        page = self._pages[number]
        await page.wait_for_load_state("domcontentloaded", timeout=timeout_s * 1000)
        return page
