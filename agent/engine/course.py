"""How far a workflow got: which of its nodes are done, which ways were taken; kept with the run, so that
what is done is not done again when it is carried on.

The tasks of its nodes are kept by the engine, below the place of their node.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from agent.engine.calls import finds_its_own_way
from agent.engine.running import Run
from agent.engine.state import DoneStep, Frame, without_secrets
from agent.errors import StepFailed
from kb_schema.calls import ActionCall
from kb_schema.runs import StepRecord
from kb_schema.tasks import Task, TaskStep
from kb_schema.workflows import AnyNode

if TYPE_CHECKING:
    from agent.engine.engine import Engine
    from agent.session import Session

_NOTHING = TaskStep(step_id="nothing", order=1, action=ActionCall(action_type="no_op"))


class Course:
    """The nodes of a workflow, or those of one round of a loop in it.

    `place` is the path of what they belong to; None where nothing is kept.
    """

    def __init__(self, engine: Engine, place: str | None, name: str) -> None:
        self._engine, self.place = engine, place
        frames = engine.keeper.state.frames
        self._elsewhere = place is not None and place in frames
        """The run was carried on, and the page is not where the last node left it."""
        self.frame = Frame(task_id=name) if place is None else frames.setdefault(place, Frame(task_id=name))
        self._run = Run(Task(task_id=name, steps=(_NOTHING,)), self.frame, 0, None)

    def begin(self, session: Session) -> None:
        """Where the page is when it begins, unless it began before."""
        if not self._elsewhere:
            self.frame.url, self.frame.screen_id = session.page.url, session.screen_id

    def path(self, node: AnyNode) -> str | None:
        """Where what a node does is kept."""
        return None if self.place is None else f"{self.place}/{node.node_id}"

    def done(self, node: AnyNode) -> StepRecord | None:
        """How a node came out that is over."""
        done = self.frame.done.get(node.node_id)
        return None if done is None else done.record

    def begun(self, path: str | None, task_id: str) -> Frame | None:
        """What another life of the run has of a node's task."""
        return None if path is None else self._engine.keeper.state.frames.get(f"{path}>{task_id}")

    async def chosen(self, key: str, judge: Callable[[], Awaitable[bool]]) -> bool:
        """What was decided once, whatever the page says by now."""
        if key not in self.frame.chosen:
            await self.come_back()
            self.frame.chosen[key] = await judge()
        return self.frame.chosen[key]

    async def come_back(self, task: Task | None = None) -> None:
        """To the page on which the last node ended, where the run was carried on. `task`: what is next.

        Raises `StepFailed` where that page cannot be opened again and the task needs it.
        """
        if not self._elsewhere:
            return
        self._elsewhere = False
        last = self.frame.ends_at
        url = self.frame.url if last is None else last.url
        screen = self.frame.screen_id if last is None else last.record.screen_id
        if not url.startswith(("http://", "https://")) or await self._engine.resuming.is_at(
            self._run, url, screen
        ):
            return
        if task is None or not finds_its_own_way(task.ordered_steps[0].action):
            raise StepFailed(f"the page {url} cannot be opened again", error="navigation_failed", acted=True)

    def came_back(self) -> None:
        """What was carried on found its own way."""
        self._elsewhere = False

    async def note(self, node: AnyNode, record: StepRecord, values: Mapping[str, Any], url: str) -> None:
        """A node is over: it is not done again, and of what it did only the result counts."""
        path, state = self.path(node), self._engine.keeper.state
        if path is None:
            return
        self.frame.done[node.node_id] = DoneStep(record=record, url=url)
        state.forget(path)
        await self.keep(values)

    async def keep(self, values: Mapping[str, Any]) -> None:
        """A checkpoint, with the values that are around."""
        redact = self._engine.session.context.redact
        self.frame.values = without_secrets(dict(values), redact(dict(values)))
        await self._engine.keep_state()
