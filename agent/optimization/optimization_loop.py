"""The optimization loop (OL): run with healing, patch, run again without healing to prove it; repeat up to a
limit.

This module decides when a round begins and which patches stay: those that turned a red test green. The work
of a round is in `message_roles`, changes of sources are in `sources/`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from agent.events import Event, EventBus
from agent.optimization.message_roles import (
    NOT_THE_TESTS,
    ContextManager,
    LocatorSynthesis,
    OptimizationRound,
    PatchDecision,
    PlacedTests,
    RequirementTestRewriter,
    RewriteResult,
    RoleMessenger,
    Runner,
    TestExecutor,
    TestOptimizer,
    TestWriter,
    find_agreed_decisions,
)
from agent.optimization.shared_memory import (
    InMemoryReplacementStatistics,
    InMemorySharedMemory,
    ReplacementStatistics,
    SharedMemory,
)
from agent.optimization.sources import (
    PatchWorkspace,
    SourceUnwritable,
    SuiteSources,
    apply_patches,
    diff_of,
    fingerprint_patch,
    is_call_on_patch,
)
from agent.optimization.suite_runner import (
    FailureAnswer,
    FailureHandler,
    LiveFailure,
    RaiseFailure,
    SubstituteLocator,
    WaitLonger,
)
from agent.telemetry import span
from agent.verification.root_cause import classify
from agent.verification.root_cause.rule_findings import GUESS
from kb_schema.suite_optimization import (
    MAX_PATCHES,
    ExecutionMode,
    ExecutionRequest,
    ExecutionResult,
    FailedTest,
    OptimizationReport,
    Patch,
    RegenerateTest,
    SettledCall,
    TestOutcome,
    WithdrawnPatch,
)
from kb_schema.verification import RootCause

MAX_ATTEMPTS = 3
"""Rounds of healing, patching and proving (OL `maxAttempts`)."""


class SuiteUnrunnable(Exception):
    """The suite cannot be run at all. Fields: `why`, and `result`, the failed execution."""

    def __init__(self, why: str, result: ExecutionResult) -> None:
        self.why, self.result = why, result
        super().__init__(why)


@dataclass(frozen=True, slots=True)
class OptimizationOrder:
    """What to optimize, and the limits."""

    root: Path
    """The folder whose Python files are the suite's sources."""
    out: Path
    """For records and backups."""
    execution_id: str
    mode: ExecutionMode = "cli"
    tests: tuple[str, ...] = ()
    """Files, folders or node ids, as pytest takes them; empty: all."""
    max_attempts: int = MAX_ATTEMPTS
    max_patches: int = MAX_PATCHES
    """Per file."""
    fallback: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class OptimizationPorts:
    """What the loop calls to run tests, to find elements, and to store what it learns."""

    run: Runner
    look: FailureHandler
    """Finds what a failing locator meant, on the live page."""
    memory: SharedMemory = field(default_factory=InMemorySharedMemory)
    learned: ReplacementStatistics = field(default_factory=InMemoryReplacementStatistics)
    writes: RequirementTestRewriter | None = None
    """Writes tests anew."""
    held_before: Callable[[str], bool | None] = lambda _: None
    """Whether a test passed in an earlier execution; None: not known."""
    requirement_of: Callable[[FailedTest], str | None] = lambda _: None
    """The `req_id` of the requirement a test was generated from."""


@dataclass(frozen=True, slots=True)
class RoundBegan(Event):
    """A run begins: with healing, or to prove patches."""

    attempt: int
    healing: bool
    tests: int
    """How many were named; 0: all."""


async def optimize(
    order: OptimizationOrder, ports: OptimizationPorts, *, bus: EventBus | None = None
) -> OptimizationReport:
    """Run the loop. Raises `SuiteUnrunnable`; the sources are then unchanged."""
    with span("optimize", execution=order.execution_id, mode=order.mode):
        return await _OptimizationRun(order, ports, bus or EventBus()).run()


@dataclass(slots=True)
class _TriedPatch:
    """A patch in the sources, and the tests that need it."""

    patch: Patch
    decisions: list[PatchDecision]
    confirmed: bool = False

    @property
    def tests(self) -> set[str]:
        return {each.failed.test_id for each in self.decisions}


