"""The agent's own desk, in this process: it can do what any server of these stores can."""

from __future__ import annotations

import gc
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kb_schema.run_records import EvidenceLevel, RunEnding, RunStatus, StoredRun
from kb_schema.tool_answers import FailureExplanation
from kb_store import load_knowledge, open_stores
from kb_store.store_factory import open_runs
from loaders.files.folder_reader import read_knowledge_folder
from mcp_server.knowledge.compiled_view import compile_view
from mcp_server.paths import path_engines
from periplus.knowledge_server import connect_knowledge_client
from periplus.session_setup import open_session

HARBOUR = Path(__file__).parent.parent / "data" / "harbour"
SAID = "element_not_found: boat_name"


@pytest.fixture
async def shelves(tmp_path):
    """Stores with the harbour in them, and a run store with one run that failed."""
    knowledge, _ = read_knowledge_folder(HARBOUR / "kb")
    now = datetime.now(UTC)
    async with open_stores(tmp_path) as stores, open_runs(tmp_path) as runs:
        await load_knowledge(stores.documents, stores.graph, knowledge)
        run = StoredRun(
            run_id="r1",
            url=knowledge.website.base_url,
            started_at=now,
            website_id="harbour",
            kind="task",
            subject=min(knowledge.tasks),
        )
        await runs.begin_run(run)
        ending = RunEnding(
            status=RunStatus.FAILURE,
            evidence=EvidenceLevel.UNVERIFIED,
            finished_at=now,
            duration_ms=1,
            error=SAID,
        )
        await runs.finish_run("r1", ending)
        yield stores, runs


async def test_the_desk_of_the_agent_explains_a_run_that_it_recorded(shelves):
    stores, runs = shelves
    async with connect_knowledge_client(stores, runs=runs) as client:
        result = await client.call_tool("explain_failure", {"website_id": "harbour", "run_id": "latest"})
    assert not result.is_error, result.content
    answer = FailureExplanation.model_validate(result.structured_content)
    assert answer.run_id == "r1"
    assert answer.causes


async def test_a_session_opened_with_runs_reads_them_back(shelves, context):
    stores, runs = shelves
    async with open_session(stores, context, "harbour", runs=runs) as session:
        answer = await session.knowledge._call("explain_failure", FailureExplanation, {"run_id": "r1"})
    assert answer.run_id == "r1"
    assert answer.causes


async def test_sessions_on_the_same_stores_compile_a_website_once(shelves, monkeypatch):
    stores, _ = shelves
    compiled = []
    monkeypatch.setattr(
        path_engines, "compile_view", lambda *given, **how: compiled.append(1) or compile_view(*given, **how)
    )
    for _ in range(2):
        async with connect_knowledge_client(stores) as client:
            assert not (await client.call_tool("get_website", {"website_id": "harbour"})).is_error
    assert compiled == [1]


async def test_a_session_answers_from_what_was_loaded_since_the_last_one(shelves):
    stores, _ = shelves
    knowledge, _ = read_knowledge_folder(HARBOUR / "kb")
    async with connect_knowledge_client(stores) as client:
        before = await client.call_tool("get_website", {"website_id": "harbour"})
    renamed = knowledge.website.model_copy(update={"name": "Another harbour"})
    kinds = {**knowledge.by_kind, "website": {"harbour": renamed}}
    await load_knowledge(stores.documents, stores.graph, replace(knowledge, by_kind=kinds))
    async with connect_knowledge_client(stores) as client:
        after = await client.call_tool("get_website", {"website_id": "harbour"})
    assert "Another harbour" not in str(before.structured_content)
    assert "Another harbour" in str(after.structured_content)


async def test_a_server_that_has_ended_is_told_of_no_change(shelves):
    stores, _ = shelves
    for _ in range(3):
        async with connect_knowledge_client(stores) as client:
            await client.call_tool("get_website", {"website_id": "harbour"})
        del client
    gc.collect()
    (views,) = stores.shared.values()
    assert sum(each() is not None for each in views._listeners) == 0
