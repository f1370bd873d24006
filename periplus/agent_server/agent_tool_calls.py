"""A call of an agent tool: sends progress to the client and requests missing inputs (MCP elicitation)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from mcp.server.mcpserver.context import Context
from mcp.types import CallToolResult, InputRequiredResult
from pydantic import ValidationError

from mcp_server.tools import elicitation
from mcp_server.tools.tool_calls import KnowledgeTool
from periplus.agent_server.run_answers import NeededInput

ANSWER_BEFORE_S = 2.0
"""A waiting call answers this long before its timeout."""


class AgentToolCall:
    """The current call, for the tool functions."""

    def __init__(self, tool: str, context: Context[Any, Any] | None, call_seconds: float) -> None:
        self._tool, self._context = tool, context
        self.longest = max(0.0, call_seconds - ANSWER_BEFORE_S)
        """The maximum time to wait, in seconds."""
        self._told = 0.0

    @property
    def asked_about(self) -> str | None:
        """The run whose question this call answers, if any."""
        return None if self._context is None else self._context.request_state

    @property
    def answers(self) -> Mapping[str, Any]:
        """Return the values of the form. Raises `BadRequest` if the person declined."""
        return {} if self._context is None else elicitation.read_answer(self._context) or {}

    async def progress(self, steps: int, doing: str) -> None:
        """Send progress to the client, if it wants any and the number of steps has increased."""
        if self._context is not None and steps + 1 > self._told:
            self._told = steps + 1
            await self._context.report_progress(steps, None, doing)

    async def ask(
        self, needs: Sequence[NeededInput], types: Mapping[str, str], run_id: str | None = None
    ) -> InputRequiredResult | dict[str, Any] | None:
        """Return the input request, or the values if they were given; None if the client supports no forms.

        Secrets are never requested with a form (MCP specification, elicitation).
        """
        if self._context is None or any(need.secret for need in needs):
            return None
        if self._context.input_responses and run_id is None:
            return None  # a second question would discard the answer to the first
        schema = {
            "properties": {
                need.name: {"type": types.get(need.name, "string"), "description": need.question or need.name}
                for need in needs
            }
        }
        names = [need.name for need in needs]
        asked = await elicitation.request_missing(self._tool, schema, names, {}, self._context)
        if isinstance(asked, InputRequiredResult) and run_id is not None:
            return asked.model_copy(update={"request_state": run_id})
        return asked


_CALL: ContextVar[AgentToolCall | None] = ContextVar("call", default=None)


def current_call(tool: str) -> AgentToolCall:
    """Return the current call; outside of a call, one without a client."""
    return _CALL.get() or AgentToolCall(tool, None, call_seconds=3_600.0)


class AgentTool(KnowledgeTool):
    """A tool that may request inputs of the run, in addition to its own arguments."""

    async def _read(
        self, arguments: dict[str, Any], context: Context[Any, Any]
    ) -> dict[str, Any] | InputRequiredResult:
        if not context.input_responses:
            return await super()._read(arguments, context)
        given = self._unwrapped(arguments)
        self._check_names(given)
        if self._missing(given):  # the form asked for arguments
            return await super()._read(arguments, context)
        try:
            return self.fn_metadata.arg_model.model_validate(given).model_dump_one_level()
        except ValidationError as exc:
            raise await self._told(exc) from exc

    async def _working(self, read: dict[str, Any], context: Context[Any, Any]) -> CallToolResult:
        token = _CALL.set(AgentToolCall(self.name, context, self.guard.limits.call_seconds))
        try:
            return await self._answered(read)
        finally:
            _CALL.reset(token)
