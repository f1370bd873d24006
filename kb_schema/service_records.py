"""Records of the service: jobs that it runs, schedules that order them, webhooks that are told, and deliveries.

A record has a key and a revision: a writer replaces the revision that it read, so that no change is lost. The port of the
store is `kb_store.runs.service_record_store`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, ClassVar, Literal

from pydantic import Field, JsonValue

from kb_schema.base import LocalId, Model
from kb_schema.model_use import ModelUse
from kb_schema.run_records import Count, Moment
from kb_schema.sentence_plans import SentencePlan

MOST_VALUES = 200
LEAST_TAUGHT, MOST_TAUGHT = 2, 10
"""Jobs of which a workflow is made: one does not tell which values vary."""
LONGEST_TITLE = 200
LONGEST_SENTENCE = 2_000
USUAL_LATENESS_S = 600.0
"""Seconds after its due time for which a job may still begin, unless its schedule says another number."""


class ServiceRecord(Model):
    """What all records have in common. `revision` counts the replacements in the store."""

    record_kind: ClassVar[str]
    revision: Count = 0

    @property
    def record_key(self) -> str:
        """The key, unique among records of one kind."""
        raise NotImplementedError

    @property
    def record_state(self) -> str:
        """The state by which records are listed."""
        raise NotImplementedError

    @property
    def record_group(self) -> str:
        """The key of the record that it belongs to; empty if there is none."""
        return ""

    @property
    def record_at(self) -> datetime:
        """The time by which records are sorted."""
        raise NotImplementedError


# -- orders ----------------------------------------------------------------------------------------


class TaskOrder(Model):
    """Run a task or a workflow of a website."""

    kind: Literal["task"] = "task"
    website_id: LocalId
    task_id: LocalId
    values: dict[str, JsonValue] = Field(default_factory=dict, max_length=MOST_VALUES, repr=False)
    """Inputs that are no secrets; secrets are found on the server."""
    trace: bool = False
    """Whether to record a trace for Playwright's trace viewer."""


class VerificationOrder(Model):
    """Verify the requirements of files in the service's folder of files."""

    kind: Literal["verification"] = "verification"
    files: tuple[Annotated[str, Field(min_length=1, max_length=200)], ...] = Field(
        min_length=1, max_length=50
    )
    """Names, relative to the folder."""
    base_url: str | None = Field(default=None, max_length=2_000)


class MapOrder(Model):
    """Explore a website and write its knowledge base, or tell what has changed since it was mapped."""

    kind: Literal["map"] = "map"
    website_id: LocalId
    url: str = Field(default="", max_length=2_000)
    """Where to begin; empty with `update`."""
    update: bool = False
    load: bool = False
    """Whether to load the new knowledge base into the store."""
    sign_in_task: LocalId | None = None
    """The task that signs in; its secrets are found on the server."""
    most_pages: int = Field(default=200, ge=1, le=5_000)


