"""The agent's own MCP server, asked by the SDK's client: in memory, over stdio, over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import urllib.request
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import jsonschema
import pytest
import uvicorn
from mcp import Client, StdioServerParameters
from mcp.types import ElicitResult

from agent.execution.persistence.checkpoint_state import CheckpointState
from kb_schema import parse_document
from kb_schema.run_storage import Checkpoint
from kb_schema.workflow_versions import find_workflow_version
from kb_store import load_knowledge, open_stores, read_knowledge
from kb_store.store_factory import open_runs
from loaders.files.folder_reader import read_knowledge_folder
from mcp_server.errors import BadRequest
from mcp_server.knowledge.store_source import StoreSource
from mcp_server.knowledge.view_cache import ViewCache
from mcp_server.security.http_app import HttpAccessPolicy, create_http_app
from mcp_server.tool_reference import update_reference
from periplus.agent_server.agent_mcp_server import create_agent_server
from periplus.agent_server.agent_tool_reference import BEGIN, list_agent_tools
from periplus.agent_server.agent_tools import check_resumed_values
from periplus.agent_server.errors import RunRequestRejected
from periplus.agent_server.run_executor import RunExecutor, RunExecutorLimits
from periplus.seed_sites.seed_manifests import find_seed
from periplus.seed_sites.site_process import start_seed_site
from tests.support.harbour import moors_a_boat

pytestmark = pytest.mark.sampled(0.5)

ROOT = Path(__file__).parents[3]
HARBOUR = ROOT / "tests/data/harbour"
ASKS = moors_a_boat("name_a_boat")
ASKS_LATER = {
    "type": "task", "task_id": "name_it_later",
    "steps": [{"step_id": "all", "action": {"action_type": "run_task", "task_id": "name_a_boat"}}],
}  # fmt: skip

ASKS_ON_ITS_WAY = {
    "type": "workflow", "workflow_id": "name_on_the_way", "name": "Name it if it has none", "unverified": True, "website_id": "harbour",
    "io_spec": {"inputs": [{"name": "boat_name", "required": False}]},
    "nodes": [{
        "type": "task", "node_id": "asks", "task_id": "name_a_boat",
        "inputs": {"boat_name": {"source": "task_context", "key": "boat_name"}},
        "when": [{"type": "none_of", "conditions": [{"type": "context_equals", "name": "has_a_name"}]}],
    }],
}  # fmt: skip


@pytest.fixture(scope="module")
async def harbour():
    async with start_seed_site(find_seed(str(HARBOUR))) as url:
        yield url


@pytest.fixture(scope="module")
async def shelves(tmp_path_factory):
    """The harbour's knowledge, with tasks that ask, and an empty logbook."""
    folder = tmp_path_factory.mktemp("agent")
    knowledge, _ = read_knowledge_folder(HARBOUR / "kb")
    tasks = {
        task["task_id"]: parse_document({**task, "website_id": "harbour"}) for task in (ASKS, ASKS_LATER)
    }
    workflow = parse_document(ASKS_ON_ITS_WAY)
    kinds = {
        "task": {**knowledge.by_kind["task"], **tasks},
        "workflow": {workflow.local_id: workflow},
    }
    knowledge = replace(knowledge, by_kind={**knowledge.by_kind, **kinds})
    async with open_stores(folder) as stores, open_runs(folder) as runs:
        await load_knowledge(stores.documents, stores.graph, knowledge)
        yield stores, runs, folder


@pytest.fixture
def serve(shelves, harbour, browser):
    """A server, and a client of it in memory, as often as one likes: each is a server that was restarted."""
    stores, runs, folder = shelves

    @asynccontextmanager
    async def opened(*, read_only=False, limits=None, over_http=False, **client):
        views = ViewCache(StoreSource(stores.documents, stores.graph))
        executor = RunExecutor(
            stores, runs, folder / "runs", limits=limits, browser=lambda: nullcontext(browser)
        )
        async with executor:
            server = create_agent_server(executor, views, base_urls={"harbour": harbour}, read_only=read_only)
            there = listening(server) if over_http else nullcontext(server)
            async with there as at, Client(at, **client) as asking:
                yield asking

    return opened


