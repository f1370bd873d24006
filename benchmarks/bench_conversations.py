"""What a whole conversation costs a model: the same jobs with Playwright MCP and with Periplus.

A scripted policy does what a capable model does: it reads what it must to know the next element, and nothing more. With
Playwright MCP that is a snapshot of each page that an act leads to; with Periplus each act answers with what changed. A
request sends the tools' declarations and everything said before, so tokens are counted again in each request
(`sent`), and once (`new`, what prompt caching leaves at the full price). Tokens are those of `benchmarks/tokens.py`.

    python -m benchmarks.bench_conversations      (or through `make bench`)
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, stdio_client

from agent.browser.launch import find_chromium
from benchmarks import tokens
from benchmarks.bench_answers import FOLDER, PLAYWRIGHT_MCP
from kb_store import load_knowledge, open_stores
from loaders.files.folder_reader import read_knowledge_folder
from tests.support.foreign_sites import spadeworks_site
from tests.support.live_spadeworks import ACCOUNT, SEED, Controls

pytestmark = pytest.mark.bench

AGENT = "Harbour desk"


@dataclass
class Conversation:
    """Counts what a model would read and write."""

    client: Client
    tools: str = ""
    said: list[str] = field(default_factory=list)
    """Calls and answers by turns."""
    seconds: float = 0.0

    async def begin(self) -> None:
        """Read the tools, as a client does."""
        listed = (await self.client.list_tools()).tools
        declared = [
            {"name": each.name, "description": each.description, "input_schema": each.input_schema}
            for each in listed
        ]
        self.tools = json.dumps(declared)

    async def call(self, tool: str, **arguments: Any) -> str:
        """Call a tool; returns its text. Raises `AssertionError` if it is refused."""
        started = time.monotonic()
        result = await self.client.call_tool(tool, arguments)
        self.seconds += time.monotonic() - started
        text = "\n".join(getattr(block, "text", "") for block in result.content)
        self.said += [json.dumps({"name": tool, "arguments": arguments}), text]
        assert not result.is_error, text
        return text

    def cost(self) -> Cost:
        """Count the tokens."""
        (tools,), turns = tokens.count([self.tools]), tokens.count(self.said)
        calls, answers = turns[::2], turns[1::2]
        sent, before = 0, tools
        for call, answer in zip(calls, answers, strict=True):
            sent += before
            before += call + answer
        sent += before  # the last answer is read, too
        return Cost(len(calls), sent, before, sum(calls), self.seconds)


@dataclass(frozen=True)
class Cost:
    """Of one conversation: calls, tokens sent with all requests, tokens once, tokens written, seconds in tools."""

    calls: int
    sent: int
    new: int
    written: int
    seconds: float


Policy = Callable[[Conversation, str], Awaitable[None]]


# -- the policies ----------------------------------------------------------------------------------------


async def create_by_playwright_mcp(talk: Conversation, url: str) -> None:
    """Sign in, create an agent, see it in the list; a snapshot of each page tells the references."""
    shown = await _open(talk, f"{url}/login")
    if 'button "Accept' in shown:
        await talk.call("browser_click", target=_ref(shown, "button", "Accept"))
    await talk.call("browser_type", target=_ref(shown, "textbox", "Email"), text=str(ACCOUNT["email"]))
    await talk.call("browser_type", target=_ref(shown, "textbox", "Password"), text=str(ACCOUNT["password"]))
    await talk.call("browser_click", target=_ref(shown, "button", "Sign in"))
    shown = await talk.call("browser_snapshot")
    await talk.call("browser_click", target=_ref(shown, "link", "Agents"))
    shown = await talk.call("browser_snapshot")
    await talk.call("browser_click", target=_ref(shown, "link", "Create"))
    shown = await talk.call("browser_snapshot")
    await talk.call("browser_type", target=_ref(shown, "textbox", "Agent"), text=AGENT)
    await talk.call("browser_select_option", target=_ref(shown, "combobox", "Language"), values=["hi-IN"])
    await talk.call("browser_click", target=_ref(shown, "button", "(?:Save|Create)"))
    await talk.call("browser_snapshot")


async def create_by_elements(talk: Conversation, url: str) -> None:
    """The same, step by step on known pages."""
    await talk.call("go_to", url=f"{url}/login")
    await talk.call("act", element="email_input", value=str(ACCOUNT["email"]))
    await talk.call("act", element="password_input", secret="PASSWORD")  # noqa: S106 - the name of one
    await talk.call("act", element="sign_in_button")
    await talk.call("go_to", screen="agent_create")
    await talk.call("act", element="Agent name", value=AGENT)
    await talk.call("act", element="Language", value="hi-IN")
    await talk.call("act", element="Save Changes")


async def create_by_outline(talk: Conversation, url: str) -> None:
    """The same on a website that nobody described."""
    await talk.call("go_to", url=f"{url}/login")
    await talk.call("act", element="Decline")
    await talk.call("act", element="Email", value=str(ACCOUNT["email"]))
    await talk.call("act", element="Password", value=str(ACCOUNT["password"]))
    await talk.call("act", element="Sign in")
    await talk.call("act", element="Agents@Main")
    await talk.call("act", element="Create Agent")
    await talk.call("act", element="Agent name", value=AGENT)
    await talk.call("act", element="Language", value="hi-IN")
    await talk.call("act", element="Save Changes")


async def create_by_task(talk: Conversation, url: str) -> None:
    """The same as one known task."""
    del url  # the server knows it
    inputs = {"agent_name": AGENT, "language": "hi-IN", "email": str(ACCOUNT["email"])}
    await talk.call(
        "run_task", website_id="spadeworks", task_id="create_agent", inputs=inputs, wait_seconds=25
    )


async def _open(talk: Conversation, url: str) -> str:
    await talk.call("browser_navigate", url=url)
    return await talk.call("browser_snapshot")


def _ref(snapshot: str, role: str, name: str) -> str:
    found = re.search(rf'{role} "{name}[^"]*".*?\[ref=(\w+)\]', snapshot, re.IGNORECASE)
    assert found, f"no {role} {name} in\n{snapshot}"
    return found[1]


# -- the arms --------------------------------------------------------------------------------------------


@asynccontextmanager
async def playwright_mcp() -> AsyncIterator[Client]:
    """Playwright's MCP server, in a folder of its own."""
    node = tokens.npm_install(FOLDER, PLAYWRIGHT_MCP)
    with tempfile.TemporaryDirectory() as folder:
        arguments = [
            str(FOLDER / "node_modules/@playwright/mcp/cli.js"), "--headless", "--isolated", "--no-sandbox",
            "--executable-path", str(find_chromium()),
        ]  # fmt: skip
        async with Client(
            stdio_client(StdioServerParameters(command=node, args=arguments, cwd=folder))
        ) as client:
            yield client


