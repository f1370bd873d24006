"""The progress of a workflow: which nodes are done and which branches were taken; stored with the run, so
that a resumed run does not repeat them.

The tasks of its nodes are checkpointed by the task runner, below the path of their node.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from agent.errors import StepFailed
from agent.execution.call_templates import can_start_anywhere
from agent.execution.persistence.checkpoint_state import CompletedStep, TaskFrame, remove_secret_values
from agent.execution.task_run import TaskRun
from kb_schema.action_calls import ActionCall
from kb_schema.run_records import StepRecord
from kb_schema.tasks import Task, TaskStep
from kb_schema.workflows import AnyNode

if TYPE_CHECKING:
    from agent.execution.execution_ports import TaskExecution
    from agent.session import Session

_NOTHING = TaskStep(step_id="nothing", order=1, action=ActionCall(action_type="no_op"))


class WorkflowProgress:
    """The nodes of a workflow, or of one round of a loop in it.

    `place`: the path they belong to; None if nothing is checkpointed.
    """

    def __init__(self, engine: TaskExecution, place: str | None, name: str) -> None:
        self._engine, self.place = engine, place
        frames = engine.checkpoints.state.frames
        self._elsewhere = place is not None and place in frames
        """The run was resumed, and the page is not where the last node left it."""
        self.frame = (
            TaskFrame(task_id=name) if place is None else frames.setdefault(place, TaskFrame(task_id=name))
        )
        self._run = TaskRun(Task(task_id=name, steps=(_NOTHING,)), self.frame, 0, None)

    def begin(self, session: Session) -> None:
        """Store where the page is at the beginning, unless that is stored already."""
        if not self._elsewhere:
            self.frame.url, self.frame.screen_id = session.page.url, session.screen_id

    def path(self, node: AnyNode) -> str | None:
        """Return the path under which a node's work is checkpointed."""
        return None if self.place is None else f"{self.place}/{node.node_id}"

    def done(self, node: AnyNode) -> StepRecord | None:
        """Return the record of a node that is over, or None."""
        done = self.frame.done.get(node.node_id)
        return None if done is None else done.record

    def begun(self, path: str | None, task_id: str) -> TaskFrame | None:
        """Return the frame of a node's task that was begun before a resume."""
        return None if path is None else self._engine.checkpoints.state.frames.get(f"{path}>{task_id}")

    async def chosen(self, key: str, judge: Callable[[], Awaitable[bool]]) -> bool:
        """Return a decision that is made once, whatever the page shows later."""
        if key not in self.frame.chosen:
            await self.come_back()
            self.frame.chosen[key] = await judge()
        return self.frame.chosen[key]

    async def come_back(self, task: Task | None = None) -> None:
        """Open the page where the last node ended, if the run was resumed. `task`: the next one.

        Raises `StepFailed` if the page cannot be opened and the task needs it.
        """
        if not self._elsewhere:
            return
        self._elsewhere = False
        last = self.frame.ends_at
        url = self.frame.url if last is None else last.url
        screen = self.frame.screen_id if last is None else last.record.screen_id
        if not url.startswith(("http://", "https://")) or await self._engine.resumption.is_at(
            self._run, url, screen
        ):
            return
        if task is None or not can_start_anywhere(task.ordered_steps[0].action):
            raise StepFailed(f"cannot return to the page {url}", error="navigation_failed", acted=True)

    def came_back(self) -> None:
        """Note that the resumed task found its own way back."""
        self._elsewhere = False

    async def note(self, node: AnyNode, record: StepRecord, values: Mapping[str, Any], url: str) -> None:
        """Store that a node is over; it is not repeated, and only its result counts."""
        path, state = self.path(node), self._engine.checkpoints.state
        if path is None:
            return
        self.frame.done[node.node_id] = CompletedStep(record=record, url=url)
        state.forget(path)
        await self.keep(values)

    async def keep(self, values: Mapping[str, Any]) -> None:
        """Write a checkpoint with the present values."""
        redact = self._engine.session.context.redact
        self.frame.values = remove_secret_values(dict(values), redact(dict(values)))
        await self._engine.keep_state()
