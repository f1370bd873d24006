"""What an earlier node entered on a page is not lost by a later node's recovery."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from agent.execution.task_runner import TaskRunner
from agent.execution.workflow_runner import run_workflow
from kb_schema import parse_document
from kb_schema.run_records import RunStatus
from kb_schema.tasks import Task
from kb_schema.workflows import Workflow
from kb_store.store_factory import open_runs
from periplus.run_store_adapters import RunStoreKeeping
from tests.support.lives import another_life, ended_at, kept_state
from tests.support.small_sites import Answered, Asked, running_site, visiting

ROWS = "".join(f"<li><label><input type=checkbox name={name}>{name}</label></li>" for name in ("a", "b"))


@dataclass
class Files:
    """A list of files. Its button is there when the page is loaded for the second time only."""

    saves: bool
    """Whether a tick is sent."""
    loads: int = 0
    ticked: set[str] = field(default_factory=set)
    moved: list[list[str]] = field(default_factory=list)

    def answer(self, asked: Asked) -> Answered:
        if asked.path == "/tick":
            self.ticked |= set(asked.form)
            return Answered("{}")
        if asked.method == "POST":
            self.moved.append(sorted(set(asked.form) | self.ticked))
            return Answered(location="/done")
        if asked.path == "/done":
            return Answered("<body><p role=status>Moved</p></body>")
        self.loads += 1
        button = "<button>Move</button>" if self.loads > 1 else ""
        send = 'fetch("/tick", {method: "POST", body: new URLSearchParams([[box.name, "on"]])})'
        script = f"box.addEventListener('change', () => {send})" if self.saves else ""
        return Answered(
            f"<body><h1>Files</h1><form method=post action=/move><ul>{ROWS}</ul>{button}</form>"
            f"<script>for (const box of document.querySelectorAll('input')) {{ {script} }}</script></body>"
        )


def _task(task_id: str, action: dict[str, Any], **more: Any) -> Task:
    step = {"step_id": task_id, "order": 1, "action": action, **more}
    parsed = parse_document({"type": "task", "task_id": task_id, "name": task_id, "steps": [step]})
    assert isinstance(parsed, Task)
    return parsed


TICK = _task("tick", {"action_type": "check", "target": "input[name=a]"})
PRESS = {"action_type": "click", "target": "form button"}
SEES_BUTTON = {
    "type": "element_visible", "element": "form button", "hard_dependency": False, "auto_remediate": True,
    "remediation_action": "refresh",
}  # fmt: skip
MOVES = {
    "by a rule": _task(
        "move",
        PRESS,
        error_handling=[{"condition": "element_not_found", "recovery": "refresh_and_retry", "retry": True}],
    ),
    "by a remedy": _task("move", PRESS, preconditions=[SEES_BUTTON]),
}
"""Ways to load the page again."""
SCREENS = [
    parse_document({"type": "screen", "screen_id": name, "name": name, "url_patterns": [f"^/{address}$"]})
    for name, address in (("files", ""), ("done", "done"))
]
NODES = [{"type": "task", "node_id": each, "task_id": each} for each in ("tick", "move")]


def _workflow() -> Workflow:
    told = {"type": "workflow", "workflow_id": "moves", "name": "Moves", "unverified": True, "nodes": NODES}
    parsed = parse_document(told)
    assert isinstance(parsed, Workflow)
    return parsed


WORKFLOW = _workflow()


@pytest.mark.parametrize("way", MOVES)
@pytest.mark.parametrize("saves", [False, True])
async def test_a_page_is_opened_again_only_if_what_was_entered_on_it_is_saved(browser, tmp_path, saves, way):
    files = Files(saves)
    with running_site(files.answer) as site:
        async with visiting(browser, site, tmp_path, *SCREENS) as session:
            for task in (TICK, MOVES[way]):
                session.knowledge.know(task)
            await session.page.goto(f"{site.base}/")
            done = await run_workflow(TaskRunner(session), WORKFLOW, {})
    assert (done.complete, files.moved) == ((True, [["a"]]) if saves else (False, []))


async def test_a_run_that_was_interrupted_with_unsaved_entries_is_not_carried_on(browser, tmp_path):
    files = Files(saves=False, loads=1)
    with running_site(files.answer) as site:
        async with (
            visiting(browser, site, tmp_path, *SCREENS) as session,
            open_runs(tmp_path / "runs", None) as runs,
        ):
            keeping = RunStoreKeeping(runs)
            for task in (TICK, MOVES["by a rule"]):
                session.knowledge.know(task)
            await session.page.goto(f"{site.base}/")
            running = run_workflow(TaskRunner(session, keeping=keeping), WORKFLOW, {})
            assert await ended_at(session, running, at=3)  # the second node's step has begun
            assert files.moved == []
            state = await kept_state(keeping, session)
            async with another_life(session, browser, state) as later:
                done = await run_workflow(TaskRunner(later, keeping=keeping, resume=state), WORKFLOW, {})
    assert (done.status, files.moved) == (RunStatus.NEEDS_PERSON, [])
    assert "not sent" in str(done.error)
