"""Remedies of soft preconditions: a task or an action, limited in number and never recursive (KS 9.11)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agent import retry_limits
from agent.errors import AgentError, SignInFailed, StepFailed, SubtaskFailed
from kb_schema import action_types
from kb_schema.action_calls import ActionCall
from kb_schema.conditions import BaseCondition
from kb_schema.probes import Verdict
from kb_schema.websites import Website

if TYPE_CHECKING:
    from agent.execution.execution_ports import TaskExecution


class PreconditionRemedies:
    """Applies remedies for one task runner."""

    def __init__(self, engine: TaskExecution) -> None:
        self._engine = engine
        self._applied: Counter[str] = Counter()

    async def remedy(self, condition: BaseCondition, values: Mapping[str, Any], depth: int) -> Verdict:
        """Apply the condition's remedy and judge the condition again.

        A task that is running is never its own remedy, directly or through another task. Raises `StepFailed`
        in that case, and if one remedy was used too often; errors of the remedy itself pass through.
        """
        session = self._engine.session
        async with self._engine.without_checkpoints():
            with session.entries.guarded():
                patience = await self._apply(condition, values, depth)
        if patience is None:
            (verdict,) = await session.judge_until_held([condition], values)
        else:
            (verdict,) = await session.judge_until_held([condition], values, timeout_s=patience)
        return verdict

    async def _apply(self, condition: BaseCondition, values: Mapping[str, Any], depth: int) -> float | None:
        """Apply the remedy; return how long the condition may take after it, if the remedy says so."""
        task_id, name = condition.remediation_task_id, condition.remediation_action
        if task_id is not None:
            self._count(condition, task_id)
            if task_id in self._engine.steps.under_way:
                chain = " -> ".join([*self._engine.steps.under_way, task_id])
                raise StepFailed(
                    f"task {task_id!r} cannot remedy {condition.type} because it requires it itself: {chain}",
                    error=condition.type,
                )
            try:
                await self._engine.sub_task(task_id, {}, depth)
            except SubtaskFailed as exc:
                raise name_failed_sign_in(exc, task_id, self._engine.session.website) from exc
        elif name is not None:
            self._count(condition, name)
            return await self._act(name, dict(condition.remediation_params), values)
        return None

    async def _act(self, name: str, parameters: dict[str, Any], values: Mapping[str, Any]) -> float | None:
        """Perform the action. For a `wait`, return how long the condition may take instead: the wait ends as
        soon as it holds.
        """
        call = ActionCall.model_validate({"action_type": name, **parameters})
        if action_types.canonical(name) == "wait" and call.duration is not None:
            return call.duration
        await self._engine.actions.perform(call, values)
        return None

    def _count(self, condition: BaseCondition, remedy: str) -> None:
        self._applied[remedy] += 1
        if self._applied[remedy] > retry_limits.PRECONDITION_REMEDIES:
            raise StepFailed(
                f"remedy {remedy!r} was applied {retry_limits.PRECONDITION_REMEDIES} times,"
                f" but {condition.type} still fails",
                error=condition.type,
            )


def name_failed_sign_in(error: SubtaskFailed, task_id: str, website: Website) -> AgentError:
    """Return the error of a task that failed as one of signing in, if the website's login came to its end in vain."""
    if not error.at_end or task_id != website.login_task_id:
        return error
    hint = error.hint or f"check the values that {task_id!r} was given, and whether the account is locked"
    return SignInFailed(f"not signed in: {error}", hint=hint)
