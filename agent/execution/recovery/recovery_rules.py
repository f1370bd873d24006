"""The rules of the knowledge base that apply to a failure, the most specific first (KS 4.1-4.4, 5, 6.4).

Order: the step, its element, its action document, its transition, the task, the website. Within each, the
rule for the most specific error name comes first.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent.execution.recovery.page_state_recoveries import find_start_screen
from agent.execution.recovery.recovery_registry import RecoveryCase
from kb_schema import action_types
from kb_schema.action_calls import ActionCall
from kb_schema.conditions import OnScreen, ScreenTransition
from kb_schema.error_handling import ErrorRecovery, ErrorRule, RecoveryStep
from kb_schema.graph_documents import ErrorState

if TYPE_CHECKING:
    from agent.execution.task_run import TaskRun
    from agent.knowledge_client import KnowledgeClient

ALTERNATIVES = 3
"""Paths between two screens among which the transition of a step is searched."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """One thing to try for a failure, and how often."""

    key: str
    """Identifies the remedy within a step: its source and position."""
    recovery: str | None
    """A registered recovery, an `error_recovery` document or a task; None: use `action`."""
    action: ActionCall | None = None
    tries: int = 1
    again: bool = True
    """Whether the step is tried again afterwards."""
    wait_time: float | None = None
    retry_step: str | None = None


async def list_remedies(case: RecoveryCase) -> AsyncIterator[Remedy]:
    """Yield every remedy in order, lazily: most failures need only the first."""
    for where, rules in await _near(case):
        for rule in _fitting(rules, case.names):
            for each in list_rule_remedies(rule, where):
                yield each
    for state in case.signs.states:
        if state.recovery is not None:
            yield Remedy(f"edge:{state.reason}", state.recovery)
    if case.run is not None:
        for rule in _fitting(case.run.task.failure_recovery.strategies, case.names):
            for each in list_rule_remedies(rule, "task"):
                yield each
    async for each in _list_website_remedies(case):
        yield each


async def _near(case: RecoveryCase) -> list[tuple[str, Sequence[ErrorRule]]]:
    if case.step is None or case.call is None:
        return []
    found: list[tuple[str, Sequence[ErrorRule]]] = [("step", case.step.error_handling)]
    element = await case.element()
    if element is not None:
        canonical = action_types.canonical(case.call.action_type)
        found += [
            (f"element:{element.element_id}", affordance.error_handling)
            for affordance in element.affordances
            if canonical in (None, action_types.canonical(affordance.action_type))
        ]
    document = await case.engine.session.knowledge.action(case.call.action_type)
    if document is not None:
        found.append((f"action:{document.action_id}", document.error_handling))
    return found


def _fitting(rules: Iterable[ErrorRule], names: Sequence[str]) -> list[ErrorRule]:
    fitting = [rule for rule in rules if rule.condition in names]
    return sorted(fitting, key=lambda rule: names.index(rule.condition))


def list_rule_remedies(rule: ErrorRule, where: str) -> list[Remedy]:
    """Return a rule's recovery, then its fallback."""
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


def list_document_remedies(document: ErrorRecovery) -> list[Remedy]:
    """Return the remedies of a strategy document, in its order."""
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


async def _list_website_remedies(case: RecoveryCase) -> AsyncIterator[Remedy]:
    """The website's strategy for the first of the error's names that it has one for."""
    knowledge = case.engine.session.knowledge
    action = None if case.call is None else case.call.action_type
    for name in case.names:
        screen = case.signs.screen_id
        document = await knowledge.error_recovery(name, screen, action)
        if document is not None and (not document.screens or screen in document.screens):
            for each in list_document_remedies(document):
                yield each
            return


async def list_error_states(
    run: TaskRun, index: int, knowledge: KnowledgeClient, ended_on: str | None
) -> list[ErrorState]:
    """Return what the transition of a step's action says of ending on that screen (KS 4.4), if the step
    names its target screen.
    """
    step, start = run.steps[index], find_start_screen(run, index)
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
