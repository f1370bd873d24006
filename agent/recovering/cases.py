"""The registry of recoveries: one function per name, and what it is told and answers.

Adding a recovery is one function with `@recovery(NAME)` and its line in `vocabulary.RECOVERIES`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from agent.recovering.names import Signs
from kb_schema.calls import ActionCall
from kb_schema.screens import UIElement
from kb_schema.tasks import TaskStep

if TYPE_CHECKING:
    from agent.engine.engine import Engine
    from agent.engine.running import Run


class Outcome(StrEnum):
    """What a recovery came to."""

    AGAIN = "again"
    """The cause is dealt with: the step can be tried again where it stands."""
    BACK = "back"
    """The same, but the page has forgotten what was filled in: from the first step of this page."""
    DONE = "done"
    """What the step is for has come about after all."""
    SKIP = "skip"
    """The author says to go on without the step."""
    STOP = "stop"
    """The author says to stop here."""
    NO_HELP = "no_help"
    """It does not apply, or did not help: the next one."""


@dataclass
class Case:
    """A failure, and everything a recovery may look at."""

    engine: Engine
    error: Exception
    names: tuple[str, ...]
    """What the error is called, the most telling first."""
    signs: Signs
    run: Run | None = None
    """None on the way between screens, where there is no step."""
    index: int = 0
    wait_time: float | None = None
    """Seconds, where the author gave some."""
    memory: dict[str, Any] = field(default_factory=dict)
    """What recoveries noted in earlier tries of the same step."""

    @property
    def step(self) -> TaskStep | None:
        """The step that failed."""
        return None if self.run is None else self.run.steps[self.index]

    @property
    def call(self) -> ActionCall | None:
        """What it was to do."""
        return None if self.step is None else self.step.action

    async def element(self) -> UIElement | None:
        """The element it was about, where the knowledge has it on the present screen."""
        if self.call is None or not isinstance(self.call.target, str):
            return None
        return (await self.engine.session.elements()).get(self.call.target)


async def pause(case: Case) -> None:
    """The author's wait, where there is one: a site that failed is given time. Nothing tells when it
    has come round, so this is the clock's.
    """
    if case.wait_time is not None:
        await asyncio.sleep(case.wait_time)


Recovery = Callable[[Case], Awaitable[Outcome]]

RECOVERIES: dict[str, Recovery] = {}
"""Name -> what does it. `agent.recovering.recovering` imports the modules that fill it."""


def recovery(*names: str) -> Callable[[Recovery], Recovery]:
    """Register a recovery under its names. Raises `ValueError` where one is taken."""

    def register(function: Recovery) -> Recovery:
        for name in names:
            if name in RECOVERIES:
                raise ValueError(f"recovery {name!r} is there already")
            RECOVERIES[name] = function
        return function

    return register
