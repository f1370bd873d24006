"""Does again what was recorded, step by step, in a fresh context: whether the recording holds at all.

The page layer does the actions, so the gate judges each element. What a person did to the browser
(another tab, back, reload) is done to the browser.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from playwright.async_api import BrowserContext, Page
from playwright.async_api import Error as DriverError

from agent.page.acting import perform
from agent.page.errors import PageError
from agent.page.happenings import watch
from agent.recording.merging import Action
from kb_schema.urls import origin_of

TIMEOUT_S = 10.0
"""How long the element of a step, or a tab, may take to be there."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """How one step went."""

    number: int
    action: Action
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Replay:
    """How a whole recording went. It ends with the first step that cannot be done."""

    steps: tuple[Replayed, ...]
    total: int

    @property
    def succeeded(self) -> bool:
        """Whether every step could be done."""
        return len(self.steps) == self.total and all(step.error is None for step in self.steps)

    @property
    def failure(self) -> Replayed | None:
        """The step that could not be done."""
        return next((step for step in self.steps if step.error is not None), None)


async def replay(
    browser: BrowserContext, actions: Sequence[Action], *, timeout_s: float = TIMEOUT_S
) -> Replay:
    """Do the actions in order in a context that knows nothing yet."""
    tabs = _Tabs(browser, {action.beside.opened for action in actions})
    origins = frozenset(origin_of(action.url) for action in actions)
    done: list[Replayed] = []
    for number, action in enumerate(actions, 1):
        error: str | None = None
        try:
            await _do(await tabs.of(action, timeout_s), action, origins, timeout_s)
        except (PageError, DriverError, TimeoutError, _CameOtherwise) as exc:
            error = str(exc).splitlines()[0] or type(exc).__name__
        done.append(Replayed(number, action, error))
        if error is not None:
            break
    return Replay(tuple(done), len(actions))


async def _do(page: Page, action: Action, origins: frozenset[str], timeout_s: float) -> None:
    selector = None if action.seen is None else action.seen.selector
    value = action.args.get("value") if action.secret is None else action.secret
    if action.action_type == "press" and action.what is not None and not action.what.focused:
        selector = None
    happening = watch(page)
    happening.expect(action.beside.expected)
    await perform(
        page, action.action_type, selector=selector, value=value, url=action.args.get("url"),
        timeout_s=timeout_s, allowed_origins=origins,
    )  # fmt: skip
    if action.beside.download is not None and await happening.download(timeout_s) is None:
        raise _CameOtherwise("no download began")
    await happening.settled()
    if happening.refused:
        raise _CameOtherwise(f"the page {happening.refused[0].what}")


class _CameOtherwise(Exception):
    """The action was done, and led to something else than in the recording."""


class _Tabs:
    """The tabs of a context in the order in which they were opened, as the recording counts them."""

    def __init__(self, browser: BrowserContext, led_to: Collection[int | None]) -> None:
        self._browser, self._led_to = browser, led_to
        self._pages: list[Page] = []
        self._opened = asyncio.Event()
        browser.on("page", self._note)

    def _note(self, page: Page) -> None:
        self._pages.append(page)
        self._opened.set()

    async def of(self, action: Action, timeout_s: float) -> Page:
        """The tab of an action. One that the person opened is opened; others are by what was done before."""
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
