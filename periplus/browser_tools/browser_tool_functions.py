"""The browser tools as plain functions, and their MCP descriptions."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

from mcp.types import CallToolResult, ToolAnnotations
from pydantic import Field, JsonValue

from agent.errors import AgentError
from agent.execution.effects.person_handover import PRESSES
from agent.execution.navigation_tasks import reach_screen
from agent.execution.single_actions import perform_single_action
from agent.locators.role_hints import ENTER
from agent.page.errors import PageError
from kb_schema.base import Model
from kb_schema.run_records import RunResult
from mcp_server.errors import BadRequest
from mcp_server.tools.tool_calls import KnowledgeTool
from mcp_server.tools.tool_definitions import define_tool, to_call_result
from mcp_server.tools.tool_parameters import ScreenId
from mcp_server.tools.tool_specs import ToolReply
from periplus.browser_tools.browser_tabs import BrowserTab, BrowserTabs
from periplus.browser_tools.errors import ActFailed, NoPage
from periplus.browser_tools.field_acts import FieldValue, fill_fields
from periplus.browser_tools.page_acts import (
    ActTarget,
    Expected,
    check_address,
    check_danger,
    choose_action,
    find_target,
    has_sent_form,
    list_errors,
    perform_act,
)
from periplus.browser_tools.page_look import look_at
from periplus.browser_tools.page_reading import read_page
from periplus.browser_tools.page_tool_acts import call_tool_of_page
from periplus.browser_tools.page_tool_list import PREFIX
from periplus.browser_tools.screen_arrival import doubt_screen, open_own_address

Tab = Annotated[str | None, Field(description="Of `tabs`; default: the present one")]
Short = Annotated[str, Field(min_length=1, max_length=500)]


class PageAnswer(Model):
    """What a page shows, as text."""

    tab: str
    page: str


async def look(tabs: BrowserTabs, tab: Tab = None, *, whole: bool = False) -> CallToolResult:
    """Where am I, what can I do? On a known page its screen and actions; else an outline with references (e1, e2). The
    next look says only what changed, unless `whole`.
    """
    async with tabs.working_tab(tab) as working:
        return await _answer(working, whole=whole)


async def go_to(
    tabs: BrowserTabs,
    screen: Annotated[ScreenId | None, Field(description="A screen of the knowledge base")] = None,
    url: Annotated[str | None, Field(max_length=4_000)] = None,
    inputs: Annotated[
        dict[str, JsonValue] | None,
        Field(description="What the way needs: a row's name, an account; no secrets"),
    ] = None,
    tab: Tab = None,
    *,
    sure: Annotated[bool, Field(description="Needed for an address that deletes or pays")] = False,
) -> CallToolResult:
    """Go to a known screen along known paths (signing in if needed), or open a URL. Returns the new look."""
    if (screen is None) == (url is None):
        raise BadRequest("go_to takes a screen or a url", hint="give one of them")
    if url is not None and not sure:
        check_address(url)
    async with tabs.working_tab(tab, leaves=url is not None) as working:
        if url is not None:
            await _open(tabs, working, url)
            return await _answer(working)
        if working.session is None and (only := await tabs.find_only_address()) is not None:
            await _open(tabs, working, only)
        session, engine = working.working_session()
        session.context.global_values |= inputs or {}
        session.context.said |= inputs or {}
        if working.website_id is None:
            raise BadRequest(
                "the page is of no known website", hint="open a page of the website with url first"
            )
        before = working.page.url
        try:
            result = await reach_screen(engine, str(screen))
            if result.complete and not inputs and working.page.url != before:
                await open_own_address(engine, str(screen))
            known = await tabs.knowledge(working.website_id)
            doubt = await doubt_screen(session, str(screen), known) if result.complete else ""
        except (AgentError, PageError) as exc:
            raise ActFailed(
                f"{screen} was not reached: {exc}", hint=getattr(exc, "hint", None) or "call look"
            ) from exc
        await tabs.follow(working)
        told = f"at {screen}, not verified: {doubt}" if doubt else _say(result, f"at {screen}")
        return await _answer(working, told=told, error=not result.complete)


async def act(
    tabs: BrowserTabs,
    element: Annotated[
        Short | None, Field(description="A reference (e5), an element id, or words: Save, Delete@row Bob")
    ] = None,
    action: Annotated[
        str | None, Field(description="click, fill, select_option, check, press, ... Default: by the element")
    ] = None,
    value: Annotated[str | None, Field(max_length=20_000, description="Text, option or key")] = None,
    secret: Annotated[
        str | None, Field(description="The name of a secret to type instead of a value")
    ] = None,
    expects: Annotated[
        Expected | None, Field(description="A dialog of the page is answered so, or a new tab opens")
    ] = None,
    fields: Annotated[
        dict[str, FieldValue] | None,
        Field(description="Instead of element and value: several fields, each with its value"),
    ] = None,
    tab: Tab = None,
    *,
    sure: Annotated[bool, Field(description="Needed for what deletes, pays or sends")] = False,
) -> CallToolResult:
    """Do one thing on the page, or fill several fields. Each element is checked before it is touched. Returns the new look."""
    if value is not None and secret is not None:
        raise BadRequest("act takes a value or a secret", hint="give one of them")
    if (element is None) == (fields is None) or (fields and (action or value or secret or expects)):
        raise BadRequest(
            "act takes an element, or fields with nothing else",
            hint="give one of them; tab may be beside both",
        )
    async with tabs.working_tab(tab) as working:
        if element is None:
            told, complete = await fill_fields(working, fields or {}, sure=sure)
            await tabs.follow(working)
            return await _answer(working, told=told, error=not complete)
        if element.startswith(PREFIX):
            if secret is not None or action is not None:
                raise BadRequest("a page's tool takes a value only", hint="leave action and secret out")
            return await _call_tool(tabs, working, element, value, expects, sure=sure)
        wanted = action or ("click" if value is None and secret is None else ENTER)
        target = await find_target(working, element, wanted)
        chosen = choose_action(target, action, value, secret=secret is not None)
        await check_danger(working, target, chosen, value, sure=sure)
        if secret is not None:
            _check_secret_place(working, target)
        if target.secret and value is not None:
            working.working_session()[0].context.keep_secret(value)
        url = working.page.url
        outcome = await perform_act(working, target, chosen, value, secret, expects, sure=sure)
        if outcome.failed:
            return await _answer(working, told=outcome.told, error=True)
        told = outcome.told
        if expects == "new_tab":
            opened = await tabs.take_followed(working)
            return await _answer(opened, told=f"{told}; this is the new tab")
        await tabs.follow(working)
        if chosen in PRESSES and (said := await list_errors(working.page)):
            told = f"the page shows {'; '.join(map(repr, said))}; {told}"
            return await _answer(working, told=told, error=has_sent_form(working.page, url))
        return await _answer(working, told=told)


async def read(
    tabs: BrowserTabs,
    what: Annotated[
        Short | None,
        Field(
            description="A reference, an element id, words that name a field, text or table, or words to find in the page's text; default: all of it"
        ),
    ] = None,
    tab: Tab = None,
) -> CallToolResult:
    """Read a field, a text, or a table (as rows by column) from the page."""
    async with tabs.working_tab(tab) as working:
        session, _ = working.working_session()
        text = await read_page(working, what)
        return _result(PageAnswer(tab=working.tab_id, page=str(session.context.redact(text))))


async def tabs(
    tabs: BrowserTabs,
    *,
    open: Annotated[bool, Field(description="Open a new tab")] = False,  # noqa: A002 - the argument's name for clients
    choose: Annotated[str | None, Field(description="Make this tab the present one")] = None,
    close: Annotated[str | None, Field(description="Close this tab")] = None,
) -> CallToolResult:
    """List the browser's tabs; open, choose or close one."""
    if close is not None:
        await tabs.close_tab(close)
    if choose is not None:
        tabs.choose(choose)
    opened = await tabs.open_tab() if open else None
    lines = []
    for each in tabs.list_tabs() if not tabs.shared else [opened] if opened is not None else []:
        marks = ["present"] if each.tab_id == tabs.current else []
        marks += [] if each.page in tabs.source.own or not tabs.source.attached else ["was open before"]
        lines.append(" ".join([each.tab_id, each.url, *(f"({mark})" for mark in marks)]))
    present = opened.tab_id if opened is not None else tabs.current or ""
    return _result(PageAnswer(tab=present, page="\n".join(lines) or "no tab; call tabs with open: true"))


