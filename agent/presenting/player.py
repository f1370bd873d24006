"""Playing a presentation flow: segments in order, words and work at the same time (KS 6.3).

Navigation is never in a flow: a segment names a task or a screen, and the guide finds the way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from playwright.async_api import Error as PlaywrightError

from agent.engine.calls import fill_condition
from agent.engine.engine import Engine
from agent.engine.extract import as_css
from agent.engine.inputs import map_inputs
from agent.engine.workflows import run_work
from agent.errors import AgentError, StepFailed
from agent.events import Event, ScreenSeen
from agent.page.errors import PageError, PageGone
from agent.page.gate import pass_gate
from agent.presenting.narrator import Narrator
from agent.presenting.presenter import Presenter, Telling
from agent.presenting.records import (
    Presentation,
    SegmentEnded,
    SegmentRecord,
    SegmentStarted,
    SegmentStatus,
)
from agent.presenting.stage import Stage
from agent.session import Session
from kb_schema.conditions import BaseCondition, UserInterest
from kb_schema.presentation import PresentationFlow, Segment
from kb_schema.probes import Facts, Status, Verdict, unknown
from kb_schema.selectors import Selector

PASSWORDS = "input[type=password]"
MASK_COLOR = "#334155"
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
        self._stage = None if instant else stage
        self._session, self._narrator = session, narrator
        self._clock, self._speed, self._instant = clock, speed, instant
        self._telling = Telling(session, narrator, self._stage, speed, instant)
        self._presenter = Presenter(self._telling)
        self.engine = Engine(session, self._presenter)
        self._record: SegmentRecord | None = None
        self.presentation = Presentation("", "")
        session.bus.listen(self._note_screen)

    async def play(self, flow_id: str) -> Presentation:
        """Play a flow to its end. Raises `NotInKnowledge`, `KnowledgeUnavailable`,
        `SiteUnreachable` at its start, and `PageGone`; a segment that fails is passed over with grace.
        """
        flow = await self._session.knowledge.flow(flow_id)
        self.presentation = Presentation(flow.flow_id, flow.name, len(flow.segments))
        await self.engine.guide.arrive()
        segments = flow.ordered_segments
        index = 0
        while index < len(segments):
            await self._segment(flow, segments[index], self._recorded(segments[index]), index)
            following, reason = await self._next(flow, index)
            for passed_over in segments[index + 1 : following]:
                self._pass_over(passed_over, reason)
            index = following
        await self._narrator.finished()
        self._narrator.close()
        if self._stage is not None:
            await self._stage.caption("")
        self.presentation.end(self._clock())
        return self.presentation

    # -- one segment -----------------------------------------------------------------------------

    def _recorded(self, segment: Segment) -> SegmentRecord:
        record = SegmentRecord(
            segment.segment_id, _title(segment), segment.type, segment.required, self._clock()
        )
        self.presentation.segments.append(record)
        return record

    def _pass_over(self, segment: Segment, reason: str) -> None:
        """A segment that a transition leads past: it is told, and a required one is missed."""
        record = self._recorded(segment)
        record.status, record.reason, record.end_s = SegmentStatus.SKIPPED, reason, record.start_s
        self._session.bus.tell(SegmentEnded(segment.segment_id, record.status, reason))

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
                record.status = SegmentStatus.SHOWN
            except PageGone as exc:
                record.status, record.reason = SegmentStatus.FAILED, self._redacted(str(exc))
                raise  # without a page there is nothing left to show
            except (AgentError, PageError) as exc:
                record.status, record.reason = SegmentStatus.FAILED, self._redacted(str(exc))
                await self._telling.say(BRIDGE, {})
            record.picture = await self._picture()
            self._record = None
        record.end_s = self._clock()
        bus.tell(SegmentEnded(segment.segment_id, record.status, record.reason))

    async def _show(self, flow: PresentationFlow, segment: Segment, record: SegmentRecord) -> None:
        values = self._words(flow)
        if self._stage is not None:
            await self._stage.chapter(record.title)
        match segment.type:
            case "conversational":
                await self._hooks(segment, "before", values)
                await self._telling.say(segment.narration_template, values)
                await self._narrator.finished()
                await self._hooks(segment, "after", values)
            case "explanation":
                await self._explain(segment, values)
            case "task_execution":
                await self._demonstrate(segment, record, values)

    async def _explain(self, segment: Segment, values: dict[str, Any]) -> None:
        await self._hooks(segment, "before", values)
        await self.engine.guide.go_to(segment.screen_id or "")
        await self._telling.say(segment.narration_template, values)
        if not self._instant:
            await self._scroll_and_point(segment)
        await self._hooks(segment, "during", values)
        await self._narrator.finished()
        if self._stage is not None:
            await self._stage.ring(None)
        await self._hooks(segment, "after", values)

    async def _demonstrate(self, segment: Segment, record: SegmentRecord, values: dict[str, Any]) -> None:
        inputs = await map_inputs(
            segment.input_mapping, self._session.context, scrape=self.engine.scrape, built_ins=values
        )
        values |= {**self._session.context.session, **inputs}  # persisted under another name, too
        await self._hooks(segment, "before", values)
        await self._telling.say(segment.narration_template, values)
        self._presenter.begin(segment, values)
        result = await run_work(self.engine, segment.task_id or "", inputs)
        self._presenter.end()
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
            await self._telling.say(hook.narration, values)
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
        verdicts = await self._judge(flow, segment.skip_conditions)
        for condition, verdict in zip(segment.skip_conditions, verdicts, strict=True):
            if verdict.held:
                return self._redacted(f"{condition.type}: {verdict.evidence}")
        if remaining is not None and remaining < _needed(flow, segment):
            for path in flow.fallback_paths:
                if path.condition == "time_running_out" and segment.segment_id in path.segments_to_skip:
                    return f"time_running_out: {remaining:.0f} s remain"
        return None

    async def _next(self, flow: PresentationFlow, index: int) -> tuple[int, str]:
        """The index of the segment after this one, and why those between are passed over (KS 4.5).

        Only ever forwards, whatever the knowledge says: no segment is told twice.
        """
        segments, following = flow.ordered_segments, index + 1
        here = segments[index].segment_id
        transition = next((t for t in reversed(flow.transitions) if t.from_segment == here), None)
        if transition is None or following >= len(segments):
            return following, ""
        wanted, reason = transition.to_segment, f"the transition from {here} leads past it"
        if transition.type == "conditional" and transition.condition is not None:
            condition = transition.condition
            (verdict,) = await self._judge(flow, [condition])
            reason = self._redacted(f"{condition.type}: {verdict.evidence}")
            # In a demo without a visitor nobody can say what interests them, and a story with all
            # its parts is better than one without: not said counts as interested. Any other
            # condition that cannot be told does not hold.
            unsaid = isinstance(condition, UserInterest) and verdict.status is Status.UNKNOWN
            if not verdict.held and not unsaid:
                return _later(segments, transition.fallback_segment, index), reason
        target = _later(segments, wanted, index)
        if transition.narration_template and await self._reason_to_skip(flow, segments[target]) is None:
            await self._telling.say(transition.narration_template, self._words(flow))
        return target, reason

    async def _judge(self, flow: PresentationFlow, conditions: Sequence[BaseCondition]) -> list[Verdict]:
        """How the flow's own conditions come out, its clock among the facts."""
        values = self._words(flow)
        facts = Facts(remaining_seconds=self.remaining(flow))
        verdicts: list[Verdict] = []
        for condition in conditions:
            try:
                verdicts += await self._session.judge([fill_condition(condition, values)], values, facts)
            except StepFailed as exc:  # a value nobody has given yet: it cannot be told
                verdicts.append(unknown(str(exc)))
        return verdicts

    def _redacted(self, text: str) -> str:
        return str(self._session.context.redact(text))

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
        """The page without what was typed into secret fields, as far as CSS can name them."""
        page = self._session.page
        secret = [as_css(way) for selector in self._session.secret_fields for way in selector.ordered]
        hidden = [page.locator(css) for css in (PASSWORDS, *filter(None, dict.fromkeys(secret)))]
        try:
            return await page.screenshot(
                type="jpeg", quality=60, scale="css", mask=hidden, mask_color=MASK_COLOR
            )
        except PlaywrightError:
            return None  # a picture less; the segment itself was shown


def _later(segments: Sequence[Segment], wanted: str | None, index: int) -> int:
    """The index of the wanted segment; of the next one where it is none, or not a later one."""
    following = index + 1
    return next((i for i in range(following, len(segments)) if segments[i].segment_id == wanted), following)


def _title(segment: Segment) -> str:
    return segment.title or segment.segment_id.replace("_", " ").capitalize()


def _needed(flow: PresentationFlow, segment: Segment) -> float:
    """Seconds this segment and every required one after it are expected to take."""
    later = [s for s in flow.ordered_segments if s.order > segment.order and s.required]
    return sum(s.duration or 0.0 for s in (segment, *later))
