"""Signs in where a step stands before the website's sign-in form: what was recorded signed in begins so in a new browser.

Drafted tasks and ways to a screen state that they need it, and `precondition_remedies` signs in; recordings state it only if
their first page showed that one was signed in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakSet

from agent.errors import AgentError
from agent.execution.call_templates import can_start_anywhere
from agent.execution.effects.uncertain_effects import EarlierStepsNeeded
from agent.execution.task_run import TaskRun
from agent.page.errors import PageError
from kb_schema.conditions import Authenticated, ElementVisible
from kb_schema.probes import VerdictStatus

if TYPE_CHECKING:
    from agent.execution.execution_ports import TaskExecution

_ASKS_PASSWORD = ElementVisible.model_validate(
    {
        "type": "element_visible",
        "element": {"strategies": [{"type": "css", "value": "input[type='password']"}]},
    }
)


class MissingSignIn:
    """Signs in between the steps of one task runner's runs, once each."""

    def __init__(self, engine: TaskExecution) -> None:
        self._engine = engine
        self._done: WeakSet[TaskRun] = WeakSet()

    async def sign_in(self, run: TaskRun, index: int, error: AgentError | PageError) -> None:
        """Sign in with the website's task, if a step failed with `error`, before it did anything, since the website is signed out.

        The website must say so, the page must ask for a password, and an earlier step must have opened a page, with nothing
        done since that may not be repeated. Raises `EarlierStepsNeeded` then, and what fails when signing in.
        """
        session, under_way = self._engine.session, self._engine.steps.under_way
        login = session.website.login_task_id
        opened = next((at for at in range(index, -1, -1) if can_start_anywhere(run.steps[at].action)), None)
        if login is None or opened is None or login in under_way or run in self._done:
            return
        if run.doors(index)[-1] > opened:
            return
        try:
            asks, signed_in = await session.judge([_ASKS_PASSWORD, Authenticated(type="authenticated")])
        except (AgentError, PageError):
            return  # the step's own error says more
        if not asks.held or signed_in.held or signed_in.status is VerdictStatus.UNKNOWN:
            return
        self._done.add(run)
        if await self._engine.resumption.sign_in(run):
            reason = f"{error}; the website was signed out, and {login!r} signed in"
            raise EarlierStepsNeeded(reason, index=opened) from error
