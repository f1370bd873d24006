"""Soft preconditions are remediated: by a task, by an action, bounded and never in a circle (KS 9.11)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agent.errors import StepFailed
from kb_schema import vocabulary
from kb_schema.calls import ActionCall
from kb_schema.conditions import BaseCondition
from kb_schema.probes import Verdict

if TYPE_CHECKING:
    from agent.engine.engine import Engine

MAX_OF_ONE_KIND = 10
"""How often one remedy is applied in one engine's life: a session that ends over and over is no session."""


class Remedying:
    """Applies remedies for one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._applied: Counter[str] = Counter()

    async def remedy(self, condition: BaseCondition, values: Mapping[str, Any], depth: int) -> Verdict:
        """Do what the condition names for when it does not hold, and judge it again.

        A task that is under way remedies nothing that it needs itself (login that needs login; a task
        that needs another, which needs the first). Raises `StepFailed` then, and where the same remedy
        was needed too often; what the remedy itself raises passes through.
        """
        task_id, name = condition.remediation_task_id, condition.remediation_action
        patience: float | None = None
        async with self._engine.unkept():
            if task_id is not None:
                self._count(condition, task_id)
                if task_id in self._engine.steps.under_way:
                    way = " -> ".join([*self._engine.steps.under_way, task_id])
                    raise StepFailed(
                        f"{task_id!r} cannot remediate {condition.type}, for it needs it itself: {way}",
                        error=condition.type,
                    )
                await self._engine.sub_task(task_id, {}, depth)
            elif name is not None:
                self._count(condition, name)
                patience = await self._act(name, dict(condition.remediation_params), values)
        session = self._engine.session
        if patience is None:
            (verdict,) = await session.judge_until_held([condition], values)
        else:
            (verdict,) = await session.judge_until_held([condition], values, timeout_s=patience)
        return verdict

    async def _act(self, name: str, parameters: dict[str, Any], values: Mapping[str, Any]) -> float | None:
        """The action; of a `wait` only for how long the condition may take: it ends as soon as that holds."""
        call = ActionCall.model_validate({"action_type": name, **parameters})
        if vocabulary.canonical(name) == "wait" and call.duration is not None:
            return call.duration
        await self._engine.actions.perform(call, values)
        return None

    def _count(self, condition: BaseCondition, remedy: str) -> None:
        self._applied[remedy] += 1
        if self._applied[remedy] > MAX_OF_ONE_KIND:
            raise StepFailed(
                f"{remedy!r} was tried {MAX_OF_ONE_KIND} times, and {condition.type} does not stay",
                error=condition.type,
            )
