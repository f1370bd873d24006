"""OL's roles on the event bus: they run tests, record failures, find locators, decide on patches, regenerate
tests.

They exchange only OL's messages, so that each can be watched, tested and replaced alone. `optimization_loop`
decides when a round begins and what happens to files.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Protocol, TypeVar

from agent.events import Event, EventBus
from agent.optimization.shared_memory import (
    ATTEMPTS,
    LAST_FAILURE,
    ReplacementStatistics,
    SharedMemory,
    classify_replacement,
    rank_candidates,
)
from agent.optimization.sources import (
    PatchRefusal,
    SuiteSources,
    fingerprint_patch,
    propose_patch,
    propose_wait_patch,
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
from kb_schema.suite_optimization import (
    ExecAttempts,
    ExecutionRequest,
    ExecutionResult,
    FailedTest,
    LastFailure,
    LocatorCandidate,
    LocatorSynthesisRequest,
    LocatorSynthesisResponse,
    OptimizationMessage,
    OptimizeTestFile,
    Patch,
    RegenerateTest,
    SettledCall,
)
from kb_schema.verification import FailureEvidence, RootCause, RootCauseClass

HEALABLE: Final[frozenset[RootCauseClass]] = frozenset({"selector_drift", "timing_instability"})
"""Root causes a patch may repair. Tests with any other stay red."""
NOT_THE_TESTS: Final[frozenset[RootCauseClass]] = frozenset(
    {"app_defect", "assertion_mismatch", "data_issue", "env_fault"}
)
"""Root causes that regenerating a test does not help: a person must look at them."""

MessageT = TypeVar(
    "MessageT",
    ExecutionRequest,
    ExecutionResult,
    OptimizeTestFile,
    LocatorSynthesisRequest,
    LocatorSynthesisResponse,
    RegenerateTest,
)
Runner = Callable[
    [
        ExecutionRequest,
        FailureHandler | None,
        Callable[[LiveFailure, "SubstituteLocator | WaitLonger", bool], None],
    ],
    Awaitable[ExecutionResult],
]
"""Runs tests: pytest, our own verifier, or the records of an earlier execution."""


@dataclass(frozen=True, slots=True)
class MessageSent(Event):
    """A message of the loop, for listeners."""

    message: OptimizationMessage


@dataclass(frozen=True, slots=True)
class ExecutionCompleted(Event):
    """OL's event `execution.completed`."""

    result: ExecutionResult


class RoleMessenger:
    """The typed layer over the bus: every message is published on it, then delivered to the role that handles
    it.
    """

    def __init__(self, bus: EventBus) -> None:
        self.bus = bus
        self._receivers: dict[type, list[Callable[..., Awaitable[None]]]] = {}

    def receive(self, kind: type[MessageT], receiver: Callable[[MessageT], Awaitable[None]]) -> None:
        """Deliver messages of a kind to this handler."""
        self._receivers.setdefault(kind, []).append(receiver)

    async def send(self, message: OptimizationMessage) -> None:
        """Send a message. Returns when all handlers are done."""
        self.bus.tell(MessageSent(message))
        for receiver in self._receivers.get(type(message), ()):
            await receiver(message)


@dataclass(slots=True)
class PatchDecision:
    """The decision on one failing call."""

    failed: FailedTest
    rca: RootCause
    verdict: FailureAnswer
    patch: Patch | None = None
    candidate: LocatorCandidate | None = None
    note: str = ""
    wanted: Patch | None = None
    """A patch that is right only if others need the same."""
    worked: bool | None = None
    """Whether the repeated call succeeded; None: not tried."""


@dataclass(slots=True)
class OptimizationRound:
    """One run with healing, and its results."""

    decisions: dict[str, PatchDecision] = field(default_factory=dict)
    """By failing call."""
    result: ExecutionResult | None = None

    def of(self, test_id: str) -> list[PatchDecision]:
        """A test's, in their order."""
        return [each for each in self.decisions.values() if each.failed.test_id == test_id]

    def list_settled(self) -> list[SettledCall]:
        """Return the calls that stay as they are and whose page was idle: more time does not help them."""
        return [
            SettledCall(test_id=each.failed.test_id, selector=each.failed.locator.selector)
            for each in self.decisions.values()
            if isinstance(each.verdict, RaiseFailure)
            and each.failed.locator is not None
            and each.verdict.evidence is not None
            and each.verdict.evidence.page_idle
        ]


