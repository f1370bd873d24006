"""Undoing what a run did: by its journal alone, the last thing first, and once."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from agent.events import StepEnded
from agent.execution.effects.undo import UNDO, build_undo_plan
from agent.execution.stop_request import RunStopped, StopRequest
from kb_schema.errors import KnowledgeError
from kb_schema.run_records import EvidenceLevel
from kb_schema.run_storage import JournalEntry
from kb_store import load_knowledge, open_stores
from kb_store.store_factory import open_runs
from loaders.files.folder_reader import read_knowledge_folder
from periplus.errors import UserError
from periplus.runs.run_undo import undo_run
from periplus.runs.task_runs import TaskRunRequest, TaskRunResources, execute_task_run
from periplus.session_setup import open_fresh_context
from tests.mcp_server import pantry
from tests.support.foreign_sites import spadeworks_site
from tests.support.live_spadeworks import ACCOUNT, SEED, Controls
from tests.support.rotation import rotating

pytestmark = pytest.mark.sampled(0.4)

NOW = datetime(2027, 1, 1, tzinfo=UTC)


def entry(number, key, action="click", outcome="happened", **details):
    return JournalEntry(
        run_id="r", key=key, action=action, details=details, begun_at=NOW + timedelta(seconds=number),
        outcome=outcome,
    )  # fmt: skip


def note(number, path, task, outcome=None, **details):
    return entry(number, f"{path}!undo", UNDO, outcome, task=task, by=f"un{task}", **details)


def test_what_happened_is_undone_in_the_reverse_order_and_what_did_not_is_left_alone():
    plan = build_undo_plan([
        entry(1, "all/each[0]>make/submit"), note(2, "all/each[0]>make", "make", inputs={"id": "1"}),
        entry(3, "all/each[1]>make/submit", outcome="did_not_happen"),
        entry(4, "all/each[2]>make/submit"), note(5, "all/each[2]>make", "make", inputs={"id": "3"}),
    ])  # fmt: skip
    assert [(each.task_id, each.inputs) for each in plan.to_do] == [
        ("unmake", {"id": "3"}),
        ("unmake", {"id": "1"}),
    ]
    assert (plan.stays, plan.undone) == ((), ())


def test_the_outer_tasks_reversal_undoes_all_of_it():
    plan = build_undo_plan([
        entry(1, "all/each[0]>make/submit"), note(2, "all/each[0]>make", "make", inputs={"id": "1"}),
        note(3, "all", "all", inputs={}),
    ])  # fmt: skip
    assert [each.task_id for each in plan.to_do] == ["unall"]


def test_what_cannot_be_undone_is_listed_with_the_reason_and_what_was_undone_is_not_undone_again():
    plan = build_undo_plan([
        entry(1, "import/send"),
        entry(2, "import/late>mail/send", outcome=None),
        entry(3, "make/submit"), note(4, "make", "make", unknown="created_id is not known"),
        entry(5, "sell/pay"), note(6, "sell", "sell", "happened", inputs={}),
    ])  # fmt: skip
    assert plan.to_do == ()
    assert [each.task_id for each in plan.undone] == ["unsell"]
    reasons = {each.did: each.reason for each in plan.stays}
    assert "reversible_by" in reasons["import"]
    assert "--resume" in reasons["mail"]
    assert reasons["make"] == "created_id is not known"


@pytest.mark.parametrize(
    ("reversal", "said"),
    [
        ({"task_id": "unmake"}, 'did you mean "make"'),
        ({"task_id": "make", "inputs": {"lable": "x"}}, 'did you mean "label"'),
        ({"task_id": "make", "inputs": {"label": "{lable}"}}, 'nothing provides "{lable}"'),
    ],
)
def test_a_reversal_names_a_task_its_inputs_and_values_there_are(reversal, said):
    task = {
        "type": "task", "task_id": "make", "website_id": "pantry",
        "io_spec": {"inputs": [{"name": "label", "source": "user_input"}]},
        "steps": [{"action": {"action_type": "no_op"}}], "reversibility": reversal,
    }  # fmt: skip
    with pytest.raises(KnowledgeError) as told:
        pantry.knowledge(also=(task,))
    assert said in str(told.value)


@asynccontextmanager
async def spadeworks(tmp_path, browser):
    knowledge, _ = read_knowledge_folder(SEED / "kb")
    with spadeworks_site() as url:
        async with open_stores(tmp_path) as stores, open_runs(tmp_path) as runs:
            await load_knowledge(stores.documents, stores.graph, knowledge)
            yield (
                url,
                TaskRunResources(
                    stores, runs, lambda storage: open_fresh_context(browser, storage), tmp_path
                ),
            )


def folder(tmp_path, name):
    (tmp_path / name).mkdir()
    return tmp_path / name


async def test_an_agent_that_was_created_is_deleted_once_however_often_and_wherever_undoing_is_cut_off(
    tmp_path, browser
):
    async with spadeworks(tmp_path, browser) as (url, gear):
        site = Controls(url)
        made = TaskRunRequest(
            "spadeworks", "create_agent", base_url=url, values={"agent_name": "Ada", **ACCOUNT}
        )
        result = await execute_task_run(made, replace(gear, folder=folder(tmp_path, "made")))
        before = len(site.state()["agents"]) - 1
        assert result.outputs["created_agent_name"] == "Ada"
        run = await gear.runs.run(made.run_id)

        stop = StopRequest()

        def cut(event):
            if isinstance(event, StepEnded) and event.step_id == "ask_to_delete":
                stop.ask("cut off")

        cut_off = replace(gear, stop=stop, listeners=[cut], folder=folder(tmp_path, "cut"))
        with pytest.raises(RunStopped):
            await undo_run(run, cut_off, values=ACCOUNT)
        assert site.state()["counts"]["agents_deleted"] == 0

        report = await undo_run(run, replace(gear, folder=folder(tmp_path, "undone")), values=ACCOUNT)
        (undone,) = report.undone
        assert (undone.by, undone.inputs) == (
            "delete_agent",
            {"agent_id": result.outputs["created_agent_id"]},
        )
        assert undone.evidence is EvidenceLevel.VERIFIED
        assert report.complete
        again = await undo_run(run, replace(gear, folder=folder(tmp_path, "again")), values=ACCOUNT)
        assert (again.undone, [each.did for each in again.before]) == ((), ["create_agent"])
        state = site.state()
        assert (len(state["agents"]), state["counts"]["agents_deleted"]) == (before, 1)

        deleting = await gear.runs.run(undone.run_id)
        assert deleting.kind == "undo"
        left = await undo_run(deleting, replace(gear, folder=folder(tmp_path, "left")))
        assert [each.did for each in left.stays] == ["delete_agent"]
        looked = TaskRunRequest("spadeworks", None, goal="dashboard", base_url=url, values=ACCOUNT)
        await execute_task_run(looked, replace(gear, folder=folder(tmp_path, "looked")))
        with pytest.raises(UserError, match="has nothing to undo"):
            await undo_run(await gear.runs.run(looked.run_id), gear)


CHANGES = [
    ("update_profile", {"display_name": 'O\'Brien "Bob"'}, {"company": "Harbour Works"}),
    ("set_theme", {"theme": "dark"}, {}),
    ("save_notifications", {"daily_summary": "false"}, {"product_news": "false"}),
    ("require_one_time_code", {"code_required": "true"}, {}),
    ("edit_agent", {"new_language": "hi-IN"}, {"target_agent_name": "Amelia Hart"}),
]
"""What is changed, and what the task is given beside that."""


@pytest.mark.parametrize("case", rotating(__name__, CHANGES, 2), ids=lambda case: case[0])
async def test_what_was_there_before_is_put_back(tmp_path, browser, case):
    task_id, changing, beside = case
    async with spadeworks(tmp_path, browser) as (url, gear):
        site = Controls(url)
        looked = TaskRunRequest("spadeworks", None, goal="login", base_url=url)
        await execute_task_run(looked, replace(gear, folder=folder(tmp_path, "looked")))
        before = _kept_by(site)
        values = {**changing, **beside, **ACCOUNT}
        changed = TaskRunRequest("spadeworks", task_id, base_url=url, values=values)
        result = await execute_task_run(changed, replace(gear, folder=folder(tmp_path, "changed")))
        assert result.complete, result.error
        assert _kept_by(site) != before
        run = await gear.runs.run(changed.run_id)
        report = await undo_run(run, replace(gear, folder=folder(tmp_path, "undone")), values=ACCOUNT)
        assert len(report.undone) == 1, report
        (undone,) = report.undone
        assert _kept_by(site) == before
        assert undone.inputs.keys() >= changing.keys()
        assert "new_greeting" not in undone.inputs  # what was not changed is not written


def _kept_by(site):
    """What the site keeps of its visitor."""
    state = site.state()
    return state["preferences"], state["agents"]
