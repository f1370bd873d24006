"""An inferencer's suggestions: the last strategy, used only if one is configured."""

from __future__ import annotations

from collections.abc import Sequence

from agent.execution.replanning.replanner import UnresolvedStepFailure
from agent.execution.task_run import StepReplan
from agent.inferencer import ReplanContext, ReplanInferencer
from kb_schema import action_types
from kb_schema.action_calls import ActionCall

NAME = "inferred"
MOST = 3
"""Suggestions that are considered."""
FORBIDDEN_ACTIONS = frozenset({"run_task", "execute_iterator", "wait"})
"""Actions that a suggestion must not be: it replaces a single action."""


class InferencerSuggestions:
    """An inferencer's suggestions, as far as they are safe: a repeatable step is never replaced by an action
    that is not idempotent, and only known action types are performed.
    """

    name = NAME

    def __init__(self, inferencer: ReplanInferencer) -> None:
        self._inferencer = inferencer

    async def plans(self, failure: UnresolvedStepFailure) -> Sequence[StepReplan]:
        """Return plans in the inferencer's order."""
        suggested = await self._inferencer.suggest(await _context(failure))
        return [
            StepReplan(NAME, _render_call(call), failure.step.model_copy(update={"action": call}))
            for call in list(suggested)[:MOST]
            if _is_safe_call(call, repeatable=failure.repeatable)
        ]


def _is_safe_call(call: ActionCall, *, repeatable: bool) -> bool:
    kind = action_types.action_type(call.action_type)
    if kind is None or kind.name in FORBIDDEN_ACTIONS:
        return False
    return kind.idempotent or not repeatable


def _render_call(call: ActionCall) -> str:
    target = call.target if isinstance(call.target, str) else call.target_screen or call.url or ""
    return f"{call.canonical_type} {target}".strip()


async def _context(failure: UnresolvedStepFailure) -> ReplanContext:
    run, session = failure.run, failure.engine.session
    redact = session.context.redact
    place = run.place_of(failure.step)
    return ReplanContext(
        original_goal=run.task.description or run.task.name or run.task.task_id,
        completed_steps=tuple(run.frame.done),
        failed_step=redact(failure.step.to_json()),
        failure_reason=redact(str(failure.error)),
        current_screen=session.screen_id,
        current_url=redact(session.page.url),
        elements=tuple(await session.elements()),
        accumulated_data=redact(dict(run.outputs)),
        failed_approaches=tuple(
            f"{each.approach} {each.detail}".strip()
            for each in run.ledger.tried
            if each.step_id == failure.step.step_id and each.outcome == "failed"
        ),
        attempt_number=run.ledger.replans.get(place, 0) + 1,
    )
