"""The traces of runs and those of recordings are one format: the same task gives the same workflow."""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING

import pytest

from agent.execution.task_runner import TaskRunner
from agent.run_records.session_trace import SessionTrace
from agent.synthesis.synthesis_pipeline import add_workflow_documents
from kb_schema.session_reader import read_session
from kb_schema.tasks import Task
from periplus.session_setup import open_fresh_context, open_session
from periplus.synthesis.workflow_synthesis import induce_workflow, read_traces
from tests.support.small_sites import WEBSITE, Answered, Asked, induced, opened_stores, ran, running_site

if TYPE_CHECKING:
    from collections.abc import Mapping

    from playwright.async_api import Browser, Page

    from kb_store import Stores
    from tests.support.small_sites import RunningSite

PEOPLE = ("Ann", "Bob", "Cid", "Dora", "Emil")
SHOWN = PEOPLE[:3]
TASK = Task.model_validate(
    {
        "type": "task",
        "task_id": "remove_member",
        "name": "removes",
        "io_spec": {
            "inputs": [{"name": "name", "type": "string", "description": "Name", "source": "user_input"}]
        },
        "steps": [
            {
                "step_id": "remove",
                "action": {
                    "action_type": "click",
                    "target": {
                        "parameterized": True,
                        "strategies": [
                            {
                                "type": "parameterized_xpath",
                                "template": "//tr[td[text()='{{name}}']]//button",
                                "parameters": ["name"],
                            }
                        ],
                    },
                },
                "postconditions": [{"type": "dom_contains", "value": "removed", "selector": "p"}],
            }
        ],
    }
)


class Members:
    """A list of members, each with a button that removes them."""

    def __init__(self) -> None:
        self.gone: list[str] = []

    def answer(self, asked: Asked) -> Answered:
        if asked.method == "POST":
            self.gone.append(asked.form["name"])
            return Answered(location=f"/?gone={asked.form['name']}")
        rows = "".join(
            f"<tr><td>{escape(name)}</td><td>{len(name)} points</td><td><form method=post>"
            f"<input type=hidden name=name value={name}><button>Remove</button></form></td></tr>"
            for name in PEOPLE
            if name not in self.gone
        )
        said = f"<p role=status>{escape(asked.query['gone'])} was removed</p>" if asked.query else ""
        head = "<thead><tr><th>Name</th><th>Points</th><th>Action</th></tr></thead>"
        return Answered(f"<title>Members</title><h1>Members</h1>{said}<table>{head}{rows}</table>")


async def removes(page: Page, given: Mapping[str, str], _dice: object) -> None:
    row = page.locator("tr").filter(has=page.get_by_role("cell", name=given["name"], exact=True))
    async with page.expect_navigation():
        await row.get_by_role("button").click()


async def _run(browser: Browser, stores: Stores, site: RunningSite, folder, member: str) -> None:
    await _run_task(browser, stores, site, folder, TASK, {"name": member})


async def _run_task(
    browser: Browser, stores: Stores, site: RunningSite, folder, task: Task, given: dict[str, str]
) -> None:
    async with (
        open_fresh_context(browser) as context,
        open_session(stores, context, WEBSITE, base_url=site.base, values=given) as session,
    ):
        session.knowledge.know(task)
        trace = SessionTrace(folder, website_id=WEBSITE, context=session.context, inputs=given)
        session.bus.listen(trace, pages=True)
        done = await TaskRunner(session).run_task(task.task_id, given)
        assert done.complete, done.error
        last = await session.snapshot()
        trace.close(last.html, complete=True, url_after=last.url)


def _documents(result) -> list[dict[str, object]]:
    """The workflow and its tasks, without the ids of the traces."""
    assert result.lowered is not None
    documents = [each.to_json() for each in (result.lowered.workflow, *result.lowered.tasks)]
    return [{key: each for key, each in told.items() if key != "provenance"} for told in documents]


