"""What a person hears of an error of the agent or the browser."""

from __future__ import annotations

from playwright.async_api import Error as PlaywrightError

from agent.context import Context
from agent.errors import AgentError
from agent.page.errors import PageError
from periplus.errors import UserError


def for_a_person(error: Exception, context: Context) -> Exception:
    """The `UserError` for what a person can put right, without secrets; any other error as it is."""
    match error:
        case AgentError():
            return UserError(context.redact(str(error)), fix=context.redact(error.hint))
        case PageError() | PlaywrightError():
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            return UserError(f"the browser went away: {context.redact(reason)}", fix="start it again")
    return error
