"""Which rules of the knowledge are for a failure, the nearest first (KS 4.1-4.4, 5, 6.4).

The step's own, its element's, its action document's, those of the edge it takes, the task's, the
website's. Within one of these, the rule for the most telling name of the error comes first.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent.recovering.cases import Case
from agent.recovering.looking import begins_on
from kb_schema import vocabulary
from kb_schema.calls import ActionCall
from kb_schema.conditions import OnScreen, ScreenTransition
from kb_schema.graph import ErrorState
from kb_schema.handling import ErrorRecovery, ErrorRule, RecoveryStep

if TYPE_CHECKING:
    from agent.engine.running import Run
    from agent.knowledge import Knowledge

ALTERNATIVES = 3
"""Ways between two screens among which the edge of a step is looked for."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """One thing to try for a failure, and how often."""

    key: str
    """What it is counted under within a step: where it stands, and its place there."""
    recovery: str | None
    """A named recovery, an `error_recovery` document or a task; None: `action`."""
    action: ActionCall | None = None
    tries: int = 1
    again: bool = True
    """Whether the step is tried again afterwards."""
    wait_time: float | None = None
    retry_step: str | None = None


async def remedies(case: Case) -> AsyncIterator[Remedy]:
    """Everything to try, in order; asked for one by one, as most failures need only the first."""
    for where, rules in await _near(case):
        for rule in _fitting(rules, case.names):
            for each in of_rule(rule, where):
                yield each
    for state in case.signs.states:
        if state.recovery is not None:
            yield Remedy(f"edge:{state.reason}", state.recovery)
    if case.run is not None:
        for rule in _fitting(case.run.task.failure_recovery.strategies, case.names):
            for each in of_rule(rule, "task"):
                yield each
    async for each in _of_the_website(case):
        yield each


async def _near(case: Case) -> list[tuple[str, Sequence[ErrorRule]]]:
    if case.step is None or case.call is None:
        return []
    found: list[tuple[str, Sequence[ErrorRule]]] = [("step", case.step.error_handling)]
    element = await case.element()
    if element is not None:
        canonical = vocabulary.canonical(case.call.action_type)
        found += [
            (f"element:{element.element_id}", affordance.error_handling)
            for affordance in element.affordances
            if canonical in (None, vocabulary.canonical(affordance.action_type))
        ]
    document = await case.engine.session.knowledge.action(case.call.action_type)
    if document is not None:
        found.append((f"action:{document.action_id}", document.error_handling))
    return found


def _fitting(rules: Iterable[ErrorRule], names: Sequence[str]) -> list[ErrorRule]:
    fitting = [rule for rule in rules if rule.condition in names]
    return sorted(fitting, key=lambda rule: names.index(rule.condition))


def of_rule(rule: ErrorRule, where: str) -> list[Remedy]:
    """A rule as what to try: its recovery, then its fallback."""
    key = f"{where}:{rule.condition}"
    tries = rule.max_retries if rule.retry else 1
    first = Remedy(
        key,
        rule.recovery,
        tries=tries,
        again=rule.retry,
        wait_time=rule.wait_time,
        retry_step=rule.retry_step,
    )
    if rule.fallback is None:
        return [first]
    return [first, Remedy(f"{key}:fallback", rule.fallback, again=rule.retry, retry_step=rule.retry_step)]


def of_document(document: ErrorRecovery) -> list[Remedy]:
    """A strategy document as what to try, in its order."""
    return [_of_step(document.recovery_id, number, step) for number, step in enumerate(document.strategies)]


def _of_step(name: str, number: int, step: RecoveryStep) -> Remedy:
    return Remedy(
        f"{name}[{number}]",
        step.recovery,
        step.action,
        tries=step.max_retries if step.retry else 1,
        again=step.retry,
        wait_time=step.wait_time,
    )


async def _of_the_website(case: Case) -> AsyncIterator[Remedy]:
    """The desk's strategy for the first of the error's names that it has one for."""
    knowledge = case.engine.session.knowledge
    action = None if case.call is None else case.call.action_type
    for name in case.names:
        screen = case.signs.screen_id
        document = await knowledge.error_recovery(name, screen, action)
        if document is not None and (not document.screens or screen in document.screens):
            for each in of_document(document):
                yield each
            return


async def error_states(run: Run, index: int, knowledge: Knowledge, ended_on: str | None) -> list[ErrorState]:
    """What the edge that a step's action takes says of ending up on that screen (KS 4.4), as far as the
    step says where it is to lead.
    """
    step, start = run.steps[index], begins_on(run, index)
    if start is None or ended_on is None or not isinstance(step.action.target, str):
        return []
    goals = {each.screen_id for each in step.postconditions if isinstance(each, OnScreen)}
    goals |= {each.to_screen for each in step.postconditions if isinstance(each, ScreenTransition)}
    found: list[ErrorState] = []
    for goal in sorted(goals - {start, ended_on}):
        answer = await knowledge.paths(start, goal, k=ALTERNATIVES)
        for path in answer.paths:
            if len(path.steps) != 1 or path.steps[0].call.target != step.action.target:
                continue
            edge = path.steps[0].edge
            found += [state for state in edge.error_states if state.screen_id == ended_on]
    return found
