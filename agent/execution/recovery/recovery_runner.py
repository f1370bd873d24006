"""Applies the knowledge base's recoveries to a failed step, in order and within limits.

It never decides whether a step may be repeated: the caller has checked that the step did not happen or may
be repeated (`agent.execution.step_runner`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from agent import retry_limits
from agent.errors import AgentError, InputMissing, PersonNeeded, StepFailed, touched_the_page
from agent.events import RecoveryTried, Struggling
from agent.execution.page_complaints import SAYS
from agent.execution.recovery import field_corrections, page_state_recoveries, retry_recoveries
from agent.execution.recovery.failure_names import FailureSigns, list_error_names
from agent.execution.recovery.recovery_registry import (
    RECOVERIES,
    RecoveryCase,
    RecoveryOutcome,
    wait_as_authored,
)
from agent.execution.recovery.recovery_rules import (
    Remedy,
    list_document_remedies,
    list_error_states,
    list_remedies,
)
from agent.page.errors import PageError, PageGone
from agent.page.page_problems import read_page_problems
from agent.session import BROWSERS_OWN_ERROR
from kb_schema.conditions import Authenticated
from kb_schema.graph_documents import ErrorState

if TYPE_CHECKING:
    from agent.execution.execution_ports import TaskExecution
    from agent.execution.task_run import TaskRun

__all__ = [
    "RecoveryRunner",
    "StepRecoveries",
    "field_corrections",
    "page_state_recoveries",
    "retry_recoveries",
]

PASSED_ON = (InputMissing, PersonNeeded, PageGone)
"""Errors inside a recovery that only a person or the caller can resolve."""


class RecoveryRunner:
    """Applies recoveries for one task runner."""

    def __init__(self, engine: TaskExecution) -> None:
        self._engine = engine

    async def recover_transition(self, name: str, error: Exception) -> bool:
        """Apply the recovery that a transition's `error_states` name (KS 4.4); True if the transition may
        be tried again.
        """
        case = RecoveryCase(self._engine, error, list_error_names(error, FailureSigns()), FailureSigns())
        async with self._engine.without_checkpoints():
            return await apply_remedy(Remedy("edge", name), case) is RecoveryOutcome.AGAIN


class StepRecoveries:
    """The recoveries of one step: what was tried, and what is left."""

    def __init__(self, engine: TaskExecution, run: TaskRun, index: int) -> None:
        self._engine, self._run, self._index = engine, run, index
        self._spent: Counter[str] = Counter()
        self._memory: dict[str, Any] = {}
        self.attempts = 1
        """Attempts at the step, including the first."""
        self.signs = FailureSigns()
        """What the page showed after the last failure."""

    def add_page_messages(self, error: AgentError | PageError) -> AgentError | PageError:
        """Return the error with the page's own messages before it."""
        messages = [f"{each.label}: {each.message}" for each in self.signs.complaints.fields if each.message]
        messages += [
            text for text in self.signs.complaints.alerts if not any(text in each for each in messages)
        ]
        if not messages or not isinstance(error, StepFailed) or error.error != "postcondition":
            return error
        return StepFailed(f"{SAYS}{'; '.join(messages)}; {error}", error=error.error, acted=error.acted)

    async def recover(
        self, error: Exception, *, own_only: bool = False
    ) -> tuple[RecoveryOutcome, Remedy | None]:
        """Apply the first recovery that helps; return its outcome and the remedy.

        `NO_HELP` and None: no rule applies. `STOP`: rules apply, but none is left. `own_only`: use only the
        step's own rules. Raises `InputMissing` and `PersonNeeded`.
        """
        self.attempts += 1
        self.signs = await self._look(error)
        action_type = self._run.steps[self._index].action.canonical_type
        names = list_error_names(error, self.signs, action_type)
        case = RecoveryCase(
            self._engine, error, names, self.signs, self._run, self._index, memory=self._memory
        )
        any_rule = False
        if retry_recoveries.ALTERNATIVE in self._memory:  # it did not help: use the authored selector again
            self._engine.session.memory.no_longer(self._memory.pop(retry_recoveries.ALTERNATIVE))
        if self.attempts > 1 + self._engine.resilience.policy(self._run).max_retries:
            return RecoveryOutcome.STOP, None  # whatever the rules say (WR `maxRetries`)
        async for remedy in self._left(case, own_only=own_only):
            any_rule = True
            if self._spent[remedy.key] >= remedy.tries:
                continue
            self._spent[remedy.key] += 1
            outcome = await self._try(remedy, case)
            if outcome is RecoveryOutcome.NO_HELP:
                self._spent[remedy.key] = remedy.tries
            elif outcome in (RecoveryOutcome.AGAIN, RecoveryOutcome.BACK) and not remedy.again:
                if await page_state_recoveries.has_taken_effect(case):
                    return RecoveryOutcome.DONE, remedy
            else:
                return outcome, remedy
        return (RecoveryOutcome.STOP if any_rule else RecoveryOutcome.NO_HELP), None

    async def _left(self, case: RecoveryCase, *, own_only: bool) -> AsyncIterator[Remedy]:
        async for remedy in list_remedies(case):
            if not own_only or remedy.key.startswith("step:"):
                yield remedy

    async def _try(self, remedy: Remedy, case: RecoveryCase) -> RecoveryOutcome:
        self._engine.session.bus.tell(Struggling("recovering", case.names[0]))
        async with self._engine.without_checkpoints():
            with self._engine.session.entries.guarded():
                outcome = await apply_remedy(remedy, case)
        step = self._run.steps[self._index]
        name = remedy.recovery or (remedy.action.action_type if remedy.action else "")
        self._engine.session.bus.tell(
            RecoveryTried(self._run.task.task_id, step.step_id, case.names[0], name, outcome)
        )
        return outcome

    async def _look(self, error: Exception) -> FailureSigns:
        """Return the signs on the page after the failure; empty if the page cannot be read."""
        session, run = self._engine.session, self._run
        url = session.page.url
        if url.startswith(BROWSERS_OWN_ERROR):
            return FailureSigns(url=url)
        try:
            screen_id = (await session.look()).screen_id
            elements = await session.elements()
            plain = {n: e.selector for n, e in elements.items() if not e.selector.parameterized}
            problems = await read_page_problems(session.page, plain)
            needed = any(
                isinstance(c, Authenticated) and c.expected for s in run.steps for c in s.preconditions
            )
            signed_out = needed and screen_id is not None and await session.signed_in() is False
        except PageError:
            return FailureSigns(url=url)
        states: tuple[ErrorState, ...] = ()
        if touched_the_page(error):
            states = tuple(await list_error_states(run, self._index, session.knowledge, screen_id))
        return FailureSigns(session.page.url, screen_id, problems, signed_out, states)


