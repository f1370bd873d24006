"""Applies a person's decisions on proposals to the stores: accepted ones become knowledge.

Repeating a decision gives the same result, so concurrent decisions and crashes at any step are safe. What a
change does to knowledge is in `kb_store.proposals.accepted_changes`; who may decide is up to the commands and
the console.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

from kb_schema import KnowledgeBase
from kb_schema.proposals import Proposal, ScreenChange
from kb_store.audit.audit_entry import AuditAction
from kb_store.audit.audit_recorder import record_async
from kb_store.errors import NoSuchWebsite
from kb_store.knowledge_reader import read_knowledge
from kb_store.ports import DocumentStore, GraphStore
from kb_store.proposals.accepted_changes import (
    ChangeTargetMissing,
    ScreenMissing,
    apply_change,
    contains_change,
    get_current_value,
    store_change,
)
from kb_store.proposals.proposal_store import ProposalStore

_ORDER = ("screen", "transition", "signature", "selector", "workflow")
"""The types of changes, in the order of their dependencies."""


class ReviewStores(Protocol):
    """The stores that a decision reads and writes; `kb_store.store_factory.Stores` has them."""

    @property
    def documents(self) -> DocumentStore:
        """The documents of every website."""

    @property
    def graph(self) -> GraphStore:
        """The edges of every website."""

    @property
    def proposals(self) -> ProposalStore:
        """The proposals."""


class ProposalAlreadyAccepted(Exception):
    """A proposal that is part of the knowledge cannot be rejected. `proposals` names them."""

    def __init__(self, proposals: Sequence[Proposal]) -> None:
        self.proposals = tuple(proposals)
        names = ", ".join(each.proposal_id for each in self.proposals)
        super().__init__(f"already accepted, and part of the knowledge: {names}")


class ScreenNotAccepted(Exception):
    """A transition needs a screen that is only proposed. `screen` is that proposal."""

    def __init__(self, proposal: Proposal, screen: Proposal) -> None:
        self.proposal, self.screen = proposal, screen
        super().__init__(f"{proposal.change.about} needs {screen.change.about}, which is only proposed")


class ChangedSinceProposal(ChangeTargetMissing):
    """The knowledge changed since the proposal: accepting would overwrite the change.

    `now` is the current value as JSON; None if there is none any more.
    """

    def __init__(self, proposal: Proposal, now: Any) -> None:
        super().__init__(proposal.change.about)
        self.proposal, self.now = proposal, now
        became = (
            "has been removed" if now is None else "is there now" if proposal.before is None else "changed"
        )
        self.args = (f"{proposal.change.about} {became} since it was proposed",)


class _AlreadyKnown(Exception):
    """The knowledge already has the change."""


def sort_by_dependency(proposals: Sequence[Proposal]) -> list[Proposal]:
    """Return screens before the transitions between them; otherwise keep the order."""
    return sorted(proposals, key=lambda each: _ORDER.index(each.change.type))


def check_base(knowledge: KnowledgeBase, proposal: Proposal) -> None:
    """Raise `ChangedSinceProposal` if the knowledge is neither as at the time of the proposal nor as
    proposed.
    """
    if contains_change(knowledge, proposal.change):
        return
    try:
        now = get_current_value(knowledge, proposal.change)
    except ChangeTargetMissing:
        return  # the target is gone: making the change reports it
    if now != proposal.before:
        raise ChangedSinceProposal(proposal, now)


async def accept(
    stores: ReviewStores, proposal: Proposal, *, anyway: bool = False
) -> tuple[Proposal, int | None]:
    """Make a proposal part of the knowledge and mark it as accepted.

    `anyway` overwrites whatever the knowledge has now. Returns the stored proposal, and the generation that
    has the change; None if the knowledge had it before. Raises `ChangeTargetMissing` (`ChangedSinceProposal`,
    `ScreenMissing`), `ScreenNotAccepted`, `KnowledgeError` and the errors of the stores.
    """
    generation = await _apply_proposal(
        stores, proposal, anyway=anyway
    )  # first: an accepted proposal must be in the knowledge
    return await _record_decision(stores, proposal, "accepted"), generation


async def reject(stores: ReviewStores, proposals: Sequence[Proposal]) -> list[Proposal]:
    """Reject proposals: all of them, or none if one is part of the knowledge (`ProposalAlreadyAccepted`)."""
    accepted = [each for each in proposals if await _is_accepted(stores, each)]
    if accepted:
        raise ProposalAlreadyAccepted(accepted)
    done = [await _record_decision(stores, each, "rejected") for each in proposals]
    late = [each for each in proposals if await _is_known(stores, each)]
    if late:  # they were accepted concurrently
        for each in late:
            await _record_decision(stores, each, "accepted")
        raise ProposalAlreadyAccepted(late)
    return done


async def _is_accepted(stores: ReviewStores, proposal: Proposal) -> bool:
    kept = await stores.proposals.proposal(proposal.website_id, proposal.proposal_id)
    return (kept is not None and kept.status == "accepted") or await _is_known(stores, proposal)


async def _is_known(stores: ReviewStores, proposal: Proposal) -> bool:
    try:
        knowledge, _ = await read_knowledge(stores.documents, stores.graph, proposal.website_id)
    except NoSuchWebsite:
        return False
    return contains_change(knowledge, proposal.change)


async def _apply_proposal(stores: ReviewStores, proposal: Proposal, *, anyway: bool) -> int | None:
    def make(knowledge: KnowledgeBase) -> KnowledgeBase:
        if contains_change(knowledge, proposal.change):
            raise _AlreadyKnown
        if not anyway:
            check_base(knowledge, proposal)
        return apply_change(knowledge, proposal.change)[0]

    try:
        report = await store_change(stores.documents, stores.graph, proposal.website_id, make)
    except _AlreadyKnown:
        return None
    except ScreenMissing as exc:
        for other in await stores.proposals.proposals(proposal.website_id):
            screen = other.change.screen if isinstance(other.change, ScreenChange) else None
            if other.status == "proposed" and screen is not None and screen.screen_id == exc.screen_id:
                raise ScreenNotAccepted(proposal, other) from exc
        raise
    return report.generation


async def _record_decision(
    stores: ReviewStores, proposal: Proposal, status: Literal["accepted", "rejected"]
) -> Proposal:
    now = datetime.now(UTC)
    await stores.proposals.decide(proposal.website_id, proposal.proposal_id, status, now)
    about = f"{proposal.proposal_id} ({proposal.change.about})"
    action: AuditAction = "proposal_accepted" if status == "accepted" else "proposal_rejected"
    await record_async(action, about, website=proposal.website_id)
    return Proposal(**{**dict(proposal), "status": status, "decided_at": now})
