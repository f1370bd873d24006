"""The six nodes of the graph (PACTS 4). Each reads the state, does its work and returns what changed.

The state is JSON and survives the process; the live page (`PhasePage`) does not. The order of the nodes is in
`verification_graph.py`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from datetime import UTC, datetime
from typing import Any

from agent import retry_limits
from agent.events import Event
from agent.inferencer import Inferencer
from agent.telemetry import traced
from agent.verification.generation import NotGenerated
from agent.verification.graph.passed_plans import PassedPlans
from agent.verification.graph.phase_page import (
    Phase,
    PhasePage,
    VerificationTarget,
    find_missing_kind,
    list_unusable_facts,
)
from agent.verification.graph.suite_folder import GeneratedTest
from agent.verification.graph.verification_events import Healed, PhaseBegan, StepVerified, VerdictGiven
from agent.verification.graph.verification_state import (
    VerificationContext,
    read_context,
    seal_plan,
    seal_requirement,
    unseal_plan,
    write_context,
)
from agent.verification.page_checks import FailedStep
from agent.verification.root_cause import build_success, consult
from kb_schema.run_records import PactsVerdict
from kb_schema.verification import (
    ExecutedStep,
    FailureEvidence,
    FailureKind,
    GeneratedTestProof,
    OfferedElement,
    PlanStep,
    Requirement,
    RootCause,
    VerificationPlan,
    VerificationRunState,
)

ProveTest = Callable[[VerificationPlan, str, Callable[[], None]], Awaitable[GeneratedTestProof]]
"""Proves the test of a plan at a path; calls the third argument if the test is run."""
StateUpdate = dict[str, Any]
"""What a node changes of the state: JSON."""
NO_TEST = "no test could be written"
MOST_USUAL = 100
"""Errors of scripts that are remembered for a requirement."""
EXECUTED_AGAIN = "resumed after an interruption: executed again from the first step, in a new browser"


class VerificationNodes:
    """The nodes for one requirement, and the page they share.

    `open_page` opens the page of a phase. `write_test` writes the test of a plan; None if no tests are wanted.
    `prove_test` runs that test; None if no test is to be run.
    The inferencer comments on root causes and decides none; `redact` takes secrets out of what it is shown.
    """

    def __init__(
        self,
        requirement: Requirement,
        target: VerificationTarget,
        open_page: Callable[[Phase], AbstractAsyncContextManager[PhasePage]],
        *,
        plans: PassedPlans,
        write_test: Callable[[VerificationPlan], Awaitable[GeneratedTest]] | None = None,
        prove_test: ProveTest | None = None,
        max_heal_rounds: int = retry_limits.HEALING_ROUNDS,
        rediscover: bool = False,
        inferencer: Inferencer | None = None,
        redact: Callable[[Any], Any] = lambda data: data,
        tell: Callable[[Event], None] = lambda _: None,
    ) -> None:
        self.requirement, self._target, self._open_page = requirement, target, open_page
        self._plans, self._write_test, self._prove_test = plans, write_test, prove_test
        self.max_heal_rounds, self._rediscover = max_heal_rounds, rediscover
        self._inferencer, self._redact, self._tell = inferencer, redact, tell
        self._stack = AsyncExitStack()
        self._page: PhasePage | None = None
        self._failed: FailedStep | None = None
        """The step that is being healed."""
        self.resumed = False
        """The run was interrupted during, or just before, the execution of its plan."""

    async def close(self) -> None:
        """Close the page, if one is open."""
        self._page = None
        await self._stack.aclose()

    # -- planner -----------------------------------------------------------------------------------------

    @traced("planner")
    async def planner(self, state: VerificationRunState) -> StateUpdate:
        """Take over the requirement's steps (PACTS 4.1). Its file was read and checked before the run began."""
        self._announce("planner")
        context = read_context(state).with_changes(
            requirement=seal_requirement(self.requirement), began=datetime.now(UTC)
        )
        return {"context": write_context(context)}

    # -- pom_builder ---------------------------------------------------------------------------------------

    @traced("pom_builder")
    async def pom_builder(self, state: VerificationRunState) -> StateUpdate:
        """Find every element on the live page (PACTS 4.2), unless the plan of an earlier pass is known.

        A known plan is used as it is. What has moved since then is healed during the execution.
        """
        context, requirement = read_context(state), self.requirement
        known = await self._plans.find(self._target.website_id, requirement)
        context = context.with_changes(held_before=known is not None)
        if known is not None and not self._rediscover:
            self._announce("pom_builder", "using the plan of the last pass")
            steps = tuple(each.model_copy(update={"from_cache": True}) for each in known.steps)
            plan = known.model_copy(update={"steps": steps, "missing": (), "base_url": self._target.base_url})
            return {"context": write_context(self._with_plan(context, plan))}
        self._announce("pom_builder")
        page = await self._open("build")
        built = await page.build(requirement)
        usual = () if built.plan.missing else _merge_errors(page.list_errors())
        await self.close()
        plan = built.plan.model_copy(
            update={"signed_in_by": self._target.signed_in_by, "usual_errors": usual}
        )
        context = self._with_plan(context, plan)
        if not plan.missing:
            return {"context": write_context(context)}
        context = await self._with_failing_test(context, plan)
        evidence = built.evidence or _build_missing_evidence(plan)
        failure = evidence.failure if evidence.failure is not FailureKind.NONE else FailureKind.TIMEOUT
        evidence = evidence.model_copy(update={"failure": failure})
        return {
            "context": write_context(context.with_changes(evidence=evidence, executed=built.executed)),
            "failure": failure.value,
            "step_idx": min(each.step_idx for each in plan.missing),
        }

    def _with_plan(self, context: VerificationContext, plan: VerificationPlan) -> VerificationContext:
        return context.with_changes(
            plan=seal_plan(plan, self.requirement), requirement=seal_requirement(self.requirement, plan)
        )

    # -- generator ---------------------------------------------------------------------------------------

    @traced("generator")
    async def generator(self, state: VerificationRunState) -> StateUpdate:
        """Write the test (PACTS 4.3)."""
        self._announce("generator")
        return {"context": write_context(await self._with_test(read_context(state)))}

    async def _with_test(
        self, context: VerificationContext, plan: VerificationPlan | None = None
    ) -> VerificationContext:
        if self._write_test is None:
            return context
        try:
            test = await self._write_test(plan or self._read_plan(context))
        except NotGenerated as exc:
            others = tuple(each for each in context.notes if not each.startswith(NO_TEST))
            return context.with_changes(notes=(*others, f"{NO_TEST}: {exc}"), artifacts={})
        named = {"test_file": test.path, "test_hash": f"sha256:{test.sha256}"}
        return context.with_changes(artifacts=context.artifacts | named)

    async def _with_failing_test(
        self, context: VerificationContext, plan: VerificationPlan
    ) -> VerificationContext:
        """Write a test that ends with the outcome that does not hold; without one, note why there is none."""
        if self._write_test is None:
            return context
        lost = plan.missing[0]
        if plan.unmet is None:
            name = lost.intent or lost.what
            why = lost.reason if lost.is_there or lost.is_outcome else "was not found on the page"
            note = f"no test: step {lost.step_idx + 1} ({name}) {why}"
            return context.with_changes(notes=(*context.notes, note))
        steps = (*plan.steps, plan.unmet)
        done = plan.requirement.model_copy(update={"steps": tuple(each.intent for each in steps)})
        part = plan.model_copy(update={"requirement": done, "steps": steps, "missing": (), "unmet": None})
        return await self._with_test(context, part)

    # -- executor ----------------------------------------------------------------------------------------

    @traced("executor")
    async def executor(self, state: VerificationRunState) -> StateUpdate:
        """Do one step of the plan (PACTS 4.4). The first step opens a page where the requirement begins."""
        if state.failure is not FailureKind.NONE:
            return {"failure": state.failure.value}  # healing did not help: `should_heal` decides
        context, index, heal_round = read_context(state), state.step_idx, state.heal_round
        page = self._page
        if page is None:
            if self.resumed or index > 0 or context.executed:
                context, index, heal_round = _restart_execution(context), 0, 0
            self._announce("executor")
            page = await self._open("execute")
            failed = await page.start(self.requirement.url, self._read_plan(context).steps)
            if failed is not None:
                return await self._record_failure(context, index, heal_round, failed)
        plan = self._read_plan(context)
        if index >= len(plan.steps):
            return {"context": write_context(context), "step_idx": index, "heal_round": 0}
        step = plan.steps[index]
        done = await page.execute(step, heal_round=heal_round)
        compared = context.compared + (1 if step.fingerprint is not None and heal_round == 0 else 0)
        context = context.with_changes(compared=compared)
        if isinstance(done, FailedStep):
            return await self._record_failure(context, index, heal_round, done, step)
        self._report_step(done, len(plan.steps))
        self._failed = None
        context = context.with_changes(executed=(*context.executed, done), evidence=None, failed=None)
        return {
            "context": write_context(context),
            "step_idx": index + 1,
            "heal_round": 0,
            "last_selector": None,
        }

    async def _record_failure(
        self,
        context: VerificationContext,
        index: int,
        heal_round: int,
        failed: FailedStep,
        step: PlanStep | None = None,
    ) -> StateUpdate:
        """Record a failed step. Without `step` the first page did not open."""
        self._failed = failed
        failure = failed.failure if failed.failure is not FailureKind.NONE else FailureKind.TIMEOUT
        evidence = failed.evidence.model_copy(
            update={"failure": failure, "heal_rounds": heal_round, "step_idx": index}
        )
        if self._rediscover or not context.held_before:  # the plan is of this run
            sent = [each.step_idx for each in self._read_plan(context).steps if each.sent_data]
            evidence = evidence.model_copy(update={"done_before": min(sent, default=None)})
        usual = await self._plans.list_usual_errors(self._target.website_id)
        usual = usual.union(self._read_plan(context).usual_errors)
        console = tuple(each.model_copy(update={"usual": each.pattern in usual}) for each in evidence.console)
        evidence = evidence.model_copy(update={"console": console})
        if evidence.offered is not None:
            names = {"req_id": self.requirement.req_id, "website_id": self._target.website_id}
            named = evidence.offered.model_copy(update=names)
            evidence = evidence.model_copy(update={"offered": named})
        executed = failed.executed if step is not None else None
        if executed is not None and heal_round >= self.max_heal_rounds:
            self._report_step(executed, len(self._read_plan(context).steps))
        return {
            "context": write_context(context.with_changes(evidence=evidence, failed=executed)),
            "failure": failure.value,
            "step_idx": index,
            "heal_round": heal_round,
            "last_selector": executed.selector if executed is not None else None,
        }

    # -- oracle_healer -------------------------------------------------------------------------------------

    @traced("oracle_healer")
    async def oracle_healer(self, state: VerificationRunState) -> StateUpdate:
        """Run one round of healing: reveal, reprobe, stabilise (PACTS 4.5)."""
        context, failed, page = read_context(state), self._failed, self._page
        if page is None or failed is None:  # the run was resumed: the page that had to be healed is gone
            return {
                "context": write_context(_restart_execution(context)),
                "failure": FailureKind.NONE.value,
                "step_idx": 0,
                "heal_round": 0,
            }
        round_ = state.heal_round + 1
        plan = self._read_plan(context)
        if context.failed is None or state.step_idx >= len(plan.steps):  # no step failed, but the first page
            return {"heal_round": self.max_heal_rounds}
        checks = plan.steps[state.step_idx].checks
        if failed.evidence.what == "outcome" and not any(each.selector for each in checks):
            return {
                "heal_round": self.max_heal_rounds
            }  # a text, a message, an address: no element to find again
        self._announce("oracle_healer", f"step {state.step_idx + 1}, round {round_}")
        healing = await page.heal(plan.steps[state.step_idx], failed, round_)
        event = healing.event
        self._tell(
            Healed(
                self.requirement.req_id, event.step_idx, event.round, event.success, event.reason, event.found
            )
        )
        context = context.with_changes(healed=(*context.healed, event))
        if not event.success:
            return {"context": write_context(_with_heal_rounds(context, round_)), "heal_round": round_}
        context = self._with_healed_step(context, plan, state.step_idx, healing.step)
        return {"context": write_context(context), "heal_round": round_, "failure": FailureKind.NONE.value}

    def _with_healed_step(
        self, context: VerificationContext, plan: VerificationPlan, index: int, step: PlanStep
    ) -> VerificationContext:
        if plan.steps[index] == step:
            return context
        steps = (*plan.steps[:index], step, *plan.steps[index + 1 :])
        plan = plan.model_copy(update={"steps": steps})
        drifted = tuple(sorted({*context.drifted, index}))
        return context.with_changes(plan=seal_plan(plan, self.requirement), drifted=drifted)

    # -- verdict_rca ---------------------------------------------------------------------------------------

    @traced("verdict_rca")
    async def verdict_rca(self, state: VerificationRunState) -> StateUpdate:
        """Give the verdict and its root cause (PACTS 4.6)."""
        self._announce("verdict_rca")
        thrown = frozenset() if self._page is None else self._page.list_errors()
        await self.close()
        context = read_context(state)
        plan = context.plan
        done = plan is not None and not plan.missing and state.step_idx >= len(plan.steps)
        if done and plan is not None and state.failure is FailureKind.NONE:
            if context.drifted:
                context = await self._with_test(context)
            context = await self._with_proof(context)
            context = context.with_changes(rca=_build_pass_cause(context))
            usual = _merge_errors(thrown, plan.usual_errors)
            await self._plans.keep(self._target.website_id, plan.model_copy(update={"usual_errors": usual}))
        else:
            context = await self._with_root_cause(context, state)
            offered = _find_offer(context)
            if offered is not None:
                await self._plans.offer(self._target.website_id, self.requirement.req_id, offered)
        context = context.with_changes(ended=datetime.now(UTC))
        verdict: PactsVerdict = "pass" if done and state.failure is FailureKind.NONE else "fail"
        if verdict == "pass" and (_find_no_test_note(context) or _is_test_red(context)):
            verdict = "partial"
        root = context.rca
        self._tell(
            VerdictGiven(
                self.requirement.req_id,
                verdict,
                root.class_ if root else "",
                root.message if root else "",
                _measure_duration_ms(context),
            )
        )
        return {"context": write_context(context), "verdict": verdict}

    async def _with_proof(self, context: VerificationContext) -> VerificationContext:
        """Run the generated test once, as its reader would."""
        test = context.artifacts.get("test_file")
        if self._prove_test is None or test is None:
            return context
        proof = await self._prove_test(self._read_plan(context), test, lambda: self._announce("prover"))
        return context.with_changes(proof=proof)

    async def _with_root_cause(
        self, context: VerificationContext, state: VerificationRunState
    ) -> VerificationContext:
        evidence = context.evidence or FailureEvidence(failure=state.failure, step_idx=state.step_idx)
        others = [each for each in context.drifted if each != state.step_idx]
        itself = evidence.what == "action" and context.failed is not None and bool(context.failed.selector)
        evidence = evidence.model_copy(
            update={
                "drifted": max(evidence.drifted, len(others)),
                "compared": max(evidence.compared, context.compared - itself),
                "heal_rounds": sum(each.step_idx == state.step_idx for each in context.healed),
                "held_before": True if context.held_before else evidence.held_before,
            }
        )
        root = await consult(evidence, self._inferencer, redact=self._redact)
        root = root.model_copy(update={"metrics": {**_measure(context), **root.metrics}})
        executed = context.executed
        if context.failed is not None and context.failed.status == "failed":
            executed = (*executed, context.failed)
        return context.with_changes(evidence=evidence, rca=root, executed=executed)

    # -- shared ------------------------------------------------------------------------------------------

    def _read_plan(self, context: VerificationContext) -> VerificationPlan:
        assert context.plan is not None  # noqa: S101 - the graph leads here only past the builder
        return unseal_plan(context.plan, self.requirement, self._target.base_url)

    def _report_step(self, done: ExecutedStep, total: int) -> None:
        self._tell(
            StepVerified(
                self.requirement.req_id,
                done.step_idx,
                total,
                done.element,
                done.action,
                done.status,
                done.duration_ms,
                done.heal_round,
                done.error,
            )
        )

    def _announce(self, phase: str, detail: str = "") -> None:
        self._tell(PhaseBegan(self.requirement.req_id, phase, detail))

    async def _open(self, phase: Phase) -> PhasePage:
        await self.close()
        self._page = await self._stack.enter_async_context(self._open_page(phase))
        return self._page


