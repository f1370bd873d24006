"""What of a known screen the page shows after `go_to`: enough to say that it is there, and its own address rather than a filtered one."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import parse_qsl, urlsplit

from playwright.async_api import Page

from agent.errors import AgentError
from agent.execution.single_actions import perform_single_action
from agent.execution.task_runner import TaskRunner
from agent.locators.page_scan import find_standings, scan_page
from agent.page.errors import PageError
from agent.session import Session
from kb_schema.selectors import Selector, TemplateStrategy

LEAST_JUDGED = 3
"""A screen with fewer elements of its own is not judged by them."""


async def open_own_address(engine: TaskRunner, screen_id: str) -> None:
    """Open the screen's own address where the way led to one with more in its query, such as a filter.

    What the way led to is kept if that does not show the screen.
    """
    session = engine.session
    screen = await session.knowledge.screen(screen_id)
    if screen.url is None or "{" in screen.url:
        return
    own, there = engine.guide.resolved(screen.url), session.page.url
    if not _is_narrowed(there, own):
        return
    for address in (own, there):
        try:
            result = await perform_single_action(engine, "navigate", url=address)
            if result.complete and (await session.look_for([screen_id])).screen_id == screen_id:
                return
        except (AgentError, PageError):
            continue


def _is_narrowed(there: str, own: str) -> bool:
    """Whether an address has values in its query that the screen's own has not.

    >>> _is_narrowed("http://a.example/issue?assignedto=-1", "http://a.example/issue")
    True
    >>> _is_narrowed("http://a.example/issue?id=1", "http://a.example/issue?id=1")
    False
    """
    return bool(set(parse_qsl(urlsplit(there).query)) - set(parse_qsl(urlsplit(own).query)))


async def doubt_screen(session: Session, screen_id: str) -> str:
    """Return why the page may be another kind than the screen that it was taken for; empty if nothing speaks against it.

    A page that shows none of the elements that only this screen has, though its signs fit, is told.
    """
    screen = await session.knowledge.screen(screen_id)
    shared = {each.element_id for name in screen.layouts for each in session.website.layouts.get(name, ())}
    own = [
        each.selector
        for each in screen.ui_elements
        if each.element_id not in shared
        and not any(isinstance(strategy, TemplateStrategy) for strategy in each.selector.strategies)
    ]
    if len(own) < LEAST_JUDGED:
        return ""
    shown = await _count_shown(session.page, own)
    return (
        ""
        if shown
        else f"the page shows none of the {len(own)} elements of {screen_id}: it may be another kind of page"
    )


async def _count_shown(page: Page, selectors: Sequence[Selector]) -> int:
    index = await scan_page(page)
    return sum(each.visible > 0 for each in await find_standings(page, index, selectors))
