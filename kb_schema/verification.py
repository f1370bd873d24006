"""Models of verification: requirements, plans, evidence, root causes, verdicts (PACTS 7-8).

Shared by planner, builder, generator, executor, service and reports, which are in `agent/verification`.
Models of test sources and their patches are in `suite_optimization.py`.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from kb_schema.action_types import ACTION_TYPES
from kb_schema.base import LONGEST_TIMEOUT_S, Model, Probability
from kb_schema.fingerprints import Fingerprint
from kb_schema.locator_expressions import Expression
from kb_schema.run_records import Moment, PactsVerdict
from kb_schema.secret_placement import TypedIntoField, find_misplaced_secrets
from kb_schema.selectors import Selector

# -- requirements: results of the planner (PACTS 4.1, 8.1) ----------------------------------------


class SourceLocation(Model):
    """A position in a file, for messages: `login.xlsx, sheet 'Login', cell B3`."""

    file: str = ""
    sheet: str | None = None
    cell: str | None = None
    line: int | None = None
    path: str | None = None
    """The JSON path in JSON files: `$.steps[2].action`."""

    def __str__(self) -> str:
        parts = [
            self.file,
            f"sheet {self.sheet!r}" if self.sheet else "",
            f"cell {self.cell}" if self.cell else "",
            f"line {self.line}" if self.line is not None else "",
            f"at {self.path}" if self.path else "",
        ]
        return ", ".join(each for each in parts if each)


class ExpectedOutcome(Model):
    """One expected outcome, parsed with the vocabulary of outcomes (`kb_schema/expected_outcomes.py`)."""

    kind: str
    """The canonical name: `field_populated`, `navigates_to`, `shows`, ..."""
    said: str
    """The outcome as the requirement states it."""
    element: str | None = None
    """The element it is about, if that is not the step's own element."""
    region: str | None = None
    value: str | None = None
    """The expected text, number or path; it may contain `{unique}`."""


class OutcomeDifference(Model):
    """What an outcome expected, and what the page has instead, in words and without secrets."""

    subject: str = ""
    """The element; empty for an outcome about the page."""
    expected: str
    """`"Velo Two"`, `it to be visible`, `the message "Saved"`."""
    received: str
    """`the field holds "Velo"`, `it is hidden`, `the page has no message`."""

    def __str__(self) -> str:
        return f"{self.subject + ': ' if self.subject else ''}expected {self.expected}, {self.received}"


_SPOKEN_ACTIONS = {"select_option": "select", "upload_file": "upload"}


class RequirementStep(Model):
    """One step of a requirement."""

    intent: str
    """`Element@Region` as it was written."""
    element: str
    region: str | None = None
    action: str
    """The canonical action type; empty for a step that only checks."""
    typed: bool = False
    """PACTS's `type`: key by key, unlike `fill`."""
    value: Annotated[str | None, TypedIntoField()] = None
    """It may contain `{unique}` (different in every run) and, if the action types it, `{secret:NAME}`."""
    expected: tuple[ExpectedOutcome, ...] = ()
    timeout_s: float | None = Field(default=None, gt=0, le=LONGEST_TIMEOUT_S)
    """How long its element and each outcome may take; None: as long as the run says."""
    place: SourceLocation = Field(default_factory=SourceLocation)

    @property
    def spoken_action(self) -> str:
        """Its action as PACTS and requirements name it: `select`, `upload`, and `type` for a fill key by key."""
        return "type" if self.typed else _SPOKEN_ACTIONS.get(self.action, self.action)

    @property
    def types_value(self) -> bool:
        """Whether its action types the value into a field."""
        kind = ACTION_TYPES.get(self.action)
        return kind is not None and kind.types_text


