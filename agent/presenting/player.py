"""Playing a presentation flow: segments in order, words and work at the same time (KS 6.3).

Navigation is never in a flow: a segment names a task or a screen, and the guide finds the way. How one
segment is told is `segments.py`, what leads from one to the next `transitions.py`, where a visitor leads it
`detours.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from playwright.async_api import Error as PlaywrightError

from agent.engine.extract import as_css
from agent.errors import AgentError
from agent.events import Event, ScreenSeen
from agent.page.errors import PageError, PageGone
from agent.presenting.asking import ANSWER_S, VisitorAsker
from agent.presenting.bridging import Bridge
from agent.presenting.detours import VISITOR_SKIPPED_IT, Detours
from agent.presenting.engagement import VISITOR_NAME, Watch
from agent.presenting.floor import Detour, Detoured, Floor
from agent.presenting.narrator import Narrator
from agent.presenting.records import (
    Narrated,
    Presentation,
    SegmentEnded,
    SegmentRecord,
    SegmentStarted,
    SegmentStatus,
    TookDetour,
)
from agent.presenting.scheduling import Choice
from agent.presenting.segments import LeftOut, Segments
from agent.presenting.stage import Stage
from agent.presenting.telling import Telling
from agent.presenting.timing import Timing
from agent.presenting.transitions import Ways
from agent.presenting.visible import shows_personal
from agent.session import Session
from kb_schema.presentation import CURRENT, NEXT, PresentationFlow, Segment
from kb_schema.telling import in_language

PASSWORDS = "input[type=password]"
MASK_COLOR = "#334155"
AHEAD = 2
"""Segments whose words are synthesised before their turn."""


MOST_TRIES = 2
"""Of a segment that failed, where the flow says to resume with it."""


@dataclass(slots=True)
class _Course:
    """What one flow is played with."""

    flow: PresentationFlow
    timing: Timing
    ways: Ways
    bridge: Bridge
    goto: int | None = None
    """The segment a fallback path leads to."""
    ended: str | None = None
    """Why the show is to be over."""


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
        floor: Floor | None = None,
        language: str | None = None,
        window_s: float | None = None,
        observed: Mapping[str, float] | None = None,
    ) -> None:
        """`clock`: seconds of film. `instant`: no words, no pauses, no pointer; only the work.

        `floor`: lets a visitor in; None: there is none. `language`: None is the flow's own. `window_s`:
        seconds the show is to take, instead of the flow's own window. `observed`: segment -> seconds it took
        in earlier shows, at speed 1 and as authored.
        """
        self._stage = None if instant else stage
        self._session, self._narrator = session, narrator
        self._clock, self._speed, self._instant = clock, speed, instant
        self._language, self._floor = language, floor
        self._window_s, self._observed = window_s, observed
        self._telling = Telling(session, narrator, self._stage, speed, instant, floor)
        self._segments = Segments(self._telling)
        self.engine = self._segments.engine
        self._record: SegmentRecord | None = None
        self._flow: PresentationFlow | None = None
        self._course: _Course | None = None
        self._watch: Watch | None = None
        self._at = 0
        """The segment the story is at: where it goes on after a detour."""
        self._then: int | None = None
        """Where it goes on after a segment that is told again."""
        self._asked_for = False
        """The visitor wants to see the segment the story is at: nothing passes it over."""
        self._ahead: dict[str, asyncio.Task[None]] = {}
        self.presentation = Presentation("", "")
        session.bus.listen(self._note)

    async def play(self, flow_id: str) -> Presentation:
        """Play a flow to its end. Raises `NotInKnowledge`, `KnowledgeUnavailable`,
        `SiteUnreachable` at its start, and `PageGone`; a segment that fails is passed over with grace.
        """
        authored = await self._session.knowledge.flow(flow_id)
        flow = self._flow = in_language(authored, self._language)
        self._segments.language = flow.language
        self._segments.own_language = flow.language == authored.language
        self.presentation = Presentation(
            flow.flow_id,
            flow.name,
            len(flow.segments),
            of_flow=frozenset(each.segment_id for each in flow.segments),
        )
        await self.engine.guide.arrive()
        timing = Timing(
            flow,
            self._telling,
            self._clock,
            speed=self._speed,
            window_s=self._window_s,
            observed=self._observed,
        )
        self._course = _Course(
            flow, timing, Ways(self._session, flow, timing, self.words), self._bridge(flow)
        )
        self.presentation.window = (timing.window.min_s, timing.window.max_s)
        asker = self._session.context.asker
        if self._floor is not None and asker is None:
            self._session.context.asker = VisitorAsker(self._telling, self._floor, flow.language)
        try:
            await self._story(self._course)
        finally:
            self._session.context.asker = asker
            self._course.bridge.close()
            for ahead in self._ahead.values():
                ahead.cancel()
        await self._narrator.finished()
        self._narrator.close()
        if self._stage is not None:
            await self._stage.caption("")
        self.presentation.tempo = timing.tempo.ratio
        self.presentation.end(self._clock())
        return self.presentation

    async def _story(self, course: _Course) -> None:
        detours, segments = Detours(self), course.flow.ordered_segments
        self._at = 0
        while self._at < len(segments):
            try:
                await self._one(course)
            except Detoured as detoured:
                self._at = await detours.take(detoured.detour, self._at)
            if course.ended is not None:
                self.pass_over(segments[self._at :], course.ended)
                return

    def _bridge(self, flow: PresentationFlow) -> Bridge:
        """Who speaks while something goes wrong."""
        floor = self._floor
        bridge = Bridge(
            self._bridged,
            remaining_s=lambda: self._narrator.remaining_s,
            held=lambda: floor is not None and floor.raised,
            tell=self._session.bus.tell,
            language=flow.language,
            authored={str(kind): said for kind, said in flow.bridging.items()},
            instant=self._instant,
        )
        self._session.bus.listen(bridge)
        return bridge

    async def _bridged(self, text: str) -> None:
        """Between the sentences of the story: no safe point, for it is not the player who speaks."""
        spoken = await self._narrator.say(self._redacted(text))
        if spoken is not None:
            self._session.bus.tell(Narrated(spoken.text, spoken.start_s))

    # -- what a host may ask -----------------------------------------------------------------------

    @property
    def flow(self) -> PresentationFlow | None:
        """The flow as it is told, in its language; None before it is played."""
        return self._flow

    @property
    def current(self) -> Segment | None:
        """The segment that is being told, or comes next; None before the first and after the last."""
        segments = self._flow.ordered_segments if self._flow is not None else ()
        return segments[self._at] if self._at < len(segments) else None

    @property
    def remaining_s(self) -> float | None:
        """What is left of the window, as seconds at speed 1; None where there is none."""
        return None if self._course is None else self._course.timing.remaining_s

    async def say(self, text: str, *, to_end: bool = True) -> None:
        """Speak as the presenter: `{x}` is filled with the show's values, secrets are blotted out."""
        await self._telling.say(text, self.words())
        if to_end:
            await self._narrator.finished()

    def words(self) -> dict[str, Any]:
        """What narration may name: the session's values and the presenter's own name."""
        context = self._session.context
        outputs = {name: value for out in context.outputs.values() for name, value in out.items()}
        built_ins = context.built_ins(
            website_id=self._session.website.website_id,
            base_url=self._session.base_url,
            screen_id=self._session.screen_id,
            url=self._session.page.url,
        )
        name = self._flow.presenter if self._flow is not None else ""
        return {"agent_name": name, **built_ins, **outputs, **context.session}

    # -- one segment -----------------------------------------------------------------------------

    async def _one(self, course: _Course) -> None:
        """The segment the story is at, and the way to the next one. Raises `Detoured`."""
        segments, index = course.flow.ordered_segments, self._at
        await self._telling.safe_point()
        then, self._then = self._then, None
        asked_for, self._asked_for = self._asked_for, False
        course.timing.begin()
        record = await self._segment(course, segments[index], index, asked_for=asked_for)
        if course.ended is not None or course.goto is not None or then is not None:
            self._at, course.goto = next(i for i in (course.goto, then, index + 1) if i is not None), None
            return
        way = await course.ways.after(index)
        self.pass_over(segments[index + 1 : way.index], way.reason)
        self._at = way.index
        if way.transition is not None and way.index < len(segments):
            narration = way.transition.narration_template
            if narration and (await self._choice(course, segments[way.index])).depth is not None:
                await self._telling.say(narration, self.words())
            if way.transition.type == "sequential":
                await self._telling.finished()
        if record.status is SegmentStatus.SHOWN and record.depth is not None:
            course.timing.ended(segments[index], record.depth)

    def record(self, segment: Segment, *, aside: bool = False) -> SegmentRecord:
        """A segment begins to be told."""
        title = segment.heading
        begun = SegmentRecord(
            segment.segment_id, title, segment.type, segment.required, self._clock(), aside=aside
        )
        self.presentation.segments.append(begun)
        return begun

    def pass_over(self, segments: tuple[Segment, ...], reason: str) -> None:
        """Segments the story does not come to: they are told of, and a required one is missed."""
        for segment in segments:
            if self.presentation.was_shown(segment.segment_id):
                continue
            record = self.record(segment)
            record.status, record.reason, record.end_s = SegmentStatus.SKIPPED, reason, record.start_s
            self._session.bus.tell(SegmentEnded(segment.segment_id, record.status, reason))

    async def _segment(
        self, course: _Course, segment: Segment, index: int, *, asked_for: bool
    ) -> SegmentRecord:
        record = self.record(segment)
        self._session.bus.tell(
            SegmentStarted(
                segment.segment_id, record.title, index + 1, len(course.flow.segments), self.remaining_s
            )
        )
        choice = Choice(segment.told_at) if asked_for else await self._choice(course, segment)
        if choice.depth is None:
            record.status, record.reason, record.end_s = SegmentStatus.SKIPPED, choice.reason, self._clock()
            self._session.bus.tell(SegmentEnded(segment.segment_id, record.status, choice.reason))
            return record
        record.depth, record.note = choice.depth, choice.reason or None
        told = segment.at(choice.depth)
        record.expected_s = told.duration
        self._prepare(course, index)
        await self.show(told, record)
        return record

    async def _choice(self, course: _Course, segment: Segment) -> Choice:
        """What becomes of a segment whose turn it is, and why; a required one always is shown."""
        if any(
            s.aside and s.status is SegmentStatus.SHOWN and s.segment_id == segment.segment_id
            for s in self.presentation.segments
        ):
            return Choice(None, "it was shown already, when the visitor asked for it")
        reason = await course.ways.reason_to_skip(segment)
        if reason is not None:
            return Choice(None, reason)
        segments = course.flow.ordered_segments
        following = [each.segment_id for each in segments if each.order >= segment.order]
        to_come = [each for each in following if not self.presentation.was_shown(each)]
        if segment.segment_id not in to_come:
            return Choice(segment.told_at)
        return course.timing.choose(segment, to_come)

    def _prepare(self, course: _Course, index: int) -> None:
        """Have the next segments' words synthesised while this one is told."""
        for segment in course.flow.ordered_segments[index : index + AHEAD]:
            if segment.segment_id not in self._ahead:
                texts = [segment.narration_template, *(hook.narration for hook in segment.narrative_hooks)]
                self._ahead[segment.segment_id] = asyncio.create_task(
                    self._telling.prepare(texts, self.words()), name="synthesis"
                )

    async def show(self, segment: Segment, record: SegmentRecord) -> None:
        """Tell one segment, and note how it went. Raises `Detoured` and `PageGone`."""
        outer, self._record = self._record, record
        watch = self._watch = Watch(segment.rules, self._clock)
        spoken_before = len(self._narrator.spoken)
        try:
            await self._tell(segment, record)
            record.status = SegmentStatus.SHOWN
            record.violations = watch.violations(
                self._narrator.spoken[spoken_before:],
                record.run,
                visitor=self._session.context.session.get(VISITOR_NAME),
                heard=not self._telling.instant,
            )
        except Detoured as detoured:
            finished = record.run is not None and record.run.succeeded
            record.status, record.reason = _left(detoured.detour, finished=finished)
            raise
        except LeftOut as exc:
            record.status, record.reason = SegmentStatus.SKIPPED, self._redacted(str(exc))
        except PageGone as exc:
            record.status, record.reason = SegmentStatus.FAILED, self._redacted(str(exc))
            raise  # without a page there is nothing left to show
        except (AgentError, PageError) as exc:
            record.status, record.reason = SegmentStatus.FAILED, self._redacted(str(exc))
            await self._failed(segment, record)
        finally:
            self._record, self._watch = outer, None
            if record.status is not SegmentStatus.STARTED:
                await self._ended(record)

    async def _ended(self, record: SegmentRecord) -> None:
        if not record.screens and self._session.screen_id is not None:
            record.screens.append(self._session.screen_id)  # where it was already
        record.picture = await self._picture()
        record.end_s = self._clock()
        self._session.bus.tell(SegmentEnded(record.segment_id, record.status, record.reason))

    async def _tell(self, segment: Segment, record: SegmentRecord) -> None:
        done = self.presentation.finished_run(segment.segment_id)
        if done is None:
            await self._segments.tell(segment, record, self.words())
        else:
            record.reason = "told again; what was done in it is not done twice"
            await self._segments.tell_again(segment, next(iter(done.screens[-1:]), None), self.words())

    async def _failed(self, segment: Segment, record: SegmentRecord) -> None:
        """A segment cannot be saved: the flow's own path for that, else it is passed over with grace."""
        course = self._course
        assert course is not None  # noqa: S101 - segments are told while a flow is played
        segments = course.flow.ordered_segments
        index = next((i for i, s in enumerate(segments) if s.segment_id == segment.segment_id), self._at)
        path = course.flow.fallback("segment_failed", segment.segment_id)
        if path is not None and path.action == "stop":
            course.ended = f"the flow ends where {segment.segment_id} fails"
        if path is not None and path.narration_template:
            await self._telling.say(path.narration_template, self.words())
        else:
            last = index + 1 >= len(segments) or course.ended is not None
            await course.bridge.pass_over(last=last)
        if path is None or course.ended is not None or record.aside:
            return  # after an aside, the story goes on where it was
        if path.action == "pause_and_ask" and self._floor is not None and not self._instant:
            await self._narrator.finished()
            heard = await self._floor.listen(ANSWER_S / self._telling.speed)
            if heard is not None:
                self._floor.hear(heard.text, by=heard.by)  # attended to at the next safe point
        tried = sum(s.segment_id == segment.segment_id for s in self.presentation.segments)
        if path.resume_point == CURRENT and tried < MOST_TRIES:
            course.goto = index
        elif path.resume_point not in (None, CURRENT, NEXT):
            target = next((i for i, s in enumerate(segments) if s.segment_id == path.resume_point), index)
            if target > index:
                self.pass_over(segments[index + 1 : target], f"{segment.segment_id} failed")
                course.goto = target

    # -- words, time and ways ----------------------------------------------------------------------

    def detoured(self, detour: Detour, then: int | None) -> None:
        """The story takes a detour; `then`: where it goes on after the segment it leads to."""
        self._then, self._asked_for = then, detour.kind in ("back", "segment")
        self.presentation.detours += 1
        self._session.bus.tell(
            TookDetour(detour.kind, detour.segment_id or detour.task_id or detour.screen_id)
        )

    def _redacted(self, text: str) -> str:
        return str(self._session.context.redact(text))

    def _note(self, event: Event) -> None:
        if self._watch is not None:
            self._watch(event)
        if isinstance(event, ScreenSeen) and event.screen_id is not None and self._record is not None:
            self._record.screens.append(event.screen_id)

    async def _picture(self) -> bytes | None:
        """The page without what was typed into secret fields, as far as CSS can name them; none where it
        shows what a visitor said.
        """
        page = self._session.page
        if await shows_personal(self._session):
            return None
        secret = [as_css(way) for selector in self._session.secret_fields for way in selector.ordered]
        hidden = [page.locator(css) for css in (PASSWORDS, *filter(None, dict.fromkeys(secret)))]
        try:
            return await page.screenshot(
                type="jpeg", quality=60, scale="css", mask=hidden, mask_color=MASK_COLOR
            )
        except PlaywrightError:
            return None  # a picture less; the segment itself was shown


def _left(detour: Detour, *, finished: bool) -> tuple[SegmentStatus, str]:
    """How a segment came out that was left for a detour."""
    if finished:
        return SegmentStatus.SHOWN, f"shortened: the visitor wanted to go on ({detour.kind})"
    if detour.kind == "skip":
        return SegmentStatus.SKIPPED, VISITOR_SKIPPED_IT
    wanted = detour.segment_id or detour.task_id or detour.screen_id
    return SegmentStatus.INTERRUPTED, f"left for the visitor: {detour.kind}{f' {wanted}' if wanted else ''}"