class TestExecutor:
    """Runs tests on `EXECUTION_REQUEST`, and sends the result as message and event."""

    __test__ = False  # not pytest's

    def __init__(
        self,
        post: RoleMessenger,
        run: Runner,
        *,
        ask: FailureHandler | None,
        told: Callable[[LiveFailure, SubstituteLocator | WaitLonger, bool], None],
    ) -> None:
        self._post, self._run, self._ask, self._told = post, run, ask, told
        self.healing = False
        """Whether failing calls are answered."""
        post.receive(ExecutionRequest, self._requested)

    async def _requested(self, request: ExecutionRequest) -> None:
        with span("optimize.execute", execution=request.execution_id, attempt=request.attempt):
            result = await self._run(request, self._ask if self.healing else None, self._told)
        self._post.bus.tell(ExecutionCompleted(result))
        await self._post.send(result)


class ContextManager:
    """Stores the last failure in shared memory, and sends it to the optimizer."""

    def __init__(self, post: RoleMessenger, memory: SharedMemory) -> None:
        self._post, self._memory = post, memory
        self.results: list[ExecutionResult] = []
        """Results of this execution, in their order."""
        post.receive(ExecutionResult, self._completed)

    async def _completed(self, result: ExecutionResult) -> None:
        self.results.append(result)
        if result.failed_tests:
            await self._keep(result.execution_id, result.failed_tests[0], result)

    async def failed(self, execution_id: str, failed: FailedTest, request_id: str) -> None:
        """Handle a failing call whose test waits."""
        await self._keep(execution_id, failed, None)
        await self._post.send(
            OptimizeTestFile(execution_id=execution_id, failed=failed, request_id=request_id)
        )

    async def _keep(self, execution_id: str, failed: FailedTest, result: ExecutionResult | None) -> None:
        summary = {} if result is None else {"summary": result.summary}
        await self._memory.put(
            LAST_FAILURE,
            execution_id,
            LastFailure.model_validate(
                {
                    "execution_id": execution_id,
                    "file": failed.file,
                    "selector_guess": failed.locator.selector if failed.locator else "",
                    "error_snippet": failed.message[:400],
                    "summary": {},
                    "ts": datetime.now(UTC),
                    **summary,
                }
            ),
        )


class LocatorSynthesis:
    """Answers `LOCATOR_SYNTHESIS_REQUEST` from the live page, while the test waits."""

    def __init__(self, post: RoleMessenger, look: FailureHandler) -> None:
        self._post, self._look = post, look
        self.waiting: dict[str, LiveFailure] = {}
        """Failing calls whose tests wait, by request."""
        post.receive(LocatorSynthesisRequest, self._requested)

    async def _requested(self, request: LocatorSynthesisRequest) -> None:
        failure = self.waiting.get(request.request_id)
        verdict = None if failure is None else await self._look(failure)
        told: dict[str, object] = {"reason": "the test no longer waits" if failure is None else ""}
        match verdict:
            case SubstituteLocator(candidate=first, others=others, evidence=evidence):
                told = {"candidates": (first, *others), "evidence": evidence}
            case WaitLonger(timeout_ms=wait_ms, came_after_s=late, within_own_time=own, evidence=evidence):
                told = {
                    "wait_ms": wait_ms,
                    "came_after_s": late,
                    "within_own_time": own,
                    "evidence": evidence,
                }
            case RaiseFailure(reason=reason, evidence=evidence):
                told = {"reason": reason, "evidence": evidence}
            case None:
                pass
        await self._post.send(
            LocatorSynthesisResponse.model_validate(
                {"execution_id": request.execution_id, "request_id": request.request_id, **told}
            )
        )