class Requirement(Model):
    """One test case: PACTS's `req_id`, its start address and its steps."""

    req_id: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$")
    title: str = ""
    url: str
    """The start address: absolute, or a path on the verified site."""
    login: str | None = None
    """A task that signs in first; None: the value of `--login`."""
    tags: tuple[str, ...] = ()
    steps: tuple[RequirementStep, ...] = Field(min_length=1)
    place: SourceLocation = Field(default_factory=SourceLocation)

    @model_validator(mode="after")
    def _secrets_are_typed(self) -> Self:
        misplaced = list(find_misplaced_secrets(self))
        for number, step in enumerate(self.steps):
            if not step.types_value:
                misplaced += find_misplaced_secrets(step.value, f"$.steps[{number}].value")
        if misplaced:
            raise ValueError("; ".join(map(str, misplaced)))
        return self


# -- plans: results of the builder on the live page (PACTS 4.2, 8.2) ------------------------------


class PlanCheck(Model):
    """An expected outcome that was found and verified on the live page."""

    outcome: ExpectedOutcome
    selector: Selector | None = None
    """The element it is about; None if it is about the page."""
    expression: Expression = ()
    """The same in Playwright's Python, verified to match only this element."""
    fingerprint: Fingerprint | None = None
    name: str = ""
    """The element's name for people; the attribute of the page object is derived from it."""
    url: str | None = None
    """For an outcome about the address: the path that was reached, without origin."""
    title: str | None = None
    heading: str | None = None
    """What identifies a page if its address does not: its first heading."""
    role: str | None = None
    """The ARIA role of the element, if it has one."""
    frames: tuple[tuple[str, ...], ...] = ()
    """For an outcome about the page: the same-origin frames that its test looks into, each as the CSS of its frames,
    outermost first. Where a text is only in a frame, this frame; for an absence all besides the page."""
    observed: str | None = None
    """The text of the page, for outcomes that compare; without secrets."""
    confidence: Probability = 1.0
    strategy: str = ""


class PlanStep(Model):
    """One step that was found and done: an intent and its element."""

    step_idx: int = Field(ge=0)
    intent: RequirementStep
    selector: Selector | None = None
    """None if the step needs no element."""
    expression: Expression = ()
    """The same in Playwright's Python, verified to match only this element."""
    fingerprint: Fingerprint | None = None
    """The element's fingerprint, taken when it was used."""
    role: str | None = None
    name: str = ""
    confidence: Probability = 0.0
    strategy: str = ""
    """The discovery strategy that found it (PACTS 5)."""
    discovered_at: Moment | None = None
    from_cache: bool = False
    page_url: str = ""
    """The path of the page it was done on, without origin."""
    page_title: str = ""
    page_heading: str = ""
    """With `page_url` and `page_title`, identifies the page object."""
    password: bool = False
    """Whether the field masks its input."""
    dialog: Literal["accept", "dismiss"] | None = None
    """The answer to the browser dialog that this step opens."""
    dialog_message: str | None = None
    new_tab: bool = False
    """Whether the step opens a new tab, in which the next steps run."""
    sent_data: bool | None = None
    """Whether a request other than GET, HEAD and OPTIONS was sent while it was performed; None: not known."""
    checks: tuple[PlanCheck, ...] = ()


class DismissedOverlay(Model):
    """An overlay that a site shows now and then (a cookie notice) and that was closed."""

    name: str
    """The label of the control that closes it."""
    selector: Selector
    expression: Expression = ()
    """The control in Playwright's Python."""


class FailureKind(StrEnum):
    """Why a step failed, for routing (PACTS 7.1; `not_scoped` is ours)."""

    NONE = "none"
    NOT_UNIQUE = "not_unique"
    NOT_VISIBLE = "not_visible"
    DISABLED = "disabled"
    UNSTABLE = "unstable"
    NOT_SCOPED = "not_scoped"
    TIMEOUT = "timeout"
    """The element did not appear in time, or the action or an expected outcome failed."""


