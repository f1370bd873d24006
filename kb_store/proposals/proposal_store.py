"""The port of stores for proposals, their supports and element fingerprints, and one store in memory.

They have no generation, so a reload keeps them. A run supports a proposal at most once. The models are in
`kb_schema.proposals`; `kb_store.proposals.accepted_changes` applies an accepted proposal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from kb_store.errors import StoreTooNew

if TYPE_CHECKING:
    from kb_schema.fingerprints import Fingerprint
    from kb_schema.proposals import Proposal, ProposalStatus, Support

_DOCUMENT_FIELDS = ("screen", "transition", "workflow", "tasks", "dependencies", "screens")
"""The fields of changes that hold documents: one, or a list of them."""


class ProposalStore(Protocol):
    """Proposals by website and id. Every method may raise `StoreUnavailable`.

    Implementations: `kb_store.sqlite.proposal_store`, `kb_store.mongodb.proposal_store`, and
    `MemoryProposalStore` below. Each must pass `tests/kb_store/proposals/test_accepted_changes.py`.
    """

    async def prepare(self) -> None:
        """Create what is missing. Safe to repeat."""

    async def support(self, proposal: Proposal, support: Support | None) -> bool:
        """Store the proposal if it is new, and a run's support, in one step.

        Supports inside the proposal are ignored. Returns False, and adds nothing, if the run has supported it
        before or it has `MAX_SUPPORTS` already.
        """

    async def decide(self, website_id: str, proposal_id: str, status: ProposalStatus, at: datetime) -> bool:
        """Record a decision. Returns False if there is no such proposal. Safe to repeat."""

    async def proposal(self, website_id: str, proposal_id: str) -> Proposal | None:
        """Return one proposal with its supports, oldest first."""

    async def proposals(self, website_id: str | None = None) -> Sequence[Proposal]:
        """Return the proposals of one website or of all: by website, then oldest first, then by id."""

    async def counts(self, website_id: str) -> Mapping[ProposalStatus, int]:
        """Return the number of proposals of a website by status; a status without any is left out."""

    async def put_fingerprint(
        self, website_id: str, screen_id: str, element_id: str, fingerprint: Fingerprint
    ) -> bool:
        """Store the current fingerprint of an element. Returns False if it is unchanged."""

    async def fingerprints(self, website_id: str) -> Mapping[tuple[str, str], Fingerprint]:
        """Return the fingerprints of the website's elements, by screen and element."""

    async def revision(self, website_id: str) -> str:
        """Return a text that changes when any proposal or fingerprint of the website does; cheap to read."""


def parse_stored_proposal(stored: Mapping[str, Any]) -> Proposal:
    """Return the proposal of its stored JSON, with the documents of its change in today's schema version.

    Raises `StoreTooNew` for a document of a version that this program does not know.
    """
    from kb_schema.migrations import NewerSchemaVersion, upgrade  # noqa: PLC0415 - decision 0140
    from kb_schema.proposals import Proposal  # noqa: PLC0415

    change = dict(stored["change"])
    try:
        for name in change.keys() & set(_DOCUMENT_FIELDS):
            value = change[name]
            change[name] = (
                [upgrade(each).document for each in value]
                if isinstance(value, list)
                else upgrade(value).document
            )
    except NewerSchemaVersion as exc:
        raise StoreTooNew(exc.version) from exc
    return Proposal.model_validate({**stored, "change": change})


def in_order(proposals: Sequence[Proposal]) -> list[Proposal]:
    """Sort proposals as `ProposalStore.proposals` returns them."""
    return sorted(proposals, key=lambda each: (each.website_id, each.proposed_at, each.proposal_id))


def with_supports(proposal: Proposal, supports: Sequence[Support]) -> Proposal:
    """Return the proposal with these supports, oldest first."""
    ordered = sorted(supports, key=lambda each: (each.at, each.run_id))
    return proposal.model_copy(update={"supports": tuple(ordered)})


class MemoryProposalStore:
    """A `ProposalStore` that ends with the process: for tests and servers without a store."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], Proposal] = {}
        self._revisions: dict[str, int] = {}
        self._fingerprints: dict[str, dict[tuple[str, str], Fingerprint]] = {}

    async def prepare(self) -> None:
        """Do nothing."""

    async def support(self, proposal: Proposal, support: Support | None) -> bool:
        """See `ProposalStore`."""
        from kb_schema.proposals import MAX_SUPPORTS  # noqa: PLC0415 - decision 0140

        key = (proposal.website_id, proposal.proposal_id)
        kept = self._kept.get(key)
        if kept is None:
            kept = self._kept[key] = proposal.model_copy(update={"supports": ()})
            self._changed(proposal.website_id)
        if support is None:
            return False
        if len(kept.supports) >= MAX_SUPPORTS or any(s.run_id == support.run_id for s in kept.supports):
            return False
        self._kept[key] = with_supports(kept, [*kept.supports, support])
        self._changed(proposal.website_id)
        return True

    async def decide(self, website_id: str, proposal_id: str, status: ProposalStatus, at: datetime) -> bool:
        """See `ProposalStore`."""
        kept = self._kept.get((website_id, proposal_id))
        if kept is None:
            return False
        fields = dict(kept) | {"status": status, "decided_at": at}
        self._kept[website_id, proposal_id] = type(kept)(**fields)
        self._changed(website_id)
        return True

    async def proposal(self, website_id: str, proposal_id: str) -> Proposal | None:
        """See `ProposalStore`."""
        return self._kept.get((website_id, proposal_id))

    async def proposals(self, website_id: str | None = None) -> Sequence[Proposal]:
        """See `ProposalStore`."""
        return in_order([p for p in self._kept.values() if website_id in (None, p.website_id)])

    async def counts(self, website_id: str) -> Mapping[ProposalStatus, int]:
        """See `ProposalStore`."""
        return Counter(each.status for each in self._kept.values() if each.website_id == website_id)

    async def put_fingerprint(
        self, website_id: str, screen_id: str, element_id: str, fingerprint: Fingerprint
    ) -> bool:
        """See `ProposalStore`."""
        kept = self._fingerprints.setdefault(website_id, {})
        if kept.get((screen_id, element_id)) == fingerprint:
            return False
        kept[screen_id, element_id] = fingerprint
        self._changed(website_id)
        return True

    async def fingerprints(self, website_id: str) -> Mapping[tuple[str, str], Fingerprint]:
        """See `ProposalStore`."""
        return dict(self._fingerprints.get(website_id, {}))

    async def revision(self, website_id: str) -> str:
        """See `ProposalStore`."""
        return str(self._revisions.get(website_id, 0))

    def _changed(self, website_id: str) -> None:
        self._revisions[website_id] = self._revisions.get(website_id, 0) + 1
