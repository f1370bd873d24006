"""What is verified and how it came out: requirements, plans, evidence, root causes, verdicts (PACTS 7-8).

Shared by the planner that reads requirements, the builder that finds elements for them, the generator
that writes tests, the executor that runs plans, the service and the reports. Who does what is
`agent/verifying`; what a test's source looks like and how it is patched is `optimizing.py` beside this.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from kb_schema.base import Model, Probability
from kb_schema.fingerprints import Fingerprint
from kb_schema.playwright_calls import Expression
from kb_schema.runs import Moment, PactsVerdict
from kb_schema.selectors import Selector

# -- requirements: what the planner gives (PACTS 4.1, 8.1) ----------------------------------------


class Place(Model):
    """Where something stands in a file, for messages: `login.xlsx, sheet 'Login', cell B3`."""

    file: str = ""
    sheet: str | None = None
    cell: str | None = None
    line: int | None = None
    path: str | None = None
    """JSON path, in files of objects: `$.steps[2].action`."""

    def __str__(self) -> str:
        parts = [
            self.file,
            f"sheet {self.sheet!r}" if self.sheet else "",
            f"cell {self.cell}" if self.cell else "",
            f"line {self.line}" if self.line is not None else "",
            f"at {self.path}" if self.path else "",
        ]
        return ", ".join(each for each in parts if each)


class Outcome(Model):
    """One expected outcome, as the vocabulary of outcomes reads it (`kb_schema/outcomes.py`)."""

    kind: str
    """Canonical name: `field_populated`, `navigates_to`, `shows`, ..."""
    said: str
    """As the requirement says it."""
    element: str | None = None
    """Whom it is about where that is not the step's own element."""
    region: str | None = None
    value: str | None = None
    """What is expected: a text, a number, a place; it may hold `{secret:NAME}` and `{unique}`."""


class Intent(Model):
    """One step of a requirement."""

    intent: str
    """`Element@Region` as it was written."""
    element: str
    region: str | None = None
    action: str
    """Canonical name of the vocabulary of actions; empty for a step that only looks."""
    typed: bool = False
    """PACTS's `type`: key by key, unlike `fill`."""
    value: str | None = None
    """It may hold `{secret:NAME}` (from the environment) and `{unique}` (another one in every run)."""
    expected: tuple[Outcome, ...] = ()
    place: Place = Field(default_factory=Place)


class Requirement(Model):
    """One test case: PACTS's `req_id`, where it begins, and its steps."""

    req_id: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$")
    title: str = ""
    url: str
    """Where it begins: absolute, or a path on the site that is verified."""
    login: str | None = None
    """A task that signs in first; what `--login` says counts where this is None."""
    tags: tuple[str, ...] = ()
    steps: tuple[Intent, ...] = Field(min_length=1)
    place: Place = Field(default_factory=Place)


# -- plans: what the builder found on the live page (PACTS 4.2, 8.2) ------------------------------


class Check(Model):
    """An expected outcome that was found and seen to hold on the live page."""

    outcome: Outcome
    selector: Selector | None = None
    """The element it is about; None where it is about the page."""
    expression: Expression = ()
    """The same in Playwright's Python, proven on the page to lead to it alone."""
    fingerprint: Fingerprint | None = None
    name: str = ""
    """What people call the element: the name of a page object's attribute is made of it."""
    url: str | None = None
    """Of an outcome about the address: the path that was reached, without origin."""
    title: str | None = None
    heading: str | None = None
    """What proves a page where its address does not: its first heading."""
    role: str | None = None
    """ARIA role of the element, where it has one."""
    observed: str | None = None
    """What the page said, for outcomes that compare; without secrets."""
    confidence: Probability = 1.0
    strategy: str = ""


