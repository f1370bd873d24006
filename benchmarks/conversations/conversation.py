"""One conversation of a scripted model with MCP servers, and what it costs.

A request sends the tools' declarations and all that was said before, so tokens are counted again in each request.
Tokens are those of `benchmarks/tokens.py`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mcp import Client

from benchmarks import tokens

CACHE_READ, CACHE_WRITE = 0.1, 1.25
"""Prices of input tokens with prompt caching, as multiples of the price without: read from the cache, written to it."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one conversation costs."""

    calls: int
    sent: int
    """Input tokens of all requests: what is billed without prompt caching."""
    once: int
    """Input tokens, each counted once: what is written to a cache."""
    written: int
    """Output tokens: the calls."""
    seconds: float
    """Within tools."""

    @property
    def cached(self) -> int:
        """Input tokens as billed with prompt caching."""
        return round(self.once * CACHE_WRITE + (self.sent - self.once) * CACHE_READ)


class CallRefused(Exception):
    """A tool answered with an error. `text` is the answer."""

    def __init__(self, call: str, text: str) -> None:
        self.text = text
        super().__init__(f"{call}: {text}")


@dataclass
class Conversation:
    """Calls tools of one or more servers, and keeps what a model would read and write."""

    clients: Sequence[Client]
    declared: str = ""
    """The tools as a model is told of them."""
    calls: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    seconds: float = 0.0
    _of_tool: dict[str, Client] = field(default_factory=dict)

    async def begin(self) -> None:
        """Read the tools of all servers."""
        declared = []
        for client in self.clients:
            for tool in (await client.list_tools()).tools:
                self._of_tool[tool.name] = client
                declared.append(
                    {
                        "name": tool.name,
                        "description": tool.description,
                        "input_schema": tool.input_schema,
                    }
                )
        self.declared = json.dumps(declared)

    async def call(self, tool: str, **arguments: Any) -> str:
        """Call a tool; return its text. Raises `CallRefused` if it answers with an error."""
        began = time.monotonic()
        result = await self._of_tool[tool].call_tool(tool, arguments)
        self.seconds += time.monotonic() - began
        text = "\n".join(getattr(block, "text", "") for block in result.content)
        self.calls.append(json.dumps({"name": tool, "arguments": arguments}, ensure_ascii=False))
        self.answers.append(text)
        if result.is_error:
            raise CallRefused(self.calls[-1], text)
        return text

    @property
    def last(self) -> str:
        """The last answer."""
        return self.answers[-1]

    def cost(self) -> Cost:
        """Count the tokens. Raises `NoTokenizer`."""
        (tools,) = tokens.count([self.declared])
        calls, answers = tokens.count(self.calls), tokens.count(self.answers)
        sent, said = 0, tools
        for call, answer in zip(calls, answers, strict=True):
            sent += said
            said += call + answer
        sent += said  # the last answer is read, too
        return Cost(len(calls), sent, said, sum(calls), self.seconds)
