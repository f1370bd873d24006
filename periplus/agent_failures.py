"""Converts errors of the agent and the browser to `UserError`."""

from __future__ import annotations

from playwright.async_api import Error as PlaywrightError

from agent.errors import AgentError
from agent.page.errors import PageError
from agent.run_context import RunContext
from periplus.errors import UserError
from periplus.exit_codes import ExitCode


def to_user_error(error: Exception, context: RunContext) -> Exception:
    """Return a `UserError` without secrets for errors the user can correct; other errors unchanged.

    What ends a browser may have come after steps that were done: its exit code is 1.
    """
    match error:
        case AgentError():
            return UserError(context.redact(str(error)), fix=context.redact(error.hint))
        case PageError() | PlaywrightError():
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            return UserError(
                f"the browser crashed or was closed: {context.redact(reason)}",
                fix="`periplus runs list` shows the run and how far it came; start the command again",
                code=ExitCode.FAILED,
            )
    return error