class PlanStep(Model):
    """One step that was found and done: an intent with the element it leads to."""

    step_idx: int = Field(ge=0)
    intent: Intent
    selector: Selector | None = None
    """None where the step needs no element."""
    expression: Expression = ()
    """The same in Playwright's Python, proven on the page to lead to it alone."""
    fingerprint: Fingerprint | None = None
    """What is known of the element; taken when it was used."""
    role: str | None = None
    name: str = ""
    confidence: Probability = 0.0
    strategy: str = ""
    """The discovery strategy that found it (PACTS 5)."""
    discovered_at: Moment | None = None
    from_cache: bool = False
    page_url: str = ""
    """Path of the page it was done on, without origin."""
    page_title: str = ""
    page_heading: str = ""
    """These three tell which page object it belongs to."""
    password: bool = False
    """The field hides what is typed."""
    dialog: Literal["accept", "dismiss"] | None = None
    """How the browser's own dialog, which this step opens, is answered."""
    dialog_message: str | None = None
    new_tab: bool = False
    """The step opens another tab, in which the next steps are done."""
    checks: tuple[Check, ...] = ()


class Obstacle(Model):
    """Something that a site lays over its pages now and then (a cookie notice), and was put away."""

    name: str
    """What the control says that puts it away."""
    selector: Selector
    expression: Expression = ()
    """The control, in Playwright's Python."""


class Missing(Model):
    """An element or an outcome that was not found before any test was written (PACTS 1.3)."""

    step_idx: int
    intent: str
    what: str
    """`element`, or the outcome as it was said."""
    reason: str
    nearest: tuple[str, ...] = ()
    """What is there instead, nearest first."""
    place: Place = Field(default_factory=Place)


