"""Keeps the element that a model suggested for a step, until the run is verified: then it is a proposal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.events import ElementUsed
from agent.execution.replanning.strategies.inferencer_suggestions import NAME
from kb_schema.selectors import Selector

if TYPE_CHECKING:
    from agent.execution.task_run import StepReplan, TaskRun
    from agent.session import Session

REASON = "a language model suggested this element after everything else had failed, and the run was verified"


async def remember_suggested_element(
    session: Session, run: TaskRun, plan: StepReplan, index: int, screen_id: str | None
) -> None:
    """Note by which other element the step of that index worked. Does nothing for other plans than a suggestion.

    Only the same action on another element is kept. `screen_id`: where the step began.
    """
    authored = run.authored(index)
    target, other = authored.action.target, plan.step.action.target
    same = authored.action.canonical_type == plan.step.action.canonical_type
    if plan.strategy != NAME or not same or not isinstance(other, Selector) or target is None:
        return
    own = isinstance(target, Selector)
    if not own:
        if screen_id is None:
            return
        screen = await session.knowledge.screen(screen_id)
        if all(each.element_id != target for each in screen.ui_elements):
            return
    seen = plan.step.action.fingerprint
    session.memory.report_when_verified(
        ElementUsed(
            screen_id="" if own else screen_id or "",
            element_id="" if own else str(target),
            strategy=other.strategies[0].type,
            succeeded=True,
            fingerprint={} if seen is None else seen.to_json(),
            healed_selector=other.to_json(),
            reason=REASON,
            task_id=run.task.task_id if own else "",
            step_id=authored.step_id if own else "",
        )
    )
