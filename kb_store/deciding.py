"""What a person decides of proposals, done to the stores: accepted ones become knowledge, rejected ones stay.

Not here: what a change does to knowledge (`kb_store.changing`), and who may decide (commands, the console).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from kb_schema.proposals import Proposal, ProposalStatus, ScreenChange
from kb_store.changing import ScreenMissing, change_stored, changed, holds
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


def in_order_of_need(proposals: Sequence[Proposal]) -> list[Proposal]:
    """Screens before the transitions between them, the rest as it comes."""
    return sorted(proposals, key=lambda each: _ORDER.index(each.change.type))


async def accept(stores: Stores, proposal: Proposal) -> tuple[Proposal, int | None]:
    """Make a proposal part of the knowledge and call it accepted.

    Returns it as it is kept now, and the generation that has it; None where the knowledge said so before.
    Raises `NothingToChange` (`ScreenMissing`, `ScreenFirst`), `KnowledgeError` and whatever the stores raise.
    """
    generation = await _applied(stores, proposal)  # first: what is called accepted is in the knowledge
    return await _decided(stores, proposal, "accepted"), generation


async def reject(stores: Stores, proposals: Sequence[Proposal]) -> list[Proposal]:
    """Say no to proposals: all of them, or none where one is accepted (`AlreadyAccepted`)."""
    accepted = [each for each in proposals if each.status == "accepted"]
    if accepted:
        raise AlreadyAccepted(accepted)
    return [await _decided(stores, each, "rejected") for each in proposals]


async def _applied(stores: Stores, proposal: Proposal) -> int | None:
    knowledge, _ = await read_knowledge(stores.documents, stores.graph, proposal.website_id)
    if holds(knowledge, proposal.change):
        return None
    try:
        report = await change_stored(
            stores.documents,
            stores.graph,
            proposal.website_id,
            lambda knowledge: changed(knowledge, proposal.change)[0],
        )
    except ScreenMissing as exc:
        for other in await stores.proposals.proposals(proposal.website_id):
            change = other.change
            if isinstance(change, ScreenChange) and change.screen.screen_id == exc.screen_id:
                raise ScreenFirst(proposal, other) from exc
        raise
    return report.generation


async def _decided(stores: Stores, proposal: Proposal, status: ProposalStatus) -> Proposal:
    now = datetime.now(UTC)
    await stores.proposals.decide(proposal.website_id, proposal.proposal_id, status, now)
    return Proposal(**{**dict(proposal), "status": status, "decided_at": now})
