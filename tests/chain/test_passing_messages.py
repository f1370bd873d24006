"""A message that is gone when a run looks at the page is evidence if it appeared after the last press."""

from __future__ import annotations

from typing import Any

import pytest

from agent.execution.task_runner import TaskRunner
from agent.execution.workflow_runner import run_workflow
from kb_schema import parse_document
from kb_schema.run_records import EvidenceLevel, RunStatus
from kb_schema.workflows import Workflow
from tests.support.small_sites import Answered, running_site, visiting

pytestmark = pytest.mark.usefixtures("impatient")

PAGE = """<body><h1>Boats</h1><button id=first>First</button><button id=last>Last</button><p id=banner></p><div id=place></div><script>
const say = (text, style) => {
  const message = document.createElement('div');
  message.textContent = text; message.style.cssText = style;
  document.getElementById('place').append(message);
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => message.remove())));
};
for (const [id, does] of [['first', () => { %s }], ['last', () => { %s }]]) document.getElementById(id).onclick = does;
</script>"""
SAYS = "say('Boat saved', '');"
HIDDEN = "say('Boat saved', 'display: none');"
REFUSES = "banner.setAttribute('role', 'alert'); banner.className = 'error'; banner.textContent = 'The harbour is full';"


def _click(name: str) -> dict[str, Any]:
    target = {"strategies": [{"type": "css", "value": f"#{name}"}]}
    return {"step_id": name, "action": {"action_type": "click", "target": target}, "repeatable": True}


TASK = {"type": "task", "task_id": "save", "steps": [_click("first"), _click("last")]}
WORKFLOW = {
    "type": "workflow", "workflow_id": "saving", "name": "Saving",
    "success_criteria": [{"type": "dom_contains", "value": "Boat saved"}],
    "nodes": [{"type": "task", "node_id": "one", "task_id": "save"}],
}  # fmt: skip


async def _ran(browser, tmp_path, *, first="", last=""):
    workflow = parse_document(WORKFLOW)
    assert isinstance(workflow, Workflow)
    with running_site(lambda _: Answered(PAGE % (first, last))) as site:
        async with visiting(browser, site, tmp_path, parse_document(TASK), workflow) as session:
            await session.page.goto(f"{site.base}/")
            return await run_workflow(TaskRunner(session), workflow, {})


async def test_a_message_that_appeared_after_the_last_press_and_is_gone_is_evidence(browser, tmp_path):
    result = await _ran(browser, tmp_path, last=SAYS)
    assert result.status is RunStatus.SUCCESS, result.error
    assert result.evidence is EvidenceLevel.VERIFIED


@pytest.mark.parametrize(
    "page",
    [{"first": SAYS}, {"last": HIDDEN}, {"last": SAYS + REFUSES}],
    ids=["of an earlier press", "hidden", "beside a refusal"],
)
async def test_other_passing_messages_are_no_evidence(browser, tmp_path, page):
    result = await _ran(browser, tmp_path, **page)
    assert result.status is not RunStatus.SUCCESS
    assert "'Boat saved'" in (result.error or "")
