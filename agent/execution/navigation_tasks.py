"""Navigation as a task of its own: a generated task with one navigation step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kb_schema import parse_document
from kb_schema.run_records import RunResult, RunStatus
from kb_schema.tasks import Task

if TYPE_CHECKING:
    from agent.execution.task_runner import TaskRunner

PREFIX = "go_to_"
SOMEWHERE_S = 2.0
"""Seconds a page may take to be a known screen when it is opened without signing in."""


async def reach_screen(engine: TaskRunner, screen_id: str) -> RunResult:
    """Go to a screen along known paths, signing in if it requires that.

    Raises as `TaskRunner.run_task` does.
    """
    session = engine.session
    await session.knowledge.screen(screen_id)  # raises for an unknown screen before anything is done
    await engine.guide.arrive()
    login = session.website.login_task_id
    if await session.signed_in() is not False or await _is_public(engine, screen_id):
        login = None
    task = _build_navigation_task(screen_id, login)
    session.knowledge.know(task)
    return await engine.run_task(task.task_id)


def combine_results(first: RunResult, second: RunResult) -> RunResult:
    """Return the result of a task that had to end on a screen: that of the task, and of the navigation after
    it.
    """
    steps = (*first.steps, *second.steps)
    duration_ms = first.duration_ms + second.duration_ms
    changes: dict[str, object] = {"steps": steps, "duration_ms": duration_ms}
    if not second.complete:
        changes |= {
            "status": RunStatus.PARTIAL,
            "error": f"{first.task_id} is done, but the final screen was not reached: {second.error}",
            "hint": second.hint,
        }
    return first.model_copy(update=changes)


async def _is_public(engine: TaskRunner, screen_id: str) -> bool:
    """Whether the screen is shown without signing in."""
    screen = await engine.session.knowledge.screen(screen_id)
    if engine.session.screen_id == screen_id:
        return True
    if screen.url is None:
        return False
    await engine.guide.open(screen.url)
    found = await engine.session.look_for(timeout_s=SOMEWHERE_S)
    return found.screen_id == screen_id


def _build_navigation_task(screen_id: str, login: str | None) -> Task:
    signed_in = {
        "type": "authenticated",
        "hard_dependency": False,
        "auto_remediate": True,
        "remediation_task_id": login,
    }
    task = parse_document(
        {
            "type": "task",
            "task_id": f"{PREFIX}{screen_id}",
            "name": f"Go to {screen_id}",
            "steps": [
                {
                    "step_id": "go",
                    "type": "navigation",
                    "action": {"action_type": "navigate", "target_screen": screen_id, "method": "any"},
                    "preconditions": [] if login is None else [signed_in],
                    "postconditions": [{"type": "on_screen", "screen_id": screen_id}],
                }
            ],
        }
    )
    assert isinstance(task, Task)  # noqa: S101 - its `type` is "task"
    return task