class MissingItem(Model):
    """An element or an outcome that was not found, or could not be used, before any test was written (PACTS 1.3)."""

    step_idx: int
    intent: str
    what: str
    """`element`, or the outcome as stated."""
    reason: str
    nearest: tuple[str, ...] = ()
    """What exists instead, nearest first."""
    difference: OutcomeDifference | None = None
    """Of an outcome: expected and received. `reason` says the same as a sentence."""
    place: SourceLocation = Field(default_factory=SourceLocation)
    failure: FailureKind = FailureKind.TIMEOUT
    """Of an element that is there: why it could not be used. Else `timeout`."""
    cover: str | None = None
    """What lies over it."""
    missing_option: str | None = None
    options: tuple[str, ...] = ()
    """The option that a list does not have, and those that it has."""

    @property
    def is_there(self) -> bool:
        """Whether the element was found, or several that fit."""
        return self.failure is not FailureKind.TIMEOUT or self.missing_option is not None

    @property
    def is_outcome(self) -> bool:
        """Whether it is an outcome of a step whose element was found."""
        return self.what not in ("element", "page")


class VerificationPlan(Model):
    """The builder's result for one requirement. Complete if nothing is missing."""

    requirement: Requirement
    base_url: str
    steps: tuple[PlanStep, ...] = ()
    missing: tuple[MissingItem, ...] = ()
    unmet: PlanStep | None = None
    """The step that was done and whose outcome does not hold: its element and outcome were found, so that a test of it can
    be written. It is not among `steps`."""
    obstacles: tuple[DismissedOverlay, ...] = ()
    """Overlays that were closed: they may appear at any step, or not at all."""
    signed_in_by: str | None = None
    """The task that signed in before the first step."""
    usual_errors: tuple[str, ...] = ()
    """What scripts of the site threw, or wrote to the console as an error, though all was as required (`ConsoleLine.pattern`)."""

    @property
    def coverage(self) -> float:
        """The share of steps whose element and outcomes were found, 0 to 1."""
        wanted = len(self.requirement.steps)
        lost = len({each.step_idx for each in self.missing})
        return (min(len(self.steps), wanted) - min(lost, len(self.steps))) / wanted if wanted else 1.0


# -- execution (PACTS 4.4, 7.1) ---------------------------------------------------------------------


class ConsoleLine(Model):
    """A console message of a page, or an uncaught error."""

    kind: Literal["error", "warning", "pageerror"]
    text: str
    url: str = ""
    step_idx: int | None = None
    usual: bool = False
    """Whether it came in a run that was as required, too: it is no cause."""

    @property
    def pattern(self) -> str:
        """The text with each number as 0: line numbers and ids differ between runs."""
        return re.sub(r"\d+", "0", self.text)


class NetworkRequest(Model):
    """An HTTP response of 400 and above, or a request without a response."""

    method: str
    url: str
    status: int | None = None
    """None: no response."""
    failure: str | None = None
    resource_type: str = ""
    step_idx: int | None = None


class OfferedElement(Model):
    """An element that may be the one of a step, but was not used: a person decides."""

    req_id: str = ""
    website_id: str = ""
    """The website under whose name the plan is stored."""
    step_idx: int
    element: str
    """The step's element, as the requirement names it."""
    description: str
    """The candidate: `button 'Book now'`."""
    likeness: Probability
    """0 to 1."""
    support: tuple[str, ...] = ()
    """What speaks for it: `identifier`, `neighbours`, `region`, `place`, `only one`."""
    against: tuple[str, ...] = ()
    """What spoke against using it."""
    harmful: bool = False
    """Its words say that it undoes, opposes or harms more than the step's element."""
    selector: Selector | None = None
    """None if nothing leads to it alone: it cannot be accepted."""
    expression: Expression = ()
    """The same in Playwright's Python."""
    fingerprint: Fingerprint | None = None
    screenshot: str | None = None
    """A picture of the candidate and what is around it, relative to the report."""


