"""Playwright's own MCP server, as npm has it."""

from __future__ import annotations

from pathlib import Path

from agent.browser.launch import find_chromium
from benchmarks import tokens
from tests.support.needs import lacking

ROOT = Path(__file__).parents[2]
PACKAGE = "@playwright/mcp@0.0.83"


def playwright_mcp_command(*more: str) -> list[str]:
    """The command that starts the server; skips where Node is missing."""
    try:
        node = tokens.npm_install(ROOT / ".tools" / "playwright-mcp", PACKAGE)
    except tokens.NoTokenizer as exc:
        lacking(exc.reason)
    return [node, str(ROOT / ".tools/playwright-mcp/node_modules/@playwright/mcp/cli.js"), *more]


def own_browser() -> list[str]:
    """Options for a browser of its own."""
    return ["--headless", "--isolated", "--no-sandbox", "--executable-path", str(find_chromium())]