async def test_a_task_that_was_recorded_and_one_that_was_run_give_the_same_workflow(browser, tmp_path):
    members = Members()
    with running_site(members.answer) as site:
        recorded = await induced(
            browser,
            site,
            tmp_path / "recorded",
            removes,
            [{"name": name} for name in SHOWN],
            prepare=lambda _: members.gone.clear(),
        )
        async with opened_stores(site, tmp_path / "stores") as stores:
            for name in SHOWN:
                members.gone.clear()
                await _run(browser, stores, site, tmp_path / "run" / name, name)
                assert members.gone == [name]
            own = add_workflow_documents(
                await induce_workflow(read_traces([tmp_path / "run"]), "removes", "")
            )
            (asked,) = own.lowered.workflow.io_spec.inputs
            assert own.synthesis_report.refusals == ()
            assert _documents(own) == _documents(recorded)
            for name in ("Dora", "Emil", "Bob"):
                members.gone.clear()
                async with (
                    open_fresh_context(browser) as context,
                    open_session(stores, context, WEBSITE, base_url=site.base) as session,
                ):
                    done = await ran(session, own, {asked.name: name})
                assert done.succeeded, done.error
                assert members.gone == [name]


ORDERS = (
    {"part": "Bolt", "size": "small", "owner": "Ann", "shelf": "top"},
    {"part": "Nut", "size": "large", "owner": "Cid", "shelf": "floor"},
    {"part": "Washer", "size": "medium", "owner": "Bob", "shelf": "middle"},
    {"part": "Screw", "size": "large", "owner": "Ann", "shelf": "middle"},
)
_CALLS = (
    {"action_type": "navigate", "url": "/"},
    {"action_type": "fill", "target": "[name=part]", "value": "{part}"},
    {"action_type": "select_option", "target": "[name=size]", "value": "{size}"},
    {"action_type": "select_option", "target": "[name=owner]", "value": "{owner}"},
    {"action_type": "select_option", "target": "[name=shelf]", "value": "{shelf}"},
    {"action_type": "click", "target": "#order"},
)
ORDER = Task.model_validate(
    {
        "type": "task",
        "task_id": "orders",
        "name": "orders",
        "io_spec": {"inputs": [{"name": name, "source": "user_input"} for name in ORDERS[0]]},
        "steps": [{"step_id": f"s{number}", "action": call} for number, call in enumerate(_CALLS)],
    }
)


def _show_orders(made: list[dict[str, str]], asked: Asked) -> Answered:
    """A form with three lists, two of them in one row of a table, and what was ordered."""
    if asked.method == "POST":
        made.append(dict(asked.form))
        return Answered(location="/?done=1")
    choices = {
        "size": ("small", "medium", "large"),
        "owner": ("Ann", "Bob", "Cid"),
        "shelf": ("top", "middle", "floor"),
    }
    size, owner, shelf = (
        f"<th>{name}</th><td><select name={name}><option value=''>none</option>"
        f"{''.join(f'<option>{each}</option>' for each in known)}</select></td>"
        for name, known in choices.items()
    )
    said = f"<p role=status>{escape(made[-1]['part'])} was ordered</p>" if asked.query else ""
    field = "<tr><th>part</th><td><input name=part></td></tr>"
    return Answered(
        f"<title>Orders</title><h1>Orders</h1>{said}<form method=post><table>{field}<tr>{size}{owner}</tr>"
        f"<tr>{shelf}</tr></table><button id=order>Order</button></form>"
    )


async def orders(page: Page, given: Mapping[str, str], _dice: object) -> None:
    await page.fill("[name=part]", given["part"])
    for name in ("size", "owner", "shelf"):
        await page.select_option(f"[name={name}]", given[name])
    async with page.expect_navigation():
        await page.click("#order")


async def test_lists_of_a_form_in_which_a_run_chooses_are_neither_rows_nor_names_of_rows(browser, tmp_path):
    """A run knows the names of its inputs: what they chose in a list does not name the part of the page around it."""
    made: list[dict[str, str]] = []
    with running_site(lambda asked: _show_orders(made, asked)) as site:
        recorded = await induced(browser, site, tmp_path / "recorded", orders, ORDERS[:3])
        async with opened_stores(site, tmp_path / "stores") as stores:
            for number, given in enumerate(ORDERS[:3]):
                await _run_task(browser, stores, site, tmp_path / "run" / str(number), ORDER, given)
            own = add_workflow_documents(await induce_workflow(read_traces([tmp_path / "run"]), "orders", ""))
            assert own.synthesis_report.refusals == ()
            assert _documents(own) == _documents(recorded)
            made.clear()
            async with (
                open_fresh_context(browser) as context,
                open_session(stores, context, WEBSITE, base_url=site.base) as session,
            ):
                done = await ran(session, own, ORDERS[3])
            assert done.succeeded, done.error
            assert made == [ORDERS[3]]