def _merge_errors(thrown: Iterable[str], known: Iterable[str] = ()) -> tuple[str, ...]:
    """Return what scripts threw in runs that were as required, the earlier ones first, at most so many."""
    return tuple(dict.fromkeys((*known, *sorted(thrown))))[:MOST_USUAL]


def _restart_execution(context: VerificationContext) -> VerificationContext:
    """Forget the steps executed so far: the page they were seen on is gone."""
    notes = context.notes if EXECUTED_AGAIN in context.notes else (*context.notes, EXECUTED_AGAIN)
    return context.with_changes(executed=(), failed=None, evidence=None, compared=0, notes=notes)


def _with_heal_rounds(context: VerificationContext, rounds: int) -> VerificationContext:
    if context.evidence is None:
        return context
    return context.with_changes(evidence=context.evidence.model_copy(update={"heal_rounds": rounds}))


def _build_missing_evidence(plan: VerificationPlan) -> FailureEvidence:
    """Evidence for a missing element or outcome, from the plan alone."""
    first = plan.missing[0]
    known: dict[str, Any] = {"failure": FailureKind.TIMEOUT, **list_unusable_facts(first)}
    return FailureEvidence(
        **known,
        what=find_missing_kind(first),
        alike=first.nearest,
        step_idx=first.step_idx,
        element=first.intent,
        message=first.reason,
        difference=first.difference,
        nearest=first.nearest[0] if first.nearest else None,
    )


