"""What is so already is judged when the page has settled: a script may still set what it had delivered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agent.execution.task_runner import TaskRunner
from kb_schema.run_records import RunStatus, StepStatus
from kb_schema.tasks import Task
from tests.support.small_sites import Answered, running_site, visiting

if TYPE_CHECKING:
    from playwright.async_api import Browser

FOLLOW = {"strategies": [{"type": "xpath", "value": "//button[normalize-space()='Follow']"}]}
FOLLOWING = {"strategies": [{"type": "xpath", "value": "//button[normalize-space()='Following']"}]}
TASK = Task.model_validate(
    {
        "task_id": "follow",
        "steps": [
            {"step_id": "open", "order": 1, "action": {"action_type": "navigate", "url": "/eve"}},
            {
                "step_id": "press",
                "order": 2,
                "action": {"action_type": "click", "target": FOLLOW},
                "already_done_when": [
                    {"type": "element_visible", "element": FOLLOWING},
                    {"type": "element_hidden", "element": FOLLOW},
                ],
            },
        ],
    }
)
PRESS = "<script>document.onclick = (event) => { if (event.target.id === 'b') fetch('/follow', {method: 'POST'}); }</script>"
SET_LATE = f"<button id=b>Following</button>{PRESS}<script>setTimeout(() => {{ b.textContent = 'Follow'; }}, 2600)</script>"
ADD_LATE = f"<button>Following</button><p id=slot></p>{PRESS}<script>setTimeout(() => {{ slot.innerHTML = '<button id=b>Follow</button>'; }}, 3200)</script>"


@pytest.mark.parametrize(
    ("page", "skipped"),
    [(f"<button id=b>Following</button>{PRESS}", True), (SET_LATE, False), (ADD_LATE, False)],
)
async def test_what_a_script_sets_later_is_waited_for(
    browser: Browser, tmp_path: Any, page: str, *, skipped: bool
):
    with running_site(
        lambda asked: Answered("" if asked.method == "POST" else f"<h1>Eve</h1>{page}")
    ) as site:
        async with visiting(browser, site, tmp_path) as session:
            session.knowledge.know(TASK)
            result = await TaskRunner(session).run_task("follow", {})
    last = result.steps[-1]
    assert (last.status is StepStatus.SKIPPED) is skipped, result.error
    assert len(site.writes) == (0 if skipped else 1)
    assert (result.status is RunStatus.SUCCESS) is skipped
