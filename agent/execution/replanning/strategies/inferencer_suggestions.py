"""An inferencer's suggestions: the last strategy, used only if one is configured."""

from __future__ import annotations

from collections.abc import Sequence

from agent.execution.replanning.replanner import UnresolvedStepFailure
from agent.execution.replanning.suggested_actions import ShownPage, resolve_suggestion, show_page
from agent.execution.task_run import StepReplan
from agent.inferencer import ReplanContext, ReplanInferencer
from kb_schema import action_types
from kb_schema.action_calls import ActionCall
from kb_schema.selectors import Selector

NAME = "inferred"
MOST = 3
"""Suggestions that are considered."""


class InferencerSuggestions:
    """An inferencer's suggestions, as far as they are safe: a repeatable step is never replaced by an action
    that is not idempotent, only known action types are performed, and nothing whose words say that it does harm.
    """

    name = NAME

    def __init__(self, inferencer: ReplanInferencer) -> None:
        self._inferencer = inferencer

    async def plans(self, failure: UnresolvedStepFailure) -> Sequence[StepReplan]:
        """Return plans in the inferencer's order."""
        shown = await show_page(failure.engine.session)
        suggested = await self._inferencer.suggest(await _context(failure, shown))
        plans = []
        for call in list(suggested)[:MOST]:
            if not _keeps_repeatable(call, repeatable=failure.repeatable):
                continue
            resolved = await resolve_suggestion(failure.engine.session, shown, call)
            if resolved is not None:
                given = _with_authored_value(resolved, failure.step.action)
                step = failure.step.model_copy(update={"action": given})
                plans.append(StepReplan(NAME, _render_call(given), step))
        return plans


def _keeps_repeatable(call: ActionCall, *, repeatable: bool) -> bool:
    kind = action_types.action_type(call.action_type)
    return kind is not None and (kind.idempotent or not repeatable)


def _with_authored_value(call: ActionCall, authored: ActionCall) -> ActionCall:
    """Return the call with the value that the author's step types: a suggestion changes where, not what."""
    same = call.canonical_type == authored.canonical_type
    return call.model_copy(update={"value": authored.value}) if same else call


def _render_call(call: ActionCall) -> str:
    target = call.target
    if isinstance(target, Selector):
        target = str(target.strategies[0].to_json().get("value", ""))
    return f"{call.canonical_type} {target or call.target_screen or call.url or ''}".strip()


async def _context(failure: UnresolvedStepFailure, shown: ShownPage | None) -> ReplanContext:
    run, session = failure.run, failure.engine.session
    redact = session.context.redact
    place = run.place_of(failure.step)
    return ReplanContext(
        original_goal=redact(run.task.description or run.task.name or run.task.task_id),
        completed_steps=tuple(run.frame.done),
        failed_step=redact(failure.step.to_json()),
        failure_reason=redact(str(failure.error)),
        current_screen=session.screen_id,
        current_url=redact(session.page.url),
        elements=tuple(await session.elements()),
        accumulated_data=redact(dict(run.outputs)),
        failed_approaches=tuple(
            redact(f"{each.approach} {each.detail}".strip())
            for each in run.ledger.tried
            if each.step_id == failure.step.step_id and each.outcome == "failed"
        ),
        attempt_number=run.ledger.replans.get(place, 0) + 1,
        most_attempts=failure.engine.resilience.policy(run).max_replans_per_step,
        page="" if shown is None else redact(shown.outline.text),
    )
