"""Tries the knowledge's recoveries for a failed step, in order and bounded.

It never decides whether something may be repeated: whoever asks has made sure that the step did not
happen, or that doing it once more is harmless (`agent.engine.steps`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from agent.errors import AgentError, InputMissing, PersonNeeded, StepFailed, touched_the_page
from agent.events import RecoveryTried, Struggling
from agent.page.complaints import complaints
from agent.page.errors import PageError, PageGone
from agent.recovering import fixing, looking, retrying
from agent.recovering.cases import RECOVERIES, Case, Outcome, pause
from agent.recovering.names import Signs, names_of
from agent.recovering.rules import Remedy, error_states, of_document, remedies
from agent.session import BROWSERS_OWN_ERROR
from kb_schema.conditions import Authenticated
from kb_schema.graph import ErrorState

if TYPE_CHECKING:
    from agent.engine.engine import Engine
    from agent.engine.running import Run

__all__ = ["Mending", "Recovering", "fixing", "looking", "retrying"]

MAX_NESTED = 3
"""Strategies that name strategies."""
PASSED_ON = (InputMissing, PersonNeeded, PageGone)
"""What a recovery runs into that only somebody else can mend."""


class Recovering:
    """Carries out recoveries for one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def on_the_way(self, name: str, error: Exception) -> Outcome:
        """A recovery that an edge names, where one did not arrive (KS 4.4 `error_states`)."""
        case = Case(self._engine, error, names_of(error, Signs()), Signs())
        async with self._engine.unkept():
            return await carry_out(Remedy("edge", name), case)


class Mending:
    """The recoveries of one step: what was tried of them, and what is left."""

    def __init__(self, engine: Engine, run: Run, index: int) -> None:
        self._engine, self._run, self._index = engine, run, index
        self._spent: Counter[str] = Counter()
        self._memory: dict[str, Any] = {}
        self.attempts = 1
        """Of the step, the one that failed first included."""
        self.signs = Signs()
        """What the page showed after the last failure."""

    def told(self, error: AgentError | PageError) -> AgentError | PageError:
        """The error with what the page says of it."""
        said = [f"{each.label}: {each.message}" for each in self.signs.complaints.fields if each.message]
        said += [text for text in self.signs.complaints.alerts if not any(text in each for each in said)]
        if not said or not isinstance(error, StepFailed) or error.error != "postcondition":
            return error
        return StepFailed(f"{error}; the page says: {'; '.join(said)}", error=error.error, acted=error.acted)

    async def mend(self, error: Exception, *, own_only: bool = False) -> tuple[Outcome, Remedy | None]:
        """The first recovery that helps, with what it came to; `NO_HELP` and None where there is no
        rule, `STOP` where there were some and nothing is left of them.

        `own_only`: of the step's own rules. Raises `InputMissing` and `PersonNeeded`.
        """
        self.attempts += 1
        self.signs = await self._look(error)
        action_type = self._run.steps[self._index].action.canonical_type
        names = names_of(error, self.signs, action_type)
        case = Case(self._engine, error, names, self.signs, self._run, self._index, memory=self._memory)
        any_rule = False
        if retrying.ALTERNATIVE in self._memory:  # it did not help: the next one, or the element's own way
            self._engine.session.memory.no_longer(self._memory.pop(retrying.ALTERNATIVE))
        if self.attempts > 1 + self._engine.resilience.policy(self._run).max_retries:
            return Outcome.STOP, None  # in one go, whatever its rules say (WR `maxRetries`)
        async for remedy in self._left(case, own_only=own_only):
            any_rule = True
            if self._spent[remedy.key] >= remedy.tries:
                continue
            self._spent[remedy.key] += 1
            outcome = await self._try(remedy, case)
            if outcome is Outcome.NO_HELP:
                self._spent[remedy.key] = remedy.tries
            elif outcome in (Outcome.AGAIN, Outcome.BACK) and not remedy.again:
                if await looking.holds_by_now(case):
                    return Outcome.DONE, remedy
            else:
                return outcome, remedy
        return (Outcome.STOP if any_rule else Outcome.NO_HELP), None

    async def _left(self, case: Case, *, own_only: bool) -> AsyncIterator[Remedy]:
        async for remedy in remedies(case):
            if not own_only or remedy.key.startswith("step:"):
                yield remedy

    async def _try(self, remedy: Remedy, case: Case) -> Outcome:
        self._engine.session.bus.tell(Struggling("recovering", case.names[0]))
        async with self._engine.unkept():
            outcome = await carry_out(remedy, case)
        step = self._run.steps[self._index]
        name = remedy.recovery or (remedy.action.action_type if remedy.action else "")
        self._engine.session.bus.tell(
            RecoveryTried(self._run.task.task_id, step.step_id, case.names[0], name, outcome)
        )
        return outcome

    async def _look(self, error: Exception) -> Signs:
        """The page after the failure. What cannot be looked at shows nothing."""
        session, run = self._engine.session, self._run
        url = session.page.url
        if url.startswith(BROWSERS_OWN_ERROR):
            return Signs(url=url)
        try:
            screen_id = (await session.look()).screen_id
            elements = await session.elements()
            plain = {n: e.selector for n, e in elements.items() if not e.selector.parameterized}
            said = await complaints(session.page, plain)
            needed = any(
                isinstance(c, Authenticated) and c.expected for s in run.steps for c in s.preconditions
            )
            signed_out = needed and screen_id is not None and await session.signed_in() is False
        except PageError:
            return Signs(url=url)
        states: tuple[ErrorState, ...] = ()
        if touched_the_page(error):
            states = tuple(await error_states(run, self._index, session.knowledge, screen_id))
        return Signs(session.page.url, screen_id, said, signed_out, states)


async def carry_out(remedy: Remedy, case: Case, depth: int = 0) -> Outcome:
    """One remedy: an action, a registered recovery, a strategy document, or a task.

    Raises what only somebody else can mend.
    """
    case.wait_time = remedy.wait_time
    try:
        if remedy.action is not None:
            return await _act(remedy, case)
        name = remedy.recovery or ""
        if name in RECOVERIES:
            return await RECOVERIES[name](case)
        document = await case.engine.session.knowledge.error_recovery(name, None, None)
        if document is not None and document.recovery_id == name and depth < MAX_NESTED:
            for each in of_document(document):
                outcome = await carry_out(each, case, depth + 1)
                if outcome is not Outcome.NO_HELP:
                    return outcome
            return Outcome.NO_HELP
        return await _run_task(name, case)
    except PASSED_ON:
        raise
    except (AgentError, PageError):
        return Outcome.NO_HELP


async def _act(remedy: Remedy, case: Case) -> Outcome:
    call = remedy.action
    if call is None or (call.task_id is not None and call.task_id in case.engine.steps.under_way):
        return Outcome.NO_HELP
    await pause(case)
    await case.engine.actions.perform(call, {} if case.run is None else case.run.values)
    return Outcome.AGAIN


async def _run_task(task_id: str, case: Case) -> Outcome:
    """A task as a recovery; never one that is under way itself."""
    if task_id in case.engine.steps.under_way:
        return Outcome.NO_HELP
    await pause(case)
    await case.engine.sub_task(task_id, {}, case.engine.depth)
    return Outcome.AGAIN
