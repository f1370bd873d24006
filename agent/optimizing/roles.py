"""OL's roles on the event bus: who runs tests, keeps what failed, finds locators, decides on patches, writes anew.

They speak in OL's messages only, so that each can be watched, tested and replaced alone. When which round
begins and what becomes of the files is `loop.py`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Protocol, TypeVar

from agent.events import Bus, Event
from agent.optimizing.memory import ATTEMPTS, LAST_FAILURE, Learned, SharedMemory, kind_of, ranked
from agent.optimizing.running import Ask, LiveFailure, Raise, Substitute, Verdict, Wait
from agent.optimizing.sources import Files, Refusal, fingerprint, propose, propose_wait
from agent.telemetry import span
from agent.verifying.root_cause import classify
from kb_schema.optimizing import (
    Candidate,
    ExecAttempts,
    ExecutionRequest,
    ExecutionResult,
    FailedTest,
    LastFailure,
    LocatorSynthesisRequest,
    LocatorSynthesisResponse,
    Message,
    OptimizeTestFile,
    Patch,
    RegenerateTest,
)
from kb_schema.verification import Evidence, RootCause, RootCauseClass

MENDABLE: Final[frozenset[RootCauseClass]] = frozenset({"selector_drift", "timing_instability"})
"""What a patch may be for. Everything else is somebody's fault, and stays red."""
NOT_THE_TESTS: Final[frozenset[RootCauseClass]] = frozenset(
    {"app_defect", "assertion_mismatch", "data_issue", "env_fault"}
)
"""What no other test helps against: a person has to see it."""

MessageT = TypeVar(
    "MessageT",
    ExecutionRequest, ExecutionResult, OptimizeTestFile, LocatorSynthesisRequest, LocatorSynthesisResponse,
    RegenerateTest,
)  # fmt: skip
Runner = Callable[
    [ExecutionRequest, Ask | None, Callable[[LiveFailure, "Substitute | Wait", bool], None]],
    Awaitable[ExecutionResult],
]
"""Runs tests: pytest, our own verifier, or the records of an earlier execution."""


@dataclass(frozen=True, slots=True)
class MessageSent(Event):
    """A message of the loop, for whoever watches."""

    message: Message


@dataclass(frozen=True, slots=True)
class ExecutionCompleted(Event):
    """OL's event `execution.completed`."""

    result: ExecutionResult


class Post:
    """The typed layer over the bus: every message is told on it, then brought to the role it is for."""

    def __init__(self, bus: Bus) -> None:
        self.bus = bus
        self._receivers: dict[type, list[Callable[..., Awaitable[None]]]] = {}

    def receive(self, kind: type[MessageT], receiver: Callable[[MessageT], Awaitable[None]]) -> None:
        """Bring messages of a kind there."""
        self._receivers.setdefault(kind, []).append(receiver)

    async def send(self, message: Message) -> None:
        """Returns when all who receive it are done."""
        self.bus.tell(MessageSent(message))
        for receiver in self._receivers.get(type(message), ()):
            await receiver(message)


@dataclass(slots=True)
class Decision:
    """What was decided on one failing call."""

    failed: FailedTest
    rca: RootCause
    verdict: Verdict
    patch: Patch | None = None
    candidate: Candidate | None = None
    note: str = ""
    wanted: Patch | None = None
    """Would be right if others need the same."""
    worked: bool | None = None
    """Whether the repeated call came off; None: not tried."""


@dataclass(slots=True)
class Round:
    """One run with healing, and what it brought."""

    decisions: dict[str, Decision] = field(default_factory=dict)
    """By failing call."""
    result: ExecutionResult | None = None

    def of(self, test_id: str) -> list[Decision]:
        """A test's, in their order."""
        return [each for each in self.decisions.values() if each.failed.test_id == test_id]


class TestExecutor:
    """Runs tests on `EXECUTION_REQUEST`, tells the result as message and event."""

    __test__ = False  # not pytest's

    def __init__(
        self,
        post: Post,
        run: Runner,
        *,
        ask: Ask | None,
        told: Callable[[LiveFailure, Substitute | Wait, bool], None],
    ) -> None:
        self._post, self._run, self._ask, self._told = post, run, ask, told
        self.healing = False
        """Whether failing calls are asked about."""
        post.receive(ExecutionRequest, self._requested)

    async def _requested(self, request: ExecutionRequest) -> None:
        with span("optimize.execute", execution=request.execution_id, attempt=request.attempt):
            result = await self._run(request, self._ask if self.healing else None, self._told)
        self._post.bus.tell(ExecutionCompleted(result))
        await self._post.send(result)


