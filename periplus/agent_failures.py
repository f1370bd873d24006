"""Converts errors of the agent and the browser to `UserError`."""

from __future__ import annotations

from playwright.async_api import Error as PlaywrightError

from agent.errors import AgentError
from agent.page.errors import PageError
from agent.run_context import RunContext
from periplus.errors import UserError


def to_user_error(error: Exception, context: RunContext) -> Exception:
    """Return a `UserError` without secrets for errors the user can correct; other errors unchanged."""
    match error:
        case AgentError():
            return UserError(context.redact(str(error)), fix=context.redact(error.hint))
        case PageError() | PlaywrightError():
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            return UserError(
                f"the browser crashed or was closed: {context.redact(reason)}", fix="start the command again"
            )
    return error
