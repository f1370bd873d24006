"""Calls tools that pages offer themselves (WebMCP), under the rules of an act."""

from __future__ import annotations

import json
import re
from typing import Any

from agent.dangers.danger_words import find_danger_in_words
from agent.errors import AgentError
from agent.events import ActionDone, Event
from agent.execution.single_actions import perform_single_action
from agent.page.errors import PageError
from agent.page.page_tools import ACTION, PageTool, format_call, list_page_tools
from kb_schema.run_records import RunResult
from mcp_server.errors import BadRequest
from periplus.browser_tools.act_failures import UNSURE
from periplus.browser_tools.browser_tabs import BrowserTab
from periplus.browser_tools.errors import ActFailed, NeedsConfirmation, NotFoundOnPage
from periplus.browser_tools.page_acts import ASKED, Expected, questions_judged
from periplus.browser_tools.page_tool_list import PREFIX

_PARTS = re.compile(r"[_.\-]+|(?<=[a-z0-9])(?=[A-Z])")


async def call_tool_of_page(
    tab: BrowserTab, element: str, value: str | None, expects: Expected | None, *, sure: bool
) -> tuple[RunResult, str]:
    """Call the tool `tool:NAME` with all checks of a step; return the result and what the tool said.

    Raises `NotFoundOnPage`, `BadRequest` for inputs that are no JSON object or hold a secret, and `NeedsConfirmation`
    where its name or description says that it deletes, pays or sends.
    """
    session, engine = tab.working_session()
    name = element.removeprefix(PREFIX)
    tools = {each.name: each for each in await list_page_tools(tab.page)}
    if name not in tools:
        known = f"; it offers {', '.join(tools)}" if tools else ""
        raise NotFoundOnPage(f"the page offers no tool {name!r}{known}", hint="call look with whole: true")
    given = _parse(value)
    if session.context.redact(given) != given:
        raise BadRequest("secrets are typed into fields, not given to a page's tools", hint="leave it out")
    _check_danger(tools[name], sure=sure)
    said: list[str] = []

    def hear(event: Event) -> None:
        if isinstance(event, ActionDone) and event.action_type == ACTION and event.value:
            said.append(event.value)

    session.bus.listen(hear)
    try:
        with questions_judged(tab.page, sure=sure):
            result = await perform_single_action(
                engine, ACTION, value=format_call(name, given), expects=expects
            )
    except (AgentError, PageError) as exc:
        raise ActFailed(str(exc), hint=getattr(exc, "hint", None) or "call look") from exc
    finally:
        session.bus.forget(hear)
    return result, said[-1] if said else ""


def _parse(value: str | None) -> dict[str, Any]:
    try:
        given = json.loads(value or "{}")
    except ValueError as exc:
        raise BadRequest(f"the value is no JSON: {exc}", hint='write it like {"name": "Ada"}') from exc
    if not isinstance(given, dict):
        raise BadRequest("the value is no JSON object", hint='write it like {"name": "Ada"}')
    return given


def _check_danger(tool: PageTool, *, sure: bool) -> None:
    if sure or not tool.sends:
        return
    for words in (_PARTS.sub(" ", tool.name), tool.description):
        found = find_danger_in_words(words, pressed=True)
        if found is not None and found[0] in ASKED:
            danger, word = found
            raise NeedsConfirmation(
                f"{tool.name!r} {danger} ({word}): nothing was done",
                hint=UNSURE,
            )