@asynccontextmanager
async def periplus(url: str, *, knows: bool) -> AsyncIterator[Client]:
    """`periplus mcp --browser`, with or without the knowledge of the website."""
    with tempfile.TemporaryDirectory() as folder:
        if knows:
            knowledge, _ = read_knowledge_folder(SEED / "kb")
            async with open_stores(Path(folder)) as stores:
                await load_knowledge(stores.documents, stores.graph, knowledge)
        environment = {
            **os.environ,
            "PERIPLUS_DATA_DIR": folder,
            "PERIPLUS_SECRET_PASSWORD": str(ACCOUNT["password"]),
        }
        command = ["-m", "periplus", "mcp", "--browser", "--base-url", f"spadeworks={url}"]
        parameters = StdioServerParameters(command=sys.executable, args=command, env=environment)
        async with Client(stdio_client(parameters)) as client:
            yield client


async def measure_arm(name: str, policy: Policy) -> Cost:
    """One conversation on a fresh site."""
    with spadeworks_site() as url:
        serving = playwright_mcp() if name == "Playwright MCP" else periplus(url, knows="unknown" not in name)
        async with serving as client:
            talk = Conversation(client)
            await talk.begin()
            await policy(talk, url)
        agents = [each["name"] for each in Controls(url).state()["agents"]]
        assert AGENT in agents, f"{name}: the site has {agents}; the last answer: {talk.said[-1]}"
    return talk.cost()


ARMS: dict[str, Policy] = {
    "Playwright MCP": create_by_playwright_mcp,
    "Periplus, unknown pages": create_by_outline,
    "Periplus, known pages": create_by_elements,
    "Periplus, one task": create_by_task,
}


async def measure() -> dict[str, Cost]:
    """All arms, one after the other."""
    return {name: await measure_arm(name, policy) for name, policy in ARMS.items()}


def test_conversations_cost_less_than_with_playwright_mcp() -> None:
    try:
        costs = asyncio.run(measure())
    except tokens.NoTokenizer as exc:
        pytest.skip(exc.reason)
    base = costs["Playwright MCP"]
    assert costs["Periplus, one task"].sent * 4 < base.sent
    assert costs["Periplus, known pages"].sent < base.sent


def main() -> None:
    """Print the table."""
    costs = asyncio.run(measure())
    base = costs["Playwright MCP"]
    sys.stdout.write(
        "| arm | calls | tokens sent | tokens once | written | share of sent | seconds in tools |\n|---|---|---|---|---|---|---|\n"
    )
    for name, cost in costs.items():
        sys.stdout.write(
            f"| {name} | {cost.calls} | {cost.sent:,} | {cost.new:,} | {cost.written} | {cost.sent / base.sent:.2f} | {cost.seconds:.1f} |\n"
        )


if __name__ == "__main__":
    main()
