"""The registry of recoveries: one function per name, its argument and its result.

To add a recovery, write one function with `@register_recovery(NAME)` and add its line to
`vocabulary.RECOVERIES`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from agent.execution.recovery.failure_names import FailureSigns
from kb_schema.action_calls import ActionCall
from kb_schema.screens import UIElement
from kb_schema.tasks import TaskStep

if TYPE_CHECKING:
    from agent.execution.execution_ports import TaskExecution
    from agent.execution.task_run import TaskRun


class RecoveryOutcome(StrEnum):
    """The result of a recovery."""

    AGAIN = "again"
    """The cause is removed: try the step again on this page."""
    BACK = "back"
    """The cause is removed, but entered values are lost: go on from the first step of this page."""
    DONE = "done"
    """The step took effect after all."""
    SKIP = "skip"
    """The author says to go on without the step."""
    STOP = "stop"
    """The author says to stop here."""
    NO_HELP = "no_help"
    """The recovery does not apply or did not help: try the next one."""


@dataclass
class RecoveryCase:
    """A failure, with everything a recovery may use."""

    engine: TaskExecution
    error: Exception
    names: tuple[str, ...]
    """Names of the error, the most specific first."""
    signs: FailureSigns
    run: TaskRun | None = None
    """None between screens, where there is no step."""
    index: int = 0
    wait_time: float | None = None
    """Seconds to wait, if the author gave some."""
    memory: dict[str, Any] = field(default_factory=dict)
    """Notes of recoveries from earlier attempts at the same step."""

    @property
    def step(self) -> TaskStep | None:
        """The step that failed."""
        return None if self.run is None else self.run.steps[self.index]

    @property
    def call(self) -> ActionCall | None:
        """The action call of that step."""
        return None if self.step is None else self.step.action

    async def element(self) -> UIElement | None:
        """Return the element of the call, if it is one of the present screen."""
        if self.call is None or not isinstance(self.call.target, str):
            return None
        return (await self.engine.session.elements()).get(self.call.target)


async def wait_as_authored(case: RecoveryCase) -> None:
    """Sleep for the author's wait time: there is no event that shows when a site has recovered."""
    if case.wait_time is not None:
        await asyncio.sleep(case.wait_time)


Recovery = Callable[[RecoveryCase], Awaitable[RecoveryOutcome]]

RECOVERIES: dict[str, Recovery] = {}
"""Name -> recovery. `agent.execution.recovery.recovery_runner` imports the modules that register them."""


def register_recovery(*names: str) -> Callable[[Recovery], Recovery]:
    """Register a recovery under its names. Raises `ValueError` if a name is taken."""

    def register(function: Recovery) -> Recovery:
        for name in names:
            if name in RECOVERIES:
                raise ValueError(f"recovery {name!r} is already registered")
            RECOVERIES[name] = function
        return function

    return register