class ContextManager:
    """Keeps what failed last in shared memory, and asks the optimizer to see to it."""

    def __init__(self, post: Post, memory: SharedMemory) -> None:
        self._post, self._memory = post, memory
        self.results: list[ExecutionResult] = []
        """Of this execution, in their order."""
        post.receive(ExecutionResult, self._completed)

    async def _completed(self, result: ExecutionResult) -> None:
        self.results.append(result)
        if result.failed_tests:
            await self._keep(result.execution_id, result.failed_tests[0], result)

    async def failed(self, execution_id: str, failed: FailedTest, request_id: str) -> None:
        """A call failed, and its test waits."""
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
                    "execution_id": execution_id, "file": failed.file,
                    "selector_guess": failed.locator.selector if failed.locator else "",
                    "error_snippet": failed.message[:400], "summary": {}, "ts": datetime.now(UTC), **summary,
                }
            ),
        )  # fmt: skip


class LocatorSynthesis:
    """Answers `LOCATOR_SYNTHESIS_REQUEST` from the live page, while the test waits."""

    def __init__(self, post: Post, look: Ask) -> None:
        self._post, self._look = post, look
        self.waiting: dict[str, LiveFailure] = {}
        """Failing calls whose tests wait, by request."""
        post.receive(LocatorSynthesisRequest, self._requested)

    async def _requested(self, request: LocatorSynthesisRequest) -> None:
        failure = self.waiting.get(request.request_id)
        verdict = None if failure is None else await self._look(failure)
        told: dict[str, object] = {"reason": "the test does not wait any more" if failure is None else ""}
        match verdict:
            case Substitute(candidate=first, others=others, evidence=evidence):
                told = {"candidates": (first, *others), "evidence": evidence}
            case Wait(timeout_ms=wait_ms, came_after_s=late, within_own_time=own, evidence=evidence):
                told = {
                    "wait_ms": wait_ms,
                    "came_after_s": late,
                    "within_own_time": own,
                    "evidence": evidence,
                }
            case Raise(reason=reason, evidence=evidence):
                told = {"reason": reason, "evidence": evidence}
            case None:
                pass
        await self._post.send(
            LocatorSynthesisResponse.model_validate(
                {"execution_id": request.execution_id, "request_id": request.request_id, **told}
            )
        )


