"""A bounded piece of judgement in a workflow (DESIGN 6): an inferencer's actions, each through the gate,
at most so many; without an inferencer a person is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agent.engine.calls import fill_conditions
from agent.errors import PersonNeeded, StepFailed
from agent.resilience.strategies.inferred import NEVER, ReplanContext
from kb_schema import vocabulary

if TYPE_CHECKING:
    from agent.engine.engine import Engine
    from kb_schema.workflows import AgentNode

REACHED_S = 1.0
"""How long a page may take to show that the goal is reached, after each action."""


async def use_judgement(
    engine: Engine, node: AgentNode, values: Mapping[str, Any], done: Sequence[str] = ()
) -> None:
    """Do what the node is for. It is over when its condition holds, or, without one, when nothing more is
    suggested. Raises `PersonNeeded` without an inferencer, `StepFailed` where the bound comes first.
    """
    session = engine.session
    until = () if node.until is None else fill_conditions((node.until,), values)
    if until and await _reached(engine, until, values):
        return
    if session.inferencer is None:
        raise PersonNeeded(node.goal, hint="a person has to do this, or an inferencer has to be configured")
    tried: list[str] = []
    for attempt in range(1, node.max_steps + 1):
        redact = session.context.redact
        told = ReplanContext(
            original_goal=redact(node.goal), completed_steps=tuple(done),
            failed_step={"type": "agent", "goal": redact(node.goal)}, failure_reason="it is left to judgement",
            current_screen=session.screen_id, current_url=redact(session.page.url),
            elements=tuple(await session.elements()), accumulated_data=redact(dict(values)),
            failed_approaches=tuple(tried), attempt_number=attempt,
        )  # fmt: skip
        suggested = await session.inferencer.suggest(told)
        call = next((each for each in suggested if _may(each.action_type)), None)
        if call is None:
            if until or attempt == 1:
                raise PersonNeeded(node.goal, hint="nothing was suggested that may be done")
            return
        await engine.actions.perform(call, values)
        tried.append(f"{call.canonical_type} {call.target or call.url or ''}".strip())
        if until and await _reached(engine, until, values):
            return
    if until:
        raise StepFailed(
            f"not reached in {node.max_steps} steps: {node.goal}", error="agent_bound", acted=True
        )


async def _reached(engine: Engine, until: Any, values: Mapping[str, Any]) -> bool:
    verdicts = await engine.session.judge_until_held(until, values, timeout_s=REACHED_S)
    return all(verdict.held for verdict in verdicts)


def _may(name: str) -> bool:
    kind = vocabulary.action_type(name)
    return kind is not None and kind.name not in NEVER