async def _call_tool(
    tabs: BrowserTabs,
    working: BrowserTab,
    element: str,
    value: str | None,
    expects: Expected | None,
    *,
    sure: bool,
) -> CallToolResult:
    result, said = await call_tool_of_page(working, element, value, expects, sure=sure)
    if not result.complete:
        told = f"{element} did not come off: {result.error}"
        return await _answer(working, told=f"{told}; {result.hint}" if result.hint else told, error=True)
    await tabs.follow(working)
    told = f"done: {element}"
    return await _answer(working, told=f"{told}; the page says: {json.dumps(said)}" if said else told)


def _check_secret_place(working: BrowserTab, target: ActTarget) -> None:
    """Raise `BadRequest` unless a secret may be typed there: a page could ask a model to give it away elsewhere."""
    if working.website_id is None:
        raise BadRequest(
            "secrets are typed on websites of the knowledge base only",
            hint="let a person sign in, or load the website's knowledge base",
        )
    if not target.secret:
        raise BadRequest(f"{target.name!r} is no field for a secret", hint="name the password field")


async def _open(tabs: BrowserTabs, working: BrowserTab, url: str) -> None:
    if not url.lower().startswith(("http://", "https://")):
        raise BadRequest(f"{url!r} is no web address", hint="begin with http:// or https://")
    await tabs.follow(working, url)
    _, engine = working.working_session()
    try:
        result = await perform_single_action(engine, "navigate", url=url)
    except (AgentError, PageError) as exc:
        raise NoPage(f"{url} does not open: {exc}", hint="check the address") from exc
    if result.error is not None and not result.complete:
        raise NoPage(f"{url} does not open: {result.error}", hint=result.hint or "check the address")
    await tabs.follow(working)


