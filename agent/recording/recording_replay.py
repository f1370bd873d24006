"""Replays a recording step by step in a new browser context, to check that it can be repeated.

The page layer performs the actions, so the gate checks each element. Browser actions of the person (new tab, back,
reload) are repeated in the browser.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from playwright.async_api import BrowserContext, Page
from playwright.async_api import Error as DriverError

from agent.page.errors import PageError
from agent.page.page_actions import perform_action
from agent.page.page_side_effects import watch_page
from agent.recording.recorded_actions import RecordedAction
from kb_schema.url_patterns import origin_of

TIMEOUT_S = 10.0
"""Seconds until the element or tab of a step must be present."""


@dataclass(frozen=True, slots=True)
class ReplayedStep:
    """The result of one step."""

    number: int
    action: RecordedAction
    error: str | None = None


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
        done.append(ReplayedStep(number, action, error))
        if error is not None:
            break
    return ReplayResult(tuple(done), len(actions))


async def _replay_action(
    page: Page, action: RecordedAction, origins: frozenset[str], timeout_s: float
) -> None:
    selector = None if action.seen is None else action.seen.selector
    value = action.args.get("value") if action.secret is None else action.secret
    if action.action_type == "press" and action.what is not None and not action.what.focused:
        selector = None
    happening = watch_page(page)
    happening.expect(action.beside.expected)
    await perform_action(
        page,
        action.action_type,
        selector=selector,
        value=value,
        url=action.args.get("url"),
        timeout_s=timeout_s,
        allowed_origins=origins if action.secret is None else frozenset({origin_of(action.url)}),
        secret=action.secret is not None,
    )
    if action.beside.download is not None and await happening.download(timeout_s) is None:
        raise _UnexpectedSideEffect("expected a download, but none began")
    await happening.settled()
    if happening.refused:
        raise _UnexpectedSideEffect(f"the page {happening.refused[0].what}")


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
