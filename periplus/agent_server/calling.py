"""One call of one of the agent's tools: with a way to tell how far the run is, and to ask for more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from mcp.server.mcpserver.context import Context
from mcp.types import CallToolResult, InputRequiredResult
from pydantic import ValidationError

from mcp_server.tools import asking
from mcp_server.tools.calling import DeskTool
from periplus.agent_server.answers import Need

ANSWER_BEFORE_S = 2.0
"""A call that waits for a run answers this long before its own time is over."""


class Call:
    """The call that is being answered, as the tools' functions see it."""

    def __init__(self, tool: str, context: Context[Any, Any] | None, call_seconds: float) -> None:
        self._tool, self._context = tool, context
        self.longest = max(0.0, call_seconds - ANSWER_BEFORE_S)
        """How long it may wait, in seconds."""
        self._told = 0.0

    @property
    def asked_about(self) -> str | None:
        """The run whose question this call answers."""
        return None if self._context is None else self._context.request_state

    @property
    def answers(self) -> Mapping[str, Any]:
        """What a person filled in. Raises `BadRequest` where they would not say."""
        return {} if self._context is None else asking.answered(self._context) or {}

    async def progress(self, steps: int, doing: str) -> None:
        """Tell a client that wants to know; what is not further than before is not told."""
        if self._context is not None and steps + 1 > self._told:
            self._told = steps + 1
            await self._context.report_progress(steps, None, doing)

    async def ask(
        self, needs: Sequence[Need], types: Mapping[str, str], run_id: str | None = None
    ) -> InputRequiredResult | dict[str, Any] | None:
        """What is to be filled in, or what was; None where this client cannot be asked for it.

        Forms are no place for secrets (MCP, elicitation): those are never asked for by one.
        """
        if self._context is None or any(need.secret for need in needs):
            return None
        if self._context.input_responses and run_id is None:
            return None  # a second question would forget the answer to the first
        schema = {
            "properties": {
                need.name: {"type": types.get(need.name, "string"), "description": need.question or need.name}
                for need in needs
            }
        }
        names = [need.name for need in needs]
        asked = await asking.ask(self._tool, schema, names, {}, self._context)
        if isinstance(asked, InputRequiredResult) and run_id is not None:
            return asked.model_copy(update={"request_state": run_id})
        return asked


_CALL: ContextVar[Call | None] = ContextVar("call", default=None)


def current_call(tool: str) -> Call:
    """The call that is being answered; one that nobody hears of where this process asks itself."""
    return _CALL.get() or Call(tool, None, call_seconds=3_600.0)


class AgentTool(DeskTool):
    """A tool whose own questions are about the run, not about its arguments."""

    async def _read(
        self, arguments: dict[str, Any], context: Context[Any, Any]
    ) -> dict[str, Any] | InputRequiredResult:
        if not context.input_responses:
            return await super()._read(arguments, context)
        given = self._unwrapped(arguments)
        self._check_names(given)
        if self._missing(given):  # the question was about arguments
            return await super()._read(arguments, context)
        try:
            return self.fn_metadata.arg_model.model_validate(given).model_dump_one_level()
        except ValidationError as exc:
            raise await self._told(exc) from exc

    async def _working(self, read: dict[str, Any], context: Context[Any, Any]) -> CallToolResult:
        token = _CALL.set(Call(self.name, context, self.guard.limits.call_seconds))
        try:
            return await self._answered(read)
        finally:
            _CALL.reset(token)
