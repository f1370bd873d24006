"""A run that fails while the page complains of something begins with the page's words and names the input."""

from __future__ import annotations

from typing import Any

import pytest

from agent.execution.task_runner import TaskRunner
from agent.execution.workflow_runner import run_workflow
from kb_schema import parse_document
from kb_schema.run_records import RunStatus
from kb_schema.workflows import Workflow
from tests.support.small_sites import Answered, running_site, visiting

pytestmark = pytest.mark.usefixtures("impatient")

FORM = """<h1>Member</h1>%s<form onsubmit="return false">
<label>Name <input id=name></label><p id=beside></p><label>Town <input id=town></label><button id=next>Next</button>
<button type=button id=tidy>Tidy up</button></form>
<p id=banner></p>
<script>document.getElementById('next').onclick = () => {
  const banner = document.getElementById('banner'), beside = document.getElementById('beside');
  const name = document.getElementById('name');
  %s
};
document.getElementById('tidy').onclick = () => {
  document.getElementById('beside').textContent = document.getElementById('beside').className = '';
  document.getElementById('name').removeAttribute('aria-invalid');
};</script>"""
FIELD = "name.setAttribute('aria-invalid', 'true'); beside.className = 'error'; beside.textContent = 'No digits, please';"
BANNER = "banner.className = 'alert alert-danger'; banner.textContent = 'The year 2025 is closed';"
ALERT = "banner.setAttribute('role', 'alert'); banner.className = 'text-red-600'; banner.textContent = 'This name is taken';"
OLD = "<div class='alert alert-danger'>The service ends in May</div>"


def _css(value: str) -> dict[str, Any]:
    return {"strategies": [{"type": "css", "value": value}]}


def _step(step_id: str, action_type: str, target: str, **more: Any) -> dict[str, Any]:
    return {"step_id": step_id, "action": {"action_type": action_type, "target": _css(target), **more}}


FILLED = (
    _step("name", "type_text", "#name", text="{member}"),
    _step("town", "type_text", "#town", text="{town}"),
    {**_step("next", "click", "#next"), "repeatable": True},
)
CONFIRM = _step("confirm", "click", "#confirm")
THERE = [{"type": "dom_contains", "value": "Welcome", "selector": "body"}]


def _task(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    names = [{"name": "member"}, {"name": "town"}]
    return {"type": "task", "task_id": "join", "io_spec": {"inputs": names}, "steps": list(steps), **more}


GIVEN = {"member": "R2D2", "town": "Tern Bay"}
TIDY_UP = {
    "type": "task", "task_id": "tidy_up",
    "steps": [{**_step("tidy", "click", "#tidy"), "repeatable": True}],
}  # fmt: skip
WORKFLOW = {
    "type": "workflow", "workflow_id": "joining", "name": "Joining", "success_criteria": THERE,
    "io_spec": {"inputs": [{"name": "member"}, {"name": "town"}]},
    "nodes": [{"type": "task", "node_id": "one", "task_id": "join",
               "inputs": {name: {"source": "task_context", "key": name} for name in GIVEN}}],
}  # fmt: skip


async def _ended(browser, tmp_path, task, *, before="", complains=""):
    page = Answered(f"<body>{FORM % (before, complains)}</body>")
    workflow = parse_document(WORKFLOW)
    tidy_up = parse_document(TIDY_UP)
    assert isinstance(workflow, Workflow)
    with running_site(lambda _: page) as site:
        async with visiting(browser, site, tmp_path, parse_document(task), workflow, tidy_up) as session:
            session.step_timeout_s = 1.5
            await session.page.goto(f"{site.base}/")
            if task.get("success_criteria") is None and len(task["steps"]) == len(FILLED):
                return await run_workflow(TaskRunner(session), workflow, GIVEN)
            return await TaskRunner(session).run_task("join", GIVEN)


CASES = {
    "the next element is missing": _task(*FILLED, CONFIRM),
    "a success criterion fails": _task(*FILLED, success_criteria=THERE),
    "a criterion of the workflow fails": _task(*FILLED),
}


@pytest.mark.parametrize("task", CASES.values(), ids=CASES)
@pytest.mark.parametrize(
    ("complains", "said", "to_do"),
    [
        (FIELD, "Name: No digits, please", "give another value for input member"),
        (BANNER, "The year 2025 is closed", "give values that it accepts"),
        (ALERT, "This name is taken", "give values that it accepts"),
    ],
    ids=["a marked field", "a banner", "an alert"],
)
async def test_a_complaint_of_the_page_comes_first_and_the_hint_says_what_to_do(
    browser, tmp_path, task, complains, said, to_do
):
    result = await _ended(browser, tmp_path, task, complains=complains)
    assert not result.complete
    assert (result.error or "").startswith(f"the page says: {said}; "), result.error
    assert result.hint == f"The page says: {said}; {to_do}"
    assert any(words in result.error for words in ("confirm", "criterion")), result.error


async def test_a_recovery_that_removes_the_complaint_does_not_overwrite_the_reason(browser, tmp_path):
    rule = {"condition": "element_not_found", "recovery": "tidy_up", "retry": True}
    task = _task(*FILLED, {**CONFIRM, "error_handling": [rule]})
    result = await _ended(browser, tmp_path, task, complains=FIELD)
    assert [each.step_id for each in result.steps] == ["name", "town", "next", "confirm"]
    assert (result.error or "").startswith("the page says: Name: No digits, please; "), result.error


@pytest.mark.parametrize("task", CASES.values(), ids=CASES)
async def test_what_the_page_showed_before_the_press_is_no_reason(browser, tmp_path, task):
    result = await _ended(browser, tmp_path, task, before=OLD)
    assert result.status is not RunStatus.SUCCESS
    assert "The service ends" not in (result.error or "")
    assert "The page says" not in (result.hint or "")
