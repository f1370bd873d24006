"""One call of one tool: argument parsing, limits, refusals.

The SDK's `Tool` declares a tool. Running it is our own code, for four reasons: messages that a model can act on,
elicitation, limits, and no second validation of answers that our models have built.
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
from kb_schema.secret_placement import find_misplaced_secrets
from mcp_server.errors import BadRequest, InvalidArguments, KnowledgeServerError
from mcp_server.security import access_scopes
from mcp_server.security.call_limits import CallGuard
from mcp_server.tools import elicitation

WEBSITE_ID = "website_id"
_MISSING = "missing"
_PAGES = frozenset({"snapshot"})
"""Arguments that hold a page."""

ChoiceLookup = Callable[[], Awaitable[Sequence[str]]]


async def _no_choices() -> Sequence[str]:
    return ()


class KnowledgeTool(Tool):
    """A tool of the knowledge server. `fn` is awaited with the validated arguments of a call."""

    model_config = ConfigDict(arbitrary_types_allowed=True, ignored_types=(cached_property,))

    scope: access_scopes.AccessScope = access_scopes.READ
    answer_model: Any = Field(default=None, exclude=True)
    guard: CallGuard = Field(default_factory=CallGuard, exclude=True)
    websites: ChoiceLookup = Field(default=_no_choices, exclude=True)
    """Returns the ids of all websites, for calls that name none. A call that reads means the only one."""

    async def run(
        self,
        arguments: dict[str, Any],
        context: Context[Any, Any],
        convert_result: bool = False,  # noqa: ARG002 - the SDK's signature; answers are results already
    ) -> CallToolResult | InputRequiredResult:
        """Answer a call. A refusal is a result; an exception is a defect."""
        try:
            read = await self._read(arguments, context)
            if isinstance(read, InputRequiredResult):
                return read
            access_scopes.require_scope(self.scope)
            with self.guard.admitted(access_scopes.caller(_address(context))):
                return await self._working(read, context)
        except KnowledgeServerError as exc:
            return refuse_call(exc)
        except MCPError:
            raise
        except (
            Exception
        ) as exc:  # the boundary of a tool call: the SDK logs the error and hides it from the client
            raise UnexpectedToolError(f"{self.name} failed; the server's log says why") from exc

    async def _working(self, read: dict[str, Any], context: Context[Any, Any]) -> CallToolResult:
        """Answer the call, and report progress to clients that asked for it."""
        if _request(context) is None:
            return await self._answered(read)
        loop = asyncio.get_running_loop()
        beats: list[asyncio.Task[None]] = []
        # Most calls end before the first progress report: until then it is a timer, not a task.
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
        self._check_secrets(given)
        said = elicitation.read_answer(context)
        if said is not None:
            given = {**self._only_known(said), **given}
            self._check_secrets(given)
        missing = self._missing(given)
        if WEBSITE_ID in missing and self.scope == access_scopes.READ:
            known = await self.websites()
            if len(known) == 1:  # nothing else can be meant; a write names its website
                given = {**given, WEBSITE_ID: known[0]}
                missing = self._missing(given)
        if missing and said is None and _request(context) is not None:
            choices = {WEBSITE_ID: await self.websites()} if WEBSITE_ID in missing else {}
            asked = await elicitation.request_missing(self.name, self.parameters, missing, choices, context)
            if isinstance(asked, InputRequiredResult):
                return asked
            given = {**self._only_known(asked or {}), **given}
            self._check_secrets(given)
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
        raise InvalidArguments(self.name, problems, hint=f"it takes {', '.join(known) or 'none'}")

    def _check_secrets(self, given: dict[str, Any]) -> None:
        """Raise `BadRequest` for `{secret:NAME}` in an argument, with its place. What a page says is data."""
        for name, value in given.items():
            found = None if name in _PAGES else next(iter(find_misplaced_secrets(value, f"`{name}`")), None)
            if found is not None:
                raise BadRequest(
                    f"{{secret:{found.name}}} is not allowed in {found.path}",
                    hint="leave it out: secrets are set on the server, and typed where an input is a secret",
                )

    def _only_known(self, said: dict[str, Any]) -> dict[str, Any]:
        known = self.parameters.get("properties", {})
        return {name: value for name, value in said.items() if name in known}

    def _missing(self, given: dict[str, Any]) -> list[str]:
        return [name for name in self.parameters.get("required", ()) if given.get(name) is None]

    def _unwrapped(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Parse objects and lists that a client has sent as JSON inside a string."""
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
        return tuple(
            name
            for name, part in properties.items()
            if not {"object", "array"}.isdisjoint(_list_types(part.get("type")))
        )

    async def _told(self, error: ValidationError) -> InvalidArguments:
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
        return InvalidArguments(self.name, problems, hint=hint)


def refuse_call(error: KnowledgeServerError) -> CallToolResult:
    """Return a refusal as an MCP tool error: what is wrong, the probable meaning, what to call next."""
    told = {"error": error.code, "message": error.message, "hint": error.hint}
    return CallToolResult(
        content=[TextContent(type="text", text=str(error))], structured_content=told, is_error=True
    )


def _list_types(types: str | list[str] | None) -> list[str]:
    """Return the types of a schema, which names one or several."""
    return [types] if isinstance(types, str) else types or []


def _parsed(text: str) -> Any:
    try:
        return from_json(text)
    except ValueError:
        return text  # the model's validation reports what it expected


def _request(context: Context[Any, Any]) -> ServerRequestContext[Any, Any] | None:
    try:
        return context.request_context
    except ValueError:  # called in this process, not by a client
        return None


def _address(context: Context[Any, Any]) -> str | None:
    request = _request(context)
    client = None if request is None else getattr(request.request, "client", None)
    return None if client is None else str(client.host)
