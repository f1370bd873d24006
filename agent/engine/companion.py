"""Who walks beside the engine: a presenter that talks and points while steps are carried out.

The engine calls it around steps and actions and knows nothing else of it. `Companion` itself
does nothing; the player's overrides it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.page.acting import Pace
from kb_schema.calls import ActionCall
from kb_schema.selectors import Selector
from kb_schema.tasks import Task, TaskStep


class Companion:
    """Does nothing at any occasion."""

    async def before_step(self, task: Task, step: TaskStep, values: Mapping[str, Any]) -> None:
        """The step's preconditions hold; it is about to be carried out."""

    async def after_step(self, task: Task, step: TaskStep, values: Mapping[str, Any]) -> None:
        """The step is done and verified, and what it gives has been read into `values`."""

    async def before_action(self, call: ActionCall, selector: Selector | None) -> None:
        """An action on the page is about to pass the gate."""

    def pace(self, call: ActionCall, usual: Pace) -> Pace:
        """How fast to type."""
        return usual
