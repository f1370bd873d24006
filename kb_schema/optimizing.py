"""What the optimization loop says and keeps: test executions, failing locators in sources, patches (OL).

The messages and shared-memory keys are OL's, the models are ours. What a *test* is, is the runner's word
for it (pytest's node id); everything about requirements is `verification.py`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from kb_schema.base import Model, Probability
from kb_schema.fingerprints import Fingerprint
from kb_schema.playwright_calls import LocatorLink, Span
from kb_schema.runs import Moment
from kb_schema.selectors import Selector
from kb_schema.verification import Evidence, RootCause

ExecutionMode = Literal["simulate", "pipeline", "cli"]
"""OL: `cli` runs pytest, `pipeline` our own executor on requirements, `simulate` nothing: it reads what an
earlier execution left."""
ExecutionStatus = Literal["passed", "failed", "error", "not_run"]


class UsedLocator(Model):
    """A locator as the test used it: the chain of calls that made it, and Playwright's selector for it."""

    links: tuple[LocatorLink, ...] = ()
    selector: str
    """Playwright's own selector string, e.g. `internal:role=button[name="Save"i]`."""
    frame: str | None = None


class FailedTest(Model):
    """One failing test with the failure as Playwright itself says it: its error object, its trace."""

    test_id: str
    """pytest's node id."""
    file: str
    action: str = ""
    """`click`, `fill`, `goto`, `expect.to_be_visible`, ...; empty where no call of Playwright's failed."""
    kind: Literal["action", "assertion", "navigation", "other"] = "other"
    locator: UsedLocator | None = None
    error_type: str = ""
    message: str = ""
    called_at: Span | None = None
    """The failing call, innermost frame of the suite's own files."""
    stack: tuple[Span, ...] = ()
    """The suite's own frames, outermost first."""
    url: str = ""
    trace: str | None = None
    """Playwright's trace of the attempt, where one was written."""
    screenshot: str | None = None
    evidence: Evidence = Field(default_factory=Evidence)
    element: Fingerprint | None = None
    """What the locator led to when the test passed, where that is known."""


class Candidate(Model):
    """Another way to the element that was meant, found and judged on the live page."""

    selector: Selector
    expression: str
    """As Playwright's Python says it, from the page on: `get_by_role("button", name="Save")`."""
    links: tuple[LocatorLink, ...] = ()
    """The same as calls, for whoever makes the locator instead of writing it."""
    fingerprint: Fingerprint | None = None
    confidence: Probability
    witnesses: tuple[str, ...] = ()
    """Why it is thought to be the element."""
    gate: Literal["passed", "failed", "not_asked"] = "not_asked"


class Patch(Model):
    """One change of a source file: a locator, a wait, or a fallback for a locator; nothing else ever."""

    patch_id: str
    kind: Literal["locator", "wait", "fallback"]
    file: str
    span: Span
    before: str
    after: str
    reason: str
    confidence: Probability
    test_id: str


class Recommendation(Model):
    """What was learned of a kind of patch: how often it was right, for the next time."""

    key: str
    """Of what was replaced by what kind of locator, for which reason."""
    proposed: int = Field(ge=0)
    confirmed: int = Field(ge=0)
    """The test passed with it afterwards."""
    refuted: int = Field(ge=0)

    @property
    def confidence(self) -> float:
        """The share that was confirmed, on a prior of one for and one against."""
        return (self.confirmed + 1) / (self.confirmed + self.refuted + 2)


# -- the messages of OL on the event bus -----------------------------------------------------------------


class ExecutionRequest(Model):
    """`EXECUTION_REQUEST`: run these tests."""

    type: Literal["EXECUTION_REQUEST"] = "EXECUTION_REQUEST"
    execution_id: str
    mode: ExecutionMode = "cli"
    test_file_paths: tuple[str, ...] = ()
    test_ids: tuple[str, ...] = ()
    attempt: int = Field(default=1, ge=1)


