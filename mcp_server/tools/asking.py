"""Asking for what a call lacks, where the client can put a form before a person.

On protocol 2026-07-28 the question is the answer of the call (`InputRequiredResult`) and the client
calls again with what was filled in; before it, the server asks while the call waits. A client that
can do neither gets a refusal that says the same in words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from mcp.server.mcpserver.context import Context
from mcp.shared.exceptions import NoBackChannelError
from mcp.types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult

from mcp_server.errors import BadRequest

QUESTION = "missing"
"""The key of the one question a call asks."""
_ASKABLE = frozenset({"string", "integer", "number", "boolean"})
_MODERN = "2026-07-28"
_MOST_CHOICES = 50


def answered(context: Context[Any, Any]) -> dict[str, Any] | None:
    """What a person filled in since the call was first made; None: nothing was asked.

    Raises `BadRequest` where the person would not say.
    """
    given = (context.input_responses or {}).get(QUESTION)
    return _filled_in(given) if isinstance(given, ElicitResult) else None


async def ask(
    tool: str,
    schema: Mapping[str, Any],
    missing: Sequence[str],
    choices: Mapping[str, Sequence[str]],
    context: Context[Any, Any],
) -> InputRequiredResult | dict[str, Any] | None:
    """What is to be filled in, or what was; None where this client cannot be asked for it."""
    fields = {name: _field(schema["properties"][name], choices.get(name, ())) for name in missing}
    if not _takes_forms(context) or any(field.get("type") not in _ASKABLE for field in fields.values()):
        return None
    message = f"{tool} needs {' and '.join(missing)}"
    requested = {"type": "object", "properties": fields, "required": list(missing)}
    if (context.protocol_version or "") >= _MODERN:
        params = ElicitRequestFormParams(message=message, requested_schema=requested)
        return InputRequiredResult(input_requests={QUESTION: ElicitRequest(params=params)})
    try:
        said = await context.session.elicit_form(message, requested, context.request_id)
    except NoBackChannelError:
        return None
    return _filled_in(cast("ElicitResult", said))


def _field(schema: Mapping[str, Any], choices: Sequence[str]) -> dict[str, Any]:
    kept = {key: schema[key] for key in ("type", "enum", "description") if key in schema}
    return {**kept, "enum": list(choices)} if 0 < len(choices) <= _MOST_CHOICES else kept


def _takes_forms(context: Context[Any, Any]) -> bool:
    capabilities = context.client_capabilities
    elicitation = None if capabilities is None else capabilities.elicitation
    # Before there were kinds of it, elicitation meant forms.
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def _filled_in(result: ElicitResult) -> dict[str, Any]:
    if result.action != "accept":
        raise BadRequest("the person who was asked did not say", hint="give the argument yourself")
    return dict(result.content or {})
