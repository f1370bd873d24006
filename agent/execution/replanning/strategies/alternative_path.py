"""Another path to the screen that a step leads to or needs, around the transition that failed."""

from __future__ import annotations

from collections.abc import Sequence

from agent.execution.replanning.replanner import UnresolvedStepFailure
from agent.execution.task_run import Prepare, StepReplan
from agent.guide import CHANGES, list_lacking_values
from kb_schema.action_calls import ActionCall
from kb_schema.conditions import BaseCondition, OnScreen, ScreenTransition
from kb_schema.tool_answers import Path

NAME = "other_path"
MOST = 3
"""Paths requested from the knowledge server."""


class AlternativePath:
    """Paths around the transition that failed, then the screen's own address."""

    name = NAME

    async def plans(self, failure: UnresolvedStepFailure) -> Sequence[StepReplan]:
        """Return no plan for a step that does more than navigate: a link cannot replace a form."""
        step, session = failure.step, failure.engine.session
        goal, avoid = await self._goal(failure)
        if goal is None:
            return ()
        here = session.screen_id
        calls = step.action
        if step.action.canonical_type != "navigate" and goal != find_needed_screen(step.preconditions):
            # Navigation is the whole step: its postconditions only ask for arrival.
            calls = ActionCall(action_type="navigate", target_screen=goal)
        replaced = step.model_copy(update={"action": calls})
        found: list[StepReplan] = []
        if here is not None and here != goal:
            for path in await self._paths(failure, here, goal, avoid):
                named = " > ".join(each.transition_id for each in path.steps)
                found.append(StepReplan(NAME, named, replaced, _prepare_path(failure, path)))
        screen = await session.knowledge.screen(goal)
        url = step.action.url or screen.url
        if url is not None and step.action.method == "path":
            found.append(StepReplan(NAME, "direct_url", replaced, _prepare_opening(failure, goal)))
        return found

    async def _goal(self, failure: UnresolvedStepFailure) -> tuple[str | None, list[str]]:
        """The screen to reach, and the transitions to avoid."""
        step, session = failure.step, failure.engine.session
        closed = list(failure.run.ledger.closed_ways)
        if step.action.canonical_type == "navigate":
            return step.action.target_screen, closed
        needed = find_needed_screen(step.preconditions)
        if needed is not None and session.screen_id != needed:
            return needed, closed
        goal, start = find_reached_screen(step.postconditions), failure.situation.screen_id
        if goal is None or start is None or start == goal:
            return None, closed
        # Only if the knowledge base has this very action as a transition without effects.
        ways = await self._paths(failure, start, goal, [])
        same = [
            path.steps[0].transition_id
            for path in ways
            if len(path.steps) == 1 and path.steps[0].call.target == step.action.target
        ]
        return (goal, [*closed, *same]) if same else (None, closed)

    async def _paths(
        self, failure: UnresolvedStepFailure, start: str, goal: str, avoid: list[str]
    ) -> Sequence[Path]:
        session = failure.engine.session
        answer = await session.knowledge.paths(
            start,
            goal,
            objective=session.choose_objective(),
            k=MOST,
            avoid={"transitions": sorted(set(avoid)), "effects": list(CHANGES)},
            facts=await session.facts(),
        )
        known = session.context.known_values()
        return [
            path for path in answer.paths if not any(list_lacking_values(step, known) for step in path.steps)
        ]


def find_needed_screen(conditions: Sequence[BaseCondition]) -> str | None:
    """Return the screen that the preconditions require."""
    return next((each.screen_id for each in conditions if isinstance(each, OnScreen)), None)


def find_reached_screen(conditions: Sequence[BaseCondition]) -> str | None:
    """Return the screen that the postconditions name."""
    for each in conditions:
        if isinstance(each, OnScreen):
            return each.screen_id
        if isinstance(each, ScreenTransition):
            return each.to_screen
    return None


def _prepare_path(failure: UnresolvedStepFailure, path: Path) -> Prepare:
    async def prepare() -> None:
        await failure.engine.guide.follow(path)

    return prepare


def _prepare_opening(failure: UnresolvedStepFailure, goal: str) -> Prepare:
    async def prepare() -> None:
        await failure.engine.guide.go_to(goal, method="direct_url", url=failure.step.action.url)

    return prepare
