"""What a client is told of a page: its screen and actions where it is known, else an outline; the second time only changes."""

from __future__ import annotations

import asyncio

from agent.errors import LeftWebsite
from agent.locators.page_index import PageIndex
from agent.locators.page_outline import MOST_ROWS, PageOutline, list_changes, outline_page
from agent.locators.page_scan import scan_page
from agent.page.errors import PageGone, ScriptFailed
from agent.page.page_refusals import read_person_checks
from agent.page.page_tools import list_page_tools
from agent.session import Session
from periplus.browser_tools.browser_tabs import BrowserTab, SeenPage
from periplus.browser_tools.errors import NoPage
from periplus.browser_tools.known_page import describe_known_page, find_hidden
from periplus.browser_tools.page_tool_list import render_tools

MESSAGE = "! "
"""Begins the lines of messages in an outline."""


async def look_at(tab: BrowserTab, *, whole: bool = False, brief: bool = False) -> str:
    """Return what the tab's page shows; only what changed since the last look unless `whole`. Raises `NoPage`.

    `brief`: without title and address where they and the page are as before.

    In a browser that others use, too, known elements are told with what Playwright's MCP server takes as target.
    """
    session, _ = tab.working_session()
    try:
        index, offered, checks = await asyncio.gather(
            scan_page(tab.page, rows=MOST_ROWS), list_page_tools(tab.page), read_person_checks(tab.page)
        )
        outline = outline_page(index, tab.names)
        tools = (*(f"{MESSAGE}only a person can do this: {each}" for each in checks), *render_tools(offered))
        known = ""
        if tab.website_id is None:  # there are no screens that it could be
            session.check_origin()
        else:
            known = await _describe_known(session, index)
    except LeftWebsite as exc:
        raise NoPage(str(exc), hint="look again") from exc
    except (PageGone, ScriptFailed) as exc:
        raise NoPage(f"the page does not answer: {exc}", hint="call go_to with a url") from exc
    head = f"{index.title or '(no title)'} {session.context.redact(tab.page.url)}"
    before, tab.seen = tab.seen, SeenPage(tab.page.url, index, outline, known, tools, head)
    body = _say_changes(before, tab.seen) if before is not None and not whole else None
    same = brief and body is not None and before is not None and before.head == head
    text = "\n".join([*([] if same else [head]), body if body is not None else _say_whole(tab.seen, known)])
    return str(session.context.redact(text))


def _say_whole(seen: SeenPage, known: str) -> str:
    assert seen.outline is not None  # noqa: S101 - a look makes one
    if not known:
        return "\n".join([seen.outline.text, *seen.tools])
    return "\n".join([known, *_messages(seen.outline), *seen.tools])


def _say_changes(before: SeenPage, now: SeenPage) -> str | None:
    """Return what changed on the same page; None if it is another one."""
    if before.outline is None or now.outline is None or before.known != now.known:
        return None
    if before.url.partition("#")[0] != now.url.partition("#")[0]:
        return None
    more = now.tools if now.tools != before.tools else ()
    if now.known:
        old = set(_messages(before.outline))
        new = [line for line in _messages(now.outline) if line not in old]
        return "\n".join([f"{now.known.splitlines()[0].rstrip(':')}: as before", *new, *more])
    changes = list_changes(before.outline, now.outline)
    return None if changes is None else "\n".join([*changes, *more]) or "unchanged"


def _messages(outline: PageOutline) -> list[str]:
    return [line for line in outline.lines if line.startswith(MESSAGE)]


async def _describe_known(session: Session, index: PageIndex) -> str:
    """Return the screen and what can be done there, at most 250 tokens; empty for an unknown page."""
    found = await session.look()
    if found.screen_id is None:
        return ""
    listed = await session.knowledge.available_actions(found.screen_id, detail="working")
    hidden = await find_hidden(session.page, await session.elements())
    return describe_known_page(listed, index, hidden, targets=session.lent)


def find_ref(tab: BrowserTab, ref: str) -> tuple[PageIndex, int] | None:
    """Return the page index and the position of a reference of the last look; None if it has none."""
    seen = tab.seen
    if seen is None or seen.index is None or seen.outline is None or ref not in seen.outline.refs:
        return None
    return seen.index, seen.outline.refs[ref]
