"""What a person decides of proposals, done to the stores: accepted ones become knowledge, rejected ones stay.

Two may decide the same at once, and each step may be the last before a crash: deciding again ends the same.
Not here: what a change does to knowledge (`kb_store.changing`), and who may decide (commands, the console).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from kb_schema import KnowledgeBase
from kb_schema.proposals import Proposal, ProposalStatus, ScreenChange
from kb_store.changing import NothingToChange, ScreenMissing, change_stored, changed, holds, now_said
from kb_store.errors import NoSuchWebsite
from kb_store.opening import Stores
from kb_store.read import read_knowledge

_ORDER = ("screen", "transition", "signature", "selector", "workflow")
"""Types of changes: what others stand on comes first."""


class AlreadyAccepted(Exception):
    """What is part of the knowledge is not rejected any more. `proposals` names them."""

    def __init__(self, proposals: Sequence[Proposal]) -> None:
        self.proposals = tuple(proposals)
        names = ", ".join(each.proposal_id for each in self.proposals)
        super().__init__(f"accepted already, and part of the knowledge: {names}")


class ScreenFirst(Exception):
    """A transition waits for a screen that is only proposed. `screen` is that proposal."""

    def __init__(self, proposal: Proposal, screen: Proposal) -> None:
        self.proposal, self.screen = proposal, screen
        super().__init__(f"{proposal.change.about} needs {screen.change.about}, which is only proposed")


class ChangedSince(NothingToChange):
    """The knowledge says something else there than when it was proposed: accepting would go over that.

    `now` is what it says, as JSON; None where it says nothing any more.
    """

    def __init__(self, proposal: Proposal, now: Any) -> None:
        super().__init__(proposal.change.about)
        self.proposal, self.now = proposal, now
        became = (
            "has been removed" if now is None else "is there now" if proposal.before is None else "changed"
        )
        self.args = (f"{proposal.change.about} {became} since it was proposed",)


class _SaidAlready(Exception):
    """The knowledge has it: nothing needs to be written."""


def in_order_of_need(proposals: Sequence[Proposal]) -> list[Proposal]:
    """Screens before the transitions between them, the rest as it comes."""
    return sorted(proposals, key=lambda each: _ORDER.index(each.change.type))


def check_base(knowledge: KnowledgeBase, proposal: Proposal) -> None:
    """Raises `ChangedSince` where the knowledge is neither as it was when this was proposed, nor as it would be."""
    if holds(knowledge, proposal.change):
        return
    try:
        now = now_said(knowledge, proposal.change)
    except NothingToChange:
        return  # what it is about is gone: making the change says so
    if now != proposal.before:
        raise ChangedSince(proposal, now)


async def accept(stores: Stores, proposal: Proposal, *, anyway: bool = False) -> tuple[Proposal, int | None]:
    """Make a proposal part of the knowledge and call it accepted. `anyway`: whatever the knowledge says there now.

    Returns it as it is kept now, and the generation that has it; None where the knowledge said so before.
    Raises `NothingToChange` (`ChangedSince`, `ScreenMissing`), `ScreenFirst`, `KnowledgeError` and whatever the
    stores raise.
    """
    generation = await _applied(
        stores, proposal, anyway=anyway
    )  # first: what is called accepted is in the knowledge
    return await _decided(stores, proposal, "accepted"), generation


async def reject(stores: Stores, proposals: Sequence[Proposal]) -> list[Proposal]:
    """Say no to proposals: all of them, or none where one is part of the knowledge (`AlreadyAccepted`)."""
    accepted = [each for each in proposals if await _is_accepted(stores, each)]
    if accepted:
        raise AlreadyAccepted(accepted)
    done = [await _decided(stores, each, "rejected") for each in proposals]
    late = [each for each in proposals if await _is_known(stores, each)]
    if late:  # somebody accepted them between the look and the word
        for each in late:
            await _decided(stores, each, "accepted")
        raise AlreadyAccepted(late)
    return done


async def _is_accepted(stores: Stores, proposal: Proposal) -> bool:
    kept = await stores.proposals.proposal(proposal.website_id, proposal.proposal_id)
    return (kept is not None and kept.status == "accepted") or await _is_known(stores, proposal)


async def _is_known(stores: Stores, proposal: Proposal) -> bool:
    try:
        knowledge, _ = await read_knowledge(stores.documents, stores.graph, proposal.website_id)
    except NoSuchWebsite:
        return False
    return holds(knowledge, proposal.change)


async def _applied(stores: Stores, proposal: Proposal, *, anyway: bool) -> int | None:
    def make(knowledge: KnowledgeBase) -> KnowledgeBase:
        if holds(knowledge, proposal.change):
            raise _SaidAlready
        if not anyway:
            check_base(knowledge, proposal)
        return changed(knowledge, proposal.change)[0]

    try:
        report = await change_stored(stores.documents, stores.graph, proposal.website_id, make)
    except _SaidAlready:
        return None
    except ScreenMissing as exc:
        for other in await stores.proposals.proposals(proposal.website_id):
            screen = other.change.screen if isinstance(other.change, ScreenChange) else None
            if other.status == "proposed" and screen is not None and screen.screen_id == exc.screen_id:
                raise ScreenFirst(proposal, other) from exc
        raise
    return report.generation


async def _decided(stores: Stores, proposal: Proposal, status: ProposalStatus) -> Proposal:
    now = datetime.now(UTC)
    await stores.proposals.decide(proposal.website_id, proposal.proposal_id, status, now)
    return Proposal(**{**dict(proposal), "status": status, "decided_at": now})
