"""The agent's own desk, in this process: it can do what any server of these stores can."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from kb_schema.answers import Explanation
from kb_schema.runs import EvidenceLevel, RunEnding, RunStatus, StoredRun
from kb_store import load_knowledge, open_stores
from kb_store.runs import open_runs
from loaders.files import read_knowledge_folder
from periplus.desk import desk_client
from periplus.voyage import open_session

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
    async with desk_client(stores, runs=runs) as client:
        result = await client.call_tool("explain_failure", {"website_id": "harbour", "run_id": "latest"})
    assert not result.is_error, result.content
    answer = Explanation.model_validate(result.structured_content)
    assert answer.run_id == "r1"
    assert answer.causes


async def test_a_session_opened_with_runs_reads_them_back(shelves, context):
    stores, runs = shelves
    async with open_session(stores, context, "harbour", runs=runs) as session:
        answer = await session.knowledge._ask("explain_failure", Explanation, {"run_id": "r1"})
    assert answer.run_id == "r1"
    assert answer.causes
