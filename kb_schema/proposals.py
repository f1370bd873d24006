"""Proposed changes of a website's knowledge, and the evidence for and against each.

A proposal's id is derived from its content: the same change from several runs is one proposal with several
supports. Not here: where proposals are stored (`kb_store.proposals.proposal_store`) and how an accepted one
is applied (`kb_store.proposals.accepted_changes`).
"""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AwareDatetime, Field, JsonValue, StringConstraints, field_validator

from kb_schema.base import Document, LocalId, Model, Probability
from kb_schema.conditions import Condition
from kb_schema.fingerprints import Fingerprint
from kb_schema.graph_documents import TaskDependency, Transition
from kb_schema.observed_outcomes import OutcomeId
from kb_schema.run_records import Moment
from kb_schema.screens import Screen, Signature
from kb_schema.selectors import Selector
from kb_schema.tasks import Task
from kb_schema.workflows import Workflow

CONFIRMED_BY = 3
"""A proposal is confirmed when this many more runs support it than contradict it."""

MAX_SUPPORTS = 200
"""The most runs that are stored for one proposal; more would not change anything."""


class SelectorChange(Model):
    """A different selector for an element of a screen or of one of its layouts."""

    type: Literal["selector"]
    screen_id: LocalId
    element_id: LocalId
    selector: Selector

    @property
    def about(self) -> str:
        """What would change, in a few words."""
        return f"selector of {self.screen_id}.{self.element_id}"

    @property
    def proposed_value(self) -> JsonValue:
        """The value in the knowledge after the change."""
        return self.selector.to_json()


class StepTargetChange(Model):
    """A different selector for the element that a step of a task names by its own selector."""

    type: Literal["step_target"]
    task_id: LocalId
    step_id: LocalId
    selector: Selector
    fingerprint: Fingerprint | None = None
    """What replaces the step's fingerprint; None: it stays."""

    @property
    def about(self) -> str:
        """What would change, in a few words."""
        return f"selector of step {self.task_id}.{self.step_id}"

    @property
    def proposed_value(self) -> JsonValue:
        """The value in the knowledge after the change."""
        return self.selector.to_json()


class SignatureChange(Model):
    """A different signature for a screen."""

    type: Literal["signature"]
    screen_id: LocalId
    signature: Signature

    @property
    def about(self) -> str:
        """What would change, in a few words."""
        return f"signature of {self.screen_id}"

    @property
    def proposed_value(self) -> JsonValue:
        """The value in the knowledge after the change."""
        return self.signature.to_json()


class ScreenChange(Model):
    """A new screen, or a different version of a known one, which it replaces."""

    type: Literal["screen"]
    screen: Screen

    @field_validator("screen")
    @classmethod
    def _of_any_website(cls, screen: Screen) -> Screen:
        return _of_any_website(screen)

    @property
    def about(self) -> str:
        """What would change, in a few words."""
        return f"screen {self.screen.screen_id}"

    @property
    def proposed_value(self) -> JsonValue:
        """The value in the knowledge after the change."""
        return self.screen.to_json()


class TransitionChange(Model):
    """A new transition, or a different version of a known one."""

    type: Literal["transition"]
    transition: Transition

    @field_validator("transition")
    @classmethod
    def _of_any_website(cls, transition: Transition) -> Transition:
        return _of_any_website(transition)

    @property
    def about(self) -> str:
        """What would change, in a few words."""
        way = self.transition
        return f"transition {way.local_id} ({way.from_screen} -> {way.to_screen})"

    @property
    def proposed_value(self) -> JsonValue:
        """The value in the knowledge after the change."""
        return self.transition.to_json()


class SignInFound(Model):
    """The sign-in of a website that has none yet: a published task, and what shows that it worked."""

    task_id: LocalId
    authenticated_when: tuple[Condition, ...] = ()
    """Becomes the website's, which has none; empty if nothing is known that tells."""


class WorkflowChange(Model):
    """A workflow to publish. Publishing accepts it, without confirmation."""

    type: Literal["workflow"]
    workflow: Workflow
    tasks: tuple[Task, ...] = ()
    """The tasks it consists of, if the knowledge does not have them yet."""
    dependencies: tuple[TaskDependency, ...] = ()
    screens: tuple[Screen, ...] = ()
    """The new screens it uses."""
    sign_in: SignInFound | None = None
    """One of its tasks, which becomes the website's sign-in if that has none."""
    published: bool = True
    """False: it was edited or loaded from files, and is kept because a publication replaced it."""

    @property
    def documents(self) -> tuple[Document, ...]:
        """All documents that it adds."""
        return (*self.screens, self.workflow, *self.tasks, *self.dependencies)

    @property
    def about(self) -> str:
        """What would change, in a few words."""
        return f"workflow {self.workflow.workflow_id}"

    @property
    def proposed_value(self) -> JsonValue:
        """The workflow in the knowledge after publication."""
        return self.workflow.to_json()