class FailureEvidence(Model):
    """Everything that determines the root cause of one failed step (PACTS 4.6 phase 2)."""

    failure: FailureKind = FailureKind.NONE
    what: Literal["action", "outcome", "page"] = "action"
    """What failed: an action, an expected outcome, or reaching the page."""
    step_idx: int = 0
    action: str = ""
    element: str = ""
    outcome: ExpectedOutcome | None = None
    message: str = ""
    """The error message, without secrets."""
    expected: str | None = None
    received: str | None = None
    difference: OutcomeDifference | None = None
    """Of an outcome that does not hold; `message` says the same as a sentence."""
    url: str = ""
    status: int | None = None
    """The HTTP status of the document."""
    console: tuple[ConsoleLine, ...] = ()
    answers: tuple[NetworkRequest, ...] = ()
    refused_fields: tuple[str, ...] = ()
    """Fields that the page marks as invalid, with its message: `Start date: use MM/DD/YYYY`."""
    alerts: tuple[str, ...] = ()
    """The texts of the page's alert regions."""
    cover: str | None = None
    """What covers the element."""
    matched: int | None = None
    """How many elements the selector matches."""
    nearest: str | None = None
    """The most similar element on the page."""
    nearest_score: Probability | None = None
    nearest_verdict: Literal["same", "offered", "ambiguous", "other"] | None = None
    """Whether that element was judged to be the same. `offered`: it leads, but not enough to be used."""
    offered: OfferedElement | None = None
    """That element with what speaks for and against it."""
    drifted: int = 0
    """How many other elements of this test were found under a different selector in this run."""
    compared: int = 0
    """How many of its other elements were searched for again."""
    alike: tuple[str, ...] = ()
    """Names or texts on the page that are like what was looked for, nearest first."""
    appeared: tuple[str, ...] = ()
    """Texts that the page did not have before the step pressed something, nearest to what was expected first."""
    in_its_place: tuple[str, ...] = ()
    """Those of them that are of the expected kind: messages, headings, texts of a dialog, texts of no control."""
    expected_data: tuple[str, ...] = ()
    """What is data in the expected text: entries (cells, links) that the page had before, and values that the test gave."""
    missing_option: str | None = None
    """The option that a list does not have."""
    options: tuple[str, ...] = ()
    """Those that it has."""
    heal_rounds: int = 0
    held_before: bool | None = None
    """Whether this test passed before on this site; None: not known."""
    done_before: int | None = None
    """The first step that sent data when the elements were found, earlier in this run: what it changes was changed then."""
    came_late_s: float | None = None
    """Seconds after the timeout at which it appeared."""
    page_changed: bool | None = None
    """Whether the action changed anything on the page; None: not known."""
    previous_changed: bool | None = None
    """Whether the previous step's action changed anything: a dead button shows one step later."""
    pending: tuple[NetworkRequest, ...] = ()
    """Requests of the page that had no response when the step timed out."""
    moving: bool = False
    """Whether the element, or the page around it, kept moving."""
    page_idle: bool = False
    """Whether no request was open while the element was waited for: more time would not have helped."""
    reachable: bool = True
    """Whether the site responds at all."""
    error_page: bool = False
    """Whether the browser shows its own error page instead of the site's."""
    browser_alive: bool = True
    page_ended: str | None = None
    """Why the page was ended: it gave no sign of life, or a step on it did not end."""


RootCauseClass = Literal[
    "success",
    "selector_drift",
    "healing_declined",
    "timing_instability",
    "visibility_issue",
    "enablement_issue",
    "assertion_mismatch",
    "data_issue",
    "env_fault",
    "app_defect",
]
"""The classes of PACTS 4.6, and `healing_declined`, which is ours: the element is not there, and another one may be it
but was not used.

`app_defect`: the application is at fault, and healing must not hide that.
"""


class RootCause(Model):
    """The root cause as in PACTS 4.6; `class` is a Python keyword, hence the alias."""

    class_: RootCauseClass = Field(alias="class", serialization_alias="class")
    confidence: Probability
    message: str
    evidence: tuple[str, ...] = ()
    recommendation: str = ""
    metrics: dict[str, float] = Field(default_factory=dict)


