"""Hooks around steps and actions, for example for a presenter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.page.action_requests import ActionPace
from kb_schema.action_calls import ActionCall
from kb_schema.selectors import Selector
from kb_schema.tasks import Task, TaskStep


class RunObserver:
    """Every method does nothing; subclasses override what they need."""

    async def before_step(self, task: Task, step: TaskStep, values: Mapping[str, Any]) -> None:
        """The step's preconditions hold; it is about to run."""

    async def after_step(self, task: Task, step: TaskStep, values: Mapping[str, Any]) -> None:
        """The step is done and verified, and its outputs are in `values`."""

    async def before_action(self, call: ActionCall, selector: Selector | None) -> None:
        """An action on the page is about to pass the gate."""

    def pace(self, call: ActionCall, usual: ActionPace) -> ActionPace:
        """Return how fast to type."""
        return usual
