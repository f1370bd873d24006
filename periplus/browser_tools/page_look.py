"""What a client is told of a page: its screen and actions where it is known, else an outline; the second time only changes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from functools import partial

from agent.errors import LeftWebsite
from agent.locators.page_index import PageIndex
from agent.locators.page_outline import (
    MOST_CHARACTERS,
    MOST_ROWS,
    PageOutline,
    list_changes,
    outline_page,
)
from agent.locators.page_scan import scan_page
from agent.page.errors import PageGone, ScriptFailed
from agent.page.page_refusals import read_person_checks
from agent.page.page_tools import list_page_tools
from agent.session import Session
from periplus.browser_tools.browser_tabs import BrowserTab, SeenPage
from periplus.browser_tools.errors import NoPage
from periplus.browser_tools.known_page import describe_known_page, find_elements, list_values
from periplus.browser_tools.page_tool_list import render_tools

MESSAGE = "! "
"""Begins the lines of messages in an outline."""
MOST_VALUES, LONGEST_VALUE = 160, 60
"""Characters of what fields show, together and each."""
_WHOLE = 4
"""How many times as much a whole look has."""


async def look_at(tab: BrowserTab, *, whole: bool = False, brief: bool = False) -> str:
    """Return what the tab's page shows; only what changed since the last look unless `whole`. Raises `NoPage`.

    `brief`: without title and address where they and the page are as before.

    In a browser that others use, too, known elements are told with what Playwright's MCP server takes as target.
    """
    session, _ = tab.working_session()
    try:
        index, offered, checks = await asyncio.gather(
            scan_page(tab.page, rows=MOST_ROWS, values=True),
            list_page_tools(tab.page),
            read_person_checks(tab.page),
        )
        outline = outline_page(index, tab.names)
        shown = outline_page(index, tab.names, MOST_CHARACTERS * _WHOLE) if whole else outline
        tools = (*(f"{MESSAGE}only a person can do this: {each}" for each in checks), *render_tools(offered))
        known, told = "", ""
        values = {ref: index.values[at] for ref, at in outline.refs.items() if at in index.values}
        if tab.website_id is None:  # there are no screens that it could be
            session.check_origin()
        else:
            known, told, by_id = await _describe_known(session, index, outline, whole=whole)
            values = by_id if known else values
    except LeftWebsite as exc:
        raise NoPage(str(exc), hint="look again") from exc
    except (PageGone, ScriptFailed) as exc:
        raise NoPage(f"the page does not answer: {exc}", hint="call go_to with a url") from exc
    head = f"{index.title or '(no title)'} {session.context.redact(tab.page.url)}"
    before, tab.seen = tab.seen, SeenPage(tab.page.url, index, outline, known, tools, head, values)
    body = _say_changes(before, tab.seen, brief=brief) if before is not None and not whole else None
    if brief and body is not None and before is not None:
        tab.seen.values = before.values  # what fields show now is not told yet
    same = brief and body is not None and before is not None and before.head == head
    text = "\n".join(
        [
            *([] if same else [head]),
            body if body is not None else _say_whole(tab.seen, told, shown, whole=whole),
        ]
    )
    return str(session.context.redact(text))


def _say_whole(seen: SeenPage, known: str, outline: PageOutline, *, whole: bool) -> str:
    values = _within(seen.values, MOST_VALUES * (_WHOLE if whole else 1))
    if known:
        shown = [f"shows {', '.join(f'{name}={value}' for name, value in values.items())}"] if values else []
        return "\n".join([known, *shown, *_messages(outline), *seen.tools])
    lines = [_with_value(line, values) for line in outline.text.splitlines()]
    return "\n".join([*lines, *seen.tools])


def _say_changes(before: SeenPage, now: SeenPage, *, brief: bool) -> str | None:
    """Return what changed on the same page; None if it is another one. `brief`: without what fields show, which an act entered."""
    if before.outline is None or now.outline is None or before.known != now.known:
        return None
    if before.url.partition("#")[0] != now.url.partition("#")[0]:
        return None
    more = [*(now.tools if now.tools != before.tools else ())]
    if not brief:
        other = {name: value for name, value in now.values.items() if before.values.get(name) != value}
        more += [f"{name} shows {value}" for name, value in _within(other, MOST_VALUES).items()]
    if now.known:
        old = set(_messages(before.outline))
        new = [line for line in _messages(now.outline) if line not in old]
        return "\n".join([f"{_screen(now)}: as before", *new, *more])
    changes = list_changes(before.outline, now.outline)
    return None if changes is None else "\n".join([*changes, *more]) or "unchanged"


def _screen(seen: SeenPage) -> str:
    return seen.known.partition("\n")[0].rstrip(":")


def _with_value(line: str, values: Mapping[str, str]) -> str:
    value = values.get(line.partition(" ")[0])
    return line if value is None else f"{line} = {value}"


def _within(values: Mapping[str, str], most: int) -> dict[str, str]:
    """Return the values, quoted and shortened, as many as fit."""
    kept: dict[str, str] = {}
    for name, value in values.items():
        shown = json.dumps(
            value if len(value) <= LONGEST_VALUE else f"{value[:LONGEST_VALUE]}...", ensure_ascii=False
        )
        most -= len(name) + len(shown)
        if most < 0:
            break
        kept[name] = shown
    return kept


def _messages(outline: PageOutline) -> list[str]:
    return [line for line in outline.lines if line.startswith(MESSAGE)]


async def _describe_known(
    session: Session, index: PageIndex, outline: PageOutline, *, whole: bool
) -> tuple[str, str, dict[str, str]]:
    """Return the screen and what can be done there, in short and as it is told, and what its fields show by element id.

    Empty for an unknown page.
    """
    found = await session.look()
    if found.screen_id is None:
        return "", "", {}
    listed = await session.knowledge.available_actions(found.screen_id, detail="working")
    standings = await find_elements(session.page, index, await session.elements())
    describe = partial(describe_known_page, listed, index, standings, outline.refs, targets=session.lent)
    short = describe()
    told = describe(whole=True) if whole else short
    return short, told, list_values(index, standings)


def find_ref(tab: BrowserTab, ref: str) -> tuple[PageIndex, int] | None:
    """Return the page index and the position of a reference of the last look; None if it has none."""
    seen = tab.seen
    if seen is None or seen.index is None or seen.outline is None or ref not in seen.outline.refs:
        return None
    return seen.index, seen.outline.refs[ref]
