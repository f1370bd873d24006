"""Plays a presentation flow: its segments in order, with speech and browser actions at the same time (KS
6.3).

A flow contains no navigation: a segment names a task or a screen, and the guide finds the path.
`segment_player` plays one segment, `segment_transitions` selects the next one, and `visitor_detours` handles
requests of a visitor.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from playwright.async_api import Error as PlaywrightError

from agent.errors import AgentError
from agent.events import Event, ScreenSeen
from agent.execution.values.value_extraction import convert_to_css
from agent.knowledge_client import KnowledgeClient
from agent.page.errors import PageError, PageGone
from agent.presentation.engagement_monitor import VISITOR_NAME, EngagementMonitor
from agent.presentation.narration.bridging_speech import BridgingSpeaker
from agent.presentation.narration.interruptible_narrator import InterruptibleNarrator
from agent.presentation.narration.narrator import Narrator
from agent.presentation.page_overlay import PageOverlay
from agent.presentation.page_visibility import is_personal_data_visible
from agent.presentation.presentation_records import (
    Narrated,
    Presentation,
    SegmentEnded,
    SegmentRecord,
    SegmentStarted,
    SegmentStatus,
    TookDetour,
)
from agent.presentation.presentation_schedule import SegmentChoice
from agent.presentation.segment_player import SegmentLeftOut, SegmentPlayer
from agent.presentation.segment_transitions import SegmentTransitions
from agent.presentation.time_budget import TimeBudget
from agent.presentation.turn_manager import Detour, DetourRequested, TurnManager
from agent.presentation.visitor.visitor_input import ANSWER_S, VisitorInputRequester
from agent.presentation.visitor_detours import VISITOR_SKIPPED_IT, VisitorDetours
from agent.session import Session
from kb_schema.flow_translations import translate_flow
from kb_schema.narration_marks import read_marks
from kb_schema.presentation_flows import CURRENT, NEXT, PresentationFlow, Segment

PASSWORDS = "input[type=password]"
MASK_COLOR = "#334155"
AHEAD = 2
"""Number of segments whose speech is synthesised ahead."""


MOST_TRIES = 2
"""Attempts of a failed segment when the flow says to resume with it."""


@dataclass(slots=True)
class _FlowPlayback:
    """State of one flow while it is played."""

    flow: PresentationFlow
    timing: TimeBudget
    transitions: SegmentTransitions
    bridge: BridgingSpeaker
    goto: int | None = None
    """Index of the segment that a fallback path leads to."""
    ended: str | None = None
    """Why the presentation ends early; None: it does not."""


class FlowPlayer:
    """Plays one flow on a session's page."""

    def __init__(
        self,
        session: Session,
        narrator: Narrator,
        *,
        clock: Callable[[], float],
        overlay: PageOverlay | None = None,
        speed: float = 1.0,
        instant: bool = False,
        turns: TurnManager | None = None,
        language: str | None = None,
        window_s: float | None = None,
        observed: Mapping[str, float] | None = None,
    ) -> None:
        """`clock`: seconds of film. `instant`: no speech, pauses or pointer, only the actions.

        `turns`: lets a visitor interrupt; None: there is no visitor. `language`: None uses the flow's own.
        `window_s`: target duration in seconds, instead of the flow's own window. `observed`: segment ->
        seconds it took in earlier presentations, at speed 1 and as authored.
        """
        self._overlay = None if instant else overlay
        self._session, self._narrator = session, narrator
        self._clock, self._speed, self._instant = clock, speed, instant
        self._language, self._turns = language, turns
        self._window_s, self._observed = window_s, observed
        self._narration = InterruptibleNarrator(session, narrator, self._overlay, speed, instant, turns)
        self._segments = SegmentPlayer(self._narration)
        self.engine = self._segments.engine
        self._record: SegmentRecord | None = None
        self._flow: PresentationFlow | None = None
        self._playback: _FlowPlayback | None = None
        self._watch: EngagementMonitor | None = None
        self._at = 0
        """Index of the current segment; the flow continues here after a detour."""
        self._continue_at: int | None = None
        """Index to continue with after a repeated segment."""
        self._requested = False
        """The visitor requested the current segment, so that no condition skips it."""
        self._ahead: dict[str, asyncio.Task[None]] = {}
        self._heard: dict[str, frozenset[str]] = {}
        """Segment -> sentences that were heard before a visitor went elsewhere."""
        self.presentation = Presentation("", "")
        session.bus.listen(self._receive_event)

    async def play(self, flow_id: str) -> Presentation:
        """Play a flow to its end. A failed segment does not end it: the next one follows after a bridging
        sentence.

        Raises `UnknownToKnowledge`, `KnowledgeUnavailable` and `SiteUnreachable` at the start, and `PageGone` at
        any time.
        """
        authored = await self._session.knowledge.flow(flow_id)
        flow = self._flow = translate_flow(authored, self._language)
        self._segments.language = flow.language
        self._segments.own_language = flow.language == authored.language
        self.presentation = Presentation(
            flow.flow_id,
            flow.name,
            len(flow.segments),
            of_flow=frozenset(each.segment_id for each in flow.segments),
        )
        await self.engine.guide.arrive()
        timing = TimeBudget(
            flow,
            self._narration,
            self._clock,
            speed=self._speed,
            window_s=self._window_s,
            observed=self._observed,
        )
        self._playback = _FlowPlayback(
            flow,
            timing,
            SegmentTransitions(self._session, flow, timing, self.words),
            self._create_bridging_speaker(flow),
        )
        self.presentation.window = (timing.window.min_s, timing.window.max_s)
        asker = self._session.context.asker
        if self._turns is not None and asker is None:
            self._session.context.asker = VisitorInputRequester(self._narration, self._turns, flow.language)
        try:
            await self._play_segments(self._playback)
        finally:
            self._session.context.asker = asker
            self._playback.bridge.close()
            for ahead in self._ahead.values():
                ahead.cancel()
        await self._narrator.finished()
        self._narrator.close()
        if self._overlay is not None:
            await self._overlay.caption("")
        self.presentation.tempo = timing.tempo.ratio
        self.presentation.end(self._clock())
        return self.presentation

    async def _play_segments(self, playback: _FlowPlayback) -> None:
        detours, segments = VisitorDetours(self), playback.flow.ordered_segments
        self._at = 0
        while self._at < len(segments):
            try:
                await self._play_current(playback)
            except DetourRequested as detoured:
                self._at = await detours.take(detoured.detour, self._at)
            if playback.ended is not None:
                self.pass_over(segments[self._at :], playback.ended)
                return

    def _create_bridging_speaker(self, flow: PresentationFlow) -> BridgingSpeaker:
        """Return the speaker of bridging sentences, already listening to the event bus."""
        turns = self._turns
        bridge = BridgingSpeaker(
            self._speak_bridging_sentence,
            remaining_s=lambda: self._narrator.remaining_s,
            held=lambda: turns is not None and turns.pending,
            tell=self._session.bus.tell,
            language=flow.language,
            authored={str(kind): said for kind, said in flow.bridging.items()},
            instant=self._instant,
        )
        self._session.bus.listen(bridge)
        return bridge

    async def _speak_bridging_sentence(self, text: str) -> None:
        """Speak a bridging sentence. This is no safe point, because it does not come from the player."""
        spoken = await self._narrator.say(self._redacted(text))
        if spoken is not None:
            self._session.bus.tell(Narrated(spoken.text, spoken.start_s))

    # -- for the host ----------------------------------------------------------------------------

    @property
    def flow(self) -> PresentationFlow | None:
        """The flow in the language it is played in; None before it is played."""
        return self._flow

    @property
    def knowledge(self) -> KnowledgeClient:
        """The knowledge of the website that is presented."""
        return self._session.knowledge

    @property
    def current(self) -> Segment | None:
        """The current or next segment; None before the first and after the last one."""
        segments = self._flow.ordered_segments if self._flow is not None else ()
        return segments[self._at] if self._at < len(segments) else None

    @property
    def remaining_s(self) -> float | None:
        """Remaining seconds of the time window, at speed 1; None without a window."""
        return None if self._playback is None else self._playback.timing.remaining_s

    async def say(self, text: str, *, to_end: bool = True) -> None:
        """Speak as the presenter. `{x}` is replaced by values of the presentation, secrets are redacted."""
        await self._narration.say(text, self.words())
        if to_end:
            await self._narrator.finished()

    def words(self) -> dict[str, Any]:
        """Return the values that narration may refer to: session values, outputs, and the presenter's name as
        `agent_name`.
        """
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

    async def _play_current(self, playback: _FlowPlayback) -> None:
        """Play the current segment and select the next one. Raises `DetourRequested`."""
        segments, index = playback.flow.ordered_segments, self._at
        await self._narration.safe_point()
        then, self._continue_at = self._continue_at, None
        asked_for, self._requested = self._requested, False
        playback.timing.begin()
        record = await self._play_or_skip(playback, segments[index], index, asked_for=asked_for)
        if playback.ended is not None or playback.goto is not None or then is not None:
            self._at, playback.goto = next(i for i in (playback.goto, then, index + 1) if i is not None), None
            return
        following = await playback.transitions.after(index)
        self.pass_over(segments[index + 1 : following.index], following.reason)
        self._at = following.index
        if following.transition is not None and following.index < len(segments):
            narration = following.transition.narration_template
            if (
                narration
                and (await self._choose_depth(playback, segments[following.index])).depth is not None
            ):
                await self._narration.say(narration, self.words())
            if following.transition.type == "sequential":
                await self._narration.finished()
        if record.status is SegmentStatus.SHOWN and record.depth is not None:
            playback.timing.ended(segments[index], record.depth)

    async def find_sign_in(self) -> str | None:
        """Return the task that signs in; None if the page is signed in, or cannot tell."""
        session = self._session
        if session.website.login_task_id is None or await session.signed_in() is not False:
            return None
        return session.website.login_task_id

    def record(self, segment: Segment, *, aside: bool = False) -> SegmentRecord:
        """Add a record for a segment that starts now, and return it."""
        title = segment.heading
        begun = SegmentRecord(
            segment.segment_id, title, segment.type, segment.required, self._clock(), aside=aside
        )
        self.presentation.segments.append(begun)
        return begun

    def pass_over(self, segments: tuple[Segment, ...], reason: str) -> None:
        """Record these segments as skipped, except those that were shown. A skipped required segment counts
        as missed.
        """
        for segment in segments:
            if self.presentation.was_shown(segment.segment_id):
                continue
            record = self.record(segment)
            record.status, record.reason, record.end_s = SegmentStatus.SKIPPED, reason, record.start_s
            self._session.bus.tell(SegmentEnded(segment.segment_id, record.status, reason))

    async def _play_or_skip(
        self, playback: _FlowPlayback, segment: Segment, index: int, *, asked_for: bool
    ) -> SegmentRecord:
        record = self.record(segment)
        self._session.bus.tell(
            SegmentStarted(
                segment.segment_id, record.title, index + 1, len(playback.flow.segments), self.remaining_s
            )
        )
        choice = (
            SegmentChoice(segment.authored_depth)
            if asked_for
            else await self._choose_depth(playback, segment)
        )
        if choice.depth is None:
            record.status, record.reason, record.end_s = SegmentStatus.SKIPPED, choice.reason, self._clock()
            self._session.bus.tell(SegmentEnded(segment.segment_id, record.status, choice.reason))
            return record
        record.depth, record.note = choice.depth, choice.reason or None
        told = segment.at(choice.depth)
        record.expected_s = told.duration
        self._prepare(playback, index)
        self._narration.leave_out(
            frozenset() if asked_for else self._heard.get(segment.segment_id, frozenset())
        )
        try:
            await self.show(told, record)
        finally:
            self._narration.leave_out(frozenset())
        return record

    async def _choose_depth(self, playback: _FlowPlayback, segment: Segment) -> SegmentChoice:
        """Decide whether and at which depth a segment is shown, with the reason. Required segments are always
        shown.
        """
        if any(
            s.aside and s.status is SegmentStatus.SHOWN and s.segment_id == segment.segment_id
            for s in self.presentation.segments
        ):
            return SegmentChoice(None, "already shown when the visitor asked for it")
        reason = await playback.transitions.reason_to_skip(segment)
        if reason is not None:
            return SegmentChoice(None, reason)
        segments = playback.flow.ordered_segments
        following = [each.segment_id for each in segments if each.order >= segment.order]
        to_come = [each for each in following if not self.presentation.was_shown(each)]
        if segment.segment_id not in to_come:
            return SegmentChoice(segment.authored_depth)
        return playback.timing.choose(segment, to_come)

    def _prepare(self, playback: _FlowPlayback, index: int) -> None:
        """Start synthesising the next segments' speech while this one is played."""
        for segment in playback.flow.ordered_segments[index : index + AHEAD]:
            if segment.segment_id not in self._ahead:
                texts = [segment.narration_template, *(hook.narration for hook in segment.narrative_hooks)]
                self._ahead[segment.segment_id] = asyncio.create_task(
                    self._narration.prepare(texts, self.words()), name="synthesis"
                )

    async def show(self, segment: Segment, record: SegmentRecord) -> None:
        """Play one segment and complete its record. Raises `DetourRequested` and `PageGone`."""
        outer, self._record = self._record, record
        watch = self._watch = EngagementMonitor(segment.rules, self._clock)
        spoken_before = len(self._narrator.spoken)
        try:
            await self._play_segment(segment, record)
            record.status = SegmentStatus.SHOWN
            record.violations = watch.violations(
                self._narrator.spoken[spoken_before:],
                record.run,
                visitor=self._session.context.session.get(VISITOR_NAME),
                heard=not self._narration.instant,
            )
        except DetourRequested as detoured:
            finished = record.run is not None and record.run.complete
            record.status, record.reason = _describe_interruption(detoured.detour, finished=finished)
            if segment.type != "task_execution":  # a task begins again with its words
                said = " ".join(each.text for each in self._narrator.spoken[spoken_before:])
                before = self._heard.get(segment.segment_id, frozenset())
                self._heard[segment.segment_id] = before | frozenset(read_marks(said).sentences)
            raise
        except SegmentLeftOut as exc:
            record.status, record.reason = SegmentStatus.SKIPPED, self._redacted(str(exc))
        except PageGone as exc:
            record.status, record.reason = SegmentStatus.FAILED, self._redacted(str(exc))
            raise  # nothing can be shown without a page
        except (AgentError, PageError) as exc:
            record.status, record.reason = SegmentStatus.FAILED, self._redacted(str(exc))
            await self._handle_failure(segment, record)
        finally:
            self._record, self._watch = outer, None
            if record.status is not SegmentStatus.STARTED:
                await self._complete_record(record)

    async def _complete_record(self, record: SegmentRecord) -> None:
        if not record.screens and self._session.screen_id is not None:
            record.screens.append(self._session.screen_id)  # the screen did not change during the segment
        record.picture = await self._take_screenshot()
        record.end_s = self._clock()
        self._session.bus.tell(
            SegmentEnded(record.segment_id, record.status, record.reason, aside=record.aside)
        )

    async def _play_segment(self, segment: Segment, record: SegmentRecord) -> None:
        done = self.presentation.finished_run(segment.segment_id)
        if done is None:
            await self._segments.play(segment, record, self.words())
        else:
            record.reason = "narrated again; its task ran only once"
            await self._segments.repeat(segment, next(iter(done.screens[-1:]), None), self.words())

    async def _handle_failure(self, segment: Segment, record: SegmentRecord) -> None:
        """Handle a failed segment: follow the flow's fallback path if there is one, otherwise say a bridging
        sentence.
        """
        playback = self._playback
        assert playback is not None  # noqa: S101 - segments are only played while a flow is played
        segments = playback.flow.ordered_segments
        index = next((i for i, s in enumerate(segments) if s.segment_id == segment.segment_id), self._at)
        path = playback.flow.fallback("segment_failed", segment.segment_id)
        if path is not None and path.action == "stop":
            playback.ended = f"the flow ends because {segment.segment_id} failed"
        if path is not None and path.narration_template:
            await self._narration.say(path.narration_template, self.words())
        else:
            last = index + 1 >= len(segments) or playback.ended is not None
            await playback.bridge.pass_over(last=last)
        if path is None or playback.ended is not None or record.aside:
            return  # after an aside, the flow continues where it was
        if path.action == "pause_and_ask" and self._turns is not None and not self._instant:
            await self._narrator.finished()
            heard = await self._turns.listen(ANSWER_S / self._narration.speed)
            if heard is not None:
                self._turns.hear(heard.text, by=heard.by)  # handled at the next safe point
        tried = sum(s.segment_id == segment.segment_id for s in self.presentation.segments)
        if path.resume_point == CURRENT and tried < MOST_TRIES:
            playback.goto = index
        elif path.resume_point not in (None, CURRENT, NEXT):
            target = next((i for i, s in enumerate(segments) if s.segment_id == path.resume_point), index)
            if target > index:
                self.pass_over(segments[index + 1 : target], f"{segment.segment_id} failed")
                playback.goto = target

    # -- detours, events, screenshots ------------------------------------------------------------

    def detoured(self, detour: Detour, then: int | None) -> None:
        """Record a detour. `then`: index of the segment to continue with afterwards; None: the next one."""
        self._continue_at, self._requested = then, detour.kind in ("back", "segment")
        self.presentation.detours += 1
        self._session.bus.tell(
            TookDetour(detour.kind, detour.segment_id or detour.task_id or detour.screen_id)
        )

    def _redacted(self, text: str) -> str:
        return str(self._session.context.redact(text))

    def _receive_event(self, event: Event) -> None:
        if self._watch is not None:
            self._watch(event)
        if isinstance(event, ScreenSeen) and event.screen_id is not None and self._record is not None:
            self._record.screens.append(event.screen_id)

    async def _take_screenshot(self) -> bytes | None:
        """Return a screenshot with secret fields masked where CSS can select them; None if the page shows
        words of a visitor.
        """
        page = self._session.page
        if await is_personal_data_visible(self._session):
            return None
        secret = [
            convert_to_css(following)
            for selector in self._session.secret_fields
            for following in selector.ordered
        ]
        hidden = [page.locator(css) for css in (PASSWORDS, *filter(None, dict.fromkeys(secret)))]
        try:
            return await page.screenshot(
                type="jpeg", quality=60, scale="css", mask=hidden, mask_color=MASK_COLOR
            )
        except PlaywrightError:
            return None  # the segment itself was shown, only its picture is missing


def _describe_interruption(detour: Detour, *, finished: bool) -> tuple[SegmentStatus, str]:
    """Return status and reason of a segment that a detour interrupted."""
    if finished:
        return SegmentStatus.SHOWN, f"shortened: the visitor wanted to go on ({detour.kind})"
    if detour.kind == "skip":
        return SegmentStatus.SKIPPED, VISITOR_SKIPPED_IT
    wanted = detour.segment_id or detour.task_id or detour.screen_id
    return (
        SegmentStatus.INTERRUPTED,
        f"interrupted by the visitor: {detour.kind}{f' {wanted}' if wanted else ''}",
    )
