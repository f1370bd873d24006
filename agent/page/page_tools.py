"""Tools that a page offers itself (WebMCP): what it registers with `document.modelContext`, and forms with `toolname`.

Names, descriptions and results are text of the page. A browser without WebMCP, or with a page that offers nothing, has no
tools. Only the page's own document counts, no frames.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from playwright.async_api import Error as DriverError
from playwright.async_api import Page
from playwright.async_api import TimeoutError as DriverTimeout

from agent.page import in_page_library
from agent.page.errors import ActionFailed, ActionMisused
from kb_schema.action_calls import ActionCall
from kb_schema.excerpts import excerpt

ACTION = "call_page_tool"
MOST_TOOLS = 30
"""Further tools of a page are left out."""
CALL_MS, FILL_MS = 30_000.0, 3_000.0
"""How long a tool may take; how long a form may take to be filled that a person, or an act, has to send."""
LONGEST_RESULT = 20_000
"""Characters of a result."""
LED_ON = "it led to another page before it gave an answer"
"""What a tool says whose page was replaced, such as one that sends a form."""
NOT_SENT = "the form is filled and not sent: press its button"
_NAME = re.compile(r"[A-Za-z0-9_.\-]{1,128}")
_FORMS = """() => Object.fromEntries([...document.querySelectorAll('form[toolname]')]
  .map((form) => [form.getAttribute('toolname'), form.hasAttribute('toolautosubmit')]))"""


@dataclass(frozen=True, slots=True)
class PageTool:
    """One tool of a page."""

    name: str
    description: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    """The inputs: name -> JSON Schema."""
    required: frozenset[str] = frozenset()
    sends: bool = True
    """False: a form that is only filled."""


async def list_page_tools(page: Page) -> tuple[PageTool, ...]:
    """Return the tools of a page; none where the browser has no WebMCP or the page is gone."""
    try:
        found = await page.webmcp.tools()
        forms: dict[str, bool] = await page.evaluate(_FORMS) if found else {}
    except DriverError:
        return ()
    tools = []
    for each in found[:MOST_TOOLS]:
        name, schema = str(each.get("name", "")), each.get("inputSchema") or {}
        if _NAME.fullmatch(name) is None or not isinstance(schema, dict):
            continue
        properties, required = schema.get("properties"), schema.get("required")
        tools.append(
            PageTool(
                name,
                str(each.get("description") or ""),
                properties if isinstance(properties, dict) else {},
                frozenset(map(str, required)) if isinstance(required, list) else frozenset(),
                sends=forms.get(name, True),
            )
        )
    return tuple(tools)


def format_call(name: str, given: Mapping[str, Any]) -> str:
    """Return the value of the action: `NAME {"input": ...}`."""
    return f"{name} {json.dumps(given, ensure_ascii=False)}"


def with_tool_inputs(call: ActionCall) -> ActionCall:
    """Return the call with its parameters as the JSON object of its value; empty ones are left out."""
    if not call.parameters:
        return call
    given = {name: value for name, value in call.parameters.items() if value not in (None, "")}
    return call.model_copy(update={"value": format_call(str(call.value), given), "parameters": {}})


async def call_page_tool(page: Page, call: str) -> str:
    """Call a tool and return what it says.

    `call`: what `format_call` returns. Raises `ActionMisused` if nothing was done (no such tool, a missing input), and
    `ActionFailed` if the tool says that it failed or gives no answer: it may have happened.
    """
    name, _, text = call.partition(" ")
    try:
        given = json.loads(text or "{}")
    except ValueError as exc:
        raise ActionMisused(ACTION, f"needs a JSON object as input, not {excerpt(text, 80)!r}") from exc
    if not isinstance(given, dict):
        raise ActionMisused(ACTION, "needs a JSON object as input")
    tool = next((each for each in await list_page_tools(page) if each.name == name), None)
    if tool is None:
        raise ActionMisused(ACTION, f"finds no tool {name!r} on the page")
    if missing := sorted(tool.required - given.keys()):
        raise ActionMisused(ACTION, f"{name} needs the input {missing[0]!r}")
    if unknown := sorted(given.keys() - tool.properties.keys()):
        known = ", ".join(tool.properties) or "none"
        raise ActionMisused(ACTION, f"{name} has no input {unknown[0]!r}; it has: {known}")
    try:
        answer = await page.webmcp.call_tool(name, given, timeout=CALL_MS if tool.sends else FILL_MS)
    except DriverTimeout as exc:
        if not tool.sends:
            return NOT_SENT
        raise ActionFailed(ACTION, f"{name} gave no answer for {CALL_MS / 1000:.0f} s") from exc
    except DriverError as exc:
        if not in_page_library.document_replaced(exc):
            raise
        return LED_ON
    said = _say(answer)
    if isinstance(answer, dict) and answer.get("isError"):
        raise ActionFailed(ACTION, f"{name} says: {said}")
    return said


def _say(answer: Any) -> str:
    """Return the result as text: that of its content blocks, else as JSON."""
    if answer is None:
        return ""
    content = answer.get("content") if isinstance(answer, dict) else None
    if isinstance(content, list):
        parts = [str(each.get("text", "")) for each in content if isinstance(each, dict)]
        return "\n".join(part for part in parts if part)[:LONGEST_RESULT]
    told = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    return told[:LONGEST_RESULT]
