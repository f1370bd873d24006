"""The six nodes of the graph (PACTS 4): each reads the state, has something done, and says what is new.

What they hand on is JSON; the live page is in `Place`, and gone with the process. How they follow each
other is `graph.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

from agent.events import Event
from agent.telemetry import traced
from agent.verifying.flow.events import Healed, PhaseBegan, StepVerified, VerdictGiven
from agent.verifying.flow.hands import Hands, Mended, NotWritten, Phase, Trouble, Walk
from agent.verifying.flow.state import (
    Kept,
    read,
    sealed,
    sealed_plan,
    unsealed_plan,
    write,
)
from kb_schema.runs import PactsVerdict
from kb_schema.verification import (
    Evidence,
    ExecutedStep,
    Failure,
    Plan,
    PlanStep,
    Requirement,
    RootCause,
    RunState,
)

Update = dict[str, Any]
"""What a node changes of the state: JSON."""
NO_TEST = "no test could be written"
WENT_AWAY = "carried on after a break: executed from its first step on, in a fresh browser"


class Nodes:
    """The nodes for one requirement, with the page they share. An async context manager: leaving it closes
    the page.
    """

    def __init__(
        self,
        requirement: Requirement,
        hands: Hands,
        *,
        base_url: str,
        max_heal_rounds: int = 3,
        rediscover: bool = False,
        tell: Callable[[Event], None] = lambda _: None,
    ) -> None:
        self._requirement, self._hands, self._base_url = requirement, hands, base_url
        self._max_heal_rounds, self._tell = max_heal_rounds, tell
        self._rediscover = rediscover
        self._stack = AsyncExitStack()
        self.resumed = False
        """The run was cut off when the plan was to be executed, or was being."""
        self._walk: Walk | None = None
        self._trouble: Trouble | None = None
        """Of the step that is being healed."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._leave()

    # -- planner -----------------------------------------------------------------------------------------

    @traced("planner")
    async def planner(self, state: RunState) -> Update:
        """The requirement's intents (PACTS 4.1): its files were read, and refused where they are wrong,
        before any run began.
        """
        self._began("planner")
        kept = read(state).told(requirement=sealed(self._requirement), began=datetime.now(UTC))
        return {"context": write(kept)}

    # -- pom_builder ---------------------------------------------------------------------------------------

    @traced("pom_builder")
    async def pom_builder(self, state: RunState) -> Update:
        """Find first (PACTS 4.2): every element on the live page, or the plan with which this very test
        passed before; what has moved since is then healed.
        """
        kept, requirement = read(state), self._requirement
        known = await self._hands.known(requirement)
        kept = kept.told(held_before=known is not None)
        if known is not None and not self._rediscover:
            self._began("pom_builder", "the plan it passed with last is used")
            steps = tuple(each.model_copy(update={"from_cache": True}) for each in known.steps)
            plan = known.model_copy(update={"steps": steps, "missing": (), "base_url": self._base_url})
            kept = kept.told(plan=sealed_plan(plan, requirement), requirement=sealed(requirement, plan))
            return {"context": write(kept)}
        self._began("pom_builder")
        walk = await self._enter("build")
        built = await walk.build(requirement)
        await self._leave()
        plan = built.plan
        kept = kept.told(plan=sealed_plan(plan, requirement), requirement=sealed(requirement, plan))
        if not plan.missing:
            return {"context": write(kept)}
        evidence = built.evidence or _evidence_of(plan)
        failure = evidence.failure if evidence.failure is not Failure.NONE else Failure.TIMEOUT
        evidence = evidence.model_copy(update={"failure": failure})
        return {
            "context": write(kept.told(evidence=evidence, executed=built.executed)),
            "failure": failure.value,
            "step_idx": min(each.step_idx for each in plan.missing),
        }

    # -- generator ---------------------------------------------------------------------------------------

    @traced("generator")
    async def generator(self, state: RunState) -> Update:
        """Write the test (PACTS 4.3)."""
        self._began("generator")
        return {"context": write(await self._generated(read(state)))}

    async def _generated(self, kept: Kept) -> Kept:
        try:
            written = await self._hands.generate(self._plan(kept))
        except NotWritten as exc:
            others = tuple(each for each in kept.notes if not each.startswith(NO_TEST))
            return kept.told(notes=(*others, f"{NO_TEST}: {exc}"), artifacts={})
        if written is None:
            return kept
        told = {"test_file": written.path, "test_hash": f"sha256:{written.sha256}"}
        return kept.told(artifacts=kept.artifacts | told)

    # -- executor ----------------------------------------------------------------------------------------

    @traced("executor")
    async def executor(self, state: RunState) -> Update:
        """One step of the plan through the five-point gate (PACTS 4.4), on a page of its own that begins
        where the requirement says.
        """
        if state.failure is not Failure.NONE:
            return {"failure": state.failure.value}  # healing did not help: `should_heal` decides
        kept, index, heal_round = read(state), state.step_idx, state.heal_round
        walk = self._walk
        if walk is None:
            if self.resumed or index > 0 or kept.executed:
                kept, index, heal_round = _anew(kept), 0, 0
            self._began("executor")
            walk = await self._enter("execute")
            trouble = await walk.start(self._requirement.url)
            if trouble is not None:
                return self._failed(kept, index, heal_round, trouble)
        plan = self._plan(kept)
        if index >= len(plan.steps):
            return {"context": write(kept), "step_idx": index, "heal_round": 0}
        step = plan.steps[index]
        done = await walk.execute(step, heal_round=heal_round)
        compared = kept.compared + (1 if step.fingerprint is not None and heal_round == 0 else 0)
        kept = kept.told(compared=compared)
        if isinstance(done, Trouble):
            return self._failed(kept, index, heal_round, done, step)
        self._stepped(done, len(plan.steps))
        self._trouble = None
        kept = kept.told(executed=(*kept.executed, done), evidence=None, failed=None)
        return {"context": write(kept), "step_idx": index + 1, "heal_round": 0, "last_selector": None}

    def _failed(
        self, kept: Kept, index: int, heal_round: int, trouble: Trouble, step: PlanStep | None = None
    ) -> Update:
        self._trouble = trouble
        failure = trouble.failure if trouble.failure is not Failure.NONE else Failure.TIMEOUT
        evidence = trouble.evidence.model_copy(
            update={"failure": failure, "heal_rounds": heal_round, "step_idx": index}
        )
        selector = None
        if step is not None and trouble.executed is not None:
            selector = trouble.executed.selector
            if heal_round >= self._max_heal_rounds:
                self._stepped(trouble.executed, len(self._plan(kept).steps))
        return {
            "context": write(kept.told(evidence=evidence, failed=trouble.executed)),
            "failure": failure.value,
            "step_idx": index,
            "heal_round": heal_round,
            "last_selector": selector,
        }

    # -- oracle_healer -------------------------------------------------------------------------------------

    @traced("oracle_healer")
    async def oracle_healer(self, state: RunState) -> Update:
        """One round of reveal, reprobe, stabilise (PACTS 4.5)."""
        kept, trouble = read(state), self._trouble
        if self._walk is None or trouble is None:  # the page it was to be healed on is gone
            return {
                "context": write(_anew(kept)), "failure": Failure.NONE.value, "step_idx": 0, "heal_round": 0,
            }  # fmt: skip
        round_ = state.heal_round + 1
        plan = self._plan(kept)
        if trouble.executed is None or state.step_idx >= len(plan.steps):  # no step yet: nothing to heal
            return {"heal_round": self._max_heal_rounds}
        self._began("oracle_healer", f"step {state.step_idx + 1}, round {round_}")
        mended = await self._walk.heal(plan.steps[state.step_idx], trouble, round_)
        event = mended.event
        self._tell(Healed(self._requirement.req_id, event.step_idx, event.round, event.success, event.reason))
        kept = kept.told(healed=(*kept.healed, event))
        if not event.success:
            return {"context": write(_with_rounds(kept, round_)), "heal_round": round_}
        kept = self._mended(kept, plan, state.step_idx, mended)
        return {"context": write(kept), "heal_round": round_, "failure": Failure.NONE.value}

    def _mended(self, kept: Kept, plan: Plan, index: int, mended: Mended) -> Kept:
        before, after = plan.steps[index], mended.step
        if before == after:
            return kept
        steps = (*plan.steps[:index], after, *plan.steps[index + 1 :])
        plan = plan.model_copy(update={"steps": steps})
        drifted = tuple(sorted({*kept.drifted, index}))
        return kept.told(plan=sealed_plan(plan, self._requirement), drifted=drifted)

    # -- verdict_rca ---------------------------------------------------------------------------------------

    @traced("verdict_rca")
    async def verdict_rca(self, state: RunState) -> Update:
        """The verdict, and why (PACTS 4.6)."""
        self._began("verdict_rca")
        await self._leave()
        kept = read(state)
        plan = kept.plan
        done = plan is not None and not plan.missing and state.step_idx >= len(plan.steps)
        if done and plan is not None and state.failure is Failure.NONE:
            if kept.drifted:
                kept = await self._generated(kept)
            kept = kept.told(rca=self._succeeded(kept))
            await self._hands.remember(plan)
        else:
            kept = await self._blamed(kept, state)
        kept = kept.told(ended=datetime.now(UTC))
        verdict: PactsVerdict = "pass" if done and state.failure is Failure.NONE else "fail"
        if verdict == "pass" and _untested(kept):
            verdict = "partial"
        root = kept.rca
        self._tell(
            VerdictGiven(
                self._requirement.req_id, verdict, root.class_ if root else "", root.message if root else "",
                _took(kept),
            )
        )  # fmt: skip
        return {"context": write(kept), "verdict": verdict}

    def _succeeded(self, kept: Kept) -> RootCause:
        untested = _untested(kept)
        if untested is None:
            return self._hands.succeeded(**_metrics(kept))
        return RootCause(
            class_="data_issue", confidence=1.0, message=f"All steps executed successfully, but {untested}",
            recommendation="write the step in another way, or do without the test: --no-tests",
            metrics=_metrics(kept),
        )  # fmt: skip

    async def _blamed(self, kept: Kept, state: RunState) -> Kept:
        evidence = kept.evidence or Evidence(failure=state.failure, step_idx=state.step_idx)
        others = [each for each in kept.drifted if each != state.step_idx]
        evidence = evidence.model_copy(
            update={
                "drifted": max(evidence.drifted, len(others)),
                "compared": max(evidence.compared, kept.compared),
                "heal_rounds": sum(each.step_idx == state.step_idx for each in kept.healed),
                "held_before": True if kept.held_before else evidence.held_before,
            }
        )
        root: RootCause = await self._hands.classify(evidence)
        root = root.model_copy(update={"metrics": {**_metrics(kept), **root.metrics}})
        executed = kept.executed
        if kept.failed is not None and kept.failed.status == "failed":
            executed = (*executed, kept.failed)
        return kept.told(evidence=evidence, rca=root, executed=executed)

    # -- shared ------------------------------------------------------------------------------------------

    def _plan(self, kept: Kept) -> Plan:
        assert kept.plan is not None  # noqa: S101 - the graph leads here only past the builder
        return unsealed_plan(kept.plan, self._requirement, self._base_url)

    def _stepped(self, done: ExecutedStep, total: int) -> None:
        self._tell(
            StepVerified(
                self._requirement.req_id, done.step_idx, total, done.element, done.action, done.status,
                done.duration_ms, done.heal_round, done.error,
            )
        )  # fmt: skip

    def _began(self, phase: str, detail: str = "") -> None:
        self._tell(PhaseBegan(self._requirement.req_id, phase, detail))

    async def _enter(self, phase: Phase) -> Walk:
        await self._leave()
        self._walk = await self._stack.enter_async_context(self._hands.walk(phase))
        return self._walk

    async def _leave(self) -> None:
        self._walk = None
        await self._stack.aclose()


