"""Runs an agent node of a workflow: actions that an inferencer suggests, each through the gate, limited in
number.

Without an inferencer a person is asked to do it in the browser; without a person, the run ends there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agent.errors import PersonNeeded, StepFailed
from agent.execution.call_templates import fill_conditions
from agent.execution.effects.person_answers import ask_until_done
from agent.execution.replanning.suggested_actions import resolve_suggestion, show_page
from agent.inferencer import ReplanContext

if TYPE_CHECKING:
    from agent.execution.execution_ports import TaskExecution
    from kb_schema.workflows import AgentNode

REACHED_S = 1.0
"""Seconds a page may take to show that the goal is reached, after each action."""


async def run_judgement_node(
    engine: TaskExecution, node: AgentNode, values: Mapping[str, Any], done: Sequence[str] = ()
) -> None:
    """Run the node until its condition holds or, without one, until nothing more is suggested.

    Raises `PersonNeeded` without an inferencer and without an answer of a person, `StepFailed` if the limit of actions
    is reached first, or the person's answer did not bring the condition about.
    """
    session = engine.session
    until = () if node.until is None else fill_conditions((node.until,), values)
    if until and await _reached(engine, until, values):
        return
    if session.inferencer is None:
        await _ask_person(engine, node)
        if until and not await _reached(engine, until, values):
            raise StepFailed(f"goal not reached by hand: {node.goal}", error="agent_bound", acted=True)
        return
    tried: list[str] = []
    for attempt in range(1, node.max_steps + 1):
        redact, shown = session.context.redact, await show_page(session)
        context = ReplanContext(
            original_goal=redact(node.goal),
            completed_steps=tuple(done),
            failed_step={"type": "agent", "goal": redact(node.goal)},
            failure_reason="it is left to judgement",
            current_screen=session.screen_id,
            current_url=redact(session.page.url),
            elements=tuple(await session.elements()),
            accumulated_data=redact(dict(values)),
            failed_approaches=tuple(tried),
            attempt_number=attempt,
            most_attempts=node.max_steps,
            page="" if shown is None else redact(shown.outline.text),
        )
        suggested = await session.inferencer.suggest(context)
        resolved = [await resolve_suggestion(session, shown, each) for each in suggested]
        call = next((each for each in resolved if each is not None), None)
        if call is None:
            if until or attempt == 1:
                raise PersonNeeded(
                    node.goal, hint="the inferencer suggested no permitted action: do this by hand"
                )
            return
        session.reasoning = context.original_goal
        try:
            await engine.actions.perform(call, values)
        finally:
            session.reasoning = None
        tried.append(f"{call.canonical_type} {call.target or call.url or ''}".strip())
        if until and await _reached(engine, until, values):
            return
    if until:
        raise StepFailed(
            f"goal not reached in {node.max_steps} actions: {node.goal}", error="agent_bound", acted=True
        )


async def _ask_person(engine: TaskExecution, node: AgentNode) -> None:
    """Let a person do what the recordings leave open, and wait for the answer. Raises `PersonNeeded` without one."""
    session = engine.session
    told = f"The recordings do not tell this step. Do it in the browser: {node.goal}"
    if not await ask_until_done(session.context, told):
        raise PersonNeeded(
            node.goal,
            hint="run it in a terminal with --headed, do this step in the browser and answer; or configure a model",
        )


async def _reached(engine: TaskExecution, until: Any, values: Mapping[str, Any]) -> bool:
    verdicts = await engine.session.judge_until_held(until, values, timeout_s=REACHED_S)
    return all(verdict.held for verdict in verdicts)