@asynccontextmanager
async def listening(server):
    """The address of the server behind the door of all our servers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        app = create_http_app(server, HttpAccessPolicy(), server.write_tools)
        served = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        serving = asyncio.create_task(served.serve(sockets=[listener]))
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        served.should_exit = True
        await serving


def boats(url):
    with urllib.request.urlopen(f"{url}/state") as answer:
        return [boat["name"] for boat in json.load(answer)["boats"]]


async def ask(client, tool, **arguments):
    """What a tool answers, which must follow its output schema."""
    result = await client.call_tool(tool, arguments)
    if not result.is_error:
        (schema,) = [each.output_schema for each in (await client.list_tools()).tools if each.name == tool]
        jsonschema.validate(result.structured_content, schema)
    return result


async def test_a_task_is_done_and_told_in_short_with_its_progress(serve, harbour):
    told = []

    async def progress(done, _total, message):
        told.append((done, message))

    async with serve() as client:
        asked = {
            "website_id": "harbour",
            "task_id": "name_a_boat",
            "inputs": {"boat_name": "Tern"},
            "goal": "quay",
        }
        result = await client.call_tool("run_task", asked, progress_callback=progress)
        answer = result.structured_content
        again = (await ask(client, "run_status", run_id=answer["run_id"])).structured_content
    assert (answer["state"], answer["evidence"]) == ("success", "verified"), answer
    assert answer == again
    assert len(result.content[0].text) < 200
    assert "Tern" in boats(harbour)
    assert (3, "name_a_boat: moor (3/3)") in told
    assert [done for done, _ in told] == sorted({done for done, _ in told})


async def test_tools_say_what_they_do_to_the_world_and_a_read_only_server_does_nothing(serve):
    async with serve() as client:
        hints = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
    assert [*hints] == ["run_task", "run_status", "cancel_run"]
    assert (hints["run_task"].destructive_hint, hints["run_task"].idempotent_hint) == (True, False)
    assert (hints["cancel_run"].destructive_hint, hints["cancel_run"].idempotent_hint) == (False, True)
    assert hints["run_status"].read_only_hint is True
    async with serve(read_only=True) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["run_status"]
        refused = await client.call_tool("run_task", {"website_id": "harbour", "task_id": "name_a_boat"})
    assert refused.structured_content["error"] == "read_only"


async def test_what_there_is_not_is_refused_with_what_was_meant_and_what_to_call(serve):
    async with serve() as client:
        for arguments, said in (
            ({"task_id": "name_a_boot"}, 'did you mean "name_a_boat"'),
            ({"task_id": "name_a_boat", "inputs": {"boat_nam": "x"}}, 'did you mean "boat_name"'),
            ({"task_id": "name_a_boat", "goal": "quai"}, 'did you mean "quay"'),
            ({"task_id": "name_a_boat", "run_id": "none"}, "no run 'none'"),
        ):
            result = await client.call_tool("run_task", {"website_id": "harbour", **arguments})
            assert result.is_error
            assert said in result.content[0].text
        unknown = await client.call_tool("run_status", {"run_id": "none"})
    assert unknown.structured_content["error"] == "unknown_name"
    assert "run_task" in unknown.content[0].text or "the latest runs are" in unknown.content[0].text


async def test_without_anybody_to_ask_a_missing_input_is_named_and_nothing_is_begun(serve, shelves):
    before = len(await shelves[1].runs())
    async with serve() as client:
        result = await ask(client, "run_task", website_id="harbour", task_id="name_a_boat")
    assert result.is_error
    assert result.structured_content["error"] == "input_required"
    assert 'call run_task again and add the inputs {"boat_name": ...}' in result.structured_content["hint"]
    assert len(await shelves[1].runs()) == before


@pytest.mark.parametrize(
    ("mode", "task"), [("auto", "name_it_later"), ("legacy", "name_a_boat"), ("auto", "name_on_the_way")]
)
async def test_a_person_is_asked_once_for_what_is_missing_also_of_a_task_within_the_work(
    serve, harbour, mode, task
):
    asked, name = [], f"{mode} {task}"

    async def fill_in(_context, params):
        asked.append(params)
        return ElicitResult(action="accept", content={"boat_name": name})

    async with serve(elicitation_callback=fill_in, mode=mode) as client:
        result = await client.call_tool("run_task", {"website_id": "harbour", "task_id": task})
    assert result.structured_content["state"] in ("success", "unverified"), result.structured_content
    (params,) = asked
    assert params.message == "run_task needs boat_name"
    assert params.requested_schema["properties"]["boat_name"]["description"] == "What she is called"
    assert boats(harbour).count(name) == 1


async def test_a_sentence_names_its_task_first_and_runs_it_only_when_that_is_confirmed(serve, harbour):
    asked = {"website_id": "harbour", "goal": 'register a boat named "Sentence Heron"'}
    async with serve() as client:
        named = await client.call_tool("run_task", asked)
        before = boats(harbour)
        unknown = await client.call_tool(
            "run_task", {**asked, "goal": "sink the boat Heron", "confirmed": True}
        )
        near = await client.call_tool("run_task", {**asked, "goal": "register the boat Heron as a raft"})
        nothing = await client.call_tool("run_task", {"website_id": "harbour"})
        done = await client.call_tool("run_task", {**asked, "confirmed": True})
    assert named.is_error
    assert "'register_boat'" in named.content[0].text
    assert "confirmed: true" in named.content[0].text
    assert unknown.is_error
    assert "no task does what the sentence says" in unknown.content[0].text
    assert "the nearest is register_boat, which needs boat_name" in near.content[0].text
    assert nothing.is_error
    assert "Sentence Heron" not in before
    assert not done.is_error, done.content
    assert boats(harbour).count("Sentence Heron") == 1


async def test_a_run_of_a_workflow_names_the_version_that_ran(serve, shelves):
    knowledge, _ = await read_knowledge(shelves[0].documents, shelves[0].graph, "harbour")
    version = find_workflow_version(knowledge, knowledge.workflows["name_on_the_way"])
    async with serve() as client:
        asked = {"website_id": "harbour", "task_id": "name_on_the_way", "inputs": {"boat_name": "Gannet"}}
        result = await client.call_tool("run_task", asked)
        answer = result.structured_content
        again = (await ask(client, "run_status", run_id=answer["run_id"])).structured_content
    assert answer["workflow_version"] == again["workflow_version"] == version
    assert f"version {version}" in result.content[0].text


async def test_runs_beyond_the_limit_are_refused_and_one_that_is_cancelled_makes_room_and_is_carried_on(
    serve, harbour
):
    limits, later = RunExecutorLimits(runs_at_once=1), {"website_id": "harbour", "task_id": "name_it_later"}
    async with serve(limits=limits) as client:
        waiting = (await ask(client, "run_task", **later)).structured_content
        assert (waiting["state"], waiting["needs"][0]["name"]) == ("input_required", "boat_name")
        full = await ask(client, "run_task", **later)
        assert full.structured_content["error"] == "busy"
        assert waiting["run_id"] in full.content[0].text
        cancelled = (await ask(client, "cancel_run", run_id=waiting["run_id"])).structured_content
        assert cancelled["state"] == "cancelled"
        assert (await ask(client, "cancel_run", run_id=waiting["run_id"])).structured_content == cancelled
        given = {"run_id": waiting["run_id"], "inputs": {"boat_name": "Carried on"}}
        done = (await ask(client, "run_task", **later, **given)).structured_content
        assert done["state"] == "success", done
        over = await ask(client, "run_task", **later, **given)
    assert over.is_error
    assert boats(harbour).count("Carried on") == 1


async def test_an_action_in_flight_comes_to_its_end_when_its_run_is_cancelled(serve, harbour, browser):
    arrived, go_on = asyncio.Event(), asyncio.Event()

    async def slow(route):
        if route.request.method == "POST":
            arrived.set()
            await go_on.wait()
        await route.continue_()

    async with serve() as client:
        asked = {"website_id": "harbour", "task_id": "name_it_later", "wait_seconds": 0}
        run_id = (await ask(client, "run_task", **asked)).structured_content["run_id"]
        while (await ask(client, "run_status", run_id=run_id, wait_seconds=5)).structured_content[
            "state"
        ] != "input_required":
            pass
        await browser.contexts[-1].route("**/boats/new", slow)
        await ask(client, "run_task", **{**asked, "run_id": run_id}, inputs={"boat_name": "In flight"})
        await asyncio.wait_for(arrived.wait(), 30)
        stopping = asyncio.create_task(ask(client, "cancel_run", run_id=run_id))
        await asyncio.sleep(0)
        go_on.set()
        answer = (await stopping).structured_content
    # It was the last step: nothing was left to be stopped.
    assert answer["state"] in ("success", "cancelled")
    assert boats(harbour).count("In flight") == 1


async def test_a_server_that_was_restarted_answers_from_the_store_and_carries_on(serve, harbour):
    asked = {"website_id": "harbour", "task_id": "name_it_later"}
    async with serve() as client:
        run_id = (await ask(client, "run_task", **asked)).structured_content["run_id"]
    async with serve() as client:
        answer = (await ask(client, "run_status", run_id=run_id)).structured_content
        assert answer["state"] == "interrupted"
        assert f"run_task with run_id {run_id}" in answer["next"]
        given = {"website_id": "harbour", "run_id": run_id, "inputs": {"boat_name": "Second life"}}
        done = (await ask(client, "run_task", **given)).structured_content
        elsewhere = await ask(client, "run_task", website_id="harbour", run_id="none")
    assert elsewhere.is_error
    assert done["state"] == "success", done
    assert boats(harbour).count("Second life") == 1


async def test_a_resumed_run_refuses_other_values_than_it_began_with(shelves):
    _, runs, _ = shelves
    state = CheckpointState(website_id="harbour", task_id="name_a_boat", given={"boat_name": "First"})
    await runs.put_checkpoint(
        Checkpoint(
            run_id="kept",
            name="latest",
            step_idx=1,
            state=state.model_dump(mode="json"),
            created_at=datetime.now(UTC),
        )
    )
    executor = RunExecutor(shelves[0], runs, shelves[2])
    await check_resumed_values(executor, "kept", {"boat_name": "First", "length": "12"})
    with pytest.raises(BadRequest, match="goes on with the values that it began with") as refused:
        await check_resumed_values(executor, "kept", {"boat_name": "Second"})
    assert "without run_id" in str(refused.value)
    with pytest.raises(RunRequestRejected, match="no checkpoint"):
        await check_resumed_values(executor, "unknown", {})


async def test_a_client_that_starts_the_command_has_work_done(shelves, harbour):
    env = {**os.environ, "PERIPLUS_DATA_DIR": str(shelves[2]), "PYTHONPATH": str(ROOT)}
    command = [
        "-c",
        "from periplus.commands.mcp import app; app()",
        "--agent",
        "--base-url",
        f"harbour={harbour}",
    ]
    server = StdioServerParameters(command=sys.executable, args=command, env=env, cwd=ROOT)
    async with Client(server) as client:
        asked = {"website_id": "harbour", "task_id": "name_a_boat", "inputs": {"boat_name": "By stdio"}}
        answer = (await ask(client, "run_task", **asked)).structured_content
    assert answer["state"] == "success", answer
    assert "By stdio" in boats(harbour)


async def test_over_http_the_agent_stands_behind_the_same_door(serve):
    async with serve(over_http=True) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        result = await client.call_tool("run_status", {"run_id": "none"})
    assert tools == ["run_task", "run_status", "cancel_run"]
    assert result.structured_content["error"] == "unknown_name"


def test_the_documents_tool_reference_is_that_of_the_tools():
    text = (ROOT / "docs/agent-server.md").read_text(encoding="utf-8")
    assert update_reference(text, list_agent_tools(), BEGIN) == text, (
        "run `python -m periplus.agent_server.agent_tool_reference docs/agent-server.md`"
    )
