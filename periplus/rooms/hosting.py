"""One room from a presenter's entering to its leaving: a show is opened, told to whoever is there, and closed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from livekit import rtc
from livekit.agents.stt import STT

from agent.media.picture import Picture
from agent.presenting.records import Presentation
from agent.rooms.broadcast import Announcer, on_air
from agent.rooms.plugin_voice import PluginVoice
from agent.rooms.presence import Presence
from agent.rooms.topics import note
from kb_schema.telling import in_language
from periplus.errors import UserError
from periplus.logs import log
from periplus.presenting.show import Show, ShowSettings, open_show
from periplus.presenting.venue import Venue
from periplus.rooms.model import RoomModel
from periplus.rooms.plugins import Plugins
from periplus.rooms.settings import RoomSettings
from periplus.rooms.wishes import NotUnderstood, read_wishes
from periplus.voyage import VIEWPORT

LEFT = "the presenter had to leave"


class Outcome(StrEnum):
    """How a stay in a room came out."""

    TOLD = "told"
    """To its end, or to where a visitor ended it."""
    LEFT = "left"
    """Every visitor left, or the room is gone."""
    NOBODY = "nobody"
    """Nobody came."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Call:
    """A room that a presenter is called to."""

    room: str
    url: str
    token: str = field(repr=False)
    metadata: str = ""


@dataclass(frozen=True, slots=True)
class Stay:
    """What became of a call."""

    room: str
    outcome: Outcome
    reason: str = ""
    presentation: Presentation | None = None


class Appearance:
    """A presenter's stay in one room."""

    def __init__(
        self,
        venue: Venue,
        settings: RoomSettings,
        call: Call,
        *,
        plugins: Plugins | None = None,
        opened: Callable[[Show], None] = lambda _: None,
    ) -> None:
        """`opened` hears of the show before its first word."""
        self._venue, self._settings, self._call = venue, settings, call
        self._plugins, self._opened = plugins or Plugins(), opened
        self._room = rtc.Room()
        self._presence: Presence | None = None
        self._leaving = False

    def leave(self) -> None:
        """Leave as soon as everything is closed in good order. May be called at any time."""
        self._leaving = True
        if self._presence is not None:
            self._presence.leave(LEFT)

    async def run(self) -> Stay:
        """Enter the room, tell the demo, leave. What goes wrong with this room is told there, and in the
        answer; nothing is raised for it.
        """
        try:
            await self._room.connect(self._call.url, self._call.token, rtc.RoomOptions(auto_subscribe=False))
        except rtc.ConnectError as exc:
            return Stay(self._call.room, Outcome.FAILED, f"the room cannot be entered: {exc.message}")
        presence = self._presence = Presence(self._room)
        if self._leaving:
            presence.leave(LEFT)
        try:
            return await self._attend(presence)
        except UserError as exc:
            return await self._decline(str(exc))
        except Exception as exc:  # noqa: BLE001 - the boundary of one room: the others go on
            log.exception("room_failed", room=self._call.room)
            return await self._decline("the demo cannot be shown right now", str(exc))
        finally:
            presence.close()
            await self._room.disconnect()

    async def _attend(self, presence: Presence) -> Stay:
        try:
            wishes = read_wishes(self._call.metadata)
        except NotUnderstood as exc:
            return await self._decline(f"the dispatch's metadata: {exc}")
        if not await presence.arrived(self._settings.arrival_s):
            return Stay(self._call.room, Outcome.NOBODY, presence.over or "nobody came")
        venue, llm, tts = self._venue, self._plugins.llm(), self._plugins.tts()
        opening = open_show(
            venue,
            ShowSettings(flow=wishes.flow, language=wishes.language, speed=wishes.speed),
            voice=None if tts is None else PluginVoice(tts),
            inferencer=None if llm is None else RoomModel(llm, venue.stores, venue.website_id),
        )
        async with AsyncExitStack() as stack:
            return await self._tell(
                stack, await stack.enter_async_context(opening), presence, wishes.language
            )

    async def _tell(
        self, stack: AsyncExitStack, show: Show, presence: Presence, language: str | None
    ) -> Stay:
        picture = Picture(show.clock)
        await picture.start(show.session.page, VIEWPORT)
        stack.push_async_callback(picture.stop)
        stt: STT[Any] | None = self._plugins.stt()
        air = await stack.enter_async_context(
            on_air(self._room, show.narrator, show.floor, show.bus, picture, size=VIEWPORT, stt=stt)
        )
        presence.on_arrival = lambda who: air.announcer.tell(state_of(show, language), to=[who])
        air.announcer.tell(state_of(show, language))
        self._opened(show)
        outcome, reason = await self._until_over(show, presence)
        air.announcer.tell(note("ended", outcome=str(outcome), reason=reason))
        return Stay(self._call.room, outcome, reason, show.presentation)

    async def _until_over(self, show: Show, presence: Presence) -> tuple[Outcome, str]:
        """Play until the last word, until nobody listens any more, or until it fails."""
        play = asyncio.create_task(show.play(), name=f"show in {self._call.room}")
        left = asyncio.create_task(presence.left(self._settings.grace_s), name="visitors leave")
        try:
            await asyncio.wait({play, left}, return_when=asyncio.FIRST_COMPLETED)
            if not play.done():
                return Outcome.LEFT, left.result()
            presentation = play.result()
            return Outcome.TOLD, "the visitor ended it" if presentation.ended_by_visitor else ""
        finally:
            for task in (play, left):
                task.cancel()
            await asyncio.gather(play, left, return_exceptions=True)

    async def _decline(self, told: str, reason: str | None = None) -> Stay:
        """Say why there is no demo, to whoever is there."""
        if self._room.isconnected():
            announcer = Announcer(self._room)
            announcer.tell(note("declined_room", text=told))
            await announcer.close()
        return Stay(self._call.room, Outcome.FAILED, reason or told)


def state_of(show: Show, language: str | None) -> str:
    """How the show stands, for who has just come: its chapters, and what became of them."""
    flow = in_language(show.flow, language)
    told = {each.segment_id: each for each in show.presentation.segments}
    chapters = [
        {
            "segment_id": each.segment_id,
            "title": each.heading,
            "status": str(told[each.segment_id].status) if each.segment_id in told else "to come",
            "reason": told[each.segment_id].reason if each.segment_id in told else None,
        }
        for each in flow.ordered_segments
    ]
    return note("state", name=flow.name, chapters=chapters)
