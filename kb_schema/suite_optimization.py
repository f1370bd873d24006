"""Messages and records of the optimization loop: test executions, failing locators, patches (OL).

The messages and shared-memory keys are OL's, the models are ours. A test is identified by the runner
(pytest's node id). Requirements are in `verification.py`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from kb_schema.base import Model, Probability
from kb_schema.fingerprints import Fingerprint
from kb_schema.locator_expressions import LocatorLink, Span
from kb_schema.run_records import Moment
from kb_schema.selectors import Selector
from kb_schema.verification import FailureEvidence, RootCause

ExecutionMode = Literal["simulate", "pipeline", "cli"]
"""OL: `cli` runs pytest, `pipeline` runs requirements, `simulate` reads an earlier execution's results."""
MAX_PATCHES = 10
"""Per file and execution (OL: "more than N patches per file per execution id")."""
ExecutionStatus = Literal["passed", "failed", "error", "not_run"]


class UsedLocator(Model):
    """A locator as the test used it: its chain of calls, and Playwright's selector for it."""

    links: tuple[LocatorLink, ...] = ()
    selector: str
    """Playwright's own selector string, e.g. `internal:role=button[name="Save"i]`."""
    frame: str | None = None


class FailedTest(Model):
    """One failing test with the failure as Playwright reports it: its error object and its trace."""

    test_id: str
    """pytest's node id."""
    file: str
    action: str = ""
    """`click`, `fill`, `goto`, `expect.to_be_visible`, ...; empty if no Playwright call failed."""
    kind: Literal["action", "assertion", "navigation", "other"] = "other"
    locator: UsedLocator | None = None
    error_type: str = ""
    message: str = ""
    called_at: Span | None = None
    """The failing call: the innermost frame in the suite's own files."""
    stack: tuple[Span, ...] = ()
    """The frames in the suite's own files, outermost first."""
    url: str = ""
    trace: str | None = None
    """Playwright's trace of the attempt, if it wrote one."""
    screenshot: str | None = None
    evidence: FailureEvidence = Field(default_factory=FailureEvidence)
    element: Fingerprint | None = None
    """The element that the locator matched when the test passed, if it is known."""


class LocatorCandidate(Model):
    """A different locator for the intended element, found and judged on the live page."""

    selector: Selector
    expression: str
    """Playwright's Python, from the page on: `get_by_role("button", name="Save")`."""
    links: tuple[LocatorLink, ...] = ()
    """The same as calls, for code that builds the locator instead of writing it."""
    fingerprint: Fingerprint | None = None
    confidence: Probability
    witnesses: tuple[str, ...] = ()
    """Why it is thought to be the element."""
    gate: Literal["passed", "failed", "not_asked"] = "not_asked"


class Patch(Model):
    """One change of a source file: a locator, a wait, or a fallback for a locator; nothing else."""

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
    """How often a kind of patch was right, for the next time."""

    key: str
    """The kind of locator replaced, the kind that replaced it, and the reason."""
    proposed: int = Field(ge=0)
    confirmed: int = Field(ge=0)
    """How often the test passed with it afterwards."""
    refuted: int = Field(ge=0)

    @property
    def confidence(self) -> float:
        """The share that was confirmed, with a prior of one for and one against."""
        return (self.confirmed + 1) / (self.confirmed + self.refuted + 2)


# -- the messages of OL on the event bus -----------------------------------------------------------------


class SettledCall(Model):
    """A call on an element that a healing run waited for on an idle page, in vain."""

    test_id: str
    selector: str
    """Of the call's locator, as Playwright has it."""


class ExecutionRequest(Model):
    """`EXECUTION_REQUEST`: run these tests."""

    type: Literal["EXECUTION_REQUEST"] = "EXECUTION_REQUEST"
    execution_id: str
    mode: ExecutionMode = "cli"
    test_file_paths: tuple[str, ...] = ()
    test_ids: tuple[str, ...] = ()
    attempt: int = Field(default=1, ge=1)
    settled_calls: tuple[SettledCall, ...] = ()
    """Calls that get less time, since a longer wait was seen not to help."""


class ExecutionSummary(Model):
    """The counts of an execution."""

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
    """`OPTIMIZE_TEST_FILE`: the context manager asks the optimizer to handle a failure."""

    type: Literal["OPTIMIZE_TEST_FILE"] = "OPTIMIZE_TEST_FILE"
    execution_id: str
    failed: FailedTest
    request_id: str = ""
    """The failing call's id, if its test waits for an answer."""


class LocatorSynthesisRequest(Model):
    """`LOCATOR_SYNTHESIS_REQUEST`: which locators lead to the element that this one meant?"""

    type: Literal["LOCATOR_SYNTHESIS_REQUEST"] = "LOCATOR_SYNTHESIS_REQUEST"
    execution_id: str
    request_id: str
    failed: FailedTest


class LocatorSynthesisResponse(Model):
    """`LOCATOR_SYNTHESIS_RESPONSE`: verified candidates, best first; empty if none is certain."""

    type: Literal["LOCATOR_SYNTHESIS_RESPONSE"] = "LOCATOR_SYNTHESIS_RESPONSE"
    execution_id: str
    request_id: str
    candidates: tuple[LocatorCandidate, ...] = ()
    reason: str = ""
    evidence: FailureEvidence | None = None
    """Evidence from the live page, for the root cause."""
    wait_ms: float | None = None
    """Set if the locator is right and its element appears late: the time it needs."""
    came_after_s: float | None = None
    within_own_time: bool = False
    """The element appears within the suite's own timeout: nothing has to be repaired."""


class RegenerateTest(Model):
    """`REGENERATE_TEST`: no patch repairs it; the test writer must rewrite it from its requirement."""

    type: Literal["REGENERATE_TEST"] = "REGENERATE_TEST"
    execution_id: str
    test_id: str
    req_id: str | None
    reason: str


OptimizationMessage = Annotated[
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
    """How one test ended in the loop."""

    __test__ = False  # our own, not pytest's
    test_id: str
    before: ExecutionStatus
    after: ExecutionStatus
    attempts: int
    patches: tuple[str, ...] = ()
    """Ids of the patches it needed."""
    rca: RootCause | None = None
    """The root cause, of a test that still fails or that was repaired."""
    next: Literal["nothing", "regenerate", "person"] = "nothing"
    regenerated: str | None = None
    """The test rewritten from its requirement.

    In the suite if it passes there (`after`), else beside it.
    """
    notes: tuple[str, ...] = ()
    """Remarks: why a locator was not patched, what a person has to check."""


class WithdrawnPatch(Model):
    """A patch that was undone, and why: it did not help, or must not be made."""

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
    withdrawn: tuple[WithdrawnPatch, ...] = ()
    summary: ExecutionSummary = Field(default_factory=ExecutionSummary)
    """The counts of the last run."""
    notes: tuple[str, ...] = ()
    """Remarks on the suite as a whole: files that are read-only, or have a person's changes."""
    diff: str = ""
    """A unified diff over all files."""
    dry_run: bool = False
    committed: str | None = None
    """The commit, if one was requested."""
