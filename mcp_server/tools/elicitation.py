"""Elicitation: asking the user for missing arguments, where the client can show a form.

On protocol 2026-07-28 the question is the answer of the call (`InputRequiredResult`), and the client calls again with
the values. On older protocols the server asks while the call waits. A client that supports neither gets an error that
names the missing arguments.
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


def read_answer(context: Context[Any, Any]) -> dict[str, Any] | None:
    """Return what the user filled in since the first call; None if nothing was requested.

    Raises `BadRequest` if the user declined.
    """
    given = (context.input_responses or {}).get(QUESTION)
    return _read_form(given) if isinstance(given, ElicitResult) else None


async def request_missing(
    tool: str,
    schema: Mapping[str, Any],
    missing: Sequence[str],
    choices: Mapping[str, Sequence[str]],
    context: Context[Any, Any],
) -> InputRequiredResult | dict[str, Any] | None:
    """Return the form to fill in, or the values from it; None if this client cannot show forms."""
    fields = {name: _field(schema["properties"][name], choices.get(name, ())) for name in missing}
    if not _takes_forms(context) or not all(map(_is_askable, fields.values())):
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
    return _read_form(cast("ElicitResult", said))


def _field(schema: Mapping[str, Any], choices: Sequence[str]) -> dict[str, Any]:
    kept = {key: schema[key] for key in ("type", "enum", "description") if key in schema}
    return {**kept, "enum": list(choices)} if 0 < len(choices) <= _MOST_CHOICES else kept


def _is_askable(field: dict[str, Any]) -> bool:
    """Whether a form can ask for it: it has one type, and that is a simple one."""
    return isinstance(field.get("type"), str) and field["type"] in _ASKABLE


def _takes_forms(context: Context[Any, Any]) -> bool:
    capabilities = context.client_capabilities
    elicitation = None if capabilities is None else capabilities.elicitation
    # Older protocols have one kind of elicitation: forms.
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def _read_form(result: ElicitResult) -> dict[str, Any]:
    if result.action != "accept":
        raise BadRequest("the user declined to give the missing arguments", hint="give the argument yourself")
    return dict(result.content or {})