def _anew(kept: Kept) -> Kept:
    """The execution from its first step: nothing that was seen on the page that is gone is claimed."""
    notes = kept.notes if WENT_AWAY in kept.notes else (*kept.notes, WENT_AWAY)
    return kept.told(executed=(), failed=None, evidence=None, compared=0, notes=notes)


def _with_rounds(kept: Kept, rounds: int) -> Kept:
    if kept.evidence is None:
        return kept
    return kept.told(evidence=kept.evidence.model_copy(update={"heal_rounds": rounds}))


def _evidence_of(plan: Plan) -> Evidence:
    """What is known of something missing where the page said nothing more."""
    first = plan.missing[0]
    return Evidence(
        failure=Failure.TIMEOUT,
        what="action" if first.what == "element" else "outcome",
        step_idx=first.step_idx,
        element=first.intent,
        message=first.reason,
        nearest=first.nearest[0] if first.nearest else None,
    )


def _untested(kept: Kept) -> str | None:
    """Why there is no test of what held."""
    return next((each for each in kept.notes if each.startswith(NO_TEST)), None)


def _metrics(kept: Kept) -> dict[str, float]:
    plan = kept.plan
    return {
        "total_steps": float(len(plan.requirement.steps) if plan else 0),
        "executed_steps": float(sum(each.status == "success" for each in kept.executed)),
        "heal_rounds": float(len(kept.healed)),
        "execution_time_ms": round(sum(each.duration_ms for each in kept.executed), 1),
        "plan_coverage": plan.coverage if plan else 0.0,
    }


def _took(kept: Kept) -> float:
    if kept.began is None or kept.ended is None:
        return 0.0
    return max(0.0, (kept.ended - kept.began).total_seconds() * 1000)
