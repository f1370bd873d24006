"""Proposals and publications through the desk: kept, confirmed, offered, and made knowledge."""

from __future__ import annotations

import pytest
from mcp import Client

from kb_schema.proposals import ProposalAnswer, PublicationAnswer, ReportedSupport, SelectorChange
from kb_schema.selectors import css
from kb_store import load_knowledge, open_stores, read_knowledge
from kb_store.errors import StoreUnavailable
from kb_store.proposals.proposal_store import MemoryProposalStore
from mcp_server.knowledge.compiled_view import compile_view
from mcp_server.knowledge.knowledge_sources import MemorySource
from mcp_server.knowledge.proposal_service import ASK_EVERY_S, ProposalService
from mcp_server.knowledge.store_source import StoreSource
from mcp_server.server import create_server
from tests.mcp_server import pantry

SAVE = {"type": "selector", "screen_id": "jar_new", "element_id": "save"}
STEP = {"type": "step_target", "task_id": "sign_in", "step_id": "step_1", "selector": "#x"}
ROUND = {
    "workflow_id": "round",
    "name": "Round",
    "unverified": True,
    "nodes": [{"type": "task", "node_id": "in", "task_id": "sign_in"}],
}
CHANGE = SelectorChange(type="selector", screen_id="jar_new", element_id="save", selector=css("#keep"))


async def called(client, tool, **arguments):
    return await client.call_tool(tool, {"website_id": "pantry", **arguments})


async def proposed(client, selector, run_id, **evidence):
    result = await called(
        client,
        "propose_change",
        change={**SAVE, "selector": selector},
        evidence={"run_id": run_id, **evidence},
    )
    assert not result.is_error, result.content
    return ProposalAnswer.model_validate(result.structured_content)


async def strategies(client):
    result = await called(client, "get_screen", screen_id="jar_new", detail="full")
    (save,) = [e for e in result.structured_content["document"]["ui_elements"] if e["element_id"] == "save"]
    return save["selector"]["strategies"]


async def test_different_runs_confirm_a_selector_and_it_is_offered_as_a_last_resort():
    async with Client(create_server(MemorySource(pantry.knowledge()))) as client:
        first = await proposed(client, "#keep", "r1", score=0.9)
        again = await proposed(client, "#keep", "r1")
        assert (first.counted, again.counted, again.succeeded) == (True, False, 1)
        assert len(await strategies(client)) == 1
        await proposed(client, "#keep", "r2")
        last = await proposed(client, "#keep", "r3")
        assert last.confirmed
        authored, offered = await strategies(client)
        assert authored["value"] == "#save"
        assert (offered["value"], offered["fallback"], offered["meta"]) == (
            "#keep", True, {"learned": first.proposal_id},
        )  # fmt: skip
        assert not (await proposed(client, "#keep", "r4", succeeded=False)).confirmed
        assert len(await strategies(client)) == 1


async def test_what_the_knowledge_says_already_is_no_proposal():
    async with Client(create_server(MemorySource(pantry.knowledge()))) as client:
        (authored,) = await strategies(client)
        answer = await proposed(client, {"strategies": [authored]}, "r1")
    assert (answer.counted, answer.reason) == (False, "the knowledge says so already")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({**SAVE, "selector": "#x", "screen_id": "jar_nwe"}, 'did you mean "jar_new"'),
        ({**SAVE, "selector": "#x", "element_id": "sav"}, 'did you mean "save"'),
        (SAVE, "change.selector.selector"),
        ({**STEP, "task_id": "sign"}, 'did you mean "sign_in"'),
        ({**STEP, "step_id": "nowhere"}, "no step with a selector of its own"),
        ({"type": "signature", "screen_id": "help", "signature": {}}, "breaks the knowledge"),
        ({"type": "signature", "screen_id": "shelf", "signature": {"required_indicators": [
            {"type": "url_matches", "pattern": "(?=x)"}]}}, "RE2 cannot take"),
        ({"type": "workflow", "workflow": ROUND}, "change"),
    ],
)  # fmt: skip
async def test_a_proposal_that_cannot_be_kept_is_refused_with_the_place(change, said):
    async with Client(create_server(MemorySource(pantry.knowledge()))) as client:
        result = await called(client, "propose_change", change=change, evidence={"run_id": "r"})
    assert result.is_error
    assert said in result.content[0].text


