"""Changes of a website's knowledge that somebody proposes, and what speaks for and against each.

A proposal is named after what it proposes: the same change seen by several runs is one proposal with
several supports. Not here: where proposals are kept (`kb_store.proposals`), and how an accepted one
becomes knowledge (`kb_store.changing`).
"""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AwareDatetime, Field, JsonValue, StringConstraints, field_validator

from kb_schema.base import Document, LocalId, Model, Probability
from kb_schema.graph import TaskDependency, Transition
from kb_schema.learned import OutcomeId
from kb_schema.runs import Moment
from kb_schema.screens import Screen, Signature
from kb_schema.selectors import Selector
from kb_schema.tasks import Task
from kb_schema.workflows import Workflow

CONFIRMED_BY = 3
"""A proposal is confirmed once so many more runs speak for it than against it (DESIGN 6)."""

MAX_SUPPORTS = 200
"""Runs kept of one proposal; further ones would change nothing."""


class SelectorChange(Model):
    """Another way of finding an element of a screen, or of one of its layouts."""

    type: Literal["selector"]
    screen_id: LocalId
    element_id: LocalId
    selector: Selector

    @property
    def about(self) -> str:
        """What would change, in a few words."""
        return f"selector of {self.screen_id}.{self.element_id}"

    @property
    def said(self) -> JsonValue:
        """What the knowledge says there once it is made."""
        return self.selector.to_json()


class SignatureChange(Model):
    """Another way of recognising a screen."""

    type: Literal["signature"]
    screen_id: LocalId
    signature: Signature

    @property
    def about(self) -> str:
        """What would change, in a few words."""
        return f"signature of {self.screen_id}"

    @property
    def said(self) -> JsonValue:
        """What the knowledge says there once it is made."""
        return self.signature.to_json()


class ScreenChange(Model):
    """A screen nobody knew, or another form of a known one: it takes that one's place."""

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
    def said(self) -> JsonValue:
        """What the knowledge says there once it is made."""
        return self.screen.to_json()


class TransitionChange(Model):
    """A way from one screen to another that nobody knew, or another form of a known one."""

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
    def said(self) -> JsonValue:
        """What the knowledge says there once it is made."""
        return self.transition.to_json()


class WorkflowChange(Model):
    """A workflow that is published. It needs no confirmation: publishing it accepts it."""

    type: Literal["workflow"]
    workflow: Workflow
    tasks: tuple[Task, ...] = ()
    """What it is made of, where the knowledge does not have it yet."""
    dependencies: tuple[TaskDependency, ...] = ()
    screens: tuple[Screen, ...] = ()
    """New ones that it is on."""

    @property
    def documents(self) -> tuple[Document, ...]:
        """All that becomes knowledge with it."""
        return (*self.screens, self.workflow, *self.tasks, *self.dependencies)

    @property
    def about(self) -> str:
        """What would change, in a few words."""
        return f"workflow {self.workflow.workflow_id}"

    @property
    def said(self) -> JsonValue:
        """What the knowledge says of the workflow once it is published."""
        return self.workflow.to_json()


ProposableChange = Annotated[
    SelectorChange | SignatureChange | ScreenChange | TransitionChange, Field(discriminator="type")
]
"""What clients may propose."""
Change = Annotated[
    SelectorChange | SignatureChange | ScreenChange | TransitionChange | WorkflowChange,
    Field(discriminator="type"),
]

WithinRun = Annotated[
    str,
    StringConstraints(
        max_length=500, pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.\-]*(/[A-Za-z0-9_][A-Za-z0-9_.\-]*)*$"
    ),
]
"""A file in the folder of a run, a recording or an exploration: it leads nowhere else."""

MOST_URL = 8_000
"""Characters of an address that is shown."""
MAX_SEEN = 8
"""Pages a run shows for what it says."""


class Seen(Model):
    """A page that shows what a run says: references only, the files stay with the run."""

    url: Annotated[str, Field(max_length=MOST_URL)] = ""
    snapshot: WithinRun | None = None
    """Without its ending, as in `kb_schema.storage`."""
    picture: WithinRun | None = None
    when: Literal["", "before", "after"] = ""
    """Of two pages that belong together: before what is proposed happened, or after it."""


class ReportedSupport(Model):
    """What one run says of a proposed change, as clients report it."""

    run_id: OutcomeId
    """A run speaks once for or against a change: what it says later is not counted."""
    succeeded: bool = True
    """Whether what it was tried for worked with the change."""
    score: Probability | None = None
    """How alike the thing found and the thing known are (0-1), where that was measured."""
    note: Annotated[str, Field(max_length=1_000)] = ""
    at: AwareDatetime | None = None
    """None: now."""
    seen: Annotated[tuple[Seen, ...], Field(max_length=MAX_SEEN)] = ()


class Support(ReportedSupport):
    """The same as stores keep it."""

    at: Moment


ProposalStatus = Literal["proposed", "accepted", "rejected", "replaced"]
"""`replaced`: it was part of the knowledge until a load that was told to went over it."""


class Proposal(Model):
    """A change, what was there before, and the runs that speak for and against it."""

    proposal_id: str
    website_id: LocalId
    change: Change
    before: JsonValue = None
    """What the knowledge said when it was first proposed; None: nothing."""
    status: ProposalStatus = "proposed"
    proposed_at: Moment
    decided_at: Moment | None = None
    supports: tuple[Support, ...] = ()

    @property
    def succeeded(self) -> int:
        """Runs it worked in."""
        return sum(support.succeeded for support in self.supports)

    @property
    def failed(self) -> int:
        """Runs it did not work in."""
        return len(self.supports) - self.succeeded

    @property
    def confirmed(self) -> bool:
        """Whether enough different runs speak for it."""
        return self.succeeded - self.failed >= CONFIRMED_BY

    @property
    def score(self) -> float | None:
        """The mean of the scores that runs gave it, where any did."""
        scores = [support.score for support in self.supports if support.score is not None]
        return sum(scores) / len(scores) if scores else None


def proposal_id(website_id: str, change: Change) -> str:
    """Twelve characters that stand for what is proposed, wherever and whenever it is.

    How sure a strategy's finder was and its notes do not make it another one, nor does how long a way took.
    """
    proposed = change.to_json() | {"type": change.type}
    if isinstance(change, TransitionChange):
        proposed["transition"].pop("duration", None)
    said = json.dumps([website_id, _essence(proposed)], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()[:12]


DocumentT = TypeVar("DocumentT", bound=Document)


def _of_any_website(document: DocumentT) -> DocumentT:
    """Whose it is, is the proposal's to say: so one change has one name."""
    return document.model_copy(update={"website_id": None})


def _essence(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: each for key, each in value.items() if key not in ("confidence", "meta", "metadata")}
        return {key: _essence(each) for key, each in kept.items()}
    return [_essence(each) for each in value] if isinstance(value, list) else value


class ChangeProposed(Model):
    """The desk's answer to a proposed change."""

    website_id: str
    proposal_id: str
    status: ProposalStatus
    counted: bool
    """False: this run had its say before, or the change is what the knowledge says already."""
    reason: str = ""
    """Why it was not counted."""
    succeeded: int = 0
    failed: int = 0
    confirmed: bool = False


class WorkflowPublished(Model):
    """The desk's answer to a published workflow."""

    website_id: str
    workflow_id: str
    revision: str
    """Of the website's knowledge that has it."""
    replaced: bool = False
    """Whether another workflow of that id gave way."""
    warnings: tuple[str, ...] = ()
