"""Playing a presentation flow: segments in order, words and work at the same time (KS 6.3).

Navigation is never in a flow: a segment names a task or a screen, and the guide finds the way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from playwright.async_api import Error as PlaywrightError

from agent.engine.calls import fill_conditions
from agent.engine.companion import Companion
from agent.engine.engine import Engine
from agent.engine.inputs import map_inputs
from agent.errors import AgentError
from agent.events import Event, ScreenSeen
from agent.page.acting import Pace
from agent.page.errors import PageError, PageGone
from agent.page.gate import pass_gate
from agent.presenting.narrator import Narrator
from agent.presenting.records import (
    Narrated,
    Presentation,
    SegmentEnded,
    SegmentRecord,
    SegmentStarted,
    SegmentStatus,
)
from agent.presenting.stage import Stage
from agent.session import Session
from kb_schema.calls import ActionCall
from kb_schema.presentation import PresentationFlow, Segment, SegmentTransition
from kb_schema.probes import Facts, Status
from kb_schema.selectors import Selector
from kb_schema.tasks import Task, TaskStep
from kb_schema.templates import MissingVariable, fill

SLOWEST_KEY_S, FASTEST_KEY_S = 0.14, 0.03
"""Bounds of a human's typing; within them a field takes as long as what is said about it. An
authored speed takes the place of the fastest."""
BRIDGE = "That did not go as planned, so let me show you the next part."
"""Said when a segment cannot be saved."""


class Player:
    """Tells one flow on a session's page."""

    def __init__(
        self,
        session: Session,
        narrator: Narrator,
        *,
        clock: Callable[[], float],
        stage: Stage | None = None,
        speed: float = 1.0,
        instant: bool = False,
    ) -> None:
        """`clock`: seconds of film. `instant`: no words, no pauses, no pointer; only the work."""
        self._session, self._narrator, self._stage = session, narrator, stage
        self._clock, self._speed, self._instant = clock, speed, instant
        self._companion = _Presenter(self)
        self.engine = Engine(session, self._companion)
        self._record: SegmentRecord | None = None
        self.presentation = Presentation("", "")
        session.bus.listen(self._note_screen)

    async def play(self, flow_id: str) -> Presentation:
        """Play a flow to its end. Raises `NotInKnowledge`, `KnowledgeUnavailable`,
        `SiteUnreachable` at its start, and `PageGone`; a segment that fails is passed over with grace.
        """
        flow = await self._session.knowledge.flow(flow_id)
        self.presentation = Presentation(flow.flow_id, flow.name)
        await self.engine.guide.arrive()
        segments = flow.ordered_segments
        transitions = {t.from_segment: t for t in flow.transitions}
        index = 0
        while index < len(segments):
            segment = segments[index]
            record = SegmentRecord(
                segment.segment_id, _title(segment), segment.type, segment.required, self._clock()
            )
            self.presentation.segments.append(record)
            await self._segment(flow, segment, record, index)
            index += 1
            transition = transitions.get(segment.segment_id)
            if transition is not None and index < len(segments):
                index = await self._pass_over(flow, transition, index)
        await self._narrator.finished()
        self._narrator.close()
        if self._stage is not None:
            await self._stage.caption("")
        self.presentation.duration_s = self._clock()
        return self.presentation

    # -- one segment -----------------------------------------------------------------------------

    async def _segment(
        self, flow: PresentationFlow, segment: Segment, record: SegmentRecord, index: int
    ) -> None:
        bus = self._session.bus
        bus.tell(
            SegmentStarted(
                segment.segment_id, record.title, index + 1, len(flow.segments), self.remaining(flow)
            )
        )
        reason = await self._reason_to_skip(flow, segment)
        if reason is not None:
            record.status, record.reason = SegmentStatus.SKIPPED, reason
        else:
            self._record = record
            try:
                await self._show(flow, segment, record)
            except PageGone as exc:
                record.status, record.reason = SegmentStatus.FAILED, str(exc)
                raise  # without a page there is nothing left to show
            except (AgentError, PageError) as exc:
                record.status = SegmentStatus.FAILED
                record.reason = self._session.context.redact(str(exc))
                await self.say(BRIDGE, {})
            record.picture = await self._picture()
            self._record = None
        record.end_s = self._clock()
        bus.tell(SegmentEnded(segment.segment_id, record.status, record.reason))

    async def _show(self, flow: PresentationFlow, segment: Segment, record: SegmentRecord) -> None:
        values = self._words(flow)
        if self._stage is not None and not self._instant:
            await self._stage.chapter(record.title)
        match segment.type:
            case "conversational":
                await self._hooks(segment, "before", values)
                await self.say(segment.narration_template, values)
                await self._narrator.finished()
                await self._hooks(segment, "after", values)
            case "explanation":
                await self._explain(segment, values)
            case "task_execution":
                await self._demonstrate(segment, record, values)

    async def _explain(self, segment: Segment, values: dict[str, Any]) -> None:
        await self._hooks(segment, "before", values)
        await self.engine.guide.go_to(segment.screen_id or "")
        await self.say(segment.narration_template, values)
        if not self._instant:
            await self._scroll_and_point(segment)
        await self._hooks(segment, "during", values)
        await self._narrator.finished()
        if self._stage is not None:
            await self._stage.ring(None)
        await self._hooks(segment, "after", values)

    async def _demonstrate(self, segment: Segment, record: SegmentRecord, values: dict[str, Any]) -> None:
        inputs = map_inputs(segment.input_mapping, self._session.context)
        values |= {**self._session.context.session, **inputs}  # persisted under another name, too
        await self._hooks(segment, "before", values)
        await self.say(segment.narration_template, values)
        self._companion.begin(segment, values)
        result = await self.engine.run_task(segment.task_id or "", inputs)
        self._companion.end()
        record.run = result
        if not result.succeeded:
            raise AgentError(result.error or f"task {segment.task_id} failed", hint=result.hint)
        values |= result.outputs
        await self._narrator.finished()
        await self._hooks(segment, "after", values)

    async def _hooks(self, segment: Segment, when: str, values: Mapping[str, Any]) -> None:
        """Hooks of a kind that are tied to no step, in order; nobody leaves while told what was done."""
        hooks = [h for h in segment.narrative_hooks if h.hook_type == when and h.step_id is None]
        for hook in hooks:
            await self.say(hook.narration, values)
        if when == "after" and hooks:
            await self._narrator.finished()

    async def _scroll_and_point(self, segment: Segment) -> None:
        """Move through the page while it is explained, in as many parts as there is to show."""
        page, scrolling = self._session.page, segment.scrolling
        stops = scrolling.max_scrolls if scrolling.enabled else 0
        parts = stops + len(segment.highlights)
        if parts == 0:
            return
        share = self._narrator.remaining_s / (parts + 1)
        elements = await self._session.elements()
        for name in segment.highlights:
            if name in elements and self._stage is not None:
                await self._ring(elements[name].selector)
            await page.wait_for_timeout(share * 1000)
        if self._stage is not None:
            await self._stage.ring(None)
        for _ in range(stops):
            await page.mouse.wheel(0, 360 if scrolling.strategy == "incremental" else 4000)
            await page.wait_for_timeout(share * 1000)
        if stops:
            await page.evaluate("window.scrollTo({top: 0, behavior: 'smooth'})")

    async def _ring(self, selector: Selector) -> None:
        try:
            gated = await pass_gate(self._session.page, selector, timeout_s=1.0)
            box = await gated.pointer.bounding_box()
        except (PageError, PlaywrightError):
            return  # only a highlight: an element that cannot be shown now is not pointed at
        if self._stage is not None and box is not None:
            await self._stage.ring(dict(box))  # type: ignore[arg-type]  # a TypedDict of floats

    # -- words, time and ways ----------------------------------------------------------------------

    async def say(self, text: str, values: Mapping[str, Any]) -> float:
        """Fill and speak; a sentence whose variable has no value is left unsaid."""
        try:
            words = fill(text, values)
        except MissingVariable:
            return 0.0
        words = str(self._session.context.redact(words))
        seconds = await self._narrator.say(words)
        if self._narrator.spoken and words.strip():
            self._session.bus.tell(
                Narrated(self._narrator.spoken[-1].text, self._narrator.spoken[-1].start_s)
            )
        return seconds

    def remaining(self, flow: PresentationFlow) -> float | None:
        """Seconds left of the flow's window, as authored (at speed 1)."""
        window = flow.duration.max or flow.duration.estimated
        if window is None:
            return None
        return window - self._clock() * (1.0 if self._instant else self._speed)

    async def _reason_to_skip(self, flow: PresentationFlow, segment: Segment) -> str | None:
        """Why a segment is passed over; None to show it. A required one always is shown."""
        if segment.required or not segment.can_skip:
            return None
        remaining = self.remaining(flow)
        facts = Facts(remaining_seconds=remaining)
        conditions = fill_conditions(segment.skip_conditions, self._words(flow))
        verdicts = await self._session.judge(conditions, self._words(flow), facts)
        for condition, verdict in zip(conditions, verdicts, strict=True):
            if verdict.held:
                return f"{condition.type}: {verdict.evidence}"
        if remaining is not None and remaining < _needed(flow, segment):
            for path in flow.fallback_paths:
                if path.condition == "time_running_out" and segment.segment_id in path.segments_to_skip:
                    return f"time_running_out: {remaining:.0f} s remain"
        return None

    async def _pass_over(self, flow: PresentationFlow, transition: SegmentTransition, index: int) -> int:
        """The index of the next segment; a conditional transition may lead elsewhere (KS 4.5)."""
        segments = flow.ordered_segments
        if transition.type == "conditional" and transition.condition is not None:
            values = self._words(flow)
            (verdict,) = await self._session.judge([transition.condition], values)
            if verdict.status is Status.NOT_HELD:
                fallback = str(getattr(transition.condition, "fallback", None) or "")
                wanted = fallback.removeprefix("skip_to_")
                return next((i for i, s in enumerate(segments) if s.segment_id == wanted), index)
        target = next((i for i, s in enumerate(segments) if s.segment_id == transition.to_segment), index)
        shown_next = segments[target]
        if await self._reason_to_skip(flow, shown_next) is None and transition.narration_template:
            await self.say(transition.narration_template, self._words(flow))
        return target if transition.type != "conditional" or target >= index else index

    def _words(self, flow: PresentationFlow) -> dict[str, Any]:
        """What narration may name: the session's values and the presenter's own name."""
        context = self._session.context
        outputs = {name: value for out in context.outputs.values() for name, value in out.items()}
        built_ins = context.built_ins(
            website_id=self._session.website.website_id,
            base_url=self._session.base_url,
            screen_id=self._session.screen_id,
            url=self._session.page.url,
        )
        return {"agent_name": flow.presenter, **built_ins, **outputs, **context.session}

    def _note_screen(self, event: Event) -> None:
        if isinstance(event, ScreenSeen) and event.screen_id is not None and self._record is not None:
            self._record.screens.append(event.screen_id)

    async def _picture(self) -> bytes | None:
        try:
            return await self._session.page.screenshot(type="jpeg", quality=60, scale="css")
        except PlaywrightError:
            return None  # a picture less; the segment itself was shown