class HealEvent(Model):
    """One round of healing (PACTS 4.5)."""

    step_idx: int
    round: int = Field(ge=1)
    actions: tuple[str, ...] = ()
    success: bool
    duration_ms: float = Field(ge=0)
    before: str = ""
    after: str = ""
    """The selector, in short, before and after."""
    reason: str = ""
    element: str = ""
    """What was looked for, as the requirement names it: the step's element, or that of one of its outcomes."""
    found: str = ""
    """What was found again: `button 'Book now'`; empty without success."""


class ExecutedStep(Model):
    """One step as it was executed (PACTS 8.2 `executed_steps`, 8.3 `steps`)."""

    step_idx: int
    element: str
    region: str | None = None
    action: str
    """As requirements name it: `select`, `upload`, `type`."""
    value: str | None = None
    """Without secrets."""
    locator: str | None = None
    """The element in Playwright's Python, as it was proven on the page: `page.get_by_label("Email")`."""
    selector: str | None = None
    """The first strategy of the selector, in words."""
    strategy: str = ""
    confidence: Probability = 0.0
    status: Literal["success", "failed", "skipped"]
    heal_round: int = 0
    checks: tuple[str, ...] = ()
    """The outcomes that held, as stated."""
    error: str | None = None
    difference: OutcomeDifference | None = None
    """Of a failed outcome: expected and received. `error` says the same as a sentence."""
    duration_ms: float = Field(default=0.0, ge=0)
    timestamp: Moment
    screenshot: str | None = None
    """Relative to the report."""


class VerificationRunState(Model):
    """PACTS 7.1: the state that the nodes of the graph pass on. LangGraph stores it after every node.

    `context` holds JSON of the models above under PACTS's keys: `url`, `raw_steps`, `intents`, `plan`,
    `executed_steps`, `heal_events`, `evidence`, `rca`, `artifacts`.
    """

    req_id: str
    step_idx: int = 0
    heal_round: int = 0
    context: dict[str, Any] = Field(default_factory=dict)
    failure: FailureKind = FailureKind.NONE
    last_selector: str | None = None
    verdict: PactsVerdict | None = None

    @property
    def plan(self) -> list[dict[str, Any]]:
        """The plan's steps (PACTS 7.1)."""
        found = self.context.get("plan", [])
        return list(found)


# -- the report (PACTS 8.3) ---------------------------------------------------------------------------


class VerificationSummary(Model):
    """PACTS 8.3 `summary`."""

    total_steps: int = 0
    executed_steps: int = 0
    failed_steps: int = 0
    heal_rounds: int = 0


class GeneratedTestProof(Model):
    """Whether plain pytest ran the generated test of a requirement on the same site."""

    status: Literal["proved", "failed", "not_proved"]
    """`proved`: it was green. `failed`: it was red although every step and outcome held."""
    reason: str = ""
    """Why it was not run, or the first line of pytest's error."""


class VerdictReport(Model):
    """`verdict_<req_id>.json`."""

    req_id: str
    run_id: str = ""
    title: str = ""
    url: str = ""
    verdict: PactsVerdict
    timestamp: Moment
    duration_ms: float = Field(default=0.0, ge=0)
    summary: VerificationSummary
    rca: RootCause
    steps: tuple[ExecutedStep, ...] = ()
    heal_events: tuple[HealEvent, ...] = ()
    missing: tuple[MissingItem, ...] = ()
    console: tuple[ConsoleLine, ...] = ()
    answers: tuple[NetworkRequest, ...] = ()
    offered: OfferedElement | None = None
    """With `healing_declined`: the element that `periplus verify --accept REQ:STEP` accepts."""
    proof: GeneratedTestProof | None = None
    """Of the generated test; None if the requirement did not pass or has no test."""
    notes: tuple[str, ...] = ()
    """Remarks for the reader: the run was resumed, or stopped early."""
    artifacts: dict[str, str] = Field(default_factory=dict)
    """PACTS: `test_file`, `test_hash` (`sha256:...`); ours: `report`, `junit`, `trace`, ..."""
