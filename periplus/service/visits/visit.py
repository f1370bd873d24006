"""One link and its presentation: started by the visitor, interrupted through the turn manager, always closed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import structlog
from playwright.async_api import Error as PlaywrightError

from agent.errors import AgentError
from agent.media.media_tools import MediaError
from agent.media.screencast import Screencast
from agent.page.errors import PageError
from agent.presentation.turn_manager import HeardBy
from agent.presentation.visitor_rate import VisitorRate
from kb_schema.flow_translations import translate_flow
from kb_schema.presentation_flows import PresentationFlow
from periplus.demos.live_presentation import LivePresentation
from periplus.errors import UserError, write_traceback
from periplus.service.visits.page_speaker import PageSpeaker
from periplus.service.visits.visit_feed import FeedItem, VisitFeed
from periplus.service.visits.visit_page_state import VisitPageState
from periplus.service.visits.visit_ports import (
    PresentationOpener,
    RoomOpener,
    RoomUnavailable,
    VisitRoom,
    VisitWish,
)

FPS = 10
SIZE = (1280, 720)
STOPPING_S = 10.0
"""Seconds a presentation may take to reach a safe point before it is cancelled."""

VisitState = Literal["waiting", "starting", "playing", "ended"]
Ended = Literal["finished", "left", "absent", "too_long", "closed", "failed"]
"""Why a presentation ended: complete, ended by the visitor, no visitor, time limit, ended by the service or
its owner, or failed.
"""

_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class VisitShow:
    """One presentation of a link."""

    run_id: str
    started_at: datetime
    ended: Ended | None = None
    """None: it is running."""


class VisitRateExceeded(Exception):
    """The visit exceeded its rate of words and buttons; retry after `wait_s` seconds."""

    def __init__(self, wait_s: float) -> None:
        super().__init__(f"try again in {wait_s:.0f} s")
        self.wait_s = wait_s


class VisitActionUnavailable(Exception):
    """The presentation is not in a state that allows this; the text says why."""


class VisitorVisit:
    """A link and its presentation. It runs one presentation at a time, and may be started again after the
    end.
    """

    def __init__(
        self,
        visit_id: str,
        wish: VisitWish,
        flow: PresentationFlow,
        *,
        expires_at: datetime,
        absent_s: float,
        longest_s: float,
        says_per_minute: int,
        label: str = "",
    ) -> None:
        self.visit_id, self.wish, self.label = visit_id, wish, label
        self.flow = translate_flow(flow, wish.language)
        self.expires_at = expires_at
        self.feed = VisitFeed()
        self.scene = VisitPageState(self.feed, self.flow)
        self.speaker = PageSpeaker(self.feed)
        self.state: VisitState = "waiting"
        self.ended: Ended | None = None
        self.shows = 0
        """How often it was started."""
        self.past: list[VisitShow] = []
        """Its presentations, oldest first."""
        self._absent_s, self._longest_s = absent_s, longest_s
        self._rate = VisitorRate(says_per_minute)
        self._show: LivePresentation | None = None
        self._picture: Screencast | None = None
        self._enter: Callable[[], Awaitable[VisitRoom]] | None = None
        self._work: asyncio.Task[None] | None = None
        self._over = asyncio.Event()
        self._timers: dict[str, asyncio.TimerHandle] = {}

    @property
    def run_id(self) -> str:
        """Run id of the latest presentation; empty if there was none."""
        return self.past[-1].run_id if self.past else ""

    # -- start and end ---------------------------------------------------------------------------

    @property
    def live(self) -> bool:
        """Whether a presentation is open or being opened."""
        return self._work is not None and not self._work.done()

    def start(self, opener: PresentationOpener, rooms: RoomOpener | None = None) -> None:
        """Start the presentation in the background. Raises `VisitActionUnavailable` if one is open."""
        if self.live:
            raise VisitActionUnavailable("the demo is already running")
        self.shows += 1
        self._over = asyncio.Event()
        self.ended = None
        self.scene = VisitPageState(self.feed, self.flow)
        self._enter_state("starting")
        self._work = asyncio.create_task(self._run(opener, rooms), name=f"visit {self.visit_id}")
        self._after("too_long", self._longest_s)
        if not self.feed.followers:
            self._after("absent", self._absent_s)

    def end(self, why: Ended) -> None:
        """End the presentation soon; does nothing if none is open."""
        if self.live and self.ended is None:
            self.ended = why
            self._over.set()

    async def close(self) -> None:
        """End the presentation, wait until it is closed, and disconnect all followers."""
        self.end("closed")
        if self._work is not None:
            await asyncio.wait([self._work])
        self.feed.close()

    async def _run(self, opener: PresentationOpener, rooms: RoomOpener | None) -> None:
        """Run the presentation to its end. Raises nothing: the visitor gets a general message, the log the
        details.
        """
        try:
            await self._shown(opener, rooms)
        except (UserError, AgentError, PageError, MediaError, PlaywrightError) as exc:
            _log.warning("visit_failed", visit_id=self.visit_id, error=type(exc).__name__, reason=str(exc))
            self.ended = self.ended or "failed"
        except Exception as exc:  # noqa: BLE001 - outermost boundary of a visit: the service continues
            path = write_traceback(exc)
            _log.error("visit_failed", visit_id=self.visit_id, error=type(exc).__name__, traceback=str(path))
            self.ended = self.ended or "failed"
        finally:
            for timer in self._timers.values():
                timer.cancel()
            self._timers.clear()
            self._show = self._picture = self._enter = None
            self.ended = self.ended or "finished"
            if self.past and self.past[-1].ended is None:
                self.past[-1].ended = self.ended
            self.scene.over()
            self._enter_state("ended")
            _log.info("visit_ended", visit_id=self.visit_id, why=self.ended)

    async def _shown(self, opener: PresentationOpener, rooms: RoomOpener | None) -> None:
        async with AsyncExitStack() as stack:
            show = await stack.enter_async_context(opener.open(self.wish))
            self.past.append(VisitShow(show.session.context.run_id, datetime.now(UTC)))
            show.bus.listen(self.scene)
            self.scene.begin(translate_flow(show.flow, self.wish.language))
            picture = Screencast(show.clock)
            stack.push_async_callback(picture.stop)
            await picture.start(show.session.page, SIZE, FPS)
            show.narrator.add(self.speaker)
            show.turns.rate = self._rate
            if rooms is not None:
                await self._into_room(stack, rooms, show, picture)
            show.turns.visited = True
            self._show, self._picture = show, picture
            self._enter_state("playing")
            await self._played(show)

    async def _into_room(
        self, stack: AsyncExitStack, rooms: RoomOpener, show: LivePresentation, picture: Screencast
    ) -> None:
        """Open a room for the presentation; if that fails, pages show the plain picture stream."""
        try:
            self._enter = await stack.enter_async_context(rooms(show, picture, self.visit_id))
        except RoomUnavailable as exc:
            _log.warning("no_room", visit_id=self.visit_id, reason=str(exc))

    async def _played(self, show: LivePresentation) -> None:
        """Play until the end or a request to end, which stops it at the next safe point. The run ends with
        the result.
        """
        playing = asyncio.create_task(show.play(), name=f"show {self.visit_id}")
        over = asyncio.create_task(self._over.wait())
        try:
            await asyncio.wait({playing, over}, return_when=asyncio.FIRST_COMPLETED)
            if playing.done():
                playing.result()
                return
            await show.narrator.stop_speaking()
        finally:
            over.cancel()
            if not playing.done():
                playing.cancel()
                await asyncio.wait([playing], timeout=STOPPING_S)
                show.presentation.interrupted = True
                show.presentation.end(show.clock())

    def _enter_state(self, state: VisitState) -> None:
        self.state = state
        self.feed.add("status", {"state": state, "ended": self.ended})

    def _after(self, why: Ended, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._forget(why)
        self._timers[why] = loop.call_later(seconds, self.end, why)

    def _forget(self, why: Ended) -> None:
        timer = self._timers.pop(why, None)
        if timer is not None:
            timer.cancel()

    # -- visitor input ---------------------------------------------------------------------------

    def hear(self, text: str, *, by: HeardBy = "text") -> None:
        """Pass on a visitor's words or button. Raises `VisitActionUnavailable` and `VisitRateExceeded`."""
        show = self._playing()
        if (wait_s := self._rate.wait()) > 0:
            raise VisitRateExceeded(wait_s)
        show.turns.hear(text, by=by)

    def attend(self, *, writing: bool) -> None:
        """The visitor begins or stops typing: the presenter stops and waits, or continues. Raises
        `VisitActionUnavailable`.
        """
        turns = self._playing().turns
        if writing:
            turns.barge_in(speaking=True)
        else:
            turns.fell_silent()

    def _playing(self) -> LivePresentation:
        if self._show is None:
            raise VisitActionUnavailable("no demo is running")
        return self._show

    # -- visitor output --------------------------------------------------------------------------

    async def frames(self, *, again_after_s: float) -> AsyncGenerator[bytes]:
        """Yield the picture as JPEGs until the presentation ends. Raises `VisitActionUnavailable` if none is
        running.
        """
        picture = self._picture
        if picture is None:
            raise VisitActionUnavailable("no demo is running")
        async with aclosing(picture.frames(again_after_s=again_after_s)) as frames:
            async for frame in frames:
                yield frame.jpeg

    async def follow(self, after: int) -> AsyncGenerator[FeedItem | None]:
        """Yield feed items after a number, then new ones. A presentation without followers ends after a
        while.
        """
        self._forget("absent")
        try:
            async with aclosing(self.feed.follow(after)) as items:
                async for item in items:
                    yield item
        finally:
            if self.live and not self.feed.followers:
                self._after("absent", self._absent_s)

    async def room(self) -> VisitRoom | None:
        """Return a ticket for the presentation's room; None if it has none."""
        return await self._enter() if self._enter is not None else None

    def as_data(self) -> dict[str, Any]:
        """Return the complete state of the page; `number`: the last feed item it includes."""
        expected = self.flow.duration.estimated
        return {
            "number": self.feed.number,
            "title": self.flow.name,
            "description": self.flow.description,
            "presenter": self.flow.presenter,
            "language": self.flow.language,
            "minutes": round(expected / 60 / self.wish.speed, 1) if expected and self.wish.speed else None,
            "state": self.state,
            "ended": self.ended,
            "voice": self.wish.voice,
            **self.scene.as_data(),
        }
