"""A recovery edge of the screen one is on, then back to where the step begins (KS 9.8)."""

from __future__ import annotations

from collections.abc import Sequence

from agent.resilience.replanner import Failure, Plan, Prepare
from kb_schema.answers import RecoveryOption

NAME = "recovery_edge"


class RecoveryEdge:
    """Every edge in the desk's order: each is another way back to the step, once."""

    name = NAME

    async def plans(self, failure: Failure) -> Sequence[Plan]:
        """None where a task's beginning is not known, for then there is no way back."""
        session = failure.engine.session
        if not failure.run.frame.url:
            return ()
        options = await session.knowledge.recoveries(session.last_known, await session.facts())
        return [Plan(NAME, option.recovery_id, failure.step, _takes(failure, option)) for option in options]


def _takes(failure: Failure, option: RecoveryOption) -> Prepare:
    async def prepare() -> int:
        await failure.engine.guide.recover_by(option)
        return await failure.engine.resuming.back_at(failure.run, failure.index)

    return prepare