async def test_a_screen_and_the_way_to_it_are_proposed_and_wait_for_a_person():
    way = {
        "_from": "screen/shelf", "_to": "screen/cellar",
        "triggered_by": {"action_type": "navigate", "url": "/cellar"},
    }  # fmt: skip
    async with Client(create_server(MemorySource(pantry.knowledge()))) as client:
        early = await called(
            client, "propose_change",
            change={"type": "transition", "transition": way}, evidence={"run_id": "r1"},
        )  # fmt: skip
        assert early.is_error
        assert "propose the screen first" in early.content[0].text
        for change in ({"type": "screen", "screen": CELLAR}, {"type": "transition", "transition": way}):
            seen = [{"picture": "pages/p1.jpg"}]
            told = await called(
                client, "propose_change", change=change, evidence={"run_id": "r1", "seen": seen}
            )
            assert not told.is_error, told.content
            assert ProposalAnswer.model_validate(told.structured_content).counted
        broken = {**way, "triggered_by": {"action_type": "click", "element_id": "nowhere"}}
        refused = await called(
            client, "propose_change",
            change={"type": "transition", "transition": broken}, evidence={"run_id": "r1"},
        )  # fmt: skip
        assert refused.is_error
        assert "breaks the knowledge" in refused.content[0].text


async def test_a_published_workflow_is_knowledge_at_once_and_publishing_it_again_changes_nothing(tmp_path):
    async with open_stores(tmp_path) as stores:
        await load_knowledge(stores.documents, stores.graph, pantry.knowledge())
        source = StoreSource(stores.documents, stores.graph)
        async with Client(create_server(source, proposals=stores.proposals)) as client:
            told = [await called(client, "publish_workflow", workflow=ROUND) for _ in range(2)]
            found = await called(client, "search_knowledge", query="round", kinds=["workflow"])
            listed = await called(client, "list_tasks")
            shown = await called(client, "get_task_definition", task_id="round")
            other = await called(client, "publish_workflow", workflow={**ROUND, "name": "Other"})
            instead = await called(
                client, "publish_workflow", workflow={**ROUND, "name": "Other"}, replace=True
            )
        first, second = (PublicationAnswer.model_validate(each.structured_content) for each in told)
        assert (first.revision, second.revision, first.replaced) == ("2", "2", False)
        assert found.structured_content["hits"][0]["id"] == "round"
        work = {each["task_id"]: each.get("relation") for each in listed.structured_content["tasks"]}
        assert (work["round"], work["sign_in"]) == ("workflow", None)
        assert "[workflow] round(" in listed.content[0].text
        assert (shown.structured_content["kind"], shown.structured_content["id"]) == ("workflow", "round")
        assert shown.structured_content["document"]["nodes"]
        assert other.is_error
        assert "replace: true" in other.content[0].text
        assert PublicationAnswer.model_validate(instead.structured_content).replaced
        knowledge, generation = await read_knowledge(stores.documents, stores.graph, "pantry")
        assert (knowledge.workflows["round"].name, generation) == ("Other", 3)
        assert {each.status for each in await stores.proposals.proposals("pantry")} == {"accepted"}


CELLAR = {
    "screen_id": "cellar", "name": "Cellar", "url_patterns": ["^/cellar$"],
    "state_signature": {"primary_indicators": [{"type": "dom_contains", "value": "Cellar", "selector": "h1"}]},
}  # fmt: skip


