"""Published workflows have versions: a run names the one that ran, and an earlier one is restored in one command."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from typing import Any
from unittest.mock import ANY

import pytest

from agent.events import StepStarted
from agent.execution.task_runner import TaskRunner
from agent.execution.workflow_runner import run_workflow
from agent.knowledge_client import KnowledgeClient
from agent.synthesis.workflows.workflow_documents import WorkflowDocuments
from kb_schema import KnowledgeBase, SourcedDocument, assemble, parse_document
from kb_schema.proposals import Proposal, SignatureChange, WorkflowChange, proposal_id
from kb_schema.run_records import RunStatus
from kb_schema.screens import Screen
from kb_schema.workflow_versions import compute_workflow_version, find_workflow_version
from kb_schema.workflows import Workflow
from kb_store import load_knowledge, open_stores
from kb_store.proposals.accepted_changes import apply_change, store_change
from kb_store.store_factory import open_runs
from loaders import write_folder
from loaders.files.folder_reader import read_knowledge_folder
from periplus.cli import main
from periplus.knowledge_server import connect_knowledge_client
from periplus.run_store_adapters import RunStoreKeeping
from periplus.synthesis.workflow_synthesis import SynthesisSite, publish_workflow
from tests.kb_store.sample_knowledge import knowledge_of
from tests.support.lives import another_life, ended_at, kept_state

NODE = {"node_id": "one", "type": "task", "task_id": "order"}
BOATS = [{"type": "element_visible", "element": "tr.boat"}]


def _registers(*names: str) -> Workflow:
    nodes = [
        {"type": "task", "node_id": f"n{number}", "task_id": "register_boat",
         "inputs": {"boat_name": {"source": "hardcoded", "value": name}}}
        for number, name in enumerate(names)
    ]  # fmt: skip
    told = {
        "type": "workflow",
        "workflow_id": "two",
        "name": "Two",
        "nodes": nodes,
        "success_criteria": BOATS,
    }
    parsed = parse_document(told)
    assert isinstance(parsed, Workflow)
    return parsed


def _published(name: str) -> Workflow:
    told = {"type": "workflow", "workflow_id": "weekly", "name": name, "unverified": True, "nodes": [NODE]}
    parsed = parse_document(told)
    assert isinstance(parsed, Workflow)
    return parsed


@pytest.fixture
def periplus(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path / "data"))

    def run(*args: Any) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main([str(arg) for arg in args])
        told = capsys.readouterr()
        return int(ended.value.code or 0), told.out, told.err

    write_folder(knowledge_of(), tmp_path / "kb")
    run("kb", "load", tmp_path / "kb")
    return run


def _publish(tmp_path, workflow: Workflow, *screens: Screen, replace: bool = False) -> None:
    async def publish() -> None:
        async with open_stores(tmp_path / "data") as stores:
            site = SynthesisSite(stores, knowledge_of().website.website_id, None)
            await publish_workflow(site, WorkflowDocuments(workflow, (), ()), screens, replace=replace)

    asyncio.run(publish())


def _published_by_schema_version_1(tmp_path, workflow: Workflow) -> None:
    """Store the publication as a program of schema version 1 did: nothing says that it is unverified."""
    old = workflow.model_copy(update={"unverified": False, "schema_version": 1})
    change = WorkflowChange(type="workflow", workflow=old)
    website_id, now = knowledge_of().website.website_id, datetime.now(UTC)
    name = proposal_id(website_id, change)

    async def publish() -> None:
        async with open_stores(tmp_path / "data") as stores:
            made = Proposal(proposal_id=name, website_id=website_id, change=change, proposed_at=now)
            await stores.proposals.support(made, None)
            await stores.proposals.decide(website_id, name, "accepted", now)

    asyncio.run(publish())


def _versions(periplus) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(periplus("workflows", "versions", "weekly", "--json")[1])
    return found


def test_an_earlier_version_is_restored_by_one_command_and_again_forward(periplus, tmp_path):
    _publish(tmp_path, _published("First"))
    _publish(tmp_path, _published("Second"), replace=True)
    second, first = _versions(periplus)
    assert (second["current"], first["current"]) == (True, False)
    code, out, _ = periplus("workflows", "rollback", "weekly")
    assert (code, first["version"] in out) == (0, True)
    assert {each["version"]: each["current"] for each in _versions(periplus)} == {
        first["version"]: True, second["version"]: False,
    }  # fmt: skip
    assert periplus("workflows", "rollback", "weekly", "--to", second["version"][:6])[0] == 0
    assert next(each["version"] for each in _versions(periplus) if each["current"]) == second["version"]


def test_a_version_published_in_an_older_schema_version_is_known_and_can_be_restored(periplus, tmp_path):
    _published_by_schema_version_1(tmp_path, _published("First"))
    migrated = [*knowledge_of().documents(), _published("First")]
    write_folder(assemble([SourcedDocument(each) for each in migrated])[0], tmp_path / "migrated")
    assert periplus("kb", "load", tmp_path / "migrated")[0] == 0
    (first,) = _versions(periplus)
    assert (first["current"], first["published_at"] is None) == (True, False)
    _publish(tmp_path, _published("Second"), replace=True)
    code, out, err = periplus("workflows", "rollback", "weekly")
    assert (code, first["version"] in out) == (0, True), err
    (listed,) = [
        each
        for each in json.loads(periplus("workflows", "list", "--json")[1])
        if each["workflow_id"] == "weekly"
    ]
    assert (listed["version"], listed["unverified"]) == (first["version"], True)


def _screen(title: str) -> Screen:
    signature = {"required_indicators": [{"type": "title_contains", "value": title}]}
    told = {"type": "screen", "screen_id": "made", "name": "Made", "state_signature": signature}
    parsed = parse_document(told)
    assert isinstance(parsed, Screen)
    return parsed


def test_a_screen_that_has_changed_since_does_not_prevent_a_rollback_and_stays_as_it_is(periplus, tmp_path):
    _publish(tmp_path, _published("First"), _screen("Made"))
    _publish(tmp_path, _published("Second"), replace=True)
    changed = _screen("Made anew").state_signature
    assert changed is not None

    async def accept_signature() -> None:
        async with open_stores(tmp_path / "data") as stores:
            change = SignatureChange(type="signature", screen_id="made", signature=changed)
            website_id = knowledge_of().website.website_id
            await store_change(
                stores.documents, stores.graph, website_id, lambda known: apply_change(known, change)[0]
            )

    asyncio.run(accept_signature())
    code, out, err = periplus("workflows", "rollback", "weekly")
    assert code == 0, err
    assert _versions(periplus)[0]["version"] in out
    assert [each["current"] for each in _versions(periplus)] == [True, False]
    periplus("kb", "export", tmp_path / "after")
    knowledge, _ = read_knowledge_folder(tmp_path / "after")
    assert (knowledge.workflows["weekly"].name, knowledge.signatures["made"]) == ("First", changed)


def test_what_was_loaded_from_files_is_kept_when_a_publication_replaces_it(periplus, tmp_path):
    loaded = [*knowledge_of().documents(), _published("Loaded")]
    write_folder(assemble([SourcedDocument(each) for each in loaded])[0], tmp_path / "loaded")
    assert periplus("kb", "load", tmp_path / "loaded")[0] == 0
    (before,) = _versions(periplus)
    _publish(tmp_path, _published("Published"), replace=True)
    published, kept = _versions(periplus)
    assert (kept, published["current"]) == ({**before, "current": False}, True)
    assert kept["published_at"] is None
    assert "edited or loaded from files" in periplus("workflows", "versions", "weekly")[1]
    assert periplus("workflows", "rollback", "weekly")[0] == 0
    assert next(each for each in _versions(periplus) if each["current"])["version"] == before["version"]
    assert periplus("workflows", "rollback", "weekly")[0] == 0
    assert next(each for each in _versions(periplus) if each["current"])["version"] == published["version"]
    assert len(_versions(periplus)) == 2
    periplus("kb", "export", tmp_path / "after")
    assert periplus("kb", "load", tmp_path / "after")[0] == 0


def test_a_publication_that_a_load_replaced_can_be_restored(periplus, tmp_path):
    _publish(tmp_path, _published("First"))
    (first,) = _versions(periplus)
    assert periplus("kb", "load", tmp_path / "kb", "--replace-learned")[0] == 0
    assert _versions(periplus) == [{**first, "current": False, "published_at": ANY}]
    assert periplus("workflows", "rollback", "weekly")[0] == 0
    assert [(each["version"], each["current"]) for each in _versions(periplus)] == [(first["version"], True)]


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["rollback", "weekly"], "has no other version"),
        (["rollback", "weekly", "--to", "zzz"], "has no version 'zzz' to return to"),
        (["versions", "weakly"], "no workflow 'weakly'"),
    ],
)
def test_what_cannot_be_restored_is_one_error(periplus, tmp_path, args, told):
    _publish(tmp_path, _published("First"))
    code, _, err = periplus("workflows", *args)
    assert code == 2
    assert told in " ".join(err.split())


async def test_a_result_names_the_version(session, site):
    first = await run_workflow(TaskRunner(session), _registers("Auk", "Tern"), {})
    again = await run_workflow(TaskRunner(session), _registers("Auk", "Tern"), {})
    other = await run_workflow(TaskRunner(session), _registers("Auk", "Puffin"), {})
    assert first.status is RunStatus.SUCCESS, first.error
    assert first.workflow_version == again.workflow_version != other.workflow_version
    assert len(first.workflow_version or "") == 12


async def test_every_task_at_any_depth_is_read_before_the_first_step_so_that_an_edit_comes_too_late(
    session, site
):
    told = _registers("Auk").to_json()
    told["nodes"] = [*told["nodes"], {"type": "task", "node_id": "last", "task_id": "cast_off_all"}]
    workflow = parse_document(told)
    assert isinstance(workflow, Workflow)
    read, order = session.knowledge.task, []

    async def task(task_id: str) -> Any:
        order.append(task_id)
        return await read(task_id)

    session.knowledge.task = task
    session.bus.listen(lambda event: order.append("step") if isinstance(event, StepStarted) else None)
    await run_workflow(TaskRunner(session), workflow, {})
    assert {"register_boat", "cast_off_all", "cast_off_one"} <= set(order[: order.index("step")])


def _with_parts(shop: KnowledgeBase, **names: str) -> KnowledgeBase:
    """The shop with a workflow of a task that runs a sub-task, which uses an action and names a screen."""
    screen = {"type": "on_screen", "screen_id": "screen_0"}
    told = [
        {"type": "workflow", "workflow_id": "deep", "name": "Deep", "unverified": True,
         "nodes": [{"node_id": "one", "type": "task", "task_id": "outer"}]},
        {"type": "task", "task_id": "outer", "name": names.get("task", "x"),
         "steps": [{"action": {"action_type": "run_task", "task_id": "inner"}}]},
        {"type": "task", "task_id": "inner", "name": names.get("subtask", "x"),
         "steps": [{"action": {"action_type": "buy"}, "preconditions": [screen]}]},
        {"type": "action", "action_id": "buy", "name": names.get("action", "x"),
         "execution_steps": [{"step": 1, "action": "click", "target": "#buy"}]},
        {"type": "screen", "screen_id": "screen_0", "name": names.get("screen", "x"),
         "ui_elements": [{"element_id": "go", "type": "button", "selector": "#go"}]},
        {"type": "task", "task_id": "order", "name": names.get("other", "x"), "steps": [{"action": "no_op"}]},
    ]  # fmt: skip
    documents = [parse_document(each) for each in told]
    own = {(each.kind, each.local_id) for each in documents}
    others = [each for each in shop.documents() if (each.kind, each.local_id) not in own]
    return assemble([SourcedDocument(each) for each in (*others, *documents)])[0]


@pytest.mark.parametrize(
    ("edited", "changes"),
    [("task", True), ("subtask", True), ("action", True), ("screen", False), ("other", False)],
)
def test_the_version_covers_what_a_workflow_runs_at_any_depth_and_nothing_else(edited, changes):
    before, after = _with_parts(knowledge_of()), _with_parts(knowledge_of(), **{edited: "edited"})
    versions = [find_workflow_version(each, each.workflows["deep"]) for each in (before, after)]
    assert (versions[0] != versions[1]) is changes


async def test_what_a_run_reads_of_a_workflow_is_of_one_revision_however_late_it_is_read(tmp_path):
    async with open_stores(tmp_path) as stores, connect_knowledge_client(stores) as client:
        before = _with_parts(knowledge_of())
        await load_knowledge(stores.documents, stores.graph, before)
        run = KnowledgeClient(client, "shop")
        workflow = await run.workflow("deep")
        after = _with_parts(knowledge_of(), subtask="edited", action="edited", screen="edited")
        outer = after.tasks["outer"].model_copy(update={"name": "edited"})
        await load_knowledge(stores.documents, stores.graph, after)
        await KnowledgeClient(client, "shop").publish(after.workflows["deep"], [outer], replace=True)
        later = KnowledgeClient(client, "shop")
        for knowledge, name in ((run, "x"), (later, "edited")):
            read = [await knowledge.task("outer"), await knowledge.task("inner")]
            named = [*read, await knowledge.action("buy"), await knowledge.screen("screen_0")]
            assert [each.name for each in named if each is not None] == [name] * 4
        tasks, actions = await run.read_parts(workflow)
    version = compute_workflow_version(workflow, tasks, actions)
    assert version == find_workflow_version(before, before.workflows["deep"])


async def test_a_run_is_not_resumed_with_another_version(session, site, tmp_path, browser):
    async with open_runs(tmp_path / "runs") as runs:
        kept = RunStoreKeeping(runs)
        work = run_workflow(TaskRunner(session, keeping=kept), _registers("Auk", "Tern"), {})
        assert await ended_at(session, work, 7)
        before = [boat["name"] for boat in site.state()["boats"]]
        async with another_life(session, browser) as again:
            engine = TaskRunner(again, keeping=kept, resume=await kept_state(kept, session))
            result = await run_workflow(engine, _registers("Auk", "Puffin"), {})
    assert result.status is RunStatus.FAILURE
    assert "was changed while the run was interrupted" in (result.error or "")
    assert [boat["name"] for boat in site.state()["boats"]] == before