class ExecutionSummary(Model):
    """How many of what."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    errors: int = 0
    duration_ms: float = 0.0


class ExecutionResult(Model):
    """`EXECUTION_RESULT`, and the event `execution.completed`."""

    type: Literal["EXECUTION_RESULT"] = "EXECUTION_RESULT"
    execution_id: str
    status: ExecutionStatus
    summary: ExecutionSummary
    failed_tests: tuple[FailedTest, ...] = ()
    attempt: int = 1


class OptimizeTestFile(Model):
    """`OPTIMIZE_TEST_FILE`: the context manager asks the optimizer to see to a failure."""

    type: Literal["OPTIMIZE_TEST_FILE"] = "OPTIMIZE_TEST_FILE"
    execution_id: str
    failed: FailedTest
    request_id: str = ""
    """Of the failing call, where its test waits for an answer."""


class LocatorSynthesisRequest(Model):
    """`LOCATOR_SYNTHESIS_REQUEST`: what leads to the element this locator meant?"""

    type: Literal["LOCATOR_SYNTHESIS_REQUEST"] = "LOCATOR_SYNTHESIS_REQUEST"
    execution_id: str
    request_id: str
    failed: FailedTest


class LocatorSynthesisResponse(Model):
    """`LOCATOR_SYNTHESIS_RESPONSE`: ranked, verified candidates, best first; none where nothing is sure."""

    type: Literal["LOCATOR_SYNTHESIS_RESPONSE"] = "LOCATOR_SYNTHESIS_RESPONSE"
    execution_id: str
    request_id: str
    candidates: tuple[Candidate, ...] = ()
    reason: str = ""
    evidence: Evidence | None = None
    """What was seen on the live page, for the root cause."""
    wait_ms: float | None = None
    """The locator is right and its element came late: it needs that much time. None: that is not it."""
    came_after_s: float | None = None
    within_own_time: bool = False
    """It came within the time the suite itself gives: there is nothing to mend."""


class RegenerateTest(Model):
    """`REGENERATE_TEST`: no patch mends it; the test writer is to write it anew from its requirement."""

    type: Literal["REGENERATE_TEST"] = "REGENERATE_TEST"
    execution_id: str
    test_id: str
    req_id: str | None
    reason: str


Message = Annotated[
    ExecutionRequest
    | ExecutionResult
    | OptimizeTestFile
    | LocatorSynthesisRequest
    | LocatorSynthesisResponse
    | RegenerateTest,
    Field(discriminator="type"),
]


# -- shared memory (OL): `ctx:lastFailure:<execId>`, `execAttempts:<execId>` --------------------------------


class LastFailure(Model):
    """`ctx:lastFailure:<execId>`."""

    execution_id: str
    file: str
    selector_guess: str
    error_snippet: str
    summary: ExecutionSummary
    ts: Moment


class ExecAttempts(Model):
    """`execAttempts:<execId>`."""

    attempts: int = Field(ge=0)


# -- the report ------------------------------------------------------------------------------------------


class TestOutcome(Model):
    """How one test came out of the loop."""

    __test__ = False  # not pytest's
    test_id: str
    before: ExecutionStatus
    after: ExecutionStatus
    attempts: int
    patches: tuple[str, ...] = ()
    """Ids of the patches it needed."""
    rca: RootCause | None = None
    """Of a test that is still red, and of one that was mended."""
    next: Literal["nothing", "regenerate", "person"] = "nothing"
    regenerated: str | None = None
    """The test as it was written anew from its requirement: in the suite where it is green there (`after`), else
    beside it."""
    notes: tuple[str, ...] = ()
    """What the loop has to say besides: why a locator was not patched, who is to look at what."""


class Withdrawn(Model):
    """A patch that is not in the sources in the end, and why: it did not help, or must not be made."""

    patch: Patch
    reason: str


class OptimizationReport(Model):
    """What `periplus optimize` did."""

    execution_id: str
    mode: ExecutionMode
    started_at: Moment
    duration_ms: float
    tests: tuple[TestOutcome, ...] = ()
    patches: tuple[Patch, ...] = ()
    withdrawn: tuple[Withdrawn, ...] = ()
    summary: ExecutionSummary = Field(default_factory=ExecutionSummary)
    """Of the last run."""
    notes: tuple[str, ...] = ()
    """About the suite as a whole: files that cannot be written, files with changes of a person."""
    diff: str = ""
    """Unified, over all files."""
    dry_run: bool = False
    committed: str | None = None
    """The commit, where one was asked for."""