async def test_new_screens_are_published_with_the_workflow_that_is_on_them_and_replace_none(tmp_path):
    async with open_stores(tmp_path) as stores:
        await load_knowledge(stores.documents, stores.graph, pantry.knowledge())
        source = StoreSource(stores.documents, stores.graph)
        async with Client(create_server(source, proposals=stores.proposals)) as client:
            told = [
                await called(client, "publish_workflow", workflow=ROUND, screens=[CELLAR]) for _ in range(2)
            ]
            page = {"url": "https://pantry.example/cellar", "html": "<h1>Cellar</h1>"}
            here = await called(client, "identify_current_screen", snapshot=page)
            other = await called(
                client,
                "publish_workflow",
                workflow=ROUND,
                screens=[{**CELLAR, "name": "Attic"}],
                replace=True,
            )
        assert {PublicationAnswer.model_validate(each.structured_content).revision for each in told} == {"2"}
        assert here.structured_content["screen_id"] == "cellar"
        assert other.is_error
        assert "another screen 'cellar'" in other.content[0].text


@pytest.mark.parametrize(
    ("workflow", "said"),
    [
        ({}, "not a workflow"),
        ({**ROUND, "nodes": [{"type": "task", "node_id": "in", "task_id": "sign_inn"}]}, "sign_in"),
        ({**ROUND, "type": "task", "task_id": "t"}, "not a workflow"),
    ],
)
async def test_a_workflow_that_is_none_is_refused_with_the_place(workflow, said):
    async with Client(create_server(MemorySource(pantry.knowledge()))) as client:
        result = await called(client, "publish_workflow", workflow=workflow)
    assert result.is_error
    assert said in result.content[0].text


async def test_a_read_only_server_takes_none_of_it():
    async with Client(create_server(MemorySource(pantry.knowledge()), read_only=True)) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
    assert tools.isdisjoint({"record_outcome", "propose_change", "publish_workflow"})
    assert "explain_failure" in tools


class UnavailableProposalStore(MemoryProposalStore):
    """Out of reach when told so."""

    down = False

    async def revision(self, website_id):
        if self.down:
            raise StoreUnavailable("nowhere", "gone", fix="start it")
        return await super().revision(website_id)


async def test_without_its_store_a_server_offers_what_it_knew():
    store, now = UnavailableProposalStore(), [0.0]
    server_context = ProposalService(store, clock=lambda: now[0])
    view = compile_view(pantry.knowledge(), "1")
    for number in range(3):
        await server_context.propose(view, CHANGE, ReportedSupport(run_id=f"r{number}"))
    first = await server_context.offered(view)
    assert len(first.elements["jar_new"]["save"].selector.strategies) == 2
    store.down = True
    now[0] += 2 * ASK_EVERY_S
    assert (await server_context.offered(view)) is first
    newer = compile_view(pantry.knowledge(), "2")
    assert len((await server_context.offered(newer)).elements["jar_new"]["save"].selector.strategies) == 2


async def test_what_an_element_is_known_by_comes_with_its_screen_from_the_next_answer_on():
    use = {"screen_id": "jar_new", "element_id": "save", "strategy": "css"}
    async with Client(create_server(MemorySource(pantry.knowledge()))) as client:
        outcome = {"outcome_id": "o1", "element": use, "succeeded": True, "fingerprint": {"name": "Keep jar"}}
        assert not (await called(client, "record_outcome", outcome=outcome)).is_error
        result = await called(client, "get_screen", screen_id="jar_new", detail="full")
        elements = {e["element_id"]: e for e in result.structured_content["document"]["ui_elements"]}
        assert elements["save"]["fingerprint"] == {"name": "Keep jar"}
        refused = await called(
            client, "record_outcome", outcome=outcome | {"outcome_id": "o2", "succeeded": False}
        )
        assert refused.is_error
        assert "a fingerprint belongs to an element that was found" in refused.content[0].text
