"""Decisions at once and decisions cut off: one truth in the end, and nothing of the knowledge lost."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from kb_schema.proposals import Proposal, SelectorChange, proposal_id
from kb_schema.selectors import css
from kb_store import load_knowledge, open_stores, read_knowledge
from kb_store.proposals import review_decisions
from kb_store.proposals.accepted_changes import contains_change
from kb_store.proposals.review_decisions import ChangedSinceProposal, ProposalAlreadyAccepted
from tests.kb_store.sample_knowledge import knowledge_of

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def healed(value: str) -> Proposal:
    change = SelectorChange(type="selector", screen_id="screen_0", element_id="go", selector=css(value))
    return Proposal(
        proposal_id=proposal_id("shop", change), website_id="shop", change=change,
        before=css("#go").to_json(), proposed_at=NOW,
    )  # fmt: skip


@pytest.fixture
async def stores(tmp_path):
    async with open_stores(tmp_path / "data") as opened:
        await load_knowledge(opened.documents, opened.graph, knowledge_of())
        yield opened


async def kept(stores, proposal: Proposal) -> Proposal:
    await stores.proposals.support(proposal, None)
    return proposal


async def status(stores, proposal: Proposal) -> str:
    return (await stores.proposals.proposal("shop", proposal.proposal_id)).status


async def test_two_who_accept_the_same_at_once_make_one_generation(stores):
    proposal = await kept(stores, healed("#a"))
    both = await asyncio.gather(
        review_decisions.accept(stores, proposal), review_decisions.accept(stores, proposal)
    )
    assert sorted(str(generation) for _, generation in both) == ["2", "None"]
    assert (await read_knowledge(stores.documents, stores.graph, "shop"))[1] == 2
    assert await status(stores, proposal) == "accepted"


async def test_of_two_who_accept_different_ones_at_once_the_second_is_told(stores):
    first, second = await kept(stores, healed("#a")), await kept(stores, healed("#b"))
    done = await asyncio.gather(
        review_decisions.accept(stores, first),
        review_decisions.accept(stores, second),
        return_exceptions=True,
    )
    (refused,) = [each for each in done if isinstance(each, BaseException)]
    assert isinstance(refused, ChangedSinceProposal)
    assert sorted([await status(stores, first), await status(stores, second)]) == ["accepted", "proposed"]


async def test_what_was_applied_before_a_crash_is_accepted_by_doing_it_again_and_cannot_be_rejected(
    stores, monkeypatch
):
    proposal = await kept(stores, healed("#a"))

    async def crashed(*args):
        raise ConnectionError

    with monkeypatch.context() as patched:
        patched.setattr(stores.proposals, "decide", crashed)
        with pytest.raises(ConnectionError):
            await review_decisions.accept(stores, proposal)
    assert await status(stores, proposal) == "proposed"
    with pytest.raises(ProposalAlreadyAccepted):
        await review_decisions.reject(stores, [proposal])
    assert (await review_decisions.accept(stores, proposal))[1] is None
    assert await status(stores, proposal) == "accepted"


async def test_what_is_accepted_while_somebody_rejects_it_stays_accepted(stores, monkeypatch):
    proposal = await kept(stores, healed("#a"))
    decide = stores.proposals.decide

    async def late(website_id, name, said, at):
        monkeypatch.setattr(stores.proposals, "decide", decide)
        await review_decisions.accept(stores, proposal)
        return await decide(website_id, name, said, at)

    monkeypatch.setattr(stores.proposals, "decide", late)
    with pytest.raises(ProposalAlreadyAccepted):
        await review_decisions.reject(stores, [proposal])
    assert await status(stores, proposal) == "accepted"
    assert contains_change((await read_knowledge(stores.documents, stores.graph, "shop"))[0], proposal.change)
