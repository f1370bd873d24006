"""The presenter: speaks and points while the engine executes a task.

`agent.presentation.flow_player` decides which segment comes next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from playwright.async_api import Error as PlaywrightError

from agent.events import ActionDone, Event
from agent.execution.call_templates import is_idempotent
from agent.execution.run_observer import RunObserver
from agent.page.action_requests import ActionPace
from agent.page.actionability_gate import pass_gate
from agent.page.errors import PageError
from agent.presentation.action_lead_times import ActionLeadTimes
from agent.presentation.narration.interruptible_narrator import InterruptibleNarrator
from agent.presentation.page_overlay import MOVE_MS
from kb_schema.action_calls import ActionCall
from kb_schema.narration_marks import list_mark_names, read_marks
from kb_schema.presentation_flows import NarrativeHook, Segment
from kb_schema.selectors import Selector
from kb_schema.tasks import Task, TaskStep

__all__ = ["InterruptibleNarrator", "Presenter", "TaskNarrationStyle"]

SLOWEST_KEY_S, FASTEST_KEY_S = 0.14, 0.03
"""Limits of human typing speed in seconds per key; between them, typing lasts as long as the words about the
field. An authored speed replaces the fastest one.
"""
LONGEST_TYPING_S = 8.0
"""Longest typing time of one field. It bounds how long an interrupting visitor waits."""
POINT_TIMEOUT_S = 2.0
"""Timeout in seconds for pointing at an element; the action's own gate reports the actual problem."""
EARLY_WORDS = 4
"""A mark on one of the first words leaves no time to move the pointer."""
TYPING = frozenset({"fill", "append_text", "input_and_submit"})
FILLING = TYPING | {"select_option", "check", "uncheck", "upload_file"}
PRESSING = frozenset({"click", "double_click", "right_click", "drag", "check", "uncheck"})
PREPARING = frozenset({"focus", "hover", "clear", "scroll", "scroll_to_element"})
"""Preparatory actions inside an action's recipe (KS 4.2)."""
NEAR_PX = 6.0
UNPOINTED = frozenset({"navigate", "wait", "wait_for", "run_task", "execute_iterator"})
"""Actions without a target to point at: their word is awaited before the step."""
NOTES = ("help_text", "description", "purpose")
"""Keys of an element's metadata that contain notes of the author."""