def _build_pass_cause(context: VerificationContext) -> RootCause:
    """The root cause of a requirement whose steps all held: success, unless its test could not be written."""
    no_test = _find_no_test_note(context)
    if context.proof is not None and _is_test_red(context):
        return RootCause(
            class_="assertion_mismatch",
            confidence=0.7,
            message="All steps executed successfully, but the generated test is red in plain pytest",
            evidence=(context.proof.reason,),
            recommendation="run the test by hand and look at what it asserts; or leave it unproved: --no-prove",
            metrics=_measure(context),
        )
    if no_test is None:
        return build_success(**_measure(context))
    return RootCause(
        class_="data_issue",
        confidence=1.0,
        message=f"All steps executed successfully, but {no_test}",
        recommendation="write the step in another way, or do without the test: --no-tests",
        metrics=_measure(context),
    )


def _is_test_red(context: VerificationContext) -> bool:
    return context.proof is not None and context.proof.status == "failed"


def _find_offer(context: VerificationContext) -> OfferedElement | None:
    """Return the element that may be the missing one, if that is the root cause."""
    declined = context.rca is not None and context.rca.class_ == "healing_declined"
    return context.evidence.offered if declined and context.evidence is not None else None


def _find_no_test_note(context: VerificationContext) -> str | None:
    """Return the note that says why no test could be written."""
    return next((each for each in context.notes if each.startswith(NO_TEST)), None)


def _measure(context: VerificationContext) -> dict[str, float]:
    plan = context.plan
    return {
        "total_steps": float(len(plan.requirement.steps) if plan else 0),
        "executed_steps": float(sum(each.status == "success" for each in context.executed)),
        "heal_rounds": float(len(context.healed)),
        "execution_time_ms": round(sum(each.duration_ms for each in context.executed), 1),
        "plan_coverage": plan.coverage if plan else 0.0,
    }


def _measure_duration_ms(context: VerificationContext) -> float:
    if context.began is None or context.ended is None:
        return 0.0
    return max(0.0, (context.ended - context.began).total_seconds() * 1000)
