"""Getting to a screen as work of its own: a task nobody authored, made of one navigation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kb_schema import parse_document
from kb_schema.runs import RunResult, RunStatus
from kb_schema.tasks import Task

if TYPE_CHECKING:
    from agent.engine.engine import Engine

PREFIX = "go_to_"
SOMEWHERE_S = 2.0
"""How long a page that was opened without being signed in may take to be a known screen."""


async def reach(engine: Engine, screen_id: str) -> RunResult:
    """Get to a screen along the ways that are known, signing in where that is needed for it.

    Raises as `Engine.run_task` does.
    """
    session = engine.session
    await session.knowledge.screen(screen_id)  # an unknown one is refused before anything is done
    await engine.guide.arrive()
    login = session.website.login_task_id
    if await session.signed_in() is not False or await _stands_open(engine, screen_id):
        login = None
    task = _way_to(screen_id, login)
    session.knowledge.know(task)
    return await engine.run_task(task.task_id)


def then(first: RunResult, second: RunResult) -> RunResult:
    """The outcome of a task that was to end on a screen: what the task came to, and whether one is there."""
    steps = (*first.steps, *second.steps)
    duration_ms = first.duration_ms + second.duration_ms
    changes: dict[str, object] = {"steps": steps, "duration_ms": duration_ms}
    if not second.succeeded:
        changes |= {
            "status": RunStatus.PARTIAL,
            "error": f"{first.task_id} is done, but the screen to end on was not reached: {second.error}",
            "hint": second.hint,
        }
    return first.model_copy(update=changes)


async def _stands_open(engine: Engine, screen_id: str) -> bool:
    """Whether the screen shows itself to somebody who is not signed in."""
    screen = await engine.session.knowledge.screen(screen_id)
    if engine.session.screen_id == screen_id:
        return True
    if screen.url is None:
        return False
    await engine.guide.open(screen.url)
    found = await engine.session.look_for(timeout_s=SOMEWHERE_S)
    return found.screen_id == screen_id


def _way_to(screen_id: str, login: str | None) -> Task:
    signed_in = {
        "type": "authenticated", "hard_dependency": False, "auto_remediate": True, "remediation_task_id": login,
    }  # fmt: skip
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
    assert isinstance(task, Task)  # noqa: S101 - that is what its `type` says
    return task
