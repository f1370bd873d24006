"""Another way to the screen that a step leads to or needs, around the transition that failed."""

from __future__ import annotations

from collections.abc import Sequence

from agent.guide import CHANGES
from agent.resilience.replanner import Failure, Plan, Prepare
from kb_schema.answers import Path
from kb_schema.calls import ActionCall
from kb_schema.conditions import BaseCondition, OnScreen, ScreenTransition

NAME = "other_path"
MOST = 3
"""Ways that are asked for."""


class OtherPath:
    """Around what failed; then by the screen's own address."""

    name = NAME

    async def plans(self, failure: Failure) -> Sequence[Plan]:
        """None where the step is no mere way: what a form does is done by no link."""
        step, session = failure.step, failure.engine.session
        goal, avoid = await self._goal(failure)
        if goal is None:
            return ()
        here = session.screen_id
        calls = step.action
        if step.action.canonical_type != "navigate" and goal != needed_screen(step.preconditions):
            # The way is the step's whole work: arriving is what its postconditions ask for.
            calls = ActionCall(action_type="navigate", target_screen=goal)
        replaced = step.model_copy(update={"action": calls})
        found: list[Plan] = []
        if here is not None and here != goal:
            for path in await self._paths(failure, here, goal, avoid):
                named = " > ".join(each.transition_id for each in path.steps)
                found.append(Plan(NAME, named, replaced, _follows(failure, path)))
        screen = await session.knowledge.screen(goal)
        url = step.action.url or screen.url
        if url is not None and step.action.method == "path":
            found.append(Plan(NAME, "direct_url", replaced, _opens(failure, goal)))
        return found

    async def _goal(self, failure: Failure) -> tuple[str | None, list[str]]:
        """The screen to get to, and the transitions that are closed."""
        step, session = failure.step, failure.engine.session
        closed = list(failure.run.ledger.closed_ways)
        if step.action.canonical_type == "navigate":
            return step.action.target_screen, closed
        needed = needed_screen(step.preconditions)
        if needed is not None and session.screen_id != needed:
            return needed, closed
        goal, start = reached_screen(step.postconditions), failure.situation.screen_id
        if goal is None or start is None or start == goal:
            return None, closed
        # Only where the knowledge says that this very action is a way, and changes nothing.
        ways = await self._paths(failure, start, goal, [])
        same = [
            path.steps[0].transition_id for path in ways
            if len(path.steps) == 1 and path.steps[0].call.target == step.action.target
        ]  # fmt: skip
        return (goal, [*closed, *same]) if same else (None, closed)

    async def _paths(self, failure: Failure, start: str, goal: str, avoid: list[str]) -> Sequence[Path]:
        session = failure.engine.session
        answer = await session.knowledge.paths(
            start, goal, k=MOST, avoid={"transitions": sorted(set(avoid)), "effects": list(CHANGES)},
            facts=await session.facts(),
        )  # fmt: skip
        return answer.paths


def needed_screen(conditions: Sequence[BaseCondition]) -> str | None:
    """The screen that must be there first."""
    return next((each.screen_id for each in conditions if isinstance(each, OnScreen)), None)


def reached_screen(conditions: Sequence[BaseCondition]) -> str | None:
    """The screen that is to be there afterwards."""
    for each in conditions:
        if isinstance(each, OnScreen):
            return each.screen_id
        if isinstance(each, ScreenTransition):
            return each.to_screen
    return None


def _follows(failure: Failure, path: Path) -> Prepare:
    async def prepare() -> None:
        await failure.engine.guide.follow(path)

    return prepare


def _opens(failure: Failure, goal: str) -> Prepare:
    async def prepare() -> None:
        await failure.engine.guide.go_to(goal, method="direct_url", url=failure.step.action.url)

    return prepare