class TestOptimizer:
    """Decides on a failing call: its root cause first, then the candidate, then the change of the source."""

    __test__ = False  # not pytest's

    def __init__(
        self,
        post: Post,
        learned: Learned,
        memory: SharedMemory,
        *,
        fallback: bool,
        held_before: Callable[[str], bool | None],
    ) -> None:
        self._post, self._learned, self._memory, self._fallback = post, learned, memory, fallback
        self._held_before = held_before
        self.round = Round()
        """The run that goes on."""
        self.files: Files | None = None
        """The sources as they are."""
        self.never: set[str] = set()
        """Rewrites that were tried and did not help."""
        self._answers: dict[str, LocatorSynthesisResponse] = {}
        self._did_hold: set[str] = set()
        """Tests of which it was known that they held, before anything in them was patched."""
        post.receive(OptimizeTestFile, self._optimize)
        post.receive(LocatorSynthesisResponse, self._answered)

    async def begin(self, execution_id: str, attempt: int) -> None:
        """Another attempt, counted in shared memory."""
        self.round = Round()
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
                execution_id=message.execution_id, request_id=message.request_id, reason="nobody answered"
            )
        self.round.decisions[message.request_id] = await self.decide(message.failed, response)

    def known(self, test_id: str, evidence: Evidence) -> Evidence:
        """With what is known of the test from earlier runs."""
        if evidence.held_before is not None:
            return evidence
        held = True if test_id in self._did_hold else self._held_before(test_id)
        if held:
            self._did_hold.add(test_id)
        return evidence.model_copy(update={"held_before": held})

    async def decide(self, failed: FailedTest, response: LocatorSynthesisResponse) -> Decision:
        """What is to be done about a failing call, given what was found on its page."""
        evidence = self.known(failed.test_id, response.evidence or failed.evidence)
        response = response.model_copy(update={"evidence": evidence})
        rca = classify(evidence)
        if response.within_own_time and response.wait_ms is not None:
            waits = Wait(response.wait_ms, response.came_after_s or 0.0, True, evidence)
            return Decision(failed, rca, waits)
        if rca.class_ not in MENDABLE:
            return Decision(failed, rca, Raise(rca.message, evidence), note=response.reason)
        if response.wait_ms is not None:
            return self._waiting(failed, rca, response)
        if not response.candidates:
            note = response.reason or "nothing on the page is surely the element that was meant"
            return Decision(failed, rca, Raise(note, evidence), note=note)
        return await self._replacing(failed, rca, response)

    def _waiting(self, failed: FailedTest, rca: RootCause, response: LocatorSynthesisResponse) -> Decision:
        assert response.wait_ms is not None  # noqa: S101 - the caller asked
        late = response.came_after_s or 0.0
        evidence = response.evidence
        patch = propose_wait(failed, response.wait_ms, self._sources, reason=f"it came after {late:.1f} s")
        if isinstance(patch, Refusal):
            return Decision(failed, rca, Raise(patch.reason, evidence), note=patch.reason)
        if fingerprint(patch) in self.never:
            note = "more time was given before, and did not help"
            return Decision(failed, rca, Raise(note, evidence), note=note)
        return Decision(failed, rca, Wait(response.wait_ms, late, False, evidence), patch)

    async def _replacing(
        self, failed: FailedTest, rca: RootCause, response: LocatorSynthesisResponse
    ) -> Decision:
        ours = failed.locator.links if failed.locator else ()
        known = [
            (each, await self._learned.recommendation(kind_of(ours, each))) for each in response.candidates
        ]
        refusals: list[Refusal] = []
        for candidate in ranked(known):
            found = propose(failed, candidate, self._sources, fallback=self._fallback, never=self.never)
            if isinstance(found, Patch):
                verdict = Substitute(candidate, response.evidence)
                return Decision(failed, rca, verdict, found, candidate)
            refusals.append(found)
        shared = next((each for each in refusals if each.wanted is not None), None)
        first = shared or refusals[0]
        if shared is not None:
            best = ranked(known)[refusals.index(shared)]
            return Decision(
                failed, rca, Substitute(best, response.evidence), candidate=best, note=first.reason,
                wanted=shared.wanted,
            )  # fmt: skip
        return Decision(failed, rca, Raise(first.reason, response.evidence), note=first.reason)

    @property
    def _sources(self) -> Files:
        assert self.files is not None  # noqa: S101 - the loop sets it before a run
        return self.files

    async def outcome(self, decisions: Sequence[Decision], *, confirmed: bool) -> None:
        """A patch proved itself or did not: its kind is judged by that from now on."""
        for key in {
            kind_of(each.failed.locator.links, each.candidate)
            for each in decisions
            if each.failed.locator and each.candidate
        }:
            await self._learned.learn(key, confirmed=confirmed)


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What came of a test that was to be written anew."""

    file: Path | None = None
    """The new one, beside the suite: its requirement was verified. None: there is none."""
    note: str = ""
    """What a person should know of it: above all why there is none."""
    refuted: bool = False
    """The requirement does not hold: it is no matter of the test."""


@dataclass(frozen=True, slots=True)
class Placed:
    """What of it is in the suite now."""

    files: Mapping[str, Path] = field(default_factory=dict)
    """By test."""
    left: Mapping[str, str] = field(default_factory=dict)
    """Why the others are not, by test."""


class Writes(Protocol):
    """Writes tests anew from their requirements, and puts them in the place of the old ones."""

    async def write(self, wanted: Sequence[RegenerateTest]) -> Mapping[str, Rewritten]:
        """Verify their requirements and write the tests beside the suite, which stays as it is; by test."""

    async def put(self, tests: Sequence[str]) -> Placed:
        """Put those that were written into the suite, where nobody changed what they replace."""

    def take_back(self) -> None:
        """The suite is as it was before `put`. Nothing happens where nothing was put."""


class TestWriter:
    """Has tests written anew that no patch mends, all together: they share page objects."""

    __test__ = False  # not pytest's

    def __init__(self, post: Post, writes: Writes | None) -> None:
        self._writes = writes
        self._wanted: list[RegenerateTest] = []
        self.written: Mapping[str, Rewritten] = {}
        """What came of it, by test."""
        post.receive(RegenerateTest, self._requested)

    async def _requested(self, message: RegenerateTest) -> None:
        self._wanted.append(message)

    async def write(self) -> tuple[str, ...]:
        """Write what was asked for; the tests there are now."""
        if self._writes is not None and self._wanted:
            with span("optimize.write_anew", execution=self._wanted[0].execution_id):
                self.written = await self._writes.write(tuple(self._wanted))
        return tuple(test_id for test_id, each in self.written.items() if each.file is not None)

    async def put(self, tests: Sequence[str]) -> Placed:
        """Put them into the suite."""
        return Placed() if self._writes is None else await self._writes.put(tests)

    def take_back(self) -> None:
        """Take them out again."""
        if self._writes is not None:
            self._writes.take_back()


def agreed(decisions: Collection[Decision]) -> list[Decision]:
    """Decisions whose patch several callers of a helper need alike, with other values each: they count now."""
    found: list[Decision] = []
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