def _say(result: RunResult, done: str) -> str:
    if result.complete:
        return f"{done} ({result.evidence})"
    told = f"not {done}: {result.error}"
    hint = "give it in inputs; secrets are set on the server" if "needs the input" in told else result.hint
    return f"{told.partition('; give it with')[0]}; {hint}" if hint else told


async def _answer(
    working: BrowserTab, *, whole: bool = False, told: str = "", error: bool = False
) -> CallToolResult:
    text = await look_at(working, whole=whole, brief=bool(told))
    if told and working.session is not None:
        text = f"{working.session.context.redact(told)}\n{text}"
    answer = _result(PageAnswer(tab=working.tab_id, page=text))
    return answer.model_copy(update={"is_error": True}) if error else answer


def _result(answer: PageAnswer) -> CallToolResult:
    return to_call_result(ToolReply(answer, answer.page))


# -- as MCP tools ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BrowserToolDefinition:
    """A tool function with its MCP metadata."""

    function: Callable[..., Awaitable[CallToolResult]]
    title: str
    read_only: bool


TOOL_DEFINITIONS = (
    BrowserToolDefinition(look, "Look at the page", read_only=True),
    BrowserToolDefinition(go_to, "Go to a screen or address", read_only=False),
    BrowserToolDefinition(act, "Do one thing on the page", read_only=False),
    BrowserToolDefinition(read, "Read from the page", read_only=True),
    BrowserToolDefinition(tabs, "Tabs", read_only=False),
)


def build_browser_tools(open_tabs: BrowserTabs) -> list[KnowledgeTool]:
    """Return all tools, always in the same order."""
    return [_build_tool(each, open_tabs) for each in TOOL_DEFINITIONS]


def _build_tool(definition: BrowserToolDefinition, open_tabs: BrowserTabs) -> KnowledgeTool:
    hints = get_type_hints(definition.function, include_extras=True)
    _, *own = inspect.signature(definition.function).parameters.values()
    parameters = [parameter.replace(annotation=hints[parameter.name]) for parameter in own]

    async def answering(**arguments: Any) -> CallToolResult:
        return await definition.function(open_tabs, **arguments)

    annotations = ToolAnnotations(
        read_only_hint=definition.read_only,
        destructive_hint=not definition.read_only,
        idempotent_hint=definition.read_only,
        open_world_hint=True,
    )
    return define_tool(
        answering,
        definition.function,
        definition.title,
        parameters,
        PageAnswer,
        read_only=definition.read_only,
        annotations=annotations,
    )