class DemoOrder(Model):
    """Give a demo of a website without a visitor: film it, or rehearse it."""

    kind: Literal["demo"] = "demo"
    website_id: LocalId
    flow_id: LocalId
    rehearse: bool = False
    language: str | None = Field(default=None, pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$")


class SentenceOrder(Model):
    """Do a job in words that no task does, by the plan of a language model that a person was shown."""

    kind: Literal["sentence"] = "sentence"
    website_id: LocalId
    sentence: str = Field(min_length=1, max_length=LONGEST_SENTENCE)
    plan: SentencePlan
    values: dict[str, str] = Field(default_factory=dict, max_length=MOST_VALUES, repr=False)
    """What is told beside the sentence; no secrets, those are found on the server."""
    allowed: tuple[Annotated[str, Field(min_length=1, max_length=200)], ...] = Field(
        default=(), max_length=50
    )
    """Names of what needs a yes: `deletes`, `pays`, `sends`, `signs_out`, `elsewhere`, `repeats`, `values`, or the words of a control."""


class TeachOrder(Model):
    """Make a workflow of jobs in words that were verified, and publish it: the next sentence of this kind needs no model."""

    kind: Literal["teach"] = "teach"
    website_id: LocalId
    jobs: tuple[LocalId, ...] = Field(min_length=LEAST_TAUGHT, max_length=MOST_TAUGHT)
    """Ids of jobs of the kind `sentence` that ended as `success`, with different values."""
    name: str = Field(min_length=1, max_length=LONGEST_TITLE)
    """The name of the workflow; its id is derived from it."""


JobOrder = Annotated[
    TaskOrder | VerificationOrder | MapOrder | DemoOrder | SentenceOrder | TeachOrder,
    Field(discriminator="kind"),
]


def describe_order(order: JobOrder) -> str:
    """Return an order in words, with ids; a page that knows the names says them instead."""
    match order:
        case TaskOrder():
            return f"run {order.task_id} on {order.website_id}"
        case VerificationOrder():
            where = f" on {order.base_url}" if order.base_url else ""
            return f"verify {', '.join(order.files)}{where}"
        case MapOrder():
            return f"look for changes of {order.website_id}" if order.update else f"map {order.url}"
        case DemoOrder():
            return f"{'rehearse' if order.rehearse else 'film'} {order.flow_id} of {order.website_id}"
        case SentenceOrder():
            return f"do {order.sentence!r} on {order.website_id}"
        case TeachOrder():
            return f"learn {order.name!r} from {len(order.jobs)} jobs on {order.website_id}"


# -- jobs ------------------------------------------------------------------------------------------

JobState = Literal["waiting", "running", "ended", "failed", "cancelled", "missed", "interrupted"]
"""`ended`: it was carried out, and `outcome` says how well. `failed`: it could not be carried out. `missed`: its due time passed
without a server. `interrupted`: the server ended during it, and it is not of a kind that is resumed."""
OPEN_STATES: tuple[JobState, ...] = ("waiting", "running")
OVER_STATES: tuple[JobState, ...] = ("ended", "failed", "cancelled", "missed", "interrupted")


class StoredJob(ServiceRecord):
    """One job."""

    record_kind: ClassVar[str] = "job"

    job_id: LocalId
    order: JobOrder
    state: JobState = "waiting"
    asked_by: str = Field(default="", max_length=LONGEST_TITLE)
    created_at: Moment
    due_at: Moment | None = None
    schedule_id: LocalId | None = None
    lateness_s: float = Field(default=USUAL_LATENESS_S, ge=0)
    missed: int = Field(default=0, ge=0)
    """The number of due times that a missed job stands for."""
    started_at: Moment | None = None
    finished_at: Moment | None = None
    starts: Count = 0
    """How often it was started."""
    run_id: LocalId | None = None
    folder: str | None = None
    """Its folder, relative to the folder of runs."""
    outcome: str | None = None
    """How well it went: a run's status, or `success` or `failure` of a command."""
    error: str | None = None
    hint: str | None = None
    model_use: ModelUse | None = None
    """The calls of a language model; None: it is not over, or of a kind that does not say it."""
    announced: bool = False
    """Whether webhooks have been told that it is over."""

    @property
    def over(self) -> bool:
        """Whether nothing more happens to it."""
        return self.state not in OPEN_STATES

    @property
    def record_key(self) -> str:
        """Its id; a scheduled job's id is made of schedule and due time, so that there is one of each."""
        return self.job_id

    @property
    def record_state(self) -> str:
        """Its state; `untold` at the end if it is over and no webhook was told."""
        return f"{self.state}.untold" if self.over and not self.announced else self.state

    @property
    def record_group(self) -> str:
        """Its schedule."""
        return self.schedule_id or ""

    @property
    def record_at(self) -> datetime:
        """When it is due, else when it was ordered."""
        return self.due_at or self.created_at


class Schedule(ServiceRecord):
    """Orders a job at each time of a cron expression."""

    record_kind: ClassVar[str] = "schedule"

    schedule_id: LocalId
    name: str = Field(min_length=1, max_length=LONGEST_TITLE)
    cron: str = Field(min_length=9, max_length=200)
    """Five fields: minute, hour, day of month, month, day of week."""
    zone: str = Field(default="UTC", max_length=60)
    """A name of the IANA time zone database."""
    order: JobOrder
    active: bool = True
    created_at: Moment
    created_by: str = Field(default="", max_length=LONGEST_TITLE)
    decided_until: Moment
    """Due times up to here are decided: each has a job, or is told as missed."""
    lateness_s: float = Field(default=USUAL_LATENESS_S, ge=0, le=86_400)
    """Seconds after a due time for which its job may still begin; then it is missed."""

    @property
    def record_key(self) -> str:
        """Its id."""
        return self.schedule_id

    @property
    def record_state(self) -> str:
        """Whether it orders jobs."""
        return "active" if self.active else "paused"

    @property
    def record_at(self) -> datetime:
        """When it was made."""
        return self.created_at


# -- webhooks --------------------------------------------------------------------------------------

WebhookEvent = Literal["job.ended", "job.missed", "ping"]
WEBHOOK_EVENTS: tuple[WebhookEvent, ...] = ("job.ended", "job.missed")


class Webhook(ServiceRecord):
    """An address that is told what happens. Its secret is derived from the server's key, and not stored."""

    record_kind: ClassVar[str] = "webhook"

    webhook_id: LocalId
    url: str = Field(min_length=1, max_length=2_000)
    events: tuple[WebhookEvent, ...] = WEBHOOK_EVENTS
    active: bool = True
    created_at: Moment
    created_by: str = Field(default="", max_length=LONGEST_TITLE)
    error: str | None = None
    """Why it was switched off."""

    @property
    def record_key(self) -> str:
        """Its id."""
        return self.webhook_id

    @property
    def record_state(self) -> str:
        """Whether it is told."""
        return "active" if self.active else "off"

    @property
    def record_at(self) -> datetime:
        """When it was made."""
        return self.created_at


class WebhookDelivery(ServiceRecord):
    """One message to one webhook, with its attempts."""

    record_kind: ClassVar[str] = "delivery"

    delivery_id: LocalId
    """Sent as `webhook-id`: the same in every attempt."""
    webhook_id: LocalId
    event: WebhookEvent
    payload: str = Field(max_length=100_000)
    """The body, as it is signed and sent."""
    state: Literal["waiting", "delivered", "given_up"] = "waiting"
    attempts: Count = 0
    next_at: Moment
    """When it is tried, if it waits."""
    status: int | None = None
    """The HTTP status of the last answer."""
    error: str | None = None

    @property
    def record_key(self) -> str:
        """Its id."""
        return self.delivery_id

    @property
    def record_state(self) -> str:
        """Whether it waits."""
        return self.state

    @property
    def record_group(self) -> str:
        """Its webhook."""
        return self.webhook_id

    @property
    def record_at(self) -> datetime:
        """When it is tried."""
        return self.next_at


# -- visitors --------------------------------------------------------------------------------------


class LeadEntry(Model):
    """What a visitor entered in one field of a flow's form."""

    name: str
    label: str
    value: str = Field(repr=False)


class VisitorLead(ServiceRecord):
    """A form that a visitor of a demo sent (`kb_schema.lead_forms`). It is personal data, and expires."""

    record_kind: ClassVar[str] = "lead"

    lead_id: LocalId
    visit_id: LocalId
    """The link; there may be none any more."""
    link: str = Field(default="", max_length=LONGEST_TITLE)
    """The note of the link: for whom it is."""
    website_id: LocalId
    flow_id: LocalId
    language: str
    entries: tuple[LeadEntry, ...] = Field(min_length=1)
    consent: str
    """The sentence that was agreed to, as it was shown."""
    given_at: Moment
    expires_at: Moment
    """As long as the page said that it is stored."""

    @property
    def record_key(self) -> str:
        """Its id."""
        return self.lead_id

    @property
    def record_state(self) -> str:
        """Always the same: it does not change."""
        return "stored"

    @property
    def record_group(self) -> str:
        """The link."""
        return self.visit_id

    @property
    def record_at(self) -> datetime:
        """When it expires."""
        return self.expires_at


# -- edits -----------------------------------------------------------------------------------------


class TextEdit(ServiceRecord):
    """A text of a knowledge base that a person changed in the console, for its history."""

    record_kind: ClassVar[str] = "text_edit"

    edit_id: LocalId
    website_id: LocalId
    kind: Literal["screen", "task", "workflow", "flow"]
    document_id: LocalId
    field: str = Field(min_length=1, max_length=300)
    """As `loaders.edits.text_edit` names it: `description`, `input.NAME`, ..."""
    before: str = Field(max_length=10_000)
    after: str = Field(max_length=10_000)
    changed_at: Moment
    changed_by: str = Field(default="", max_length=LONGEST_TITLE)

    @property
    def record_key(self) -> str:
        """Its id."""
        return self.edit_id

    @property
    def record_state(self) -> str:
        """Always the same: an edit does not change."""
        return "made"

    @property
    def record_group(self) -> str:
        """The document."""
        return f"{self.website_id}/{self.kind}/{self.document_id}"

    @property
    def record_at(self) -> datetime:
        """When it was made."""
        return self.changed_at
