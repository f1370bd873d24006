"""What of a known screen the page shows after `go_to`: enough to say that it is there, and its own address rather than a filtered one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from urllib.parse import parse_qsl, urlsplit

from playwright.async_api import Page

from agent.errors import AgentError
from agent.execution.single_actions import perform_single_action
from agent.execution.task_runner import TaskRunner
from agent.locators.page_scan import find_standings, scan_page
from agent.page.errors import PageError
from agent.session import Session
from kb_schema.knowledge_base import KnowledgeBase
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


async def doubt_screen(session: Session, screen_id: str, knowledge: KnowledgeBase) -> str:
    """Return why the page may be another kind than the screen that it was taken for; empty if nothing speaks against it.

    A page that shows none of the elements that only this screen has, though its signs fit, is told.
    """
    times = Counter(each.element_id for other in knowledge.screens.values() for each in other.ui_elements)
    times.update(each.element_id for layout in knowledge.website.layouts.values() for each in layout)
    screen = knowledge.screens.get(screen_id)
    own = [
        each.selector
        for each in (() if screen is None else screen.ui_elements)
        if times[each.element_id] == 1
        and not any(isinstance(strategy, TemplateStrategy) for strategy in each.selector.strategies)
    ]
    if len(own) < LEAST_JUDGED or await _count_shown(session.page, own):
        return ""
    return f"the page shows none of the {len(own)} elements that only {screen_id} has: it may be another kind of page"


async def _count_shown(page: Page, selectors: Sequence[Selector]) -> int:
    index = await scan_page(page)
    return sum(each.visible > 0 for each in await find_standings(page, index, selectors))