class TestOptimizer:
    """Decides on a failing call: its root cause first, then the candidate, then the patch."""

    __test__ = False  # not pytest's

    def __init__(
        self,
        post: RoleMessenger,
        learned: ReplacementStatistics,
        memory: SharedMemory,
        *,
        fallback: bool,
        held_before: Callable[[str], bool | None],
    ) -> None:
        self._post, self._learned, self._memory, self._fallback = post, learned, memory, fallback
        self._held_before = held_before
        self.round = OptimizationRound()
        """The run that goes on."""
        self.files: SuiteSources | None = None
        """The sources as they are."""
        self.never: set[str] = set()
        """Rewrites that were tried and did not help."""
        self._answers: dict[str, LocatorSynthesisResponse] = {}
        self._did_hold: set[str] = set()
        """Tests that are known to have passed before anything in them was patched."""
        post.receive(OptimizeTestFile, self._optimize)
        post.receive(LocatorSynthesisResponse, self._answered)

    async def begin(self, execution_id: str, attempt: int) -> None:
        """Count another attempt in shared memory."""
        self.round = OptimizationRound()
        await self._memory.put(ATTEMPTS, execution_id, ExecAttempts(attempts=attempt))

    async def _answered(self, response: LocatorSynthesisResponse) -> None:
        self._answers[response.request_id] = response

    async def _optimize(self, message: OptimizeTestFile) -> None:
        request = LocatorSynthesisRequest(
            execution_id=message.execution_id, request_id=message.request_id, failed=message.failed
        )
        await self._post.send(request)
        response = self._answers.pop(message.request_id, None)
        if response is None:
            response = LocatorSynthesisResponse(
                execution_id=message.execution_id, request_id=message.request_id, reason="there was no answer"
            )
        self.round.decisions[message.request_id] = await self.decide(message.failed, response)

    def known(self, test_id: str, evidence: FailureEvidence) -> FailureEvidence:
        """Add what is known of the test from earlier runs."""
        if evidence.held_before is not None:
            return evidence
        held = True if test_id in self._did_hold else self._held_before(test_id)
        if held:
            self._did_hold.add(test_id)
        return evidence.model_copy(update={"held_before": held})

    async def decide(self, failed: FailedTest, response: LocatorSynthesisResponse) -> PatchDecision:
        """Decide on a failing call, with the candidates found on its page."""
        evidence = self.known(failed.test_id, response.evidence or failed.evidence)
        response = response.model_copy(update={"evidence": evidence})
        rca = classify(evidence)
        if response.within_own_time and response.wait_ms is not None:
            waits = WaitLonger(response.wait_ms, response.came_after_s or 0.0, True, evidence)
            return PatchDecision(failed, rca, waits)
        if rca.class_ not in HEALABLE:
            return PatchDecision(failed, rca, RaiseFailure(rca.message, evidence), note=response.reason)
        if response.wait_ms is not None:
            return self._waiting(failed, rca, response)
        if not response.candidates:
            note = response.reason or "no element of the page is certainly the one that was meant"
            return PatchDecision(failed, rca, RaiseFailure(note, evidence), note=note)
        return await self._replacing(failed, rca, response)

    def _waiting(
        self, failed: FailedTest, rca: RootCause, response: LocatorSynthesisResponse
    ) -> PatchDecision:
        assert response.wait_ms is not None  # noqa: S101 - the caller asked
        late = response.came_after_s or 0.0
        evidence = response.evidence
        patch = propose_wait_patch(
            failed, response.wait_ms, self._sources, reason=f"it came after {late:.1f} s"
        )
        if isinstance(patch, PatchRefusal):
            return PatchDecision(failed, rca, RaiseFailure(patch.reason, evidence), note=patch.reason)
        if fingerprint_patch(patch) in self.never:
            note = "more time was tried before and did not help"
            return PatchDecision(failed, rca, RaiseFailure(note, evidence), note=note)
        return PatchDecision(failed, rca, WaitLonger(response.wait_ms, late, False, evidence), patch)

    async def _replacing(
        self, failed: FailedTest, rca: RootCause, response: LocatorSynthesisResponse
    ) -> PatchDecision:
        ours = failed.locator.links if failed.locator else ()
        known = [
            (each, await self._learned.recommendation(classify_replacement(ours, each)))
            for each in response.candidates
        ]
        refusals: list[PatchRefusal] = []
        for candidate in rank_candidates(known):
            found = propose_patch(failed, candidate, self._sources, fallback=self._fallback, never=self.never)
            if isinstance(found, Patch):
                verdict = SubstituteLocator(candidate, response.evidence)
                return PatchDecision(failed, rca, verdict, found, candidate)
            refusals.append(found)
        shared = next((each for each in refusals if each.wanted is not None), None)
        first = shared or refusals[0]
        if shared is not None:
            best = rank_candidates(known)[refusals.index(shared)]
            return PatchDecision(
                failed,
                rca,
                SubstituteLocator(best, response.evidence),
                candidate=best,
                note=first.reason,
                wanted=shared.wanted,
            )
        return PatchDecision(failed, rca, RaiseFailure(first.reason, response.evidence), note=first.reason)

    @property
    def _sources(self) -> SuiteSources:
        assert self.files is not None  # noqa: S101 - the loop sets it before a run
        return self.files

    async def outcome(self, decisions: Sequence[PatchDecision], *, confirmed: bool) -> None:
        """Record whether a patch worked; it counts for or against its kind from now on."""
        for key in {
            classify_replacement(each.failed.locator.links, each.candidate)
            for each in decisions
            if each.failed.locator and each.candidate
        }:
            await self._learned.learn(key, confirmed=confirmed)


