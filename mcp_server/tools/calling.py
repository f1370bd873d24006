"""One call of one tool: its arguments read, its limits kept, its refusals told.

The SDK's `Tool` says what a tool is; how it is run is ours, for the sake of messages a model can act
on, of questions to a person, of limits, and because what a model of ours has made need not be
checked by it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import cached_property
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult, InputRequiredResult, TextContent
from pydantic import ConfigDict, Field, ValidationError
from pydantic_core import from_json

from kb_schema.documents import did_you_mean
from kb_schema.excerpts import EXCERPT, excerpt
from mcp_server.errors import BadArguments, DeskError
from mcp_server.security import access
from mcp_server.security.limits import Guard
from mcp_server.tools import asking

WEBSITE_ID = "website_id"
_MISSING = "missing"

Choices = Callable[[], Awaitable[Sequence[str]]]


async def _none() -> Sequence[str]:
    return ()


class DeskTool(Tool):
    """A tool of the desk. `fn` is awaited with the arguments its model made of the call's."""

    model_config = ConfigDict(arbitrary_types_allowed=True, ignored_types=(cached_property,))

    scope: access.AccessScope = access.READ
    answer_model: Any = Field(default=None, exclude=True)
    guard: Guard = Field(default_factory=Guard, exclude=True)
    websites: Choices = Field(default=_none, exclude=True)
    """Ids of the websites there are, asked when a call names none."""

    async def run(
        self,
        arguments: dict[str, Any],
        context: Context[Any, Any],
        convert_result: bool = False,  # noqa: ARG002 - the SDK's signature; answers are results already
    ) -> CallToolResult | InputRequiredResult:
        """Answer a call. What is wrong with it is in the result; raises only what is a defect."""
        try:
            read = await self._read(arguments, context)
            if isinstance(read, InputRequiredResult):
                return read
            access.require(self.scope)
            with self.guard.admitted(access.caller(_address(context))):
                return await self._working(read, context)
        except DeskError as exc:
            return refusal(exc)
        except MCPError:
            raise
        except (
            Exception
        ) as exc:  # the boundary of a tool call: the SDK logs it, and tells the client nothing of it
            raise UnexpectedToolError(f"{self.name} failed; the server's log says why") from exc

    async def _working(self, read: dict[str, Any], context: Context[Any, Any]) -> CallToolResult:
        """The answer; a client that wants to know hears meanwhile that it is worked on."""
        if _request(context) is None:
            return await self._answered(read)
        loop = asyncio.get_running_loop()
        beats: list[asyncio.Task[None]] = []
        # Most calls are over before the first beat: until then it is a timer, not a task.
        first = loop.call_later(
            self.guard.limits.progress_seconds,
            lambda: beats.append(loop.create_task(self._heartbeat(context, loop.time()))),
        )
        try:
            return await self._answered(read)
        finally:
            first.cancel()
            for beat in beats:
                beat.cancel()

    async def _answered(self, read: dict[str, Any]) -> CallToolResult:
        answer: CallToolResult = await self.fn(**read)
        return answer

    async def _heartbeat(self, context: Context[Any, Any], now: float) -> None:
        limits = self.guard.limits
        begun = now - limits.progress_seconds
        while True:
            took = asyncio.get_running_loop().time() - begun
            await context.report_progress(took, limits.call_seconds, f"{self.name}: working for {took:.0f} s")
            await asyncio.sleep(limits.progress_seconds)

    async def _read(
        self, arguments: dict[str, Any], context: Context[Any, Any]
    ) -> dict[str, Any] | InputRequiredResult:
        given = self._unwrapped(arguments)
        self._check_names(given)
        said = asking.answered(context)
        if said is not None:
            given = {**self._only_known(said), **given}
        missing = self._missing(given)
        if missing and said is None and _request(context) is not None:
            choices = {WEBSITE_ID: await self.websites()} if WEBSITE_ID in missing else {}
            asked = await asking.ask(self.name, self.parameters, missing, choices, context)
            if isinstance(asked, InputRequiredResult):
                return asked
            given = {**self._only_known(asked or {}), **given}
        try:
            return self.fn_metadata.arg_model.model_validate(given).model_dump_one_level()
        except ValidationError as exc:
            raise await self._told(exc) from exc

    def _check_names(self, given: dict[str, Any]) -> None:
        known = self.parameters.get("properties", {})
        unknown = [name for name in given if name not in known]
        if not unknown:
            return
        problems = [
            f"there is no argument {name[:80]!r}"
            + (f"; {meant}" if (meant := did_you_mean(name, known)) else "")
            for name in unknown
        ]
        raise BadArguments(self.name, problems, hint=f"it takes {', '.join(known) or 'none'}")

    def _only_known(self, said: dict[str, Any]) -> dict[str, Any]:
        known = self.parameters.get("properties", {})
        return {name: value for name, value in said.items() if name in known}

    def _missing(self, given: dict[str, Any]) -> list[str]:
        return [name for name in self.parameters.get("required", ()) if given.get(name) is None]

    def _unwrapped(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Objects and lists that a client has sent as JSON inside a string, as some do."""
        wrapped = [
            name
            for name in self._structured
            if isinstance(value := arguments.get(name), str) and value[:1] in ("{", "[")
        ]
        if not wrapped:
            return arguments
        return {**arguments, **{name: _parsed(arguments[name]) for name in wrapped}}

    @cached_property
    def _structured(self) -> tuple[str, ...]:
        properties = self.parameters.get("properties", {})
        return tuple(name for name, part in properties.items() if part.get("type") in ("object", "array"))

    async def _told(self, error: ValidationError) -> BadArguments:
        details = error.errors(include_url=False, include_input=False, include_context=False)
        missing = [
            str(each["loc"][0]) for each in details if each["type"] == _MISSING and len(each["loc"]) == 1
        ]
        others = [
            f"{excerpt('.'.join(map(str, each['loc'])))}: {excerpt(each['msg'], 2 * EXCERPT)}"
            for each in details
            if not (each["type"] == _MISSING and len(each["loc"]) == 1)
        ]
        hint = None
        if any(each["loc"][:1] == (WEBSITE_ID,) for each in details):
            known = await self.websites()
            hint = f"websites are {', '.join(known)}" if known else "call list_websites"
        problems = [*(f"{', '.join(missing)} missing" for _ in missing[:1]), *others]
        return BadArguments(self.name, problems, hint=hint)


def refusal(error: DeskError) -> CallToolResult:
    """A refusal as an MCP tool error: what is wrong, what was meant, what to call next."""
    told = {"error": error.code, "message": error.message, "hint": error.hint}
    return CallToolResult(
        content=[TextContent(type="text", text=str(error))], structured_content=told, is_error=True
    )


def _parsed(text: str) -> Any:
    try:
        return from_json(text)
    except ValueError:
        return text  # the model says what it wanted instead


def _request(context: Context[Any, Any]) -> ServerRequestContext[Any, Any] | None:
    try:
        return context.request_context
    except ValueError:  # called by this process itself, not by a client
        return None


def _address(context: Context[Any, Any]) -> str | None:
    request = _request(context)
    client = None if request is None else getattr(request.request, "client", None)
    return None if client is None else str(client.host)
