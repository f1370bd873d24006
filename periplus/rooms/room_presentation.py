"""A presenter's stay in one room: opens the presentation, plays it for the visitors, closes it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from livekit import rtc
from livekit.agents.stt import STT

from agent.browser.browser_profile import VIEWPORT
from agent.media.screencast import Screencast
from agent.presentation.presentation_records import Presentation
from agent.rooms.plugin_voice import PluginVoice
from agent.rooms.room_broadcast import EventAnnouncer, open_broadcast
from agent.rooms.room_topics import render_message
from agent.rooms.visitor_presence import VisitorPresence
from kb_schema.flow_translations import translate_flow
from periplus.demos.demo_environment import DemoEnvironment
from periplus.demos.live_presentation import (
    LivePresentation,
    LivePresentationSettings,
    open_live_presentation,
)
from periplus.errors import UserError
from periplus.log_setup import log
from periplus.rooms.livekit_plugins import LivekitPlugins
from periplus.rooms.room_language_model import RoomLanguageModel
from periplus.rooms.room_settings import RoomSettings
from periplus.rooms.room_tickets import InvalidDispatchMetadata, parse_dispatch_metadata

LEFT = "the presenter had to leave"


class RoomStayOutcome(StrEnum):
    """How a stay in a room ended."""

    TOLD = "told"
    """The presentation ended, or a visitor ended it."""
    LEFT = "left"
    """Every visitor left, or the room was closed."""
    NOBODY = "nobody"
    """No visitor came."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class RoomCall:
    """A room to which a presenter is dispatched."""

    room: str
    url: str
    token: str = field(repr=False)
    metadata: str = ""


@dataclass(frozen=True, slots=True)
class RoomStay:
    """Result of a dispatch."""

    room: str
    outcome: RoomStayOutcome
    reason: str = ""
    presentation: Presentation | None = None


class RoomPresentation:
    """A presenter's stay in one room."""

    def __init__(
        self,
        environment: DemoEnvironment,
        settings: RoomSettings,
        call: RoomCall,
        *,
        plugins: LivekitPlugins | None = None,
        opened: Callable[[LivePresentation], None] = lambda _: None,
    ) -> None:
        """`opened` receives the presentation before its first word."""
        self._environment, self._settings, self._call = environment, settings, call
        self._plugins, self._opened = plugins or LivekitPlugins(), opened
        self._room = rtc.Room()
        self._presence: VisitorPresence | None = None
        self._leaving = False

    def leave(self) -> None:
        """Leave the room after closing everything. May be called at any time."""
        self._leaving = True
        if self._presence is not None:
            self._presence.leave(LEFT)

    async def run(self) -> RoomStay:
        """Enter the room, play the demo, leave. Errors are reported in the room and in the result, and not
        raised.
        """
        try:
            await self._room.connect(self._call.url, self._call.token, rtc.RoomOptions(auto_subscribe=False))
        except rtc.ConnectError as exc:
            return RoomStay(
                self._call.room, RoomStayOutcome.FAILED, f"could not enter the room: {exc.message}"
            )
        presence = self._presence = VisitorPresence(self._room)
        if self._leaving:
            presence.leave(LEFT)
        try:
            return await self._attend(presence)
        except UserError as exc:
            return await self._decline(str(exc))
        except Exception as exc:  # noqa: BLE001 - boundary of one room: the others continue
            log.exception("room_failed", room=self._call.room)
            return await self._decline("the demo cannot be shown right now", str(exc))
        finally:
            presence.close()
            await self._room.disconnect()

    async def _attend(self, presence: VisitorPresence) -> RoomStay:
        try:
            wishes = parse_dispatch_metadata(self._call.metadata)
        except InvalidDispatchMetadata as exc:
            return await self._decline(f"invalid metadata of the dispatch: {exc}")
        if not await presence.arrived(self._settings.arrival_s):
            return RoomStay(self._call.room, RoomStayOutcome.NOBODY, presence.over or "no visitor came")
        environment, llm, tts = self._environment, self._plugins.llm(), self._plugins.tts()
        opening = open_live_presentation(
            environment,
            LivePresentationSettings(flow=wishes.flow, language=wishes.language, speed=wishes.speed),
            voice=None if tts is None else PluginVoice(tts),
            inferencer=None
            if llm is None
            else RoomLanguageModel(llm, environment.stores, environment.website_id),
        )
        async with AsyncExitStack() as stack:
            return await self._tell(
                stack, await stack.enter_async_context(opening), presence, wishes.language
            )

    async def _tell(
        self, stack: AsyncExitStack, show: LivePresentation, presence: VisitorPresence, language: str | None
    ) -> RoomStay:
        picture = Screencast(show.clock)
        await picture.start(show.session.page, VIEWPORT)
        stack.push_async_callback(picture.stop)
        stt: STT[Any] | None = self._plugins.stt()
        air = await stack.enter_async_context(
            open_broadcast(self._room, show.narrator, show.turns, show.bus, picture, size=VIEWPORT, stt=stt)
        )
        presence.on_arrival = lambda who: air.announcer.send(
            describe_presentation_state(show, language), to=[who]
        )
        air.announcer.send(describe_presentation_state(show, language))
        self._opened(show)
        outcome, reason = await self._until_over(show, presence)
        air.announcer.send(render_message("ended", outcome=str(outcome), reason=reason))
        return RoomStay(self._call.room, outcome, reason, show.presentation)

    async def _until_over(
        self, show: LivePresentation, presence: VisitorPresence
    ) -> tuple[RoomStayOutcome, str]:
        """Play until the end, until the last visitor leaves, or until it fails."""
        play = asyncio.create_task(show.play(), name=f"show in {self._call.room}")
        left = asyncio.create_task(presence.left(self._settings.grace_s), name="visitors leave")
        try:
            await asyncio.wait({play, left}, return_when=asyncio.FIRST_COMPLETED)
            if not play.done():
                return RoomStayOutcome.LEFT, left.result()
            presentation = play.result()
            return RoomStayOutcome.TOLD, "the visitor ended it" if presentation.ended_by_visitor else ""
        finally:
            for task in (play, left):
                task.cancel()
            await asyncio.gather(play, left, return_exceptions=True)

    async def _decline(self, told: str, reason: str | None = None) -> RoomStay:
        """Send the reason why there is no demo to the visitors in the room."""
        if self._room.isconnected():
            announcer = EventAnnouncer(self._room)
            announcer.send(render_message("declined_room", text=told))
            await announcer.close()
        return RoomStay(self._call.room, RoomStayOutcome.FAILED, reason or told)


def describe_presentation_state(show: LivePresentation, language: str | None) -> str:
    """Send the state of the presentation to a new visitor: its segments and their status."""
    flow = translate_flow(show.flow, language)
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
    return render_message("state", name=flow.name, chapters=chapters)