class Plan(Model):
    """What the builder gives for one requirement. Complete where nothing is missing."""

    requirement: Requirement
    base_url: str
    steps: tuple[PlanStep, ...] = ()
    missing: tuple[Missing, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()
    """What lay over an element and was put away: it may come at any step, or not at all."""
    signed_in_by: str | None = None
    """The task that signed in before the first step."""

    @property
    def coverage(self) -> float:
        """Share of the steps whose element and outcomes were found, 0 to 1."""
        wanted = len(self.requirement.steps)
        lost = len({each.step_idx for each in self.missing})
        return (min(len(self.steps), wanted) - min(lost, len(self.steps))) / wanted if wanted else 1.0


# -- execution (PACTS 4.4, 7.1) ---------------------------------------------------------------------


class Failure(StrEnum):
    """Why a step did not come off, for routing (PACTS 7.1; DESIGN 9 adds `not_scoped`)."""

    NONE = "none"
    NOT_UNIQUE = "not_unique"
    NOT_VISIBLE = "not_visible"
    DISABLED = "disabled"
    UNSTABLE = "unstable"
    NOT_SCOPED = "not_scoped"
    TIMEOUT = "timeout"
    """Not there in time, or the action or an expected outcome did not come off."""


class ConsoleLine(Model):
    """Something a page said on its console, or an error nobody caught."""

    kind: Literal["error", "warning", "pageerror"]
    text: str
    url: str = ""
    step_idx: int | None = None


class Answer(Model):
    """An HTTP answer of 400 and above, or a request that got none."""

    method: str
    url: str
    status: int | None = None
    """None: no answer came."""
    failure: str | None = None
    resource_type: str = ""
    step_idx: int | None = None


class Evidence(Model):
    """Everything a root cause is decided from (PACTS 4.6 phase 2), of one failed step."""

    failure: Failure = Failure.NONE
    what: Literal["action", "outcome", "page"] = "action"
    """What failed: an action, an expected outcome, or getting to the page at all."""
    step_idx: int = 0
    action: str = ""
    element: str = ""
    outcome: Outcome | None = None
    message: str = ""
    """The error as it was raised; without secrets."""
    expected: str | None = None
    received: str | None = None
    url: str = ""
    status: int | None = None
    """HTTP status of the document."""
    console: tuple[ConsoleLine, ...] = ()
    answers: tuple[Answer, ...] = ()
    refused_fields: tuple[str, ...] = ()
    """Fields the page marks as invalid, with what it says: `Start date: use MM/DD/YYYY`."""
    alerts: tuple[str, ...] = ()
    """What the page says in its alert regions."""
    cover: str | None = None
    """What lies over the element."""
    matched: int | None = None
    """How many elements the selector leads to."""
    nearest: str | None = None
    """The most similar element that is there."""
    nearest_score: Probability | None = None
    nearest_verdict: Literal["same", "ambiguous", "other"] | None = None
    """What the judge of likeness says of it."""
    drifted: int = 0
    """How many other elements of this test were found under another selector in this run."""
    compared: int = 0
    """How many of its elements were looked for again at all."""
    heal_rounds: int = 0
    held_before: bool | None = None
    """Whether this very test passed before on this site; None: not known."""
    came_late_s: float | None = None
    """It came after all, so long after it was given up."""
    page_changed: bool | None = None
    """Whether the action changed anything on the page; None: not known."""
    previous_changed: bool | None = None
    """Whether the action of the step before changed anything: a dead button is noticed one step later."""
    pending: tuple[Answer, ...] = ()
    """Requests of the page that were still without an answer when the step was given up."""
    moving: bool = False
    """The element, or the page around it, never came to rest."""
    reachable: bool = True
    """Whether the site answers at all."""
    browser_alive: bool = True


RootCauseClass = Literal[
    "success",
    "selector_drift",
    "timing_instability",
    "visibility_issue",
    "enablement_issue",
    "assertion_mismatch",
    "data_issue",
    "env_fault",
    "app_defect",
]
"""PACTS 4.6's classes; `app_defect`: the application is at fault, and nothing may heal that away."""


class RootCause(Model):
    """PACTS 4.6's answer; `class` is Python's word, hence the alias."""

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


class ExecutedStep(Model):
    """One step as it was executed (PACTS 8.2 `executed_steps`, 8.3 `steps`)."""

    step_idx: int
    element: str
    region: str | None = None
    action: str
    value: str | None = None
    """Without secrets."""
    selector: str | None = None
    strategy: str = ""
    confidence: Probability = 0.0
    status: Literal["success", "failed", "skipped"]
    heal_round: int = 0
    checks: tuple[str, ...] = ()
    """Outcomes that held, each as it was said."""
    error: str | None = None
    duration_ms: float = Field(default=0.0, ge=0)
    timestamp: Moment
    screenshot: str | None = None
    """Relative to the report."""


class RunState(Model):
    """PACTS 7.1: what the nodes of the graph hand on. LangGraph keeps it after every node.

    `context` holds JSON of the models above under PACTS's keys: `url`, `raw_steps`, `intents`, `plan`,
    `executed_steps`, `heal_events`, `evidence`, `rca`, `artifacts`.
    """

    req_id: str
    step_idx: int = 0
    heal_round: int = 0
    context: dict[str, Any] = Field(default_factory=dict)
    failure: Failure = Failure.NONE
    last_selector: str | None = None
    verdict: PactsVerdict | None = None

    @property
    def plan(self) -> list[dict[str, Any]]:
        """The plan's steps (PACTS 7.1)."""
        found = self.context.get("plan", [])
        return list(found)


# -- the report (PACTS 8.3) ---------------------------------------------------------------------------


class Summary(Model):
    """PACTS 8.3 `summary`."""

    total_steps: int = 0
    executed_steps: int = 0
    failed_steps: int = 0
    heal_rounds: int = 0


class VerdictReport(Model):
    """`verdict_<req_id>.json`."""

    req_id: str
    run_id: str = ""
    title: str = ""
    url: str = ""
    verdict: PactsVerdict
    timestamp: Moment
    duration_ms: float = Field(default=0.0, ge=0)
    summary: Summary
    rca: RootCause
    steps: tuple[ExecutedStep, ...] = ()
    heal_events: tuple[HealEvent, ...] = ()
    missing: tuple[Missing, ...] = ()
    console: tuple[ConsoleLine, ...] = ()
    answers: tuple[Answer, ...] = ()
    notes: tuple[str, ...] = ()
    """What a reader has to know of how the run went: that it was resumed, that it stopped early."""
    artifacts: dict[str, str] = Field(default_factory=dict)
    """PACTS: `test_file`, `test_hash` (`sha256:...`); ours: `report`, `junit`, `trace`, ..."""
