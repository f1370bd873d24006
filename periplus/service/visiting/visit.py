"""One link, and the show behind it: started by the visitor, heard by the floor, ended whatever happens."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing
from datetime import datetime
from typing import Any, Literal

import structlog
from playwright.async_api import Error as PlaywrightError

from agent.errors import AgentError
from agent.media.picture import Picture
from agent.media.tools import MediaError
from agent.page.errors import PageError
from agent.presenting.floor import HeardBy
from kb_schema.presentation import PresentationFlow
from kb_schema.telling import in_language
from periplus.errors import UserError, write_traceback
from periplus.presenting.show import Show
from periplus.service.visiting.feed import Feed, Item
from periplus.service.visiting.ports import Room, RoomAway, RoomOpener, ShowOpener, Wish
from periplus.service.visiting.scene import Scene
from periplus.service.visiting.speaking import PageSpeaker

FPS = 10
SIZE = (1280, 720)
STOPPING_S = 10.0
"""How long a show that is to end may take to come to a safe place before it is cut off."""

State = Literal["waiting", "starting", "playing", "ended"]
Ended = Literal["finished", "left", "absent", "too_long", "closed", "failed"]
"""Why a show is over: told to its end, ended by the visitor, nobody was there, its time was over, the
service or its owner ended it, or it could not go on.
"""

_log = structlog.get_logger(__name__)


class TooMuch(Exception):
    """More words and buttons than a visit may send; `wait_s` seconds later there is room again."""

    def __init__(self, wait_s: float) -> None:
        super().__init__(f"come back in {wait_s:.0f} s")
        self.wait_s = wait_s


class NotNow(Exception):
    """The show is not at a point where this can be done; the text says why."""


class Visit:
    """A link with what is behind it. One show at a time; when it is over it may be started again."""

    def __init__(
        self,
        visit_id: str,
        wish: Wish,
        flow: PresentationFlow,
        *,
        expires_at: datetime,
        absent_s: float,
        longest_s: float,
        says_per_minute: int,
        label: str = "",
    ) -> None:
        self.visit_id, self.wish, self.label = visit_id, wish, label
        self.flow = in_language(flow, wish.language)
        self.expires_at = expires_at
        self.feed = Feed()
        self.scene = Scene(self.feed, self.flow)
        self.speaker = PageSpeaker(self.feed)
        self.state: State = "waiting"
        self.ended: Ended | None = None
        self.shows = 0
        """How often it was started."""
        self.run_id = ""
        """Of the newest show."""
        self._absent_s, self._longest_s, self._per_minute = absent_s, longest_s, says_per_minute
        self._said: deque[float] = deque()
        self._show: Show | None = None
        self._picture: Picture | None = None
        self._enter: Callable[[], Awaitable[Room]] | None = None
        self._work: asyncio.Task[None] | None = None
        self._over = asyncio.Event()
        self._timers: dict[str, asyncio.TimerHandle] = {}

    # -- its life ----------------------------------------------------------------------------------

    @property
    def live(self) -> bool:
        """Whether a show is open, or about to be."""
        return self._work is not None and not self._work.done()

    def start(self, opener: ShowOpener, rooms: RoomOpener | None = None) -> None:
        """Open the show and play it, behind the back of the caller. Raises `NotNow` where one is open."""
        if self.live:
            raise NotNow("it is being shown already")
        self.shows += 1
        self._over = asyncio.Event()
        self.ended = None
        self.scene = Scene(self.feed, self.flow)
        self._enter_state("starting")
        self._work = asyncio.create_task(self._run(opener, rooms), name=f"visit {self.visit_id}")
        self._after("too_long", self._longest_s)
        if not self.feed.followers:
            self._after("absent", self._absent_s)

    def end(self, why: Ended) -> None:
        """Have the show end soon; nothing happens where none is open."""
        if self.live and self.ended is None:
            self.ended = why
            self._over.set()

    async def close(self) -> None:
        """End the show, wait until nothing of it is left, and let everybody go who follows."""
        self.end("closed")
        if self._work is not None:
            await asyncio.wait([self._work])
        self.feed.close()

    async def _run(self, opener: ShowOpener, rooms: RoomOpener | None) -> None:
        """To its end. Raises nothing: what goes wrong is told to the visitor in general, to the log exactly."""
        try:
            await self._shown(opener, rooms)
        except (UserError, AgentError, PageError, MediaError, PlaywrightError) as exc:
            _log.warning("visit_failed", visit_id=self.visit_id, error=type(exc).__name__, reason=str(exc))
            self.ended = self.ended or "failed"
        except Exception as exc:  # noqa: BLE001 - the outermost boundary of a visit: the service goes on
            path = write_traceback(exc)
            _log.error("visit_failed", visit_id=self.visit_id, error=type(exc).__name__, traceback=str(path))
            self.ended = self.ended or "failed"
        finally:
            for timer in self._timers.values():
                timer.cancel()
            self._timers.clear()
            self._show = self._picture = self._enter = None
            self.ended = self.ended or "finished"
            self.scene.over()
            self._enter_state("ended")
            _log.info("visit_ended", visit_id=self.visit_id, why=self.ended)

    async def _shown(self, opener: ShowOpener, rooms: RoomOpener | None) -> None:
        async with AsyncExitStack() as stack:
            show = await stack.enter_async_context(opener.open(self.wish))
            self.run_id = show.session.context.run_id
            show.bus.listen(self.scene)
            self.scene.begin(in_language(show.flow, self.wish.language))
            picture = Picture(show.clock)
            stack.push_async_callback(picture.stop)
            await picture.start(show.session.page, SIZE, FPS)
            show.narrator.add(self.speaker)
            if rooms is not None:
                await self._into_room(stack, rooms, show, picture)
            show.floor.visited = True
            self._show, self._picture = show, picture
            self._enter_state("playing")
            await self._played(show)

    async def _into_room(
        self, stack: AsyncExitStack, rooms: RoomOpener, show: Show, picture: Picture
    ) -> None:
        """Where there is no room after all, pages show the plain picture stream."""
        try:
            self._enter = await stack.enter_async_context(rooms(show, picture, self.visit_id))
        except RoomAway as exc:
            _log.warning("no_room", visit_id=self.visit_id, reason=str(exc))

    async def _played(self, show: Show) -> None:
        """Until it is told, or to be over: then it stops where it is. Its run is ended as it came out."""
        playing = asyncio.create_task(show.play(), name=f"show {self.visit_id}")
        over = asyncio.create_task(self._over.wait())
        try:
            await asyncio.wait({playing, over}, return_when=asyncio.FIRST_COMPLETED)
            if playing.done():
                playing.result()
                return
            await show.narrator.hush()
        finally:
            over.cancel()
            if not playing.done():
                playing.cancel()
                await asyncio.wait([playing], timeout=STOPPING_S)
                show.presentation.interrupted = True
                show.presentation.end(show.clock())

    def _enter_state(self, state: State) -> None:
        self.state = state
        self.feed.tell("status", {"state": state, "ended": self.ended})

    def _after(self, why: Ended, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._forget(why)
        self._timers[why] = loop.call_later(seconds, self.end, why)

    def _forget(self, why: Ended) -> None:
        timer = self._timers.pop(why, None)
        if timer is not None:
            timer.cancel()

    # -- what the visitor does ---------------------------------------------------------------------

    def hear(self, text: str, *, by: HeardBy = "text") -> None:
        """The visitor said something, or pressed a button with these words. Raises `NotNow`, `TooMuch`."""
        show = self._playing()
        now = time.monotonic()
        while self._said and self._said[0] <= now - 60.0:
            self._said.popleft()
        if len(self._said) >= self._per_minute:
            raise TooMuch(60.0 - (now - self._said[0]))
        self._said.append(now)
        show.floor.hear(text, by=by)

    def attend(self, *, writing: bool) -> None:
        """The visitor begins to write, or gave it up: the presenter falls silent and waits. Raises `NotNow`."""
        floor = self._playing().floor
        if writing:
            floor.barge_in(speaking=True)
        else:
            floor.fell_silent()

    def _playing(self) -> Show:
        if self._show is None:
            raise NotNow("nothing is being shown")
        return self._show

    # -- what the visitor sees ---------------------------------------------------------------------

    async def frames(self, *, again_after_s: float) -> AsyncGenerator[bytes]:
        """The picture as JPEGs, until the show is over. Raises `NotNow` where none is shown."""
        picture = self._picture
        if picture is None:
            raise NotNow("nothing is being shown")
        async with aclosing(picture.frames(again_after_s=again_after_s)) as frames:
            async for frame in frames:
                yield frame.jpeg

    async def follow(self, after: int) -> AsyncGenerator[Item | None]:
        """What the page is told above a number, then what comes. While nobody follows, a show waits to end."""
        self._forget("absent")
        try:
            async with aclosing(self.feed.follow(after)) as items:
                async for item in items:
                    yield item
        finally:
            if self.live and not self.feed.followers:
                self._after("absent", self._absent_s)

    async def room(self) -> Room | None:
        """A way into the show's room; None where it has none."""
        return await self._enter() if self._enter is not None else None

    def as_data(self) -> dict[str, Any]:
        """What the page shows, whole; `number` is the feed's last one it has."""
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