async def test_the_trace_of_a_run_has_its_inputs_the_answers_and_the_elements(browser, tmp_path):
    members = Members()
    with running_site(members.answer) as site:
        async with opened_stores(site, tmp_path / "stores") as stores:
            await _run(browser, stores, site, tmp_path / "run", "Ann")
        trace = read_session(tmp_path / "run")
        assert trace.input_data == {"name": "Ann"}
        opened, pressed = trace.steps
        assert (opened.action_type, opened.args) == ("navigate", {"url": site.base})
        assert pressed.metadata["fingerprint"]["role"] == "button"
        assert pressed.metadata["said"] == "button 'Remove'"
        (answer,) = pressed.metadata["answers"]
        assert (answer["method"], answer["status"]) == ("POST", 303)
        assert pressed.metadata["url_after"] == f"{site.base}/?gone=Ann"
        assert opened.timestamp < pressed.timestamp
        line = json.loads((tmp_path / "run" / "turn_001" / "session.jsonl").read_text().splitlines()[-1])
        assert line["metadata"]["located_by"] == "knowledge"


class Answers:
    """A person who answers every question, and notes it."""

    def __init__(self, answer: str | None) -> None:
        self.asked: list[str] = []
        self._answer = answer

    async def ask(self, name: str, prompt: str, *, secret: bool) -> str | None:
        assert not secret
        self.asked.append(f"{name}: {prompt}")
        return self._answer


ATTENDED = Task.model_validate(
    {
        "type": "task",
        "task_id": "look",
        "name": "look",
        "io_spec": {"inputs": [{"name": "whom", "description": "Whom", "source": "user_input"}]},
        "steps": [
            {"step_id": "skipped", "required": False, "action": {"action_type": "click", "target": "#none"},
             "skip_when": [{"type": "dom_contains", "value": "Members", "selector": "h1"}]},
            {"step_id": "code", "action": {"action_type": "wait", "value": True, "narration": "Read {whom} the code"}},
            {"step_id": "read", "action": {"action_type": "get_screen_content"}},
        ],
    }
)  # fmt: skip


@pytest.mark.parametrize("answer", ["Ann", None])
async def test_a_run_asks_a_person_and_its_trace_tells_where_and_what_was_read_and_skipped(
    browser, tmp_path, answer
):
    members, person = Members(), Answers(answer)
    given = {} if answer else {"whom": "Bob"}
    with running_site(members.answer) as site:
        async with (
            opened_stores(site, tmp_path / "stores") as stores,
            open_fresh_context(browser) as context,
            open_session(stores, context, WEBSITE, base_url=site.base, asker=person, values=given) as session,
        ):
            session.knowledge.know(ATTENDED)
            trace = SessionTrace(tmp_path / "run", website_id=WEBSITE, context=session.context, inputs=given)
            session.bus.listen(trace, pages=True)
            done = await TaskRunner(session).run_task(ATTENDED.task_id, given)
            trace.close(complete=True)
    read = read_session(tmp_path / "run")
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    steps = {step.action_type: step for step in read.steps}
    assert steps["click"].result.action_skipped
    assert steps["click"].result.skip_reason
    if answer is None:
        assert done.status == "needs_person"
        assert not steps["wait"].result.success
        assert "asked" not in manifest
        assert (read.success, read.error) == (False, "turn 1 ended with needs_person")
        return
    assert person.asked[-1] == "continue: Read Ann the code"
    assert (read.input_data, manifest["asked"]) == ({"whom": "Ann"}, ["whom"])
    assert done.complete, done.error
    assert (steps["wait"].target, steps["wait"].result.success) == (True, True)
    assert "Members" in steps["get_screen_content"].result.value
    result = await induce_workflow([read], "look", "")
    assert result.synthesis_report.user_input_boundary_count == 1
