"""A recovery edge of the present screen, then back to where the step begins (KS 9.8)."""

from __future__ import annotations

from collections.abc import Sequence

from agent.execution.replanning.replanner import UnresolvedStepFailure
from agent.execution.task_run import Prepare, StepReplan
from kb_schema.tool_answers import RecoveryOption

NAME = "recovery_edge"


class RecoveryEdge:
    """Every recovery edge in the knowledge server's order: each is another way back to the step, used once."""

    name = NAME

    async def plans(self, failure: UnresolvedStepFailure) -> Sequence[StepReplan]:
        """Return no plan if the task's start page is unknown: then there is no way back."""
        session = failure.engine.session
        if not failure.run.frame.url:
            return ()
        options = await session.knowledge.recoveries(session.last_known, await session.facts())
        return [
            StepReplan(NAME, option.recovery_id, failure.step, _prepare_recovery(failure, option))
            for option in options
        ]


def _prepare_recovery(failure: UnresolvedStepFailure, option: RecoveryOption) -> Prepare:
    async def prepare() -> int:
        await failure.engine.guide.recover_by(option)
        return await failure.engine.resumption.back_at(failure.run, failure.index)

    return prepare
