"""How a flow is told, and the presenter who talks and points while the engine works.

Which segment comes next, and what belongs to it, is `agent.presenting.player`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from playwright.async_api import Error as PlaywrightError

from agent.engine.companion import Companion
from agent.page.acting import Pace
from agent.page.errors import PageError
from agent.page.gate import pass_gate
from agent.presenting.narrator import Narrator
from agent.presenting.records import Narrated
from agent.presenting.stage import Stage
from agent.session import Session
from kb_schema.calls import ActionCall
from kb_schema.presentation import NarrativeHook, Segment
from kb_schema.selectors import Selector
from kb_schema.tasks import Task, TaskStep
from kb_schema.templates import MissingVariable, fill

SLOWEST_KEY_S, FASTEST_KEY_S = 0.14, 0.03
"""Bounds of a human's typing; within them a field takes as long as what is said about it. An
authored speed takes the place of the fastest."""


@dataclass(frozen=True, slots=True)
class Telling:
    """What the player and the presenter share: to whom, with which voice, on what, how fast."""

    session: Session
    narrator: Narrator
    stage: Stage | None
    """None: nothing is drawn."""
    speed: float
    instant: bool
    """No words that take time, no pauses: only the work."""

    async def say(self, text: str, values: Mapping[str, Any]) -> None:
        """Fill and speak; a sentence whose variable has no value is left unsaid."""
        try:
            words = fill(text, values)
        except MissingVariable:
            return
        before = len(self.narrator.spoken)
        await self.narrator.say(str(self.session.context.redact(words)))
        for spoken in self.narrator.spoken[before:]:
            self.session.bus.tell(Narrated(spoken.text, spoken.start_s))


class Presenter(Companion):
    """Talks and points while the engine carries out a segment's task."""

    def __init__(self, telling: Telling) -> None:
        self._telling = telling
        self._segment: Segment | None = None
        self._values: dict[str, Any] = {}
        self._begun: set[str] = set()

    def begin(self, segment: Segment, values: Mapping[str, Any]) -> None:
        """A segment's task starts."""
        self._segment, self._values, self._begun = segment, dict(values), set()

    def end(self) -> None:
        """Its task is over."""
        self._segment = None

    async def before_step(self, task: Task, step: TaskStep, values: Mapping[str, Any]) -> None:
        """What belongs before the step, to its end; then what is said during it, or the step's own
        narration: it begins, then the step does. A second attempt says nothing again.
        """
        segment = self._segment
        if segment is None or task.task_id != segment.task_id or step.step_id in self._begun:
            return
        first = not self._begun
        self._begun.add(step.step_id)
        self._values |= values
        await self._aside(_hooks(segment, "before", step.step_id))
        during = _hooks(segment, "during", None) if first else []
        texts = [hook.narration for hook in (*during, *_hooks(segment, "during", step.step_id))]
        for text in texts or [step.action.narration or ""]:
            await self._telling.say(text, self._values)

    async def after_step(self, task: Task, step: TaskStep, values: Mapping[str, Any]) -> None:
        """What belongs after the step; nobody goes on while told what was done."""
        segment = self._segment
        if segment is not None and task.task_id == segment.task_id:
            self._values = {**self._values, **values}
            await self._aside(_hooks(segment, "after", step.step_id))

    async def _aside(self, hooks: Iterable[NarrativeHook]) -> None:
        """Say something while nothing is done."""
        for hook in hooks:
            await self._telling.say(hook.narration, self._values)
            await self._telling.narrator.finished()

    async def before_action(self, call: ActionCall, selector: Selector | None) -> None:
        """Bring the pointer to the element, so that a viewer sees what is about to happen."""
        stage = self._telling.stage
        if stage is None or selector is None:
            return
        try:
            gated = await pass_gate(self._telling.session.page, selector, timeout_s=2.0)
            box = await gated.pointer.bounding_box()
        except (PageError, PlaywrightError):
            return  # the action's own gate will say what is wrong
        if box is not None:
            await stage.point_to(dict(box))  # type: ignore[arg-type]  # a TypedDict of floats
            if call.canonical_type in ("click", "double_click", "check", "uncheck"):
                await stage.press()

    def pace(self, call: ActionCall, usual: Pace) -> Pace:
        """Type as long as is being spoken, at a human speed."""
        telling = self._telling
        if telling.instant or not isinstance(call.value, str) or not call.value:
            return usual
        authored = call.speed / 1000 if isinstance(call.speed, int | float) else FASTEST_KEY_S
        wanted = telling.narrator.remaining_s / len(call.value)
        return Pace(key_delay_s=min(SLOWEST_KEY_S / telling.speed, max(authored / telling.speed, wanted)))


def _hooks(segment: Segment, when: str, step_id: str | None) -> list[NarrativeHook]:
    return [h for h in segment.narrative_hooks if h.hook_type == when and h.step_id == step_id]