async def apply_remedy(remedy: Remedy, case: RecoveryCase, depth: int = 0) -> RecoveryOutcome:
    """Apply one remedy: an action, a registered recovery, a strategy document, or a task.

    Raises what only a person or the caller can resolve.
    """
    case.wait_time = remedy.wait_time
    try:
        if remedy.action is not None:
            return await _act(remedy, case)
        name = remedy.recovery or ""
        if name in RECOVERIES:
            return await RECOVERIES[name](case)
        document = await case.engine.session.knowledge.error_recovery(name, None, None)
        if document is not None and document.recovery_id == name and depth < retry_limits.NESTED_RECOVERIES:
            for each in list_document_remedies(document):
                outcome = await apply_remedy(each, case, depth + 1)
                if outcome is not RecoveryOutcome.NO_HELP:
                    return outcome
            return RecoveryOutcome.NO_HELP
        return await _run_task(name, case)
    except PASSED_ON:
        raise
    except (AgentError, PageError):
        return RecoveryOutcome.NO_HELP


async def _act(remedy: Remedy, case: RecoveryCase) -> RecoveryOutcome:
    call = remedy.action
    if call is None or (call.task_id is not None and call.task_id in case.engine.steps.under_way):
        return RecoveryOutcome.NO_HELP
    await wait_as_authored(case)
    await case.engine.actions.perform(call, {} if case.run is None else case.run.values)
    return RecoveryOutcome.AGAIN


async def _run_task(task_id: str, case: RecoveryCase) -> RecoveryOutcome:
    """Run a task as a recovery, unless it is running already."""
    if task_id in case.engine.steps.under_way:
        return RecoveryOutcome.NO_HELP
    await wait_as_authored(case)
    await case.engine.sub_task(task_id, {}, case.engine.depth)
    return RecoveryOutcome.AGAIN
