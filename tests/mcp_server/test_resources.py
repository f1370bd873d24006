from __future__ import annotations

import json

import pytest
from mcp import Client, MCPError
from mcp.types import PromptReference, ResourceTemplateReference

from kb_schema import KnowledgeBase, parse_document
from mcp_server import resources
from mcp_server.knowledge.knowledge_sources import MemorySource
from mcp_server.server import create_server
from tests.mcp_server import pantry


def cellar(*more) -> KnowledgeBase:
    website = parse_document(
        {"type": "website", "website_id": "cellar", "name": "Cellar", "base_url": "https://cellar.example"}
    )
    return KnowledgeBase(website=website, by_kind={"website": {"cellar": website}})


def server(*knowledge):
    return create_server(MemorySource(*(knowledge or (pantry.knowledge(),))))


async def listed(client) -> list[str]:
    found, cursor = [], None
    while True:
        page = await client.list_resources(cursor=cursor)
        found += [resource.uri for resource in page.resources]
        cursor = page.next_cursor
        if cursor is None:
            return found


async def test_everything_there_is_can_be_listed_and_read_whole():
    async with Client(server(pantry.knowledge(), cellar())) as client:
        uris = await listed(client)
        for uri in uris:
            (content,) = (await client.read_resource(uri)).contents
            assert json.loads(content.text)
    assert len(uris) == len(set(uris))
    assert {"kb://cellar", "kb://pantry", "kb://pantry/map"} <= set(uris)
    assert {"kb://pantry/screens/shelf", "kb://pantry/tasks/add_jar", "kb://pantry/flows/tour"} <= set(uris)
    assert {"kb://pantry/actions/fill_jar"} <= set(uris)


@pytest.mark.parametrize("size", [1, 3, 1_000])
async def test_pages_of_any_size_are_the_whole_list_in_order(size):
    server_context = server(pantry.knowledge(), cellar()).server_context
    whole = [resource.uri for resource in (await resources.list_page(server_context, None)).resources]
    found, cursor = [], None
    while True:
        page = await resources.list_page(server_context, cursor, size=size)
        assert len(page.resources) <= size
        found += [resource.uri for resource in page.resources]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert found == whole


async def test_a_cursor_of_somebody_else_is_refused():
    async with Client(server()) as client:
        with pytest.raises(MCPError, match="cursor"):
            await client.list_resources(cursor="bm9uc2Vuc2U=")


async def test_every_kind_has_a_template_and_an_unknown_name_is_told():
    async with Client(server()) as client:
        templates = {t.uri_template for t in (await client.list_resource_templates()).resource_templates}
        assert {
            "kb://{website_id}",
            "kb://{website_id}/screens/{screen_id}",
            "kb://{website_id}/map",
            "kb://{website_id}/workflows/{workflow_id}/documents",
        } <= templates
        (content,) = (await client.read_resource("kb://pantry/screens/shelf")).contents
        assert json.loads(content.text)["screen_id"] == "shelf"
        for uri in ("kb://pantry/tasks/add_jat", "kb://pantri/tasks/add_jar", "kb://pantri"):
            with pytest.raises(MCPError, match="did you mean"):
                await client.read_resource(uri)


@pytest.mark.parametrize(
    ("ref", "argument", "typed", "given", "values"),
    [
        ("prompt", "website_id", "pan", {}, ["pantry"]),
        ("prompt", "goal", "x", {"website_id": "pantry"}, []),
        ("template", "screen_id", "jar", {"website_id": "pantry"}, ["jar_edit", "jar_new"]),
        ("template", "screen_id", "_NEW", {"website_id": "pantry"}, ["jar_new"]),
        ("template", "screen_id", "jar", {}, []),
        ("template", "screen_id", "jar", {"website_id": "nowhere"}, []),
        ("template", "task_id", "", {"website_id": "pantry"}, ["add_jar"]),
    ],
)
async def test_arguments_complete_to_ids_there_are(ref, argument, typed, given, values):
    about = (
        PromptReference(type="ref/prompt", name="find_your_way")
        if ref == "prompt"
        else ResourceTemplateReference(type="ref/resource", uri="kb://{website_id}/screens/{screen_id}")
    )
    async with Client(server()) as client:
        found = (await client.complete(about, {"name": argument, "value": typed}, given)).completion
    assert [value for value in found.values if value in values] == values
    assert all(typed.lower() in value for value in found.values)
    assert bool(found.values) == bool(values)


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [("find_your_wey", {}, "did you mean"), ("find_your_way", {"website_id": "pantry"}, "goal missing")],
)
async def test_a_prompt_that_cannot_be_given_says_why(name, arguments, said):
    async with Client(server()) as client:
        with pytest.raises(MCPError, match=said):
            await client.get_prompt(name, arguments)


async def test_listening_clients_are_told_what_changed():
    source = MemorySource(pantry.knowledge())
    async with Client(create_server(source)) as client:
        await client.call_tool("list_tasks", {"website_id": "pantry"})
        watched = ["kb://pantry/screens/cellar", "kb://pantry/screens/shelf"]
        async with client.listen(resources_list_changed=True, resource_subscriptions=watched) as events:
            screen = {
                "type": "screen",
                "screen_id": "cellar",
                "name": "Cellar",
                "url_patterns": ["^/cellar$"],
            }
            source.put([pantry.knowledge(also=(screen,))])
            await client.call_tool("list_tasks", {"website_id": "pantry"})
            heard = [await anext(events), await anext(events)]
    assert [type(event).__name__ for event in heard] == ["ResourcesListChanged", "ResourceUpdated"]
    assert heard[1].uri == "kb://pantry/screens/cellar"
