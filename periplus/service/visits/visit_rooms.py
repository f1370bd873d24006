"""Puts a visitor's presentation into a LiveKit room: picture and voice go there, and its page gets a ticket.

Only loaded with the extra `livekit`. Words, chapters and buttons stay in the page's own feed.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from livekit import rtc

from agent.media.screencast import Screencast
from agent.rooms.room_broadcast import open_broadcast
from periplus.demos.live_presentation import LivePresentation
from periplus.rooms.room_settings import RoomSettings
from periplus.rooms.room_tickets import sign_room_token
from periplus.service.visits.visit_ports import RoomUnavailable, VisitRoom

EMPTY_S = 30
"""Seconds the server keeps an empty room."""


class LivekitRooms:
    """`visit_ports.RoomOpener` on one LiveKit server."""

    def __init__(self, settings: RoomSettings, size: tuple[int, int]) -> None:
        """Raises `UserError` if the settings do not say how to reach the server."""
        self._url, self._key, self._secret = settings.reach
        self._public_url, self._size = settings.public_url or self._url, size

    @asynccontextmanager
    async def __call__(
        self, show: LivePresentation, picture: Screencast, visit_id: str
    ) -> AsyncIterator[Callable[[], Awaitable[VisitRoom]]]:
        """Implements `RoomOpener`."""
        name = f"visit-{visit_id}-{secrets.token_urlsafe(9)}"
        room = rtc.Room()
        mine = self._token(name, "presenter", canPublish=True, canPublishData=True, canSubscribe=True)
        try:
            await room.connect(self._url, mine, rtc.RoomOptions(auto_subscribe=False))
        except rtc.ConnectError as exc:
            raise RoomUnavailable(exc.message) from exc
        try:
            async with open_broadcast(room, show.narrator, show.turns, show.bus, picture, size=self._size):

                async def enter() -> VisitRoom:
                    who = f"visitor-{secrets.token_urlsafe(6)}"
                    theirs = self._token(
                        name, who, canSubscribe=True, canPublish=True, canPublishSources=["microphone"]
                    )
                    return VisitRoom(self._public_url, theirs)

                yield enter
        finally:
            await room.disconnect()

    def _token(self, room: str, identity: str, **grants: Any) -> str:
        config = {"emptyTimeout": EMPTY_S, "departureTimeout": EMPTY_S}
        return sign_room_token(self._key, self._secret, room, identity, grants, config)
