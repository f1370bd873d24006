"""What an answer costs a model: "where am I and what can I do" against a Playwright MCP snapshot.

One page of 500 interactive elements is opened in the system's Chromium by `@playwright/mcp`, which is
installed into `.tools/` at run time. Its own snapshot is what a model would read to orient itself; ours is
the answer of one `get_available_actions` at detail `summary`, text and structured content together. The
numbers are tokens (`benchmarks/tokens.py`).

    python benchmarks/bench_answers.py      (or through `make bench`)
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from contextlib import asynccontextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client, StdioServerParameters, stdio_client

from agent.browser.launch import find_chromium
from benchmarks import tokens
from kb_schema import KnowledgeBase, SourcedDocument, assemble, parse_document
from mcp_server.knowledge.knowledge_sources import MemorySource
from mcp_server.server import create_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

pytestmark = pytest.mark.bench

ELEMENTS = 500
SIZES = (50, ELEMENTS)
PLAYWRIGHT_MCP = "@playwright/mcp@0.0.83"
FOLDER = Path(__file__).resolve().parent.parent / ".tools" / "playwright-mcp"
MOST_TOKENS = 250
SHARE = 0.1
SUMMARY = "summary"


def page(elements: int) -> str:
    """A back office as there are many: a menu, a form, and a table with buttons in every row."""
    menu = "".join(f'<a href="/section/{n}" id="section_{n}">Section {n}</a>' for n in range(20))
    fields = "".join(
        f'<label>Field {n} <input id="field_{n}" {"required" if n % 4 == 0 else ""}></label>'
        for n in range(20)
    )
    rows = "".join(
        f'<tr><td>Order {n}</td><td><button id="open_{n}">Open {n}</button></td>'
        f'<td><button id="remove_{n}">Remove {n}</button></td></tr>'
        for n in range((elements - 41) // 2)
    )
    return (
        f"<!doctype html><title>Orders</title><nav>{menu}</nav><main><h1>All orders</h1><form>{fields}"
        f'<button id="save" type="button">Save</button></form><table>{rows}</table></main>'
    )


def knowledge(elements: int) -> KnowledgeBase:
    """What is known of it: every element of menu and form, and the buttons of every row."""

    def element(element_id: str, kind: str, action: str, **more: Any) -> dict[str, Any]:
        affordance = {"action_type": action, **more}
        return {
            "element_id": element_id,
            "type": kind,
            "selector": f"#{element_id}",
            "affordances": [affordance],
        }

    rows = range((elements - 41) // 2)
    documents: list[dict[str, Any]] = [
        {"type": "website", "website_id": "office", "name": "Office", "base_url": "https://office.example"},
        {
            "type": "screen", "screen_id": "orders", "name": "Orders", "url_patterns": ["^/$"],
            "state_signature": {"required_indicators": [{"type": "dom_contains", "value": "All orders"}]},
            "ui_elements": [
                *(element(f"section_{n}", "link", "click") for n in range(20)),
                *(element(f"field_{n}", "input", "fill", required=n % 4 == 0) for n in range(20)),
                element("save", "button", "click"),
                *(element(f"{what}_{n}", "button", "click") for n in rows for what in ("open", "remove")),
            ],
        },
        {"type": "screen", "screen_id": "order", "name": "Order", "url_patterns": ["^/order$"]},
        {"type": "transition", "_from": "orders", "_to": "order",
         "triggered_by": {"action_type": "click", "target": "open_0"}},
        {"type": "task", "task_id": "save_order", "steps": [{"action": {"action_type": "click", "target": "save"}}]},
    ]  # fmt: skip
    return assemble([SourcedDocument(parse_document(each)) for each in documents])[0]


async def ours(html: str, known: KnowledgeBase, url: str) -> str:
    """All that one answer gives a model to read."""
    async with Client(create_server(MemorySource(known))) as client:
        snapshot = {"url": url, "html": html}
        asked = {"website_id": "office", "snapshot": snapshot, "detail": SUMMARY}
        result = await client.call_tool("get_available_actions", asked)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    assert result.structured_content["screen_id"] == "orders"
    text = "".join(block.text for block in result.content if block.type == "text")
    return text + json.dumps(result.structured_content, separators=(",", ":"), ensure_ascii=False)


async def theirs(client: Client, url: str) -> str:
    """What Playwright MCP gives a model to read of the page."""
    await client.call_tool("browser_navigate", {"url": url})
    result = await client.call_tool("browser_snapshot", {})
    assert not result.is_error, result.content
    return "".join(block.text for block in result.content if block.type == "text")


@asynccontextmanager
async def playwright_mcp() -> AsyncIterator[Client]:
    """A client of a Playwright MCP server of its own. Raises `NoTokenizer` where Node is missing."""
    node = tokens.npm_install(FOLDER, PLAYWRIGHT_MCP)
    chromium = find_chromium()
    if chromium is None:
        raise tokens.NoTokenizer("there is no Chromium")
    arguments = [
        str(FOLDER / "node_modules" / "@playwright" / "mcp" / "cli.js"),
        "--headless", "--isolated", "--no-sandbox", "--executable-path", chromium,
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as scratch:
        parameters = StdioServerParameters(command=node, args=arguments, cwd=scratch)
        async with Client(stdio_client(parameters)) as client:
            yield client


def served(html: str) -> Iterator[str]:
    """The address of the page on this machine."""

    class Handler(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def measured() -> dict[int, tuple[int, int]]:
    """Elements on the page -> tokens of our answer, tokens of Playwright MCP's snapshot."""
    found = {}
    async with playwright_mcp() as client:
        for elements in SIZES:
            html = page(elements)
            for url in served(html):
                texts = [await ours(html, knowledge(elements), url), await theirs(client, url)]
                own, other = tokens.count(texts)
                found[elements] = (own, other)
    return found


def table(found: dict[int, tuple[int, int]]) -> str:
    """The measurements, a line a page."""
    lines = ["where am I and what can I do, in tokens", "elements   periplus   playwright mcp   share"]
    lines += [
        f"{elements:>8}   {own:>8}   {other:>14}   {own / other:>5.1%}"
        for elements, (own, other) in found.items()
    ]
    return "\n".join(lines)


def test_an_answer_is_small_whatever_is_on_the_page() -> None:
    try:
        found = asyncio.run(measured())
    except tokens.NoTokenizer as exc:
        pytest.skip(exc.reason)
    print(f"\n{table(found)}")
    assert all(own < MOST_TOKENS for own, _ in found.values())
    own, other = found[ELEMENTS]
    assert own <= SHARE * other


if __name__ == "__main__":
    print(table(asyncio.run(measured())))
