"""An LLM agent that carries out a task with two MCP servers: Periplus knows the way, a browser goes it.

    pip install '.[llm]' 'pydantic-ai-slim[anthropic]'
    periplus kb load seeds/spadeworks/kb
    python -m seeds.spadeworks.site --port 8080
    python docs/examples/agent_with_browser.py anthropic:claude-sonnet-4-5 http://127.0.0.1:8080 \
        "Create an agent called Harbour Pilot. The account is demo@spadeworks.example / spadeworks-demo"

The browser is Playwright's own MCP server, started with `npx`. Any model of pydantic-ai does; the tests
run this file with a scripted one (tests/docs/test_examples.py).
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable
from typing import Any

from mcp import Client, StdioServerParameters, stdio_client
from mcp.types import TextContent
from mcp.types import Tool as ToolOnOffer
from pydantic_ai import Agent, Tool, UsageLimits
from pydantic_ai.models import Model

INSTRUCTIONS = """
You work on a website with two kinds of tools. Those that begin with `browser_` see and act. The others ask
Periplus, which knows the website `{website_id}`; it runs at {base_url}.

- Look before and after every change of page: browser_snapshot, then get_available_actions with
  snapshot={{"url": ..., "text": ...}} and detail "summary". It says where you are and what you can do.
- search_knowledge finds the task for a goal; get_next_step tells its steps one by one. Give the `path` of the
  step you have done as after_step. Leave out optional steps you have no input for.
- get_screen tells how each element is found; a `data-testid` or an `id` is a selector that browser_ tools take
  as `target`.
- If something fails, explain_failure with the page before you try again. Never repeat a click without looking.
- Say in one sentence what you have done, or why you could not.
"""

WANTED = {
    "browser_navigate", "browser_snapshot", "browser_click", "browser_type", "browser_select_option",
}  # fmt: skip
"""Of the browser's many tools: every one costs the model attention."""
MOST_REQUESTS = 60


def tools_of(client: Client, offered: Iterable[ToolOnOffer]) -> list[Tool]:
    """The tools of an MCP server as tools of an agent. What a tool refuses the model reads, too."""

    def tool(each: ToolOnOffer) -> Tool:
        async def call(**arguments: Any) -> Any:
            answer = await client.call_tool(each.name, arguments)
            said = "\n".join(part.text for part in answer.content if isinstance(part, TextContent))
            return answer.structured_content or said

        return Tool.from_schema(call, each.name, each.description, each.input_schema)

    return [tool(each) for each in offered]


async def carry_out(
    goal: str, model: Model | str, knowledge: Client, browser: Client, *, website_id: str, base_url: str
) -> str:
    """What the agent says it has done. Raises `UsageLimitExceeded` where it goes round in circles."""
    known = (await knowledge.list_tools()).tools
    seen = [each for each in (await browser.list_tools()).tools if each.name in WANTED]
    agent = Agent(
        model,
        instructions=INSTRUCTIONS.format(website_id=website_id, base_url=base_url),
        tools=[*tools_of(knowledge, known), *tools_of(browser, seen)],
    )
    done = await agent.run(goal, usage_limits=UsageLimits(request_limit=MOST_REQUESTS))
    return done.output


async def main(model: str, base_url: str, goal: str) -> None:
    """Start both servers and carry out the goal on the example site."""
    periplus = StdioServerParameters(command="periplus", args=["mcp", "--base-url", f"spadeworks={base_url}"])
    playwright = StdioServerParameters(command="npx", args=["@playwright/mcp@0.0.83", "--isolated"])
    async with Client(stdio_client(periplus)) as knowledge, Client(stdio_client(playwright)) as browser:
        print(await carry_out(goal, model, knowledge, browser, website_id="spadeworks", base_url=base_url))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:4]))
