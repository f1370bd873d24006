"""A visitor's show in a LiveKit room: its picture and voice go there, its page gets a way in.

Only the extra `livekit` loads this. Words, chapters and buttons stay with the page's own feed.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from livekit import rtc

from agent.media.picture import Picture
from agent.rooms.broadcast import on_air
from periplus.presenting.show import Show
from periplus.rooms.settings import RoomSettings
from periplus.rooms.tickets import signed
from periplus.service.visiting.ports import Room, RoomAway

EMPTY_S = 30
"""How long the server keeps a room that everybody has left."""


class Rooms:
    """`ports.RoomOpener` on one LiveKit server."""

    def __init__(self, settings: RoomSettings, size: tuple[int, int]) -> None:
        """Raises `UserError` where the settings do not say how to reach the server."""
        self._url, self._key, self._secret = settings.reach
        self._public_url, self._size = settings.public_url or self._url, size

    @asynccontextmanager
    async def __call__(
        self, show: Show, picture: Picture, visit_id: str
    ) -> AsyncIterator[Callable[[], Awaitable[Room]]]:
        """As `RoomOpener` has it."""
        name = f"visit-{visit_id}-{secrets.token_urlsafe(9)}"
        room = rtc.Room()
        mine = self._token(name, "presenter", canPublish=True, canPublishData=True, canSubscribe=True)
        try:
            await room.connect(self._url, mine, rtc.RoomOptions(auto_subscribe=False))
        except rtc.ConnectError as exc:
            raise RoomAway(exc.message) from exc
        try:
            async with on_air(room, show.narrator, show.floor, show.bus, picture, size=self._size):

                async def enter() -> Room:
                    who = f"visitor-{secrets.token_urlsafe(6)}"
                    theirs = self._token(
                        name, who, canSubscribe=True, canPublish=True, canPublishSources=["microphone"]
                    )
                    return Room(self._public_url, theirs)

                yield enter
        finally:
            await room.disconnect()

    def _token(self, room: str, identity: str, **grants: Any) -> str:
        config = {"emptyTimeout": EMPTY_S, "departureTimeout": EMPTY_S}
        return signed(self._key, self._secret, room, identity, grants, config)