ProposableChange = Annotated[
    SelectorChange | StepTargetChange | SignatureChange | ScreenChange | TransitionChange,
    Field(discriminator="type"),
]
"""The changes that clients may propose."""
KnowledgeChange = Annotated[
    SelectorChange | StepTargetChange | SignatureChange | ScreenChange | TransitionChange | WorkflowChange,
    Field(discriminator="type"),
]

WithinRun = Annotated[
    str,
    StringConstraints(
        max_length=500, pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.\-]*(/[A-Za-z0-9_][A-Za-z0-9_.\-]*)*$"
    ),
]
"""A file in the folder of a run, a recording or an exploration; the path cannot leave the folder."""

MOST_URL = 8_000
"""The most characters of an address that is shown."""
MAX_SEEN = 8
"""The most pages that a run gives as evidence."""


class PageReference(Model):
    """A page given as evidence: a reference only, the files stay with the run."""

    url: Annotated[str, Field(max_length=MOST_URL)] = ""
    snapshot: WithinRun | None = None
    """The file name without its ending, as in `kb_schema.run_storage`."""
    picture: WithinRun | None = None
    when: Literal["", "before", "after"] = ""
    """Of two related pages: before or after the proposed change happened."""


class ReportedSupport(Model):
    """One run's evidence on a proposed change, as clients report it."""

    run_id: OutcomeId
    """Each run counts once per change; later reports of it are ignored."""
    succeeded: bool = True
    """Whether the change worked in the run."""
    score: Probability | None = None
    """The similarity (0-1) of the found and the known element, if it was measured."""
    note: Annotated[str, Field(max_length=1_000)] = ""
    at: AwareDatetime | None = None
    """None: now."""
    seen: Annotated[tuple[PageReference, ...], Field(max_length=MAX_SEEN)] = ()


class Support(ReportedSupport):
    """The evidence as stores keep it."""

    at: Moment


ProposalStatus = Literal["proposed", "accepted", "rejected", "replaced"]
"""`replaced`: it was part of the knowledge until a load with --replace-learned replaced it."""


class Proposal(Model):
    """A proposed change, the value before it, and the runs for and against it."""

    proposal_id: str
    website_id: LocalId
    change: KnowledgeChange
    before: JsonValue = None
    """The value in the knowledge when it was first proposed; None: there was none."""
    status: ProposalStatus = "proposed"
    proposed_at: Moment
    decided_at: Moment | None = None
    supports: tuple[Support, ...] = ()

    @property
    def succeeded(self) -> int:
        """The number of runs it worked in."""
        return sum(support.succeeded for support in self.supports)

    @property
    def failed(self) -> int:
        """The number of runs it did not work in."""
        return len(self.supports) - self.succeeded

    @property
    def confirmed(self) -> bool:
        """Whether enough different runs support it."""
        return self.succeeded - self.failed >= CONFIRMED_BY

    @property
    def score(self) -> float | None:
        """The mean of the scores that runs gave it, or None."""
        scores = [support.score for support in self.supports if support.score is not None]
        return sum(scores) / len(scores) if scores else None


def proposal_id(website_id: str, change: KnowledgeChange) -> str:
    """Return twelve characters that identify a proposed change.

    A strategy's confidence and notes, a step's fingerprint, and how long a transition took, do not count.
    """
    proposed = change.to_json() | {"type": change.type}
    if isinstance(change, TransitionChange):
        proposed["transition"].pop("duration", None)
    if isinstance(change, StepTargetChange):
        proposed.pop("fingerprint", None)
    essence = json.dumps([website_id, _essence(proposed)], sort_keys=True)
    return hashlib.sha256(essence.encode()).hexdigest()[:12]


DocumentT = TypeVar("DocumentT", bound=Document)


def _of_any_website(document: DocumentT) -> DocumentT:
    """Return the document without its website id, so that equal changes have equal ids."""
    return document.model_copy(update={"website_id": None})


def _essence(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: each for key, each in value.items() if key not in ("confidence", "meta", "metadata")}
        return {key: _essence(each) for key, each in kept.items()}
    return [_essence(each) for each in value] if isinstance(value, list) else value


class ProposalAnswer(Model):
    """The answer to a proposed change."""

    website_id: str
    proposal_id: str
    status: ProposalStatus
    counted: bool
    """False: this run was counted before, or the knowledge already has the change."""
    reason: str = ""
    """Why it was not counted."""
    succeeded: int = 0
    failed: int = 0
    confirmed: bool = False


class PublicationAnswer(Model):
    """The answer to a published workflow."""

    website_id: str
    workflow_id: str
    revision: str
    """The revision of the knowledge that contains it."""
    replaced: bool = False
    """Whether it replaced another workflow with its id."""
    warnings: tuple[str, ...] = ()