class _OptimizationRun:
    def __init__(self, order: OptimizationOrder, ports: OptimizationPorts, bus: EventBus) -> None:
        self.order, self.ports, self.bus = order, ports, bus
        post = RoleMessenger(bus)
        self.post = post
        self.executor = TestExecutor(post, ports.run, ask=self._ask, told=self._told)
        self.context = ContextManager(post, ports.memory)
        self.synthesis = LocatorSynthesis(post, ports.look)
        self.optimizer = TestOptimizer(
            post, ports.learned, ports.memory, fallback=order.fallback, held_before=ports.held_before
        )
        self.writer = TestWriter(post, ports.writes)
        self.bench = PatchWorkspace(order.root, order.out / "backups")
        self.tried: list[_TriedPatch] = []
        self.withdrawn: list[WithdrawnPatch] = []
        self.made: Counter[str] = Counter()
        self.before: dict[str, FailedTest | None] = {}
        """Tests that did not pass before the optimization."""
        self.red: dict[str, FailedTest] = {}
        """Tests that fail now."""
        self.causes: dict[str, RootCause] = {}
        self.mended: dict[str, RootCause] = {}
        """The root cause of the first healed call of each test."""
        self.notes: dict[str, list[str]] = {}
        self.settled: dict[SettledCall, None] = {}
        """Calls that runs without help give less time."""
        self.anew: dict[str, Path] = {}
        """Regenerated tests that are in the suite."""
        self.general: list[str] = []
        self.attempts: Counter[str] = Counter()
        self.runs = 0
        self.proof: ExecutionResult | None = None
        """The last run without help."""
        self.proposed = ""

    async def run(self) -> OptimizationReport:
        began, moment = time.monotonic(), datetime.now(UTC)
        try:
            await self._rounds()
            await self._settle()
            await self._write_anew()
        except BaseException:
            self.writer.take_back()
            self.bench.take_all_back()
            raise
        if not self.red and not self.proposing:
            self.bench.settle()
        outcomes = tuple(self._outcome(each) for each in self.before)
        return OptimizationReport(
            execution_id=self.order.execution_id,
            mode=self.order.mode,
            started_at=moment,
            duration_ms=(time.monotonic() - began) * 1000,
            tests=outcomes,
            patches=tuple(each.patch for each in self.tried),
            withdrawn=tuple(self.withdrawn),
            summary=(self.proof or self.context.results[-1]).summary,
            notes=tuple(self.general),
            diff=self.proposed if self.order.dry_run else self.bench.diff(),
            dry_run=self.order.dry_run,
        )

    @property
    def proposing(self) -> bool:
        """Whether nothing is written to the suite."""
        return self.order.dry_run or self.order.mode == "simulate"

    # -- rounds

    async def _rounds(self) -> None:
        for attempt in range(1, self.order.max_attempts + 1):
            healed = await self._execute(attempt, healing=True, tests=tuple(self.red))
            if attempt == 1:
                self.before = dict(self.red)
            self._causes(self.optimizer.round, healed)
            self.settled |= dict.fromkeys(self.optimizer.round.list_settled())
            patches = self._wanted(self.optimizer.round)
            if not patches or self.order.mode == "pipeline":
                return
            if not self._put(patches):
                return
            proof = await self._execute(attempt, healing=False, tests=())
            self.proof = proof
            taken_back = len(self.withdrawn)
            await self._judge(proof)
            if not self.red or (len(self.withdrawn) == taken_back and self._nothing_new(proof)):
                return

    def _nothing_new(self, proof: ExecutionResult) -> bool:
        """Return whether every red test fails for something this round has already examined without a result."""
        for failed in proof.failed_tests:
            decisions = self.optimizer.round.of(failed.test_id)
            last = decisions[-1] if decisions else None
            if last is None or not isinstance(last.verdict, RaiseFailure) or last.patch is not None:
                return False
            ours, theirs = failed.locator, last.failed.locator
            if (ours and ours.selector) != (theirs and theirs.selector):
                return False
        return True

    async def _execute(
        self, attempt: int, *, healing: bool, tests: tuple[str, ...], files: tuple[str, ...] = ()
    ) -> ExecutionResult:
        """Run tests by their ids, or files, or all. Sets `red` to the failed ones."""
        self.runs += 1
        self.bus.tell(RoundBegan(attempt, healing, len(tests or files)))
        if healing:
            await self.optimizer.begin(self.order.execution_id, attempt)
            self.optimizer.files = SuiteSources(self.order.root)
        self.executor.healing = healing
        await self.post.send(
            ExecutionRequest(
                execution_id=self.order.execution_id,
                mode=self.order.mode,
                attempt=self.runs,
                test_file_paths=files or (() if tests else self.order.tests),
                test_ids=tests,
                settled_calls=() if healing or files else tuple(self.settled),
            )
        )
        result = self.context.results[-1]
        if result.status == "error":
            why = next((each.message for each in result.failed_tests if not each.test_id), "no test was run")
            raise SuiteUnrunnable(why, result)
        self.optimizer.round.result = result
        self.red = {each.test_id: each for each in result.failed_tests}
        if healing:
            for each in self.optimizer.round.decisions.values():
                if not isinstance(each.verdict, WaitLonger) or not each.verdict.within_own_time:
                    self.red.setdefault(each.failed.test_id, each.failed)
        return result

    async def _ask(self, failure: LiveFailure) -> FailureAnswer:
        self.synthesis.waiting[failure.failure_id] = failure
        try:
            await self.context.failed(self.order.execution_id, failure.failed, failure.failure_id)
        finally:
            del self.synthesis.waiting[failure.failure_id]
        return self.optimizer.round.decisions[failure.failure_id].verdict

    def _told(self, failure: LiveFailure, _verdict: SubstituteLocator | WaitLonger, worked: bool) -> None:
        decision = self.optimizer.round.decisions.get(failure.failure_id)
        if decision is not None:
            decision.worked = worked

    def _causes(self, round_: OptimizationRound, result: ExecutionResult) -> None:
        """Record the root cause of each test: of the call that ended it, otherwise of the first healed one."""
        for test_id in {each.failed.test_id for each in round_.decisions.values()}:
            decisions = round_.of(test_id)
            self.attempts[test_id] += 1
            ending = [each for each in decisions if isinstance(each.verdict, RaiseFailure)]
            self.causes[test_id] = (ending[-1] if ending else decisions[0]).rca
            mended = [each for each in decisions if not isinstance(each.verdict, RaiseFailure)]
            if mended:
                self.mended.setdefault(test_id, mended[0].rca)
            self.notes[test_id] = list(dict.fromkeys(each.note for each in decisions if each.note))
        for failed in result.failed_tests:
            decisions = round_.of(failed.test_id)
            if not decisions or not isinstance(decisions[-1].verdict, RaiseFailure):
                self.causes[failed.test_id] = self._classified(failed)

    def _classified(self, failed: FailedTest) -> RootCause:
        return classify(self.optimizer.known(failed.test_id, failed.evidence))

    def _wanted(self, round_: OptimizationRound) -> list[_TriedPatch]:
        decisions = [each for each in round_.decisions.values() if each.worked is not False]
        for each in find_agreed_decisions(decisions):
            each.patch = each.wanted
        found: dict[str, _TriedPatch] = {}
        for each in decisions:
            if each.patch is not None and (each.worked or self.order.mode == "simulate"):
                found.setdefault(each.patch.patch_id, _TriedPatch(each.patch, [])).decisions.append(each)
        return list(found.values())

    # -- patches

    def _put(self, wanted: list[_TriedPatch]) -> bool:
        """Whether the sources changed."""
        files = SuiteSources(self.order.root)
        applied = apply_patches(
            [each.patch for each in wanted],
            files,
            today=datetime.now(UTC).date(),
            made=self.made,
            most=self.order.max_patches,
        )
        for turned in applied.refused:
            self.withdrawn.append(WithdrawnPatch(patch=turned.patch, reason=turned.reason))
            self.notes.setdefault(turned.patch.test_id, []).append(turned.reason)
        taken = {each.patch_id for each in applied.patches}
        chosen = [each for each in wanted if each.patch.patch_id in taken]
        if self.proposing:
            self.tried += chosen
            self.proposed = diff_of(files.root, applied.before, applied.after)
            return False
        try:
            self.bench.put(applied)
        except SourceUnwritable as exc:
            self.general.append(str(exc))
            return False
        self.tried += chosen
        self.made.update(each.file for each in applied.patches)
        return bool(chosen)

    async def _judge(self, proof: ExecutionResult) -> None:
        """Confirm the patches of this round that helped, and take back the others."""
        files = SuiteSources(self.order.root)
        for failed in proof.failed_tests:
            if failed.test_id not in self.before:
                self._regressed(failed, files)
        for each in list(self.tried):
            if each.confirmed:
                continue
            if any(test_id not in self.red for test_id in each.tests):
                each.confirmed = True
                await self.optimizer.outcome(each.decisions, confirmed=True)
            elif all(is_call_on_patch(self.red[test_id], each.patch, files) for test_id in each.tests):
                await self.optimizer.outcome(each.decisions, confirmed=False)
                self._withdraw(each, "the test still failed at the same place")

    def _regressed(self, failed: FailedTest, files: SuiteSources) -> None:
        """A test that passed fails now: take back patches of the locator it fails on."""
        self.before.setdefault(failed.test_id, None)
        self.causes[failed.test_id] = self._classified(failed)
        for each in list(self.tried):
            if is_call_on_patch(failed, each.patch, files):
                self._withdraw(each, f"{failed.test_id} passed without it")

    def _withdraw(self, tried: _TriedPatch, reason: str) -> None:
        if not self.bench.withdraw(tried.patch):
            self.general.append(
                f"{tried.patch.file}:{tried.patch.span.line} has a patch that did not help and cannot be removed; see the backup"
            )
        self.tried.remove(tried)
        self.optimizer.never.add(fingerprint_patch(tried.patch))
        self.withdrawn.append(WithdrawnPatch(patch=tried.patch, reason=reason))

    async def _settle(self) -> None:
        """Take back every patch that turned no red test green."""
        if self.proposing:
            return
        for each in [each for each in reversed(self.tried) if not each.confirmed]:
            self._withdraw(each, "it turned no test green")

    # -- tests that no patch mends

    async def _write_anew(self) -> None:
        """Regenerate red tests from their requirements. They stay in the suite if they pass and break
        nothing.
        """
        for test_id in self.before:
            req_id = self._requirement(test_id)
            cause = self._cause(test_id)
            if req_id is not None and cause is not None:
                await self.post.send(
                    RegenerateTest(
                        execution_id=self.order.execution_id,
                        test_id=test_id,
                        req_id=req_id,
                        reason=cause.message,
                    )
                )
        written = await self.writer.write()
        for test_id, each in self.writer.written.items():
            self._note(test_id, each.note)
        if not written or self.proposing:
            return
        placed = await self.writer.put(written)
        for test_id, why in placed.left.items():
            self._note(test_id, f"it was regenerated but not put into the suite: {why}")
        if not placed.files:
            return
        red, proof = self.red, self.proof or self.context.results[-1]
        why = await self._refuted(placed)
        if not why:
            self.anew = dict(placed.files)
            return
        self.writer.take_back()
        self.red, self.proof = red, proof
        for test_id in placed.files:
            self._note(test_id, f"it was regenerated, and removed from the suite again: {why}")

    async def _refuted(self, placed: PlacedTests) -> str:
        """Return why the new tests cannot stay; empty if they can."""
        before, files = dict(self.red), set(placed.files.values())
        try:
            alone = await self._execute(
                self.order.max_attempts, healing=False, tests=(), files=tuple(sorted(map(str, files)))
            )
            if not alone.failed_tests and alone.summary.passed < len(files):
                return "pytest did not run it"
            if not alone.failed_tests:
                self.proof = await self._execute(self.order.max_attempts, healing=False, tests=())
        except SuiteUnrunnable as exc:
            return exc.why
        folders = {each.parent for each in files}
        for failed in self.red.values():
            file = Path(failed.file)
            if file in files or (failed.test_id not in before and file.parent in folders):
                said = failed.message.strip().partition("\n")[0]
                return f"{failed.test_id} is red with it: {said}"
        for failed in self.red.values():
            self.before.setdefault(failed.test_id, None)
        return ""

    def _requirement(self, test_id: str) -> str | None:
        """Return the requirement a red test can be regenerated from; None: that would not help, or there is
        none.

        Only if a locator is the root cause, both of the healed call and of the last failure.
        """
        if not self._is_red(test_id) or (self.proposing and self._patches(test_id)):
            return None
        failed, cause = self.red.get(test_id) or self.before[test_id], self._cause(test_id)
        if failed is None or cause is None or cause.class_ != "selector_drift":
            return None
        last = self._classified(failed)
        if last.class_ in NOT_THE_TESTS and last.confidence > GUESS:
            return None
        return self.ports.requirement_of(failed)

    # -- the report

    def _is_red(self, test_id: str) -> bool:
        return test_id in self.red or self.proposing

    def _patches(self, test_id: str) -> tuple[str, ...]:
        return tuple(each.patch.patch_id for each in self.tried if test_id in each.tests)

    def _note(self, test_id: str, said: str) -> None:
        self.notes.setdefault(test_id, []).append(said)

    def _cause(self, test_id: str) -> RootCause | None:
        cause = self.causes.get(test_id)
        if not self._is_red(test_id):
            cause = self.mended.get(test_id, cause)
        known = self.red.get(test_id) or self.before[test_id]
        return self._classified(known) if cause is None and known is not None else cause

    def _outcome(self, test_id: str) -> TestOutcome:
        red, cause, patches = self._is_red(test_id), self._cause(test_id), self._patches(test_id)
        written = self.writer.written.get(test_id, RewriteResult())
        new = self.anew.get(test_id) or written.file
        return TestOutcome.model_validate(
            {
                "test_id": test_id,
                "before": "failed" if self.before[test_id] else "passed",
                "after": "failed" if red else "passed",
                "attempts": max(1, self.attempts[test_id]),
                "patches": patches,
                "rca": cause.model_dump(by_alias=True) if cause else None,
                "next": self._next(test_id, written),
                "regenerated": str(new) if new else None,
                "notes": tuple(dict.fromkeys(self.notes.get(test_id, ()))),
            }
        )

    def _next(self, test_id: str, written: RewriteResult) -> Literal["nothing", "regenerate", "person"]:
        """Return what has to happen next: nothing, regenerating the test, or a person looks at it."""
        if not self._is_red(test_id) or (self.proposing and self._patches(test_id)):
            return "nothing"
        tried = written.refuted or (written.file is not None and not self.proposing)
        return "person" if tried or self._requirement(test_id) is None else "regenerate"