@dataclass(frozen=True, slots=True)
class RewriteResult:
    """The result of regenerating a test."""

    file: Path | None = None
    """The new test, beside the suite: its requirement was verified. None: there is none."""
    note: str = ""
    """A note for the user, above all why there is no new test."""
    refuted: bool = False
    """The requirement does not hold: the test is not at fault."""


@dataclass(frozen=True, slots=True)
class PlacedTests:
    """The new tests in the suite."""

    files: Mapping[str, Path] = field(default_factory=dict)
    """By test."""
    left: Mapping[str, str] = field(default_factory=dict)
    """Why the others are not in it, by test."""


class RequirementTestRewriter(Protocol):
    """Regenerates tests from their requirements, and puts them in the place of the old ones."""

    async def write(self, wanted: Sequence[RegenerateTest]) -> Mapping[str, RewriteResult]:
        """Verify the requirements and write the tests beside the suite, which is unchanged. Returns results
        by test.
        """

    async def put(self, tests: Sequence[str]) -> PlacedTests:
        """Put the new tests into the suite, unless a person changed the files they replace."""

    def take_back(self) -> None:
        """Undo `put`. Does nothing if nothing was put."""


class TestWriter:
    """Collects tests that no patch repairs and regenerates them together, since they share page objects."""

    __test__ = False  # not pytest's

    def __init__(self, post: RoleMessenger, writes: RequirementTestRewriter | None) -> None:
        self._writes = writes
        self._wanted: list[RegenerateTest] = []
        self.written: Mapping[str, RewriteResult] = {}
        """The results, by test."""
        post.receive(RegenerateTest, self._requested)

    async def _requested(self, message: RegenerateTest) -> None:
        self._wanted.append(message)

    async def write(self) -> tuple[str, ...]:
        """Regenerate the requested tests; return those that exist now."""
        if self._writes is not None and self._wanted:
            with span("optimize.write_anew", execution=self._wanted[0].execution_id):
                self.written = await self._writes.write(tuple(self._wanted))
        return tuple(test_id for test_id, each in self.written.items() if each.file is not None)

    async def put(self, tests: Sequence[str]) -> PlacedTests:
        """Put them into the suite."""
        return PlacedTests() if self._writes is None else await self._writes.put(tests)

    def take_back(self) -> None:
        """Take them out again."""
        if self._writes is not None:
            self._writes.take_back()


def find_agreed_decisions(decisions: Collection[PatchDecision]) -> list[PatchDecision]:
    """Accept patches of a helper's locator that several of its callers need alike, with their own values."""
    found: list[PatchDecision] = []
    for each in decisions:
        if each.wanted is None or each.patch is not None:
            continue
        others = [
            one for one in decisions if one.wanted is not None and one.wanted.patch_id == each.wanted.patch_id
        ]
        values = {
            str(
                [link.arguments for link in one.failed.locator.links]
                + [link.keywords for link in one.failed.locator.links]
            )
            for one in others
            if one.failed.locator
        }
        if len(values) > 1:
            found.append(each)
    return found