class _Presenter(Companion):
    """Talks and points while the engine works."""

    def __init__(self, player: Player) -> None:
        self._player = player
        self._segment: Segment | None = None
        self._values: dict[str, Any] = {}
        self._speaking_s = 0.0

    def begin(self, segment: Segment, values: Mapping[str, Any]) -> None:
        """A segment's task starts."""
        self._segment, self._values = segment, dict(values)

    def end(self) -> None:
        """Its task is over."""
        self._segment = None

    async def before_step(self, task: Task, step: TaskStep, values: Mapping[str, Any]) -> None:
        """A hook of this step, else the step's own narration; it begins, then the step does."""
        segment = self._segment
        if segment is None or task.task_id != segment.task_id:
            return
        hooks = [h for h in segment.narrative_hooks if h.hook_type == "during" and h.step_id == step.step_id]
        texts = [hook.narration for hook in hooks] or (
            [step.action.narration] if step.action.narration else []
        )
        self._speaking_s = 0.0
        for text in texts:
            self._speaking_s = await self._player.say(text, {**self._values, **values})

    async def before_action(self, call: ActionCall, selector: Selector | None) -> None:
        """Bring the pointer to the element, so that a viewer sees what is about to happen."""
        stage = self._player._stage  # noqa: SLF001 - the presenter is the player's own half
        if stage is None or selector is None or self._player._instant:  # noqa: SLF001
            return
        try:
            gated = await pass_gate(self._player._session.page, selector, timeout_s=2.0)  # noqa: SLF001
            box = await gated.pointer.bounding_box()
        except (PageError, PlaywrightError):
            return  # the action's own gate will say what is wrong
        if box is not None:
            await stage.point_to(dict(box))  # type: ignore[arg-type]  # a TypedDict of floats
            if call.canonical_type in ("click", "double_click", "check", "uncheck"):
                await stage.press()

    def pace(self, call: ActionCall, usual: Pace) -> Pace:
        """Type as long as is being spoken, at a human speed."""
        if self._player._instant or not isinstance(call.value, str) or not call.value:  # noqa: SLF001
            return usual
        speed = self._player._speed  # noqa: SLF001
        authored = call.speed / 1000 if isinstance(call.speed, int | float) else FASTEST_KEY_S
        wanted = self._player._narrator.remaining_s / len(call.value)  # noqa: SLF001
        return Pace(key_delay_s=min(SLOWEST_KEY_S / speed, max(authored / speed, wanted)))


def _title(segment: Segment) -> str:
    return segment.title or segment.segment_id.replace("_", " ").capitalize()


def _needed(flow: PresentationFlow, segment: Segment) -> float:
    """Seconds this segment and every required one after it are expected to take."""
    later = [s for s in flow.ordered_segments if s.order > segment.order and s.required]
    return sum(s.duration or 0.0 for s in (segment, *later))
