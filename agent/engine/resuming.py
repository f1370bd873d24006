"""Going back to where steps can be done again: after a crash with a new browser, or where something
did not happen.

What may not be repeated is never done again here: steps up to the last such one that was done stay
done. Of the rest, the page is brought back to the last place that an address leads to, and what was
filled in after it is filled in again.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from agent.engine.calls import finds_its_own_way
from agent.engine.doubting import in_doubt
from agent.engine.running import Run
from agent.engine.steps import COMPOSITE
from agent.errors import AgentError, StepFailed
from agent.page.errors import PageError
from agent.session import SETTLE_S
from kb_schema.conditions import OnScreen
from kb_schema.read_backs import Finding, Happened
from kb_schema.runs import StepRecord, StepStatus
from kb_schema.storage import JournalEntry
from kb_schema.tasks import TaskStep
from kb_schema.urls import origin_of

if TYPE_CHECKING:
    from agent.engine.engine import Engine


class Resuming:
    """Finds the way back for one engine's runs."""

    def __init__(self, engine: Engine, decided: Happened | None = None) -> None:
        self._engine = engine
        self._decided = decided

    async def enter(self, run: Run) -> int:
        """Index of the step to begin with; the page is where that one begins."""
        engine, session = self._engine, self._engine.session
        index = run.frame.resumes_at(run.task)
        if not run.frame.url:  # a new one
            run.frame.url, run.frame.screen_id = session.page.url, session.screen_id
            return index
        if index < len(run.steps):
            step = run.steps[index]
            key = run.key(step)
            if key is None or (step.action.canonical_type in COMPOSITE and engine.keeper.state.below(key)):
                return index  # what it is made of finds its own way back
            if await self._settled(run, step, key):
                return index + 1
        elif run.frame.looked:  # only its end is missing, and what its page said of it may be gone
            effect = await engine.effects.happened(run, lambda: self.sign_in(run))
            if effect.status is Happened.HAPPENED:
                await self.settle(run, run.steps[-1], effect)
                return index
        return await self._return_to(run, index)

    async def _settled(self, run: Run, step: TaskStep, key: str) -> bool:
        """Whether the step was begun by another life of the run, and happened."""
        engine = self._engine
        entry = engine.keeper.entry(key)
        if entry is None or entry.outcome == "did_not_happen":
            return False
        effect = await self._tell(run, step, entry)
        if effect.status is not Happened.HAPPENED:
            await engine.keeper.conclude(entry.key, "did_not_happen")
            return False
        await self.settle(run, step, effect)
        run.note(_seen(run, step, effect), engine.session.page.url, repeatable=False)
        return True

    async def _tell(self, run: Run, step: TaskStep, entry: JournalEntry) -> Finding:
        """Whether what another life of the run began has happened. Raises `PersonNeeded`."""
        effect = await self._engine.effects.happened(run, lambda: self.sign_in(run))
        if entry.outcome == "happened":  # it was seen to; only the checkpoint after it is missing
            return Finding(Happened.HAPPENED, "the journal says so", effect.row)
        if effect.status is Happened.UNCLEAR and self._decided is not None:
            effect = Finding(self._decided, "a person looked")
            self._decided = None
        if effect.status is Happened.UNCLEAR:
            raise in_doubt(run, step, "the run was cut off in the middle of it", effect.reason)
        return effect

    def take_decision(self) -> Happened | None:
        """What a person said of what was in doubt; once."""
        decided, self._decided = self._decided, None
        return decided

    async def go_back(self, run: Run, index: int, reason: str) -> int:
        """From a step that did not happen to the one to go on from. Raises `StepFailed` where it was
        tried often enough.
        """
        step_id = run.steps[index].step_id
        run.again[step_id] = run.again.get(step_id, 0) + 1
        if not self._engine.resilience.may_go_back(run, run.steps[index]):
            raise StepFailed(f"step {step_id!r}: {reason}; tried {run.again[step_id]} times", acted=True)
        return await self._return_to(run, index)

    async def back_at(self, run: Run, index: int) -> int:
        """The page where that step can begin, or one before it that is harmless to do again; which. Raises
        `StepFailed` where there is no such place.
        """
        return await self._return_to(run, index)

    async def settle(self, run: Run, step: TaskStep, effect: Finding) -> None:
        """A step is known to have happened though its page did not say so; go where it leads."""
        engine, rule, key = self._engine, run.task.read_back, run.key(step)
        run.seen_elsewhere, run.proven, run.contradicted = effect.reason, True, False
        if rule is not None and effect.row is not None:
            run.given.update({name: effect.row.get(column) for name, column in rule.gives.items()})
        if key is not None:
            await engine.keeper.conclude(engine.keeper.latest(key), "happened")
        leads_to = next((c.screen_id for c in step.postconditions if isinstance(c, OnScreen)), None)
        with suppress(AgentError, PageError):  # it is done; where the page is then matters less
            if leads_to is None:
                index = run.steps.index(step)
                await self.is_at(run, *run.place(index))
            else:
                async with engine.unkept():
                    await engine.guide.go_to(leads_to)

    async def sign_in(self, run: Run) -> bool:
        """Sign in where the website says one is not, as the task itself would; whether that was done."""
        engine = self._engine
        await engine.guide.open(engine.session.base_url)  # an error page says nothing of it
        await engine.session.look_for(timeout_s=SETTLE_S)
        if await engine.session.signed_in() is not False:
            return False
        for step in run.steps:
            for condition in step.preconditions:
                if condition.type == "authenticated" and condition.auto_remediate:
                    return (await engine.steps.remediate(run, condition)).held
        return await self._by_the_websites_task(run)

    async def _by_the_websites_task(self, run: Run) -> bool:
        engine = self._engine
        task_id = engine.session.website.login_task_id
        if task_id is None or task_id == run.task.task_id:
            return False
        async with engine.unkept():
            await engine.sub_task(task_id, {}, run.depth)
        return bool(await engine.session.signed_in())

    async def no_sign_in(self) -> bool:
        """Where one is signed in for certain."""
        return False

    # -- places ----------------------------------------------------------------------------------

    async def _return_to(self, run: Run, index: int) -> int:
        """The latest step from which everything can be done again that is not done before `index`."""
        for door in run.doors(index):
            if door < len(run.steps) and finds_its_own_way(run.steps[door].action):
                await (
                    self._engine.guide.arrive()
                )  # where it was then may not be there any more (a login page)
                run.back_to(door)
                return door
            url, screen_id = run.place(door)
            if not url.startswith(("http://", "https://")) or await self.is_at(run, url, screen_id):
                run.back_to(door)
                return door
        where = run.steps[min(index, len(run.steps) - 1)].step_id
        raise StepFailed(
            f"the page that step {where!r} needs cannot be opened again",
            error="navigation_failed",
            acted=True,
        )

    async def is_at(self, run: Run, url: str, screen_id: str | None) -> bool:
        """Open an address and see whether it shows the screen, signed in where need be."""
        engine, session = self._engine, self._engine.session
        if origin_of(url) not in session.allowed_origins:
            return False
        for _ in range(2):
            await engine.guide.open(url)
            found = await session.look_for(None if screen_id is None else [screen_id])
            if screen_id is None or found.screen_id == screen_id:
                return True
            try:
                if not await self.sign_in(run):
                    return False
            except AgentError:
                return False
        return False


def _seen(run: Run, step: TaskStep, effect: Finding) -> StepRecord:
    """The record of a step that another life of the run did."""
    return StepRecord(
        task_id=run.task.task_id,
        step_id=step.step_id,
        action_type=step.action.canonical_type,
        status=StepStatus.DONE,
        duration_ms=0,
        evidence=(effect.reason,),
    )
