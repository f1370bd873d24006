"""What an inferencer suggests: the last strategy, and only where one is configured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from agent.resilience.replanner import Failure, Plan
from kb_schema import vocabulary
from kb_schema.calls import ActionCall

NAME = "inferred"
MOST = 3
"""Suggestions that are looked at."""
NEVER = frozenset({"run_task", "execute_iterator", "wait"})
"""Actions that a suggestion may not be: it replaces one action, no more."""


@dataclass(frozen=True, slots=True)
class ReplanContext:
    """What an inferencer is told (WR 2.3, 4.2); without secrets."""

    original_goal: str
    completed_steps: tuple[str, ...]
    failed_step: dict[str, Any]
    failure_reason: str
    current_screen: str | None
    current_url: str
    elements: tuple[str, ...] = ()
    """Of the screen, by the ids an action may name as its target."""
    accumulated_data: dict[str, Any] = field(default_factory=dict)
    failed_approaches: tuple[str, ...] = ()
    """None of these may be suggested again."""
    attempt_number: int = 1


class ReplanInferencer(Protocol):
    """Whoever has judgement to lend: an LLM, behind the one door there is to it."""

    async def suggest(self, context: ReplanContext) -> Sequence[ActionCall]:
        """Actions to take in place of the one that failed, the best first; none where it has no idea."""


class Inferred:
    """An inferencer's suggestions, as far as they are safe: what may not be repeated is never suggested in
    place of what may be, and only what the vocabulary has is done.
    """

    name = NAME

    def __init__(self, inferencer: ReplanInferencer) -> None:
        self._inferencer = inferencer

    async def plans(self, failure: Failure) -> Sequence[Plan]:
        """In the inferencer's order."""
        suggested = await self._inferencer.suggest(await _context(failure))
        return [
            Plan(NAME, _told(call), failure.step.model_copy(update={"action": call}))
            for call in list(suggested)[:MOST]
            if _safe(call, repeatable=failure.repeatable)
        ]


def _safe(call: ActionCall, *, repeatable: bool) -> bool:
    kind = vocabulary.action_type(call.action_type)
    if kind is None or kind.name in NEVER:
        return False
    return kind.idempotent or not repeatable


def _told(call: ActionCall) -> str:
    target = call.target if isinstance(call.target, str) else call.target_screen or call.url or ""
    return f"{call.canonical_type} {target}".strip()


async def _context(failure: Failure) -> ReplanContext:
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
            f"{each.approach} {each.detail}".strip() for each in run.ledger.tried
            if each.step_id == failure.step.step_id and each.outcome == "failed"
        ),
        attempt_number=run.ledger.replans.get(place, 0) + 1,
    )  # fmt: skip