Repeatable = Callable[[TaskStep], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class TaskNarrationStyle:
    """How the task of a segment is narrated."""

    silence_s: float = 3.0
    """Longest silence in seconds while a field is typed: the author's note is spoken, and without a note the
    typing is faster.
    """
    explain_fields: bool = False
    """Say the note of every field that has one."""
    own_words: bool = True
    """Use a step's own narration if the flow has none for it."""
    notes: bool = True
    """Whether notes of the knowledge base may be spoken: they are in the spoken language."""


@dataclass(slots=True)
class _ReleasedAction:
    """An action that was released, and the time of its release."""

    kind: str
    at_s: float
    typing_s: float = 0.0


class Presenter(RunObserver):
    """Speaks and points while the engine executes a segment's task.

    A visitor's detour leaves the task at once before the first non-repeatable step. After that step it is
    delayed until the task is done, and the rest of the task runs without words.
    """

    def __init__(self, narration: InterruptibleNarrator) -> None:
        self._narration = narration
        self._segment: Segment | None = None
        self._style = TaskNarrationStyle()
        self._repeatable: Repeatable = _is_repeatable_by_action
        self._values: dict[str, Any] = {}
        self._begun: set[str] = set()
        self._current_step: TaskStep | None = None
        self._noted: set[str] = set()
        self._pointed: dict[str, float] | None = None
        self._ringed = False
        self._synthesis: asyncio.Task[None] | None = None
        self._lead_times = ActionLeadTimes()
        self._released: _ReleasedAction | None = None
        narration.session.bus.listen(self._learn_lead_time)

    def begin(
        self,
        segment: Segment,
        values: Mapping[str, Any],
        *,
        style: TaskNarrationStyle | None = None,
        repeatable: Repeatable | None = None,
    ) -> None:
        """Start narrating a segment's task. `repeatable`: the engine's judgement of a step."""
        self._narration.discard_detour()
        self._segment, self._values, self._begun, self._noted = segment, dict(values), set(), set()
        self._style, self._repeatable = style or TaskNarrationStyle(), repeatable or _is_repeatable_by_action

    def end(self) -> None:
        """Stop narrating. A delayed detour is raised at the next safe point."""
        self._segment, self._current_step, self._narration.holding = None, None, False
        if self._synthesis is not None:
            self._synthesis.cancel()

    # -- around steps --------------------------------------------------------------------------------

    async def before_step(self, task: Task, step: TaskStep, values: Mapping[str, Any]) -> None:
        """Play the hooks before the step to their end, then start the hooks during the step or the step's own
        narration. A retry of the step says nothing again.

        Raises `DetourRequested` if no non-repeatable step ran yet.
        """
        segment, narration = self._segment, self._narration
        if segment is None:
            return
        await narration.safe_point()
        self._current_step, self._pointed = step, None
        if task.task_id == segment.task_id and step.step_id not in self._begun:
            await self._narrate_step(segment, task, step, values)
        if step.action.canonical_type in UNPOINTED:
            await self._wait_for_word(list_mark_names(step.action, step.step_id))
        if not narration.holding and step.action.canonical_type != "run_task":
            narration.holding = not await self._repeatable(step)

    async def _narrate_step(
        self, segment: Segment, task: Task, step: TaskStep, values: Mapping[str, Any]
    ) -> None:
        first = not self._begun
        self._begun.add(step.step_id)
        self._values |= values
        if first:
            self._prepare(segment, task)
        await self._play_hooks(_select_hooks(segment, "before", step.step_id))
        during = _select_hooks(segment, "during", None) if first else []
        texts = [hook.narration for hook in (*during, *_select_hooks(segment, "during", step.step_id))]
        if self._style.own_words and not texts:
            texts = list(filter(None, [step.action.narration]))
        if not texts and self._style.explain_fields and step.action.canonical_type in FILLING:
            texts = list(filter(None, [await self._find_note(step.action)]))
        for text in texts:
            if _has_early_mark(text, step):
                await self._narration.finished()
                await self._point_early(step)
            await self._narration.say(text, self._values)

    def _prepare(self, segment: Segment, task: Task) -> None:
        """Start synthesising all narration of this task while its first words are spoken."""
        texts = [hook.narration for hook in segment.narrative_hooks]
        texts += [step.action.narration for step in task.ordered_steps if step.action.narration]
        self._synthesis = asyncio.create_task(self._narration.prepare(texts, self._values), name="synthesis")

    async def after_step(self, task: Task, step: TaskStep, values: Mapping[str, Any]) -> None:
        """Play the hooks after the step to their end, before the next step starts."""
        await self._draw_ring(None)
        segment = self._segment
        if segment is not None and task.task_id == segment.task_id:
            self._values = {**self._values, **values}
            await self._play_hooks(_select_hooks(segment, "after", step.step_id))

    async def _play_hooks(self, hooks: Iterable[NarrativeHook]) -> None:
        """Play these hooks to their end while no action runs."""
        for hook in hooks:
            await self._narration.say(hook.narration, self._values)
            await self._narration.finished()

    # -- around actions ------------------------------------------------------------------------------

    async def before_action(self, call: ActionCall, selector: Selector | None) -> None:
        """Move the pointer to the element and wait for the action's word. Raises `DetourRequested` as
        `before_step` does.
        """
        narration, overlay = self._narration, self._narration.overlay
        if self._segment is not None:
            await narration.safe_point()
        if call.canonical_type in TYPING:
            await self._fill_silence(call)
        names = list_mark_names(call, None if self._current_step is None else self._current_step.step_id)
        await self._point_to(selector, names)
        await self._draw_ring(self._pointed if call.canonical_type in FILLING else None)
        if not self._is_preparation(call):
            await self._wait_for_word(names, lead_s=self._lead_times[call.canonical_type])
        self._released = _ReleasedAction(call.canonical_type, narration.narrator.now)
        if overlay is not None and selector is not None and call.canonical_type in PRESSING:
            await overlay.press()

    def _learn_lead_time(self, event: Event) -> None:
        """Learn the lead time of an action from its release and its end."""
        if isinstance(event, ActionDone) and self._released is not None:
            released, self._released = self._released, None
            if event.error is None:
                took_s = event.duration_ms / 1000
                begun_s = self._narration.narrator.now - took_s
                self._lead_times.note(
                    released.kind,
                    begun_s - released.at_s,
                    took_s - released.typing_s,
                    typing=released.kind in TYPING,
                )

    def _is_preparation(self, call: ActionCall) -> bool:
        """Return whether this action only prepares the step's main action: it needs no word of its own."""
        own = None if self._current_step is None else self._current_step.action.canonical_type
        return call.canonical_type in PREPARING and call.canonical_type != own

    async def _wait_for_word(self, names: Iterable[str], *, lead_s: float = 0.0) -> None:
        """Wait until a word with one of these marks is about to be spoken. Requests of a visitor are handled
        meanwhile.
        """
        narration, names = self._narration, tuple(names)
        while not narration.hurried and (mark := narration.narrator.next_mark(names)) is not None:
            if await narration.narrator.wait_for_mark(mark, lead_s=lead_s):
                return
            await narration.safe_point()

    async def _point_to(self, selector: Selector | None, names: Iterable[str]) -> None:
        narration = self._narration
        if narration.overlay is None or selector is None or narration.hurried:
            return
        try:
            gated = await pass_gate(narration.session.page, selector, timeout_s=POINT_TIMEOUT_S)
            box = await gated.pointer.bounding_box()
        except (PageError, PlaywrightError):
            return  # the action's own gate reports the problem
        if box is None or self._is_pointed_at(dict(box)):  # type: ignore[arg-type]  # a TypedDict of floats
            return
        self._pointed = dict(box)  # type: ignore[arg-type]  # a TypedDict of floats
        left_s = narration.narrator.seconds_until_mark(names)
        milliseconds = MOVE_MS / narration.speed
        if left_s is not None:
            milliseconds = min(milliseconds, left_s * 1000)
        await narration.overlay.point_to(self._pointed, milliseconds=milliseconds)

    def _is_pointed_at(self, box: dict[str, float]) -> bool:
        """Return whether the pointer is on that element already, within a small tolerance for changed
        borders.
        """
        there = self._pointed
        if there is None:
            return False
        sides = (("x", "width"), ("y", "height"))
        return all(abs(there[a] + there[s] / 2 - box[a] - box[s] / 2) <= NEAR_PX for a, s in sides)

    async def _draw_ring(self, box: dict[str, float] | None) -> None:
        """Draw a ring around the field that is being filled; None removes it."""
        overlay = self._narration.overlay
        if overlay is not None and (box is not None or self._ringed):
            self._ringed = box is not None
            await overlay.ring(box)

    async def _point_early(self, step: TaskStep) -> None:
        """Point at a step's element before words that name it immediately, so that the pointer arrives in
        time.
        """
        if not isinstance(step.action.target, str):
            return
        element = (await self._narration.session.elements()).get(step.action.target)
        if element is not None and not element.selector.parameterized:
            await self._point_to(element.selector, ())

    # -- typing --------------------------------------------------------------------------------------

    def pace(self, call: ActionCall, usual: ActionPace) -> ActionPace:
        """Return the typing pace: as long as the speech lasts, at human speed, and with no long silence."""
        narration = self._narration
        if narration.instant or narration.hurried or not isinstance(call.value, str) or not call.value:
            return usual
        seconds = self._typing_s(call, quiet_s=self._style.silence_s)
        if self._released is not None:
            self._released.typing_s = seconds
        return ActionPace(key_delay_s=seconds / len(call.value))

    def _typing_s(self, call: ActionCall, quiet_s: float | None = None) -> float:
        """Return the seconds that typing a field takes; at most `quiet_s` longer than the current speech."""
        narration, keys = self._narration, len(str(call.value))
        remaining = narration.narrator.remaining_s
        fastest = call.speed / 1000 if isinstance(call.speed, int | float) else FASTEST_KEY_S
        fastest, slowest = fastest * keys / narration.speed, SLOWEST_KEY_S * keys / narration.speed
        seconds = min(slowest, LONGEST_TYPING_S, max(fastest, remaining))
        return seconds if quiet_s is None else min(seconds, remaining + quiet_s)

    async def _fill_silence(self, call: ActionCall) -> None:
        """Say the note of a field whose typing lasts longer than the current speech."""
        narration = self._narration
        if narration.instant or narration.hurried or self._segment is None or not isinstance(call.value, str):
            return
        if self._typing_s(call) - narration.narrator.remaining_s <= self._style.silence_s:
            return
        note = await self._find_note(call)
        if note:
            await self._narration.say(note, self._values)

    async def _find_note(self, call: ActionCall) -> str:
        """Return a note about a field, once per segment: narration that was not spoken, or a note from its
        metadata.
        """
        step, segment = self._current_step, self._segment
        if not self._style.notes:
            return ""
        own = "" if step is None else step.action.narration or ""
        if step is not None and segment is not None and own and own not in self._noted:
            self._noted.add(own)
            if _select_hooks(segment, "during", step.step_id):  # the hooks were spoken instead of it
                return own
        if not isinstance(call.target, str) or call.target in self._noted:
            return ""
        element = (await self._narration.session.elements()).get(call.target)
        notes = {} if element is None else element.metadata
        self._noted.add(call.target)
        return next((note for name in NOTES if isinstance(note := notes.get(name), str) and note), "")


async def _is_repeatable_by_action(step: TaskStep) -> bool:
    """Return whether a step may be repeated, judged by its action; used without an engine."""
    return is_idempotent(step.action, None) if step.repeatable is None else step.repeatable


def _select_hooks(segment: Segment, when: str, step_id: str | None) -> list[NarrativeHook]:
    return [h for h in segment.narrative_hooks if h.hook_type == when and h.step_id == step_id]


def _has_early_mark(text: str, step: TaskStep) -> bool:
    names = list_mark_names(step.action, step.step_id)
    return any(name in names and at < EARLY_WORDS for name, at in read_marks(text).marks)
